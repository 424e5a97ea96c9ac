"""What the tree read from disks and wrote to them.

A process' counters hold those of the children that it waited for. Of others what was last seen is
kept; where this process adopts the tree's orphans, its own counters hold theirs, beside its own.
"""

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field

from cepheid.sources.local import catalog
from cepheid.sources.local.processes import MANY, Member, Tree
from cepheid.sources.local.procfs import disk_bytes

Bytes = tuple[float, float]
NOTHING = (0.0, 0.0)


@dataclass(slots=True, eq=False)
class DiskTraffic:
    tree: Tree
    columns: tuple[str, ...] = catalog.of("io")
    _last: dict[Member, Bytes] = field(default_factory=dict)
    _estate: Bytes = NOTHING
    """Of processes that have ended, and that no counter of a living one holds."""
    _adopted_before: Bytes | None = None
    _highest: Bytes = NOTHING
    _turn: int = 0
    _threads: dict[str, Bytes] = field(default_factory=dict)
    """Of this process, those that have ended too: what they did is not its children's."""

    def __post_init__(self) -> None:
        if self.tree.reaper == os.getpid():
            self._adopted_before = self._of_children()

    def read(self) -> Sequence[float]:
        members = [member for member in self.tree.members if member.reading.alive]
        # Of whoever inherits it must be known whether he did.
        heirs = {departed.heir for departed in self.tree.departed}
        turns = 1 + len(members) // MANY
        self._turn += 1
        now: dict[Member, Bytes] = {}
        for place, member in enumerate(members):
            counted = self._last.get(member)
            if counted is None or (place + self._turn) % turns == 0 or member in heirs:
                counted = self.tree.processes.disk_bytes(member.reading.pid)
            if counted is not None:
                now[member] = counted
        self._inherit(now)
        self._last = now
        outside = self._estate
        if self._adopted_before is not None and (adopted := self._of_children()) is not None:
            outside = _higher(outside, _less(adopted, self._adopted_before))
        if not now and outside == NOTHING and not self._seen_any():
            return (math.nan, math.nan)
        total = outside
        for counted in now.values():
            total = _plus(total, counted)
        self._highest = _higher(self._highest, total)
        return self._highest

    def _seen_any(self) -> bool:
        return self._highest != NOTHING or self._adopted_before is not None

    def _inherit(self, now: dict[Member, Bytes]) -> None:
        """Whoever waited for one that ended has at least as much more."""
        left: dict[Member | None, Bytes] = {}
        for departed in self.tree.departed:
            heir = departed.heir if departed.heir in now else None
            had = self._last.get(departed.member, NOTHING)
            left[heir] = _plus(left.get(heir, NOTHING), had)
        for heir, expected in left.items():
            grown = NOTHING if heir is None else _less(now[heir], self._last.get(heir, NOTHING))
            self._estate = _plus(self._estate, _less(expected, grown))

    def _of_children(self) -> Bytes | None:
        """Of those that this process waited for: its counters less those of its threads."""
        this = f"/proc/{os.getpid()}"
        whole = disk_bytes(f"{this}/io")
        if whole is None:
            return None
        for thread in os.listdir(f"{this}/task"):  # noqa: PTH208
            counted = disk_bytes(f"{this}/task/{thread}/io")
            if counted is not None:
                self._threads[thread] = counted
        own = NOTHING
        for counted in self._threads.values():
            own = _plus(own, counted)
        return _less(whole, own)


def _plus(one: Bytes, other: Bytes) -> Bytes:
    return one[0] + other[0], one[1] + other[1]


def _less(one: Bytes, other: Bytes) -> Bytes:
    """Never below nothing."""
    return max(one[0] - other[0], 0.0), max(one[1] - other[1], 0.0)


def _higher(one: Bytes, other: Bytes) -> Bytes:
    return max(one[0], other[0]), max(one[1], other[1])
