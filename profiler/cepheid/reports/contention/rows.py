"""What jobs held, or wanted, of one thing: as columns.

There are tens of thousands of them, and hardly any is ever looked at alone.
"""

from collections.abc import Iterator, Sequence
from itertools import chain
from operator import mul
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cepheid.reports.contention.holding import Stretch
from cepheid.reports.contention.shares import IntArray, Spans

Row = tuple[int, int, int, int]
"""Which job, by its place among those that are looked at; from, to, and how much."""
Alike = tuple[Sequence[int], int]
"""Jobs that have the same, and how much that is."""


class Times(NamedTuple):
    """When each job ran, or waited."""

    runs: Sequence[int]
    """Those that did."""
    from_to_us: IntArray
    """Two columns, by run."""

    @classmethod
    def of(cls, spans: Sequence[Stretch | None]) -> "Times":
        table = np.array([span or (0, 0) for span in spans], dtype=np.int64).reshape(-1, 2)
        return cls([run for run, span in enumerate(spans) if span is not None], table)


class Rows(NamedTuple):
    """A place of each array for each, in the order of the jobs."""

    runs: IntArray
    begins_us: IntArray
    ends_us: IntArray
    amounts: IntArray

    @classmethod
    def of(cls, rows: Sequence[Row]) -> "Rows":
        figures = np.fromiter(chain.from_iterable(rows), dtype=np.int64)
        runs, begins_us, ends_us, amounts = figures.reshape(-1, 4).T
        return cls(runs, begins_us, ends_us, amounts).in_order()

    @classmethod
    def alike(cls, groups: Sequence[Alike], times: Times) -> "Rows":
        runs = np.fromiter(chain.from_iterable(runs for runs, _ in groups), dtype=np.int64)
        counts = [len(runs) for runs, _ in groups]
        amounts = np.repeat(np.array([amount for _, amount in groups], dtype=np.int64), counts)
        return cls.during(times, runs, amounts).in_order()

    @classmethod
    def during(cls, times: Times, runs: IntArray, amounts: IntArray) -> "Rows":
        begins_us, ends_us = times.from_to_us[runs].T
        return cls(runs, begins_us, ends_us, amounts)

    def in_order(self) -> "Rows":
        return self.at(np.argsort(self.runs, kind="stable"))

    @classmethod
    def joined(cls, parts: Sequence["Rows"]) -> "Rows":
        if not parts:
            return cls.of(())
        return cls(*map(np.concatenate, zip(*parts, strict=True))).in_order()

    def at(self, chosen: NDArray[Any] | Sequence[int]) -> "Rows":
        return Rows(*(column[chosen] for column in self))

    def spans(self, owners: IntArray) -> Spans:
        """`owners` by run."""
        return Spans(owners[self.runs], *self[1:])

    def stretches(self) -> Iterator[Stretch]:
        return zip(self.begins_us.tolist(), self.ends_us.tolist(), strict=True)

    def each(self) -> Iterator[Row]:
        return zip(*(column.tolist() for column in self), strict=True)

    def amounts_us(self) -> list[int]:
        """How much times how long; no array, since 64 bits are too few for a year of memory."""
        lasted = (self.ends_us - self.begins_us).tolist()
        return [*map(mul, self.amounts.tolist(), lasted)]
