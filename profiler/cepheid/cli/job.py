"""`cepheid job`: what happened to one job."""

from collections.abc import Iterator
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from cepheid.cli.completing import names
from cepheid.cli.formats import Output, document, screen_columns, show, write_lines
from cepheid.cli.places import Place, at_a_place, job_of, say

if TYPE_CHECKING:
    from cepheid.jobprofile import JobProfile, Regressed
    from cepheid.reports.story import Story

LABEL, COURSE, AMOUNT = 12, 12, 17
"""Columns of the figures."""
MOST_RUNS = 30


class FailOn(StrEnum):
    FAILED = "failed"
    FINDING = "finding"
    WORSE = "worse"


@at_a_place
def job(
    job_id: Annotated[
        str | None,
        typer.Argument(
            metavar="ID",
            help="Beginning of its uid, or its name: the latest run. Without, the latest job.",
            autocompletion=names,
        ),
    ] = None,
    output: Annotated[
        Output, typer.Option("--output", "-o", help="Words for people, or for programs.")
    ] = Output.TABLE,
    fail_on: Annotated[
        FailOn | None,
        typer.Option(
            "--fail-on",
            help="Exit with 1 if it failed, if anything was found, or if it is worse than before.",
        ),
    ] = None,
    *,
    place: Place,
) -> None:
    """Tell what happened to a job, and what to change next time."""
    with place.open() as kept:
        profile = job_of(kept, job_id, place.namespace)
        earlier = kept.earlier_runs(profile, limit=MOST_RUNS)
        series = kept.series(profile.job.uid) if output is Output.TABLE else []
    worse = _worse(profile, earlier)
    if output is Output.TABLE:
        from cepheid.reports.story import NO_SERIES, tell

        write_lines(lines(tell(profile, earlier, series, worse), screen_columns()))
        if not series and profile.process is not None and profile.samples:
            say(f"note: {NO_SERIES}")
    elif output is Output.CSV:
        from cepheid.reports.listing import JobRow, row_of

        show([row_of(profile)], JobRow, (), output)
    else:
        from cepheid.jobprofile import to_document

        document(to_document(profile), output)
    if fail_on is not None and _is_found(profile, worse, fail_on):
        raise typer.Exit(1)


def _worse(profile: "JobProfile", earlier: "list[JobProfile]") -> "tuple[Regressed, ...]":
    """As its record says; a laptop's run, which was compared with nothing, is now."""
    if profile.regression or not earlier:
        return profile.regression
    from cepheid.jobs.compare import compare

    return compare(profile, earlier)


def _is_found(profile: "JobProfile", worse: "tuple[Regressed, ...]", fail_on: FailOn) -> bool:
    if fail_on is FailOn.FAILED:
        return profile.outcome.value not in ("success", "running")
    if fail_on is FailOn.WORSE:
        return bool(worse)
    return profile.verdict is not None or bool(worse)


def lines(story: "Story", columns: int) -> Iterator[str]:
    """The story on a screen of so many columns."""
    yield from wrapped(story.headline, columns)
    if story.figures:
        yield ""
        yield from _figures(story, columns)
    yield ""
    for fact in story.facts:
        yield from _labelled(fact.label, fact.words, columns)
    if story.changes or story.advice:
        yield ""
    label = "next time"
    for words in story.advice:
        yield from _labelled(label, words, columns)
        label = ""
    for change in story.changes:
        # A line to copy is never broken.
        yield from _labelled(label, change.line, 10_000)
        yield from _labelled("", f"  ({change.why})", columns)
        label = ""


def _figures(story: "Story", columns: int) -> Iterator[str]:
    from cepheid.reports.plain import clipped, padded, plain

    has_course = any(one.course for one in story.figures)
    for one in story.figures:
        parts = [padded(one.label, LABEL)]
        if has_course:
            parts.append(padded(one.course, COURSE))
        parts += [padded(plain(one.amount), AMOUNT), plain(one.remark)]
        yield clipped(f"  {'  '.join(parts)}".rstrip(), columns)


def _labelled(label: str, words: str, columns: int) -> Iterator[str]:
    from cepheid.reports.plain import padded

    begin = f"  {padded(label, LABEL)}  "
    for line in wrapped(words, max(columns - len(begin), 20)):
        yield f"{begin}{line}".rstrip()
        begin = " " * len(begin)


def wrapped(words: str, columns: int) -> list[str]:
    """A figure and its unit stay together."""
    import re
    from textwrap import wrap

    from cepheid.reports.plain import plain

    text = plain(words)
    indent = " " * (len(text) - len(text.lstrip()))
    held = re.sub(
        r"(?<=\d) (?=%|(?:[smhdW]|min|ms|cores?|times|[KMGT]?i?B|[kM]?Wh)\b)", "\xa0", text
    )
    broken = wrap(held, columns - len(indent), break_on_hyphens=False)
    return [indent + line.replace("\xa0", " ") for line in broken]
