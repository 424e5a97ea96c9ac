"""A job with all that was kept of it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Protocol

from cepheid.history import Kept, Query, TimeSeries
from cepheid.jobprofile import JobProfile, Worker
from cepheid.plots.course import Course

SHORT_CHARACTERS = 8
LATE = timedelta(minutes=1)
"""A task is written down when it has ended, which is a moment later."""


class Source(Protocol):
    """Where jobs are kept: a history, or a cluster, which has no time series."""

    def each(self, query: Query = ..., /) -> Iterator[Kept]: ...
    def workers(self, uid: str, /) -> tuple[Worker, ...]: ...
    def series(self, uid: str, /) -> list[TimeSeries]: ...


@dataclass(frozen=True, slots=True)
class Subject:
    profile: JobProfile
    courses: Mapping[str, Mapping[str | None, Course]] = field(default_factory=dict)
    """By metric and worker; under None what the job as a whole used."""
    workers: tuple[Worker, ...] = ()
    tasks: tuple[JobProfile, ...] = ()
    """Of a workflow, and theirs in turn."""

    @property
    def name(self) -> str:
        return self.profile.job.name

    @property
    def short_uid(self) -> str:
        return self.profile.job.uid[:SHORT_CHARACTERS]

    @property
    def seconds(self) -> float:
        """From its beginning to the last that is known of it."""
        lives = [life for one in self._all() if (life := one.life) is not None]
        return max([self.profile.duration_seconds or 0.0, *(end for _, end in lives)])

    def _all(self) -> Iterator[Course]:
        for by_worker in self.courses.values():
            yield from by_worker.values()


def read(source: Source, profile: JobProfile) -> Subject:
    uid = profile.job.uid
    return Subject(
        profile,
        courses_of(profile, source.series(uid)),
        source.workers(uid),
        tuple(tasks_of(source, profile)),
    )


def courses_of(
    profile: JobProfile, series: list[TimeSeries]
) -> dict[str, dict[str | None, Course]]:
    """Since its beginning; a series in which nothing was measured is left out."""
    there = [one for one in series if any(value is not None for value in one.values)]
    if not there:
        return {}
    begin = min(one.times_seconds[0] for one in there)
    if profile.started is not None:
        begin = min(begin, profile.started.timestamp())
    found: dict[str, dict[str | None, Course]] = {}
    for one in there:
        course = Course.of(one.times_seconds, one.values, begin)
        found.setdefault(one.metric, {})[one.worker] = course
    return found


def tasks_of(source: Source, profile: JobProfile) -> Iterator[JobProfile]:
    """Those that say so, by when they began; tasks of tasks too."""
    if profile.process is None or profile.started is None:
        return
    ended = None if profile.ended is None else profile.ended + LATE
    asked = Query(
        namespace=profile.job.namespace, kind=profile.job.kind, since=profile.started, until=ended
    )
    meanwhile = [kept.profile for kept in source.each(asked)]
    meanwhile.sort(key=lambda one: one.started or one.created)
    family = {profile.job.uid}
    for one in meanwhile:  # a parent begins before its tasks do
        if one.process is not None and one.process.parent in family:
            family.add(one.job.uid)
            yield one
