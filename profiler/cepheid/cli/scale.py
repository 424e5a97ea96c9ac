"""`cepheid scale`: would more GPUs help a job?"""

from dataclasses import asdict
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from cepheid.cli.completing import names
from cepheid.cli.formats import Column, Output, document, screen_columns, show, write_lines
from cepheid.cli.job import wrapped
from cepheid.cli.places import Place, at_a_place, job_of

if TYPE_CHECKING:
    from cepheid.reports.scale import Scale, ScaleRow

MOST_RUNS = 100
"""Earlier ones: a job is seldom run on many numbers of GPUs."""


class FailOn(StrEnum):
    NO = "no"


@at_a_place
def scale(
    job_id: Annotated[
        str | None,
        typer.Argument(
            metavar="JOB",
            help="Beginning of its uid, or its name: the latest run. Without, the latest job.",
            autocompletion=names,
        ),
    ] = None,
    output: Annotated[
        Output, typer.Option("--output", "-o", help="Words for people, or for programs.")
    ] = Output.TABLE,
    fail_on: Annotated[
        FailOn | None,
        typer.Option("--fail-on", help="Exit with 1 if more would help little or not at all."),
    ] = None,
    *,
    place: Place,
) -> None:
    """Say whether more GPUs would help a job, and how sure that is."""
    from cepheid.reports.scale import ScaleRow, scale

    with place.open() as kept:
        profile = job_of(kept, job_id, place.namespace)
        found = scale(profile, kept.earlier_runs(profile, limit=MOST_RUNS))
    if output is Output.TABLE:
        write_lines([*wrapped(found.headline, screen_columns()), ""])
        show(found.rows, ScaleRow, _columns(found), output)
        _say_the_rest(found)
    elif output is Output.CSV:
        show(found.rows, ScaleRow, (), output)
    else:
        document(_whole(found), output)
    if fail_on is FailOn.NO and found.verdict.helps.value in ("no", "little"):
        raise typer.Exit(1)


def _whole(found: "Scale") -> dict[str, object]:
    verdict = asdict(found.verdict)
    return {
        "job": found.name,
        **verdict,
        "helps": found.verdict.helps.value,
        "counts": list(found.verdict.counts),
        "not_seen": found.not_seen,
        "curve": [asdict(row) for row in found.rows],
    }


def _say_the_rest(found: "Scale") -> None:
    lines = [""] if found.rows else []
    if found.not_seen is not None:
        lines += wrapped(f"not seen: {found.not_seen}", screen_columns())
    if any(row.measured is not None for row in found.rows):
        lines += wrapped(
            "TIMES is the work a second, in times what it does now; ▒ up to where it is with 90 %,"
            " ● what was measured",
            screen_columns(),
        )
    write_lines(lines)


def _columns(found: "Scale") -> "list[Column[ScaleRow]]":
    from cepheid.reports import words
    from cepheid.reports.scale import bar, top_of

    top = top_of(found.rows)

    def times(value: float | None) -> str:
        return "" if value is None else words.figure(value)

    def band(row: "ScaleRow") -> str:
        if row.low is None and row.high is None:
            return ""
        if row.low is None:
            return f"{times(row.high)} at most"
        return f"{times(row.low)} to {times(row.high)}"

    def runs(row: "ScaleRow") -> str:
        if not row.runs:
            return ""
        return f"{times(row.measured)} in {words.counted(row.runs, 'run')}"

    def each(row: "ScaleRow") -> str:
        percent = row.efficiency_percent
        return "" if percent is None else words.in_percent(percent)

    return [
        Column("GPUS", lambda row: f"{row.gpus}{' *' if row.is_now else '  '}", matters=9),
        Column("WORK", lambda row: bar(row, top), matters=5),
        Column("TIMES", lambda row: times(row.speedup), right=True, matters=9),
        Column("90 %", band, right=True, matters=8),
        Column("EACH", each, right=True, matters=6),
        Column("MEASURED", runs, right=True, matters=7),
    ]
