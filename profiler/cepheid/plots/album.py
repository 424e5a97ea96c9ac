"""Which pages are there of these jobs?"""

from collections.abc import Iterator, Sequence

from cepheid.errors import CepheidError
from cepheid.jobprofile import JobProfile
from cepheid.plots import heading, summary
from cepheid.plots.bars import bars
from cepheid.plots.file import Sheet
from cepheid.plots.kinds import Kind
from cepheid.plots.overlay import MOST_JOBS, overlay
from cepheid.plots.page import Page
from cepheid.plots.subject import Subject
from cepheid.plots.timeline import silent, timeline
from cepheid.plots.waterfall import waterfall
from cepheid.plots.wording import in_file_name

KEEPS_SERIES = "`cepheid run --granularity time-series` keeps the course of a run"


def sheets(subjects: Sequence[Subject], kind: Kind = Kind.ALL) -> list[Sheet]:
    """Of one job all that there is of it; of several also what compares them."""
    found = [*_sheets(subjects, kind)]
    if not found and kind is Kind.WATERFALL:
        raise CepheidError(
            "none of these jobs had tasks, or several workers whose time series were kept",
            hint="`cepheid plot --kind timeline` draws what there is",
        )
    if not found:
        raise CepheidError("of none of these jobs time series were kept", hint=KEEPS_SERIES)
    return found


def _sheets(subjects: Sequence[Subject], kind: Kind) -> Iterator[Sheet]:
    compares = kind is Kind.ALL and len(subjects) > 1
    for one in subjects:
        if kind in (Kind.ALL, Kind.TIMELINE):
            yield Sheet(_stem(Kind.TIMELINE, one), timeline_page(one))
        if kind in (Kind.ALL, Kind.WATERFALL) and (fall := waterfall_page(one)) is not None:
            yield Sheet(_stem(Kind.WATERFALL, one), fall)
    if (kind is Kind.OVERLAY or compares) and (over := overlay_page(subjects)) is not None:
        yield Sheet(str(Kind.OVERLAY), over)
    if kind is Kind.SUMMARY or compares:
        yield Sheet(str(Kind.SUMMARY), summary_page([one.profile for one in subjects]))


def _stem(kind: Kind, subject: Subject) -> str:
    return f"{kind}-{in_file_name(subject.name)}-{in_file_name(subject.short_uid)}"


def timeline_page(subject: Subject) -> Page:
    profile, says = subject.profile, heading.says(subject.profile)
    charts = timeline(subject)
    if not charts:
        charts = bars(profile)
        says = [*says, _only_bars(profile, drawn=bool(charts))]
    elif nothing := silent(subject):
        says = [*says, f"Measured, and 0 all along: {', '.join(nothing)}."]
    return Page(
        title=subject.name,
        lead=heading.lead(profile),
        says=says,
        facts=heading.facts(profile),
        charts=charts,
    )


def _only_bars(profile: JobProfile, *, drawn: bool) -> str:
    if not drawn:
        return "Nothing was measured of it: it was too short, or nobody looked."
    if profile.process is not None:
        return f"Only the summary of this run was kept, so there is no time line: {KEEPS_SERIES}."
    return (
        "Only the summary of this run is here, so there is no time line: the history of a cluster"
        " keeps it where CEPHEID_HISTORY_GRANULARITY is time_series."
    )


def waterfall_page(subject: Subject) -> Page | None:
    charts = waterfall(subject)
    if not charts:
        return None
    return Page(
        title=f"{subject.name}: what ran when",
        lead=heading.lead(subject.profile),
        facts=heading.facts(subject.profile),
        charts=charts,
    )


def overlay_page(subjects: Sequence[Subject]) -> Page | None:
    charts = overlay(list(subjects))
    if not charts:
        return None
    silent = [one for one in subjects if not one.courses]
    drawn = [one for one in subjects if one.courses]
    says = []
    if silent:
        names = ", ".join(f"{one.name} {one.short_uid}" for one in silent[:MOST_JOBS])
        says.append(f"Not drawn, since only their summary was kept: {names}.")
    if len(drawn) > MOST_JOBS:
        says.append(f"Only the first {MOST_JOBS} of {len(drawn)} are drawn.")
    return Page(
        title=f"{min(len(drawn), MOST_JOBS)} jobs, begun at the same moment",
        lead="A line a job, each from its own beginning on.",
        says=says,
        charts=charts,
        table=summary.table([one.profile for one in drawn]),
    )


def summary_page(profiles: Sequence[JobProfile]) -> Page:
    return Page(
        title="Jobs at a glance",
        lead=summary.lead(profiles),
        tiles=summary.tiles(profiles),
        charts=summary.summary(profiles),
        table=summary.table(profiles),
    )
