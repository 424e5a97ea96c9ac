"""`cepheid rightsize`: what to ask for next time."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from cepheid.cli.buffers import buffers
from cepheid.cli.completing import names
from cepheid.cli.filters import Chosen, filters
from cepheid.cli.formats import Column, Output, show, write_lines
from cepheid.cli.of_run import of_run
from cepheid.cli.patches import patch_lines, show_patches
from cepheid.cli.places import Jobs, Place, at_a_place, job_of, say, why_none
from cepheid.cli.progress import progress
from cepheid.errors import UsageError

if TYPE_CHECKING:
    from cepheid.reports.sizing.advised import AdviceRow, Advised, Rules
    from cepheid.reports.sizing.evidence import Runs

MOST_LOOKED_AT = 300
"""Runs of one job: those that show nothing are left out of them."""


@at_a_place
@filters
@buffers
def rightsize(
    job_id: Annotated[
        str | None,
        typer.Argument(
            metavar="JOB",
            help="A run, or a name: all runs of that job. Without, every job that fits.",
            autocompletion=names,
        ),
    ] = None,
    run: Annotated[
        str | None,
        typer.Option(
            "--run",
            metavar="ID|NAME|SERIES",
            help="Every job of these: one with its tasks, or all runs of a series.",
            autocompletion=names,
        ),
    ] = None,
    patch: Annotated[
        bool, typer.Option("--patch", help="Only what applies it: commands, or lines of YAML.")
    ] = False,
    limit: Annotated[
        int, typer.Option("--limit", "-l", min=1, help="At most so many jobs, the largest first.")
    ] = 20,
    output: Annotated[
        Output, typer.Option("--output", "-o", help="A table for people, or for programs.")
    ] = Output.TABLE,
    *,
    rules: "Rules",
    chosen: Chosen,
    place: Place,
) -> None:
    """Say what to ask for next time, and how sure that is.

    BREAKS: of so many runs, as many would have been broken by what the others advise.
    """
    from cepheid.reports.sizing.advised import AdviceRow
    from cepheid.reports.sizing.rightsize import advise

    if job_id is not None and run is not None:
        raise UsageError("a job and --run were given", hint="give one of them")
    if patch and output is Output.CSV:
        raise UsageError("a patch is no table", hint="--output json or yaml, or without --output")
    with place.open() as kept:
        found = _found(kept, place, chosen, job_id, run)
    advised = [advise(runs, rules) for runs in found]
    told = [one for one in advised if one.rows]
    if job_id is None:
        told = sorted((one for one in told if one.changes), key=_size, reverse=True)[:limit]
    if patch:
        show_patches(told, output)
    else:
        rows = [row for one in told for row in (one.rows if job_id else one.changes)]
        show(rows, AdviceRow, _columns(is_one=job_id is not None), output)
        if output is Output.TABLE and job_id is not None and rows:
            write_lines(["", *patch_lines(told)])
    if advised:
        _talk(advised, told, rules, is_one=job_id is not None)
    else:
        say(why_none(place))


def _found(
    kept: Jobs, place: Place, chosen: Chosen, job_id: str | None, run: str | None
) -> "list[Runs]":
    from cepheid.reports.sizing.evidence import gathered

    if job_id is None:
        is_of_run = of_run(kept, run, place.namespace)
        with progress("reading jobs") as step:
            return gathered(
                one.profile
                for one in step(kept.each(chosen.query(place.namespace)))
                if chosen.fits(one.profile) and is_of_run(one.profile)
            )
    profile = job_of(kept, job_id, place.namespace)
    query = chosen.query(profile.job.namespace)
    query = replace(query, series=profile.series, kind=query.kind or profile.job.kind)
    return gathered(one for one in kept.find(query, limit=MOST_LOOKED_AT) if chosen.fits(one))


def _size(one: "Advised") -> tuple[float, ...]:
    """What breaks comes first, then what frees the most."""
    return one.is_raised, one.gpu_hours, one.frees("bytes"), one.frees("cores")


def _talk(
    advised: "Sequence[Advised]", told: "Sequence[Advised]", rules: "Rules", *, is_one: bool
) -> None:
    from cepheid.reports import words

    if is_one and not told:
        one = advised[0]
        kept = words.counted(one.kept_runs, "run")
        fewer = ", or --min-runs 2" if one.runs >= 2 < rules.min_runs else ""  # noqa: PLR2004
        say(
            f"{one.newest.series}: {kept} kept, {one.runs} of them"
            f" {'shows' if one.runs == 1 else 'show'} what it needs, and {rules.min_runs} are asked"
            f" for\nhint: cepheid job {one.newest.job.name} tells of one run{fewer}"
        )
        return
    few = sum(not one.rows for one in advised)
    if few and not is_one:
        verb = "has" if few == 1 else "have"
        say(f"note: {words.counted(few, 'job')} {verb} fewer than {rules.min_runs} runs that tell")
    for line in _summary(told):
        say(line)
    if not told:
        say("nothing to change")


def _summary(told: "Sequence[Advised]") -> Iterator[str]:
    from cepheid.reports import words

    if not told:
        return
    runs, broken = sum(one.runs for one in told), sum(one.broken_runs for one in told)
    freed = sum(one.frees("bytes") for one in told)
    cores = sum(one.frees("cores") for one in told)
    hours = sum(one.gpu_hours for one in told)
    parts = [
        f"{'frees' if amount > 0 else 'takes'} {text}"
        for amount, text in (
            (freed, words.in_bytes(abs(freed))),
            (cores, words.cores_said(abs(cores))),
            (hours, f"{words.figure(hours)} GPU hours a run"),
        )
        if amount
    ]
    risk = f"would have broken {broken} of {words.counted(runs, 'run')}, each left out in turn"
    yield ", ".join([risk, *parts])


def _columns(*, is_one: bool) -> "list[Column[AdviceRow]]":
    from cepheid.reports import words
    from cepheid.reports.sizing.patch import short

    def container(row: "AdviceRow") -> str:
        return "/".join(name for name in (row.role, row.container) if name)

    def breaks(row: "AdviceRow") -> str:
        return f"{row.broken_runs} of {row.runs}"

    def frees(row: "AdviceRow") -> str:
        if row.gpu_hours:
            return f"{words.figure(row.gpu_hours)} GPU h"
        if not row.frees or row.frees < 0:
            return ""
        return words.in_bytes(row.frees) if row.unit == "bytes" else words.figure(row.frees)

    return [
        Column("JOB", lambda row: "" if is_one else row.job, matters=3 if is_one else 9, least=10),
        Column("CONTAINER", container, matters=6, least=9, middle=True),
        Column("FIELD", lambda row: short(row.field), matters=9),
        Column("NOW", lambda row: row.now_written or "", right=True, matters=9),
        Column("ASK", lambda row: row.advised_written, right=True, matters=9),
        Column("", lambda row: str(row.action), matters=8),
        Column("BREAKS", breaks, right=True, matters=8),
        Column("FREES", frees, right=True, matters=7),
        Column("WHY", lambda row: row.why or "", matters=5, least=12),
    ]
