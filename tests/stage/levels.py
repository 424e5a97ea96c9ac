"""What a GPU or a pod does, as functions of time that know their own integral.

A counter is the integral, read at some moment: it is exact however seldom it is scraped, and the
past can be computed as well as the present. Times are seconds since the epoch.
"""

import itertools
import math
import time
from dataclasses import dataclass
from typing import Protocol


class Level(Protocol):
    def at(self, when: float) -> float: ...

    def integral(self, begin: float, end: float) -> float: ...


@dataclass(frozen=True)
class Steady:
    level: float = 0.0

    def at(self, when: float) -> float:
        del when
        return self.level

    def integral(self, begin: float, end: float) -> float:
        return self.level * (end - begin)


@dataclass(frozen=True)
class Square:
    """High for the first part of every period, as a training job with its steps."""

    period_seconds: float
    duty: float = 0.5
    high: float = 1.0
    low: float = 0.0
    phase_seconds: float = 0.0

    def at(self, when: float) -> float:
        into = (when - self.phase_seconds) % self.period_seconds
        return self.high if into < self.duty * self.period_seconds else self.low

    def integral(self, begin: float, end: float) -> float:
        high_seconds = self._high_seconds(end) - self._high_seconds(begin)
        return self.low * (end - begin) + (self.high - self.low) * high_seconds

    def _high_seconds(self, when: float) -> float:
        periods, into = divmod(when - self.phase_seconds, self.period_seconds)
        each = self.duty * self.period_seconds
        return periods * each + min(into, each)


@dataclass(frozen=True)
class Ramp:
    """From one level to another, as a leak; steady before and after."""

    begin: float
    end: float
    since: float
    seconds: float

    def at(self, when: float) -> float:
        share = min(1.0, max(0.0, (when - self.since) / self.seconds))
        return self.begin + (self.end - self.begin) * share

    def integral(self, begin: float, end: float) -> float:
        bends = [min(max(bend, begin), end) for bend in (self.since, self.since + self.seconds)]
        times = [begin, *bends, end]
        pairs = itertools.pairwise(times)
        return sum((self.at(a) + self.at(b)) / 2 * (b - a) for a, b in pairs)


class Timeline:
    """One level after the other. What was before a change stays as it was."""

    def __init__(self, first: Level | float = 0.0) -> None:
        self._changes = [(-math.inf, _level(first))]

    def become(self, level: Level | float, at: float | None = None) -> None:
        """From `at` on, which is now by default and later than every change before."""
        self._changes.append((time.time() if at is None else at, _level(level)))

    def at(self, when: float) -> float:
        return next(level for since, level in reversed(self._changes) if since <= when).at(when)

    def integral(self, begin: float, end: float) -> float:
        changes = [*self._changes, (math.inf, Steady())]
        total = 0.0
        for (since, level), (until, _) in itertools.pairwise(changes):
            first, last = max(begin, since), min(end, until)
            if last > first:
                total += level.integral(first, last)
        return total

    def mean(self, begin: float, end: float) -> float:
        return self.integral(begin, end) / (end - begin)


def _level(level: Level | float) -> Level:
    return Steady(float(level)) if isinstance(level, int | float) else level
