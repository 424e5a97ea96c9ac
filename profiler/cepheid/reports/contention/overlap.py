"""For how long did others wait, and who were they?

Others wait whenever anybody does, but for the time in which only oneself does. Either is made of
pieces of time: what of them lies between two moments is a difference of two sums.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cepheid.model import FloatArray
from cepheid.reports.contention.holding import Stretch
from cepheid.reports.contention.shares import IntArray, Spans


class Waiters(NamedTuple):
    jobs: int
    users: int


class _Pieces(NamedTuple):
    """Of time, in order and apart, in whole microseconds: sums of them are exact."""

    begins_us: IntArray
    lengths_us: IntArray
    before_us: IntArray
    """Of all that come earlier."""

    @classmethod
    def of(cls, times_us: IntArray, chosen: NDArray[np.bool_]) -> "_Pieces":
        """Those between one of the times and the next that are chosen."""
        places = np.flatnonzero(chosen)
        begins_us = times_us[places]
        lengths_us = times_us[places + 1] - begins_us
        return cls(begins_us, lengths_us, np.cumsum(lengths_us) - lengths_us)

    def within(self, from_to_us: IntArray) -> IntArray:
        """How much of them lies in each row."""
        if not self.begins_us.size:
            return np.zeros(len(from_to_us), dtype=np.int64)
        last = np.searchsorted(self.begins_us, from_to_us, side="right") - 1
        last = np.maximum(last, 0)
        into = np.clip(from_to_us - self.begins_us[last], 0, self.lengths_us[last])
        up_to = self.before_us[last] + into
        found: IntArray = up_to[:, 1] - up_to[:, 0]
        return found


class Contention:
    """Of one resource. `runs` are the jobs that want it, as `wanted` has them."""

    def __init__(self, wanted: Spans, runs: IntArray) -> None:
        # In order, since what is looked for in an order is found sooner.
        order = np.argsort(wanted.begins_us)
        self._wanted, self._runs = Spans(*(column[order] for column in wanted)), runs[order]
        self._times = np.unique(np.concatenate([wanted.begins_us, wanted.ends_us]))
        self._firsts = np.searchsorted(self._times, self._wanted.begins_us)
        self._lasts = np.searchsorted(self._times, self._wanted.ends_us)
        self._all = self._counts(np.ones(wanted.owners.size, dtype=np.bool_))
        self._anybody = _Pieces.of(self._times, self._all > 0)
        self._alone: dict[int, _Pieces] = {}

    def seconds(self, owner: int, stretches: Sequence[Stretch]) -> FloatArray:
        """Of each: how long others than this one waited meanwhile."""
        table = np.array(stretches, dtype=np.int64).reshape(-1, 2)
        return (self._anybody.within(table) - self._alone_of(owner).within(table)) / 1e6

    def waiters(self, owner: int, stretches: Sequence[Stretch], users: ArrayLike) -> Waiters:
        """Who waited in any of the stretches, which are in order and apart; `users` by run."""
        table = np.array(stretches, dtype=np.int64).reshape(-1, 2)
        there = meets(self._wanted.begins_us, self._wanted.ends_us, table)
        runs = self._runs[there & (self._wanted.owners != owner)]
        jobs = int(np.count_nonzero(np.bincount(runs)))
        return Waiters(jobs, np.unique(np.asarray(users)[runs]).size)

    def _alone_of(self, owner: int) -> _Pieces:
        """When it waited and nobody else did: kept, since that is little, for all of an owner's
        findings."""
        if owner not in self._alone:
            mine = self._counts(self._wanted.owners == owner)
            self._alone[owner] = _Pieces.of(self._times, (mine > 0) & (mine == self._all))
        return self._alone[owner]

    def _counts(self, chosen: NDArray[np.bool_]) -> IntArray:
        """How many of them wait, from each time to the next; from the last one on nobody does."""
        steps = np.zeros(self._times.size, dtype=np.int64)
        np.add.at(steps, self._firsts[chosen], 1)
        np.subtract.at(steps, self._lasts[chosen], 1)
        return np.cumsum(steps)


def meets(begins_us: IntArray, ends_us: IntArray, stretches: IntArray) -> NDArray[np.bool_]:
    """Of each span: is any of it in the stretches, rows of from and to, in order and apart?"""
    first = np.searchsorted(stretches[:, 1], begins_us, side="right")
    after = np.searchsorted(stretches[:, 0], ends_us, side="left")
    found: NDArray[np.bool_] = first < after
    return found


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
