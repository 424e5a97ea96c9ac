"""`cepheid check`: asked for against used."""

from enum import StrEnum
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated

import typer

from cepheid.cli.completing import names
from cepheid.cli.filters import Chosen, filters
from cepheid.cli.formats import Column, Output, show
from cepheid.cli.of_run import of_run
from cepheid.cli.places import Place, at_a_place, say, why_none
from cepheid.cli.progress import progress
from cepheid.reports import words

if TYPE_CHECKING:
    from cepheid.jobprofile import JobProfile
    from cepheid.reports.sizing.verdicts import CheckRow


class FailOn(StrEnum):
    VIOLATIONS = "violations"


@at_a_place
@filters
def check(
    every: Annotated[
        bool, typer.Option("--all", help="What fits too, and what cannot be told.")
    ] = False,
    run: Annotated[
        str | None,
        typer.Option(
            "--run",
            metavar="ID|NAME|SERIES",
            help="Only this job with its tasks, or all runs of this series.",
            autocompletion=names,
        ),
    ] = None,
    jobs: Annotated[
        list[str] | None,
        typer.Option(
            "--job",
            metavar="NAME",
            help="Only jobs of this name or series, or like it: *. As often as you like.",
            autocompletion=names,
        ),
    ] = None,
    output: Annotated[
        Output, typer.Option("--output", "-o", help="A table for people, or for programs.")
    ] = Output.TABLE,
    fail_on: Annotated[
        FailOn | None, typer.Option("--fail-on", help="Exit with 1 if there is any.")
    ] = None,
    *,
    chosen: Chosen,
    place: Place,
) -> None:
    """Compare what jobs asked for with what they used.

    Memory by its peak; CPU and load of GPUs by what was sustained: one sample is no violation.
    """
    from cepheid.reports.sizing.check import check
    from cepheid.reports.sizing.verdicts import CheckRow

    rows: list[CheckRow] = []
    count = 0
    with place.open() as kept, progress("reading jobs") as step:
        is_of_run = of_run(kept, run, place.namespace)
        for one in step(kept.each(chosen.query(place.namespace))):
            profile = one.profile
            if chosen.fits(profile) and is_of_run(profile) and _is_named(profile, jobs):
                count += 1
                rows += check(profile, one.workers, every=every)
    show(rows, CheckRow, _columns(), output)
    found = sum(row.is_violation for row in rows)
    say(_summary(found, count, run) if count else why_none(place))
    if fail_on is not None and found:
        raise typer.Exit(1)


def _is_named(profile: "JobProfile", wanted: list[str] | None) -> bool:
    called = (profile.job.name, profile.series)
    return not wanted or any(fnmatchcase(name, like) for like in wanted for name in called)


def _summary(found: int, jobs: int, run: str | None) -> str:
    if not found:
        return f"no finding in {words.counted(jobs, 'job')}"
    hint = "cepheid rightsize" if run is None else f"cepheid rightsize --run {run}"
    return f"{words.counted(found, 'finding')} in {words.counted(jobs, 'job')}. hint: {hint}"


def _columns() -> "list[Column[CheckRow]]":
    # Thousands of jobs ask for the same, and each uses something else of it.
    asked = lru_cache(maxsize=4096)(said)

    def peak(row: "CheckRow") -> str:
        if row.sustained is None:
            return said(row.peak, row.unit)
        return f"{said(row.sustained, row.unit)} p95"

    def difference(row: "CheckRow") -> str:
        percent = row.difference_percent
        return "" if percent is None else words.change(percent)

    return [
        Column("JOB", lambda row: row.job, matters=9, least=12, middle=True),
        Column("WORKER", lambda row: row.worker or "", matters=6, least=9, middle=True),
        Column("RESOURCE", lambda row: row.resource, matters=9),
        Column("ASKED", lambda row: asked(row.asked, row.unit), right=True, matters=9),
        Column("PEAK", peak, right=True, matters=9),
        Column("DIFFERENCE", difference, right=True, matters=7),
        Column("VERDICT", lambda row: str(row.verdict), matters=9),
        Column("WHY", lambda row: row.why or "", matters=4, least=12),
    ]


def said(amount: float | None, unit: str) -> str:
    if amount is None:
        return ""
    match unit:
        case "bytes":
            return words.in_bytes(amount)
        case "percent":
            return words.in_percent(amount)
        case "seconds":
            return words.brief(amount)
        case _:
            return words.figure(amount)
