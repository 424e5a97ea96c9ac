"""Who held more than a fair share, while others waited?

In each moment what there is of a resource is poured out evenly over all who want some: who wants
less than an even part gets all of it, and what is left is poured out over the others. That is
max-min fairness (Bertsekas and Gallager, "Data Networks", 1987, 6.5): nobody's share can grow but
at the cost of somebody who has no more. What everybody wants is what they hold and what their
waiting jobs ask for.

Between two events, a job's start or end or that of a wait, nothing changes: the time is cut at
all of them, and each piece counted once.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cepheid.model import FloatArray

IntArray = NDArray[np.int64]
SLACK = 1.1
"""Of what can be divided, a tenth more than the fair share is nobody's worry."""
OVERLAP_SECONDS = 60.0
MOST_IN_ALL = 2**62
"""Sums must fit in 64 bits."""
BLOCK = 256
"""So many pieces of time are looked at together: as few people as then want something."""


class Spans(NamedTuple):
    """What people held or wanted, a place of each array for each."""

    owners: IntArray
    begins_us: IntArray
    ends_us: IntArray
    amounts: IntArray

    @classmethod
    def of(cls, rows: Sequence[tuple[int, int, int, int]]) -> "Spans":
        table = np.array(rows, dtype=np.int64).reshape(-1, 4)
        return cls(*table.T)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Beyond:
    """What one of them held beyond the fair share, over all the time in which it was that."""

    owner: int
    seconds: float
    held: float
    """On average, in the unit of the amounts."""
    share: float
    """The fair one, on average."""
    excess: float
    """Beyond it, times seconds."""
    times_us: IntArray
    """When: a row for each stretch, from and to."""


def level(demands: IntArray, capacity: IntArray) -> FloatArray:
    """Up to where everybody is served, for each row of demands; infinite where all can be."""
    ordered = np.sort(demands, axis=1)
    count = ordered.shape[1]
    served = np.cumsum(ordered, axis=1)
    before = served - ordered
    left = count - np.arange(count)
    even = (capacity[:, None] - before) / left
    # The first who wants more than an even part of what those before left over, and all after it.
    short = ordered > even
    first = np.argmax(short, axis=1)
    rows = np.arange(len(ordered))
    return np.where(short.any(axis=1), even[rows, first], np.inf)


def beyond_share(
    held: Spans, wanted: Spans, capacity: int | None, *, is_whole: bool
) -> list[Beyond]:
    """There is as much as the `capacity`, and never less than what is held; None for just that.

    What is whole cannot be divided: a share of 2.7 GPUs is one of 3.
    """
    if not wanted.owners.size or not held.owners.size:
        return []
    times = np.unique(np.concatenate([*held[1:3], *wanted[1:3]]))
    all_held, all_wanted = _Placed.of(held, times), _Placed.of(wanted, times)
    short = _too_little(all_held, all_wanted, times.size, capacity)
    pieces = np.flatnonzero(short)
    cut = _Cut(times, pieces, all_held.during(short), all_wanted.during(short))
    found: dict[int, list[_Part]] = {}
    for begin in range(0, pieces.size, BLOCK):
        end = min(begin + BLOCK, pieces.size)
        for part in _parts(cut, begin, end, capacity, is_whole=is_whole):
            found.setdefault(part.owner, []).append(part)
    return [_whole(owner, parts, times) for owner, parts in found.items()]


def _too_little(
    all_held: "_Placed", all_wanted: "_Placed", size: int, capacity: int | None
) -> NDArray[np.bool_]:
    """When somebody wants some, and there may be less than what all of them want."""
    held, wanted = all_held.running(size), all_wanted.running(size)
    people = np.union1d(all_held.owners, all_wanted.owners).size
    has = np.clip(held, capacity or 0, MOST_IN_ALL // people)
    found: NDArray[np.bool_] = (wanted > 0) & (held + wanted > has)
    return found


def most_held(held: Spans) -> int:
    """At once, for a minute in all: clocks differ, and one job's end may seem after the next's
    start."""
    if not held.owners.size:
        return 0
    times = np.unique(np.concatenate([held.begins_us, held.ends_us]))
    totals = _Placed.of(held, times).running(times.size)[: times.size - 1]
    order = np.argsort(-totals, kind="stable")
    seconds = np.cumsum(np.diff(times)[order]) / 1e6
    at = int(np.searchsorted(seconds, OVERLAP_SECONDS))
    return int(totals[order][min(at, order.size - 1)])


class _Placed(NamedTuple):
    owners: IntArray
    firsts: NDArray[Any]
    lasts: NDArray[Any]
    amounts: IntArray

    @classmethod
    def of(cls, spans: Spans, times: IntArray) -> "_Placed":
        firsts = np.searchsorted(times, spans.begins_us)
        return cls(spans.owners, firsts, np.searchsorted(times, spans.ends_us), spans.amounts)

    def running(self, size: int) -> IntArray:
        """The total at each moment."""
        steps = np.zeros(size + 1, dtype=np.int64)
        np.add.at(steps, self.firsts, self.amounts)
        np.subtract.at(steps, self.lasts, self.amounts)
        return np.cumsum(steps)

    def during(self, chosen: NDArray[np.bool_]) -> "_Placed":
        """As if there were no other pieces of time than those that are chosen."""
        before: IntArray = np.cumsum(chosen) - chosen
        placed = _Placed(self.owners, before[self.firsts], before[self.lasts], self.amounts)
        return placed.at(placed.firsts < placed.lasts)

    def within(self, begin: int, end: int) -> "_Placed":
        return self.at((self.firsts < end) & (self.lasts > begin))

    def at(self, chosen: NDArray[np.bool_]) -> "_Placed":
        return _Placed(*(array[chosen] for array in self))

    def matrix(self, owners: IntArray, begin: int, end: int) -> IntArray:
        """A row for each piece of time, a column for each owner."""
        steps = np.zeros((end - begin + 1, owners.size), dtype=np.int64)
        columns = np.searchsorted(owners, self.owners)
        np.add.at(steps, (np.maximum(self.firsts, begin) - begin, columns), self.amounts)
        np.subtract.at(steps, (np.minimum(self.lasts, end) - begin, columns), self.amounts)
        return np.cumsum(steps[:-1], axis=0)


class _Cut(NamedTuple):
    times: IntArray
    pieces: NDArray[Any]
    """Those in which there is too little: each begins at the time of that number. What is held and
    wanted is placed by them."""
    held: _Placed
    wanted: _Placed


class _Part(NamedTuple):
    owner: int
    pieces: NDArray[Any]
    held: float
    share: float
    excess: float


def _parts(
    cut: _Cut,
    begin: int,
    end: int,
    capacity: int | None,
    *,
    is_whole: bool,
) -> Iterator[_Part]:
    held_here, wanted_here = cut.held.within(begin, end), cut.wanted.within(begin, end)
    owners = np.unique(np.concatenate([held_here.owners, wanted_here.owners]))
    held = held_here.matrix(owners, begin, end)
    wanted = wanted_here.matrix(owners, begin, end)
    has = np.clip(held.sum(axis=1), capacity or 0, MOST_IN_ALL // owners.size)
    # Nobody can be given more than all of it.
    demands = np.minimum(held + wanted, has[:, None])
    short = np.flatnonzero(demands.sum(axis=1) > has)
    if not short.size:
        return
    held, demands = held[short], demands[short]
    shares = np.minimum(demands, level(demands, has[short])[:, None])
    over = held > np.ceil(shares - 1e-9) if is_whole else held > SLACK * shares
    excess = held - (np.ceil(shares - 1e-9) if is_whole else shares)
    pieces = cut.pieces[begin + short]
    seconds = (cut.times[pieces + 1] - cut.times[pieces]) / 1e6
    sums = [seconds @ (over * figures) for figures in (held, shares, excess)]
    for column in np.flatnonzero(over.any(axis=0)).tolist():
        owner, mine = int(owners[column]), pieces[over[:, column]]
        yield _Part(owner, mine, *(float(one[column]) for one in sums))


def _whole(owner: int, parts: Sequence[_Part], times: IntArray) -> Beyond:
    pieces = np.concatenate([part.pieces for part in parts])
    seconds = float((times[pieces + 1] - times[pieces]).sum() / 1e6)
    return Beyond(
        owner=owner,
        seconds=seconds,
        held=sum(part.held for part in parts) / seconds,
        share=sum(part.share for part in parts) / seconds,
        excess=sum(part.excess for part in parts),
        times_us=_stretches(pieces, times),
    )


def _stretches(pieces: NDArray[Any], times: IntArray) -> IntArray:
    """Neighbouring pieces in one."""
    breaks = np.flatnonzero(pieces[1:] - pieces[:-1] > 1)
    found = np.empty((breaks.size + 1, 2), dtype=np.int64)
    found[0, 0], found[1:, 0] = times[pieces[0]], times[pieces[breaks + 1]]
    found[:-1, 1], found[-1, 1] = times[pieces[breaks] + 1], times[pieces[-1] + 1]
    return found
