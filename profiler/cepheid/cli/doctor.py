"""`cepheid doctor`: what is wrong with an installation, and what to type against it."""

import os
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from cepheid.cli.formats import Output, screen_columns, show, write_lines
from cepheid.cli.places import say
from cepheid.errors import UsageError

if TYPE_CHECKING:
    from cepheid.doctor.finding import Finding

INDENT = 8
SHORTEST_SECONDS, LONGEST_SECONDS = 1.0, 86_400.0


class FailOn(StrEnum):
    FAIL = "fail"
    WARN = "warn"


def doctor(
    prometheus: Annotated[
        str | None,
        typer.Option(
            "--prometheus",
            metavar="URL",
            help="Where Prometheus answers; unless told, where the agents look for it.",
        ),
    ] = None,
    context: Annotated[
        str | None, typer.Option("--context", help="The cluster of this kubeconfig context.")
    ] = None,
    period: Annotated[
        str, typer.Option("--period", metavar="TIME", help="The shortest cycle to be seen.")
    ] = "45s",
    output: Annotated[
        Output, typer.Option("--output", "-o", help="Lines for people, or rows for programs.")
    ] = Output.TABLE,
    fail_on: Annotated[
        FailOn | None,
        typer.Option("--fail-on", help="Exit with 1 if something failed, or is worth a warning."),
    ] = None,
) -> None:
    """Say what is wrong with an installation, and what to type.

    Looks at the cluster and at its Prometheus and changes nothing. What you may not look at is
    said, and the rest is looked at.
    """
    from cepheid.annotations.api import ApiServer
    from cepheid.doctor.diagnosis import examine, worst
    from cepheid.doctor.finding import Finding, Level
    from cepheid.doctor.gathering import gather
    from cepheid.history.in_cluster import connect_to

    wanted_seconds = _period(period)
    with ApiServer(lambda: connect_to(context)) as server:
        facts = gather(
            server,
            prometheus_url=prometheus,
            wanted_period_seconds=wanted_seconds,
            environment=os.environ,
        )
    found = examine(facts)
    if output is Output.TABLE:
        for one in found:
            write_lines(lines(one, screen_columns()))
        counts = [sum(one.level is level for one in found) for level in Level]
        say(", ".join(f"{count} {level}" for count, level in zip(counts, Level, strict=True)))
    else:
        show(found, Finding, [], output)
    levels = {FailOn.FAIL: (Level.FAIL,), FailOn.WARN: (Level.FAIL, Level.WARN)}
    if fail_on is not None and worst(found) in levels[fail_on]:
        raise typer.Exit(1)


def lines(finding: "Finding", columns: int) -> list[str]:
    """A command stays on its line, however long: it is there to be copied."""
    from cepheid.cli.job import wrapped
    from cepheid.doctor.finding import Level
    from cepheid.reports.plain import plain

    level = "FAIL" if finding.level is Level.FAIL else str(finding.level)
    room = columns - INDENT
    first, *others = wrapped(finding.words, room)
    made = [f"  {level:<{INDENT - 2}}{first}", *others]
    if finding.remedy:
        made += wrapped(f"hint: {finding.remedy}", room)
    made += [f"$ {plain(one)}" for one in finding.command.split(" && ") if one]
    return [made[0], *(f"{'':{INDENT}}{one}" for one in made[1:])]


def _period(text: str) -> float:
    from cepheid.units import length_seconds

    found = length_seconds(text)
    if found is None or not SHORTEST_SECONDS <= found <= LONGEST_SECONDS:
        raise UsageError(f"--period is {text!r}", hint="from 1s to 1d, such as 45s or 2min")
    return found
