"""For how long did others wait, and who were they?

The time in which at least one other waits, added up from the beginning, is a line of straight
pieces: what of it lies between two moments is the difference of two of its points.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cepheid.model import FloatArray
from cepheid.reports.contention.holding import Stretch
from cepheid.reports.contention.shares import IntArray, Spans


class Waiters(NamedTuple):
    jobs: int
    users: int


class Contention:
    """Of one resource. `runs` are the jobs that want it, as `wanted` has them."""

    def __init__(self, wanted: Spans, runs: IntArray) -> None:
        self._wanted, self._runs = wanted, runs
        self._times = np.unique(np.concatenate([wanted.begins_us, wanted.ends_us]))
        self._all = self._counts(np.ones(wanted.owners.size, dtype=np.bool_))
        self._sums: dict[int, FloatArray] = {}

    def seconds(self, owner: int, stretches: Sequence[Stretch]) -> FloatArray:
        """Of each: how long others than this one waited meanwhile."""
        if self._times.size <= 1:
            return np.zeros(len(stretches))
        ends = np.array(stretches, dtype=np.float64).reshape(-1, 2)
        sums = self._sums_of(owner)
        found: FloatArray = np.diff(np.interp(ends, self._times, sums), axis=1)[:, 0]
        return found

    def waiters(self, owner: int, stretches: Sequence[Stretch], users: Sequence[str]) -> Waiters:
        """Who waited in any of the stretches, which are in order and apart; `users` by run."""
        table = np.array(stretches, dtype=np.int64).reshape(-1, 2)
        first = np.searchsorted(table[:, 1], self._wanted.begins_us, side="right")
        after = np.searchsorted(table[:, 0], self._wanted.ends_us, side="left")
        there = (first < after) & (self._wanted.owners != owner)
        runs = {int(run) for run in self._runs[there]}
        return Waiters(len(runs), len({users[run] for run in runs}))

    def _sums_of(self, owner: int) -> FloatArray:
        mine = self._wanted.owners == owner
        key = owner if mine.any() else -1
        if key not in self._sums:
            others = (self._all - self._counts(mine))[: self._times.size - 1] > 0
            seconds = np.diff(self._times) / 1e6 * others
            self._sums[key] = np.concatenate([[0.0], np.cumsum(seconds)])
        return self._sums[key]

    def _counts(self, chosen: NDArray[np.bool_]) -> IntArray:
        steps = np.zeros(self._times.size + 1, dtype=np.int64)
        np.add.at(steps, np.searchsorted(self._times, self._wanted.begins_us[chosen]), 1)
        np.subtract.at(steps, np.searchsorted(self._times, self._wanted.ends_us[chosen]), 1)
        return np.cumsum(steps)


def free(held: Spans, capacity: int, amount: int, window: Stretch) -> list[Stretch]:
    """When was so much of it held by nobody?"""
    inner = np.unique(np.concatenate([held.begins_us, held.ends_us]))
    steps = np.zeros(inner.size, dtype=np.int64)
    np.add.at(steps, np.searchsorted(inner, held.begins_us), held.amounts)
    np.subtract.at(steps, np.searchsorted(inner, held.ends_us), held.amounts)
    moments = [window[0], *inner.tolist(), window[1]]
    enough = [capacity >= amount, *(capacity - np.cumsum(steps) >= amount).tolist()]
    pieces = zip(moments[:-1], moments[1:], enough, strict=True)
    return merged((begin, end) for begin, end, is_free in pieces if is_free and begin < end)


def within(span: Stretch, stretches: Sequence[Stretch]) -> Iterator[Stretch]:
    """What of a span lies in stretches, which are in order and apart."""
    at = bisect_right(stretches, span[0], key=lambda one: one[1])
    for begin, end in islice(stretches, at, None):
        if begin >= span[1]:
            return
        yield max(begin, span[0]), min(end, span[1])


def merged(stretches: Iterable[Stretch]) -> list[Stretch]:
    """In order and apart."""
    found: list[Stretch] = []
    for begin, end in sorted(stretches):
        if found and begin <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((begin, end))
    return found
