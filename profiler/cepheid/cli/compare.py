"""`cepheid compare`: two runs side by side."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from cepheid.cli.completing import names
from cepheid.cli.formats import Column, Output, screen_columns, show, write_lines
from cepheid.cli.job import wrapped
from cepheid.cli.places import Jobs, Place, at_a_place, job_of
from cepheid.errors import NoSuchJobError

if TYPE_CHECKING:
    from cepheid.jobprofile import JobProfile
    from cepheid.reports.comparison import Compared, Comparison

MOST_RUNS = 30


class FailOn(StrEnum):
    WORSE = "worse"
    DIFFERENT = "different"


@at_a_place
def compare(
    first: Annotated[
        str,
        typer.Argument(
            metavar="A",
            help="Beginning of a uid, or a name: its latest run.",
            autocompletion=names,
        ),
    ],
    second: Annotated[
        str | None,
        typer.Argument(
            metavar="[B]",
            help="The other one. Without it A is compared with the run before it.",
            autocompletion=names,
        ),
    ] = None,
    output: Annotated[
        Output, typer.Option("--output", "-o", help="A table for people, or for programs.")
    ] = Output.TABLE,
    fail_on: Annotated[
        FailOn | None,
        typer.Option("--fail-on", help="Exit with 1 if the later run is worse, or different."),
    ] = None,
    *,
    place: Place,
) -> None:
    """Show what is really different between two runs.

    What earlier runs of the job vary by anyway is not; without three of them a tenth counts.
    """
    from cepheid.reports.comparison import Compared, compare

    with place.open() as kept:
        one, two = _both(kept, first, second, place.namespace)
        found = compare(
            one,
            two,
            kept.earlier_runs(one, limit=MOST_RUNS),
            kept.earlier_runs(two, limit=MOST_RUNS),
        )
    if output is Output.TABLE:
        write_lines([*wrapped(found.headline, screen_columns()), ""])
    show(found.rows, Compared, _columns(one, two), output)
    if fail_on is not None and _is_found(found, fail_on):
        raise typer.Exit(1)


def _both(
    kept: Jobs, first: str, second: str | None, namespace: str | None
) -> "tuple[JobProfile, JobProfile]":
    """In the order given; one alone comes after the run before it."""
    one = job_of(kept, first, namespace)
    if second is not None:
        return one, job_of(kept, second, namespace)
    before = kept.earlier_runs(one, limit=1)
    if not before:
        raise NoSuchJobError(
            f"there is no run of {one.series!r} before {one.job.uid[:8]}",
            hint="name two runs: cepheid compare A B",
        )
    return before[0], one


def _is_found(found: "Comparison", fail_on: FailOn) -> bool:
    from cepheid.reports.comparison import Verdict

    if fail_on is FailOn.WORSE:
        return found.has(Verdict.WORSE)
    return found.has(Verdict.WORSE, Verdict.BETTER, Verdict.DIFFERENT)


def _columns(one: "JobProfile", two: "JobProfile") -> "list[Column[Compared]]":
    from cepheid.reports import words

    def change(row: "Compared") -> str:
        percent = row.change_percent
        return "" if percent is None else words.change(percent)

    names = [one.job.uid[:8], two.job.uid[:8]]
    if one.job.name != two.job.name:
        names = [one.job.name, two.job.name]
    titles = [f"{letter}: {name}" for letter, name in zip("AB", names, strict=True)]
    return [
        Column("FIGURE", lambda row: row.figure, matters=9),
        Column(titles[0][:18], lambda row: row.first, right=True, matters=9, least=12, middle=True),
        Column(
            titles[1][:18], lambda row: row.second, right=True, matters=9, least=12, middle=True
        ),
        Column("CHANGE", change, right=True, matters=8),
        Column("VERDICT", lambda row: str(row.verdict), matters=9),
        Column("WHY", lambda row: row.why or "", matters=5, least=12),
    ]
