"""AMD's GPUs, by the files that their driver in the kernel has in /sys."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from cepheid.sources.local.drm import Card, cards, memory_bytes
from cepheid.sources.local.facts import GpuFacts, printable
from cepheid.sources.local.files import Roots, names_in, number_of, text_of
from cepheid.sources.local.gpus import MIB, GpuReading
from cepheid.sources.local.processes import Tree
from cepheid.sources.local.seldom import Seldom

VENDOR = "0x1002"
_MICRO = 1e-6
_CARVED_OUT_MIB = 2048.0
"""Below it the memory is a piece of the machine's: no card for computing has so little."""


@dataclass(slots=True, eq=False)
class Amd:
    tree: Tree
    roots: Roots
    cards: tuple[Card, ...]
    gpus: tuple[GpuFacts, ...]
    troubles: dict[str, str] = field(default_factory=dict)
    seldom: Seldom = field(default_factory=Seldom)
    _power: dict[str, str | None] = field(default_factory=dict)
    _energy: dict[str, str | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for card in self.cards:
            self._power[card.address] = card.sensor("power1_average", "power1_input")
            self._energy[card.address] = card.sensor("energy1_input")

    def read(self) -> Sequence[GpuReading]:
        held: dict[str, float] | None = None
        if self.seldom.due():
            pids = self.tree.pids
            held = _compute_bytes(pids, self.roots)
            for address, amount in memory_bytes(pids, self.roots).items():
                held[address] = max(amount, held.get(address, 0.0))
            self.seldom.done()
        return [self._one(card, held) for card in self.cards]

    def close(self) -> None:
        """Files are closed as soon as they are read."""

    def _one(self, card: Card, held: dict[str, float] | None) -> GpuReading:
        tree = math.nan if held is None else held.get(card.address, 0.0) / MIB
        if card.asleep:
            return GpuReading(gpu_util_percent=0.0, gpu_tree_memory_mib=tree)
        used = number_of(f"{card.device}/mem_info_vram_used")
        return GpuReading(
            gpu_util_percent=_or_nan(number_of(f"{card.device}/gpu_busy_percent")),
            mem_copy_util_percent=_or_nan(number_of(f"{card.device}/mem_busy_percent")),
            gpu_memory_used_mib=_or_nan(used) / MIB,
            gpu_tree_memory_mib=tree,
            gpu_power_watts=_sensed(self._power[card.address]) * _MICRO,
            gpu_energy_joules=_sensed(self._energy[card.address]) * _MICRO,
        )


def amd_gpus(tree: Tree, roots: Roots, first_index: int) -> Amd | None:
    found = tuple(
        card
        for card in cards(roots, VENDOR)
        if text_of(f"{card.device}/mem_info_vram_total") is not None
    )
    if not found:
        return None
    gpus = tuple(_facts(card, first_index + place) for place, card in enumerate(found))
    return Amd(tree, roots, found, gpus)


def _facts(card: Card, index: int) -> GpuFacts:
    total = number_of(f"{card.device}/mem_info_vram_total")
    memory = None if total is None else total / MIB
    limit = card.sensor("power1_cap")
    kind = text_of(f"{card.device}/device")
    return GpuFacts(
        index=index,
        vendor="amd",
        model=printable(text_of(f"{card.device}/product_name"))
        or (f"AMD GPU {kind}" if kind else None),
        uuid=text_of(f"{card.device}/unique_id"),
        memory_total_mib=memory,
        power_limit_watts=None if limit is None else _sensed(limit) * _MICRO,
        integrated=memory is not None and memory < _CARVED_OUT_MIB,
    )


def _compute_bytes(pids: Sequence[int], roots: Roots) -> dict[str, float]:
    """What ROCm's processes hold, by the card's address: its driver for computing tells that."""
    kfd = f"{roots.sys}/class/kfd/kfd"
    held: dict[str, float] = {}
    addresses: dict[str, str] | None = None
    for pid in pids:
        for name in names_in(f"{kfd}/proc/{pid}"):
            if not name.startswith("vram_"):
                continue
            if addresses is None:
                addresses = _addresses(kfd)
            address = addresses.get(name.removeprefix("vram_"))
            amount = number_of(f"{kfd}/proc/{pid}/{name}")
            if address is not None and amount is not None:
                held[address] = held.get(address, 0.0) + amount
    return held


def _addresses(kfd: str) -> dict[str, str]:
    """By the number that the driver for computing gives a GPU: its address on the bus."""
    found = {}
    for node in names_in(f"{kfd}/topology/nodes"):
        folder = f"{kfd}/topology/nodes/{node}"
        number = text_of(f"{folder}/gpu_id")
        lines = (text_of(f"{folder}/properties") or "").splitlines()
        properties = dict(line.partition(" ")[::2] for line in lines)
        place, domain = properties.get("location_id", ""), properties.get("domain", "0")
        if number and place.isdecimal() and domain.isdecimal():
            at = int(place)
            found[number] = f"{int(domain):04x}:{at >> 8:02x}:{at >> 3 & 0x1F:02x}.{at & 7:x}"
    return found


def _sensed(path: str | None) -> float:
    return math.nan if path is None else _or_nan(number_of(path))


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value
