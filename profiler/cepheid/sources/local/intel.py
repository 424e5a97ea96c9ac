"""Intel's GPUs, by the files of their drivers i915 and xe in /sys.

How busy one is they do not tell. They tell for how long it slept (RC6), which it does within
milliseconds of its last work: the rest of the time is counted as busy.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from cepheid.sources.local.drm import Card, cards, memory_bytes
from cepheid.sources.local.facts import GpuFacts
from cepheid.sources.local.files import Roots, number_of, text_of
from cepheid.sources.local.gpus import MIB, GpuReading
from cepheid.sources.local.processes import Tree
from cepheid.sources.local.seldom import Seldom

VENDOR = "0x8086"
_MICRO = 1e-6
_SLEPT = (
    "gt/gt0/rc6_residency_ms",
    "device/tile0/gt0/gtidle/idle_residency_ms",
    "power/rc6_residency_ms",
)
_SHORTEST_SECONDS = 0.02
"""The counter is in ms: over less time its rounding would be the figure."""


@dataclass(slots=True, eq=False)
class _Sleep:
    path: str | None
    now: Callable[[], float]
    _last: tuple[float, float] | None = None
    _percent: float = math.nan

    def __post_init__(self) -> None:
        self.busy_percent()

    def busy_percent(self) -> float:
        """Since the last time."""
        slept, now = None if self.path is None else number_of(self.path), self.now()
        if slept is None:
            return math.nan
        if self._last is not None:
            passed, asleep = now - self._last[0], (slept - self._last[1]) / 1000
            if passed < _SHORTEST_SECONDS:
                return self._percent
            # The counter of 32 bits begins anew, or the driver did.
            share = math.nan if asleep < 0 else min(max(1 - asleep / passed, 0.0), 1.0)
            self._percent = 100 * share
        self._last = (now, slept)
        return self._percent


@dataclass(slots=True, eq=False)
class Intel:
    tree: Tree
    roots: Roots
    cards: tuple[Card, ...]
    gpus: tuple[GpuFacts, ...]
    now: Callable[[], float] = time.monotonic
    troubles: dict[str, str] = field(default_factory=dict)
    seldom: Seldom = field(default_factory=Seldom)
    _sleeps: dict[str, _Sleep] = field(default_factory=dict)
    _energy: dict[str, str | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for card in self.cards:
            files = (f"{card.folder}/{name}" for name in _SLEPT)
            there = next((path for path in files if number_of(path) is not None), None)
            self._sleeps[card.address] = _Sleep(there, self.now)
            self._energy[card.address] = card.sensor("energy1_input", "energy2_input")

    def read(self) -> Sequence[GpuReading]:
        held: dict[str, float] | None = None
        if self.seldom.due():
            held = memory_bytes(self.tree.pids, self.roots)
            self.seldom.done()
        return [self._one(card, held) for card in self.cards]

    def close(self) -> None:
        """Files are closed as soon as they are read."""

    def _one(self, card: Card, held: dict[str, float] | None) -> GpuReading:
        tree = math.nan if held is None else held.get(card.address, 0.0) / MIB
        if card.asleep:
            return GpuReading(gpu_util_percent=0.0, gpu_tree_memory_mib=tree)
        total = number_of(f"{card.folder}/lmem_total_bytes")
        free = number_of(f"{card.folder}/lmem_avail_bytes")
        energy = self._energy[card.address]
        joules = None if energy is None else number_of(energy)
        return GpuReading(
            gpu_util_percent=self._sleeps[card.address].busy_percent(),
            gpu_memory_used_mib=(total - free) / MIB if total and free is not None else math.nan,
            gpu_tree_memory_mib=tree,
            gpu_energy_joules=math.nan if joules is None else joules * _MICRO,
        )


def intel_gpus(
    tree: Tree, roots: Roots, first_index: int, now: Callable[[], float] = time.monotonic
) -> Intel | None:
    found = tuple(cards(roots, VENDOR))
    if not found:
        return None
    gpus = tuple(_facts(card, first_index + place) for place, card in enumerate(found))
    return Intel(tree, roots, found, gpus, now)


def _facts(card: Card, index: int) -> GpuFacts:
    total = number_of(f"{card.folder}/lmem_total_bytes") or number_of(
        f"{card.device}/tile0/physical_vram_size_bytes"
    )
    limit = card.sensor("power1_max", "power1_cap", "power1_rated_max")
    watts = None if limit is None else number_of(limit)
    kind = text_of(f"{card.device}/device")
    return GpuFacts(
        index=index,
        vendor="intel",
        model=f"Intel GPU {kind}" if kind else None,
        memory_total_mib=total / MIB if total else None,
        power_limit_watts=watts * _MICRO if watts else None,
        # Where Intel's processors have theirs, always.
        integrated=card.address == "0000:00:02.0",
    )
