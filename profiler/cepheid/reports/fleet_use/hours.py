"""When did a job really run, and in which hours of which weekdays?

From its start to its end, or to now while it runs; nothing lies in the future, whatever a clock
says. A stretch of time is apportioned to the hours on the wall by the zone's own offset: where a
clock is put forward an hour is missing, where it is put back one counts twice.
"""

import time
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import lru_cache
from itertools import pairwise
from typing import TypeAlias

from msgspec import Struct

from cepheid.jobprofile import JobProfile

HOUR, DAY, WEEK = 3600.0, 86_400.0, 604_800.0
HOURS_A_WEEK = 168
HOURS_A_DAY = 24
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
LONGEST_SECONDS = 10 * 366 * DAY
"""Who claims to have begun longer ago had a clock that was not set: it began in 1970, mostly."""
_FIRST_MONDAY = 4 * DAY
"""1970 began with a Thursday."""
_LOOK_SECONDS = DAY
"""No zone changes its offset and changes it back within so little time: since 1970 none has in less
than the week less an hour that Brazil took in 2000."""

Offset: TypeAlias = Callable[[float], float]
"""Seconds that a clock on the wall is ahead of UTC, at a moment in seconds since 1970."""


class Ran(Struct, frozen=True, gc=False):
    """Half-open, in seconds since 1970."""

    begin: float
    end: float

    @property
    def seconds(self) -> float:
        return self.end - self.begin

    def within(self, begin: float, end: float) -> "Ran | None":
        """None for a run that lies outside; a run of no time has a moment all the same."""
        first, last = max(self.begin, begin), min(self.end, end)
        is_there = first < last or (self.begin == self.end and begin <= self.begin < end)
        return Ran(first, last) if is_there else None


def in_utc(_: float) -> float:
    return 0.0


def local(moment: float) -> float:
    """By the machine's own zone, or what TZ says."""
    try:
        return float(time.localtime(moment).tm_gmtoff)
    except (OverflowError, OSError, ValueError):  # beyond what the C library counts
        return 0.0


def seconds_of(moment: datetime) -> float:
    return moment.timestamp()


def ran(profile: JobProfile, now: float) -> Ran | None:
    """None where it never ran, begins only in the future, or cannot be believed."""
    begin, end = _claimed(profile, now)
    if begin is None or end is None or not now - LONGEST_SECONDS <= begin <= now:
        return None
    return Ran(begin, max(begin, min(end, now)))


def _claimed(profile: JobProfile, now: float) -> tuple[float | None, float | None]:
    took = profile.duration_seconds
    if took is None or took > LONGEST_SECONDS:
        took = 0.0
    begin = None if profile.started is None else seconds_of(profile.started)
    end = None if profile.ended is None else seconds_of(profile.ended)
    if begin is None:
        return (None if end is None or not took else end - took), end
    if end is None:
        end = now if profile.is_active else begin + took
    elif end < begin:  # two clocks that disagree: how long it took was measured by one
        end = begin + took
    return begin, end


def week_seconds(run: Ran, offset: Offset) -> dict[int, float]:
    """Seconds in each hour of the week that it ran in: 0 is Monday from midnight to one."""
    found: dict[int, float] = {}
    for begin, end in _on_the_wall(run, offset):
        weeks, rest = divmod(end - begin, WEEK)
        if weeks:
            for cell in range(HOURS_A_WEEK):
                found[cell] = found.get(cell, 0.0) + weeks * HOUR
        at, until = begin, begin + rest
        while at < until:
            hour = at // HOUR
            following = min(until, (hour + 1) * HOUR)
            cell = int(hour) % HOURS_A_WEEK
            found[cell] = found.get(cell, 0.0) + following - at
            at = following
    return found or {week_hour(run.begin, offset): 0.0}


def week_hour(moment: float, offset: Offset) -> int:
    return int((moment + offset(moment) - _FIRST_MONDAY) // HOUR) % HOURS_A_WEEK


def _on_the_wall(run: Ran, offset: Offset) -> Iterator[tuple[float, float]]:
    """In parts of one offset each, in seconds since a Monday on the wall."""
    begin = run.begin
    for change in [*_changes_within(run, offset), run.end]:
        ahead = offset(begin) - _FIRST_MONDAY
        if change > begin:
            yield begin + ahead, change + ahead
        begin = change


def _changes_within(run: Ran, offset: Offset) -> list[float]:
    weeks = range(int(run.begin // WEEK), int(run.end // WEEK) + 1)
    return [
        change
        for week in weeks
        for change in _changes(week, offset)
        if run.begin < change < run.end
    ]


@lru_cache(maxsize=20_000)
def _changes(week: int, offset: Offset) -> tuple[float, ...]:
    """Moments at which the clocks of a zone are put forward or back, in that week since 1970."""
    looks = [week * WEEK + place * _LOOK_SECONDS for place in range(int(WEEK / _LOOK_SECONDS) + 1)]
    ahead = [offset(moment) for moment in looks]
    return tuple(
        _change_between(before, after, offset)
        for (before, after), (old, new) in zip(pairwise(looks), pairwise(ahead), strict=True)
        if old != new
    )


def _change_between(before: float, after: float, offset: Offset) -> float:
    """To the second: no zone knows less."""
    old = offset(before)
    while after - before > 1:
        middle = float((before + after) // 2)
        if offset(middle) == old:
            before = middle
        else:
            after = middle
    return after
