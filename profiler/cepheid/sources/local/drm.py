"""Graphics cards as Linux shows them in /sys, and which memory on them is the tree's."""

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from cepheid.sources.local.files import Roots, names_in, number_of, read_bytes, text_of
from cepheid.sources.local.procfs import GONE

_CARD = re.compile(r"card\d+")
_DEVICE_MEMORY = re.compile(r"drm-(resident|memory|total)-(?:vram|local)\d*")
_UNITS = {"": 1.0, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30}
# As kernels came to say it: `resident` holds what is there now, `memory` is its elder, `total`
# what could be.
_TELLING = ("resident", "memory", "total")


@dataclass(frozen=True, slots=True)
class Card:
    folder: str
    """/sys/class/drm/card0"""
    address: str
    """On the PCI bus: 0000:03:00.0."""

    @property
    def device(self) -> str:
        return f"{self.folder}/device"

    @property
    def asleep(self) -> bool:
        """Then it computes nothing, and to ask it more would wake it."""
        return text_of(f"{self.device}/power/runtime_status") == "suspended"

    def sensor(self, *names: str) -> str | None:
        """The path of the first of these sensors that can be read."""
        for name in names:
            for chip in names_in(f"{self.device}/hwmon"):
                path = f"{self.device}/hwmon/{chip}/{name}"
                if number_of(path) is not None:
                    return path
        return None


def cards(roots: Roots, vendor: str) -> Iterator[Card]:
    """Of one maker, by the number that the PCI bus knows him by."""
    for name in names_in(f"{roots.sys}/class/drm"):
        folder = f"{roots.sys}/class/drm/{name}"
        if _CARD.fullmatch(name) and text_of(f"{folder}/device/vendor") == vendor:
            yield Card(folder, os.path.basename(os.path.realpath(f"{folder}/device")))  # noqa: PTH119


def memory_bytes(pids: Iterable[int], roots: Roots) -> dict[str, float]:
    """By the card's address. What a process opened twice, or shares with its child, counts once."""
    clients: dict[tuple[str, str], float] = {}
    for pid in pids:
        for text in _opened(pid, roots):
            found = dict(line.partition(":")[::2] for line in text.splitlines())
            address = found.get("drm-pdev", "").strip()
            amount = _device_memory(found)
            if address and amount is not None:
                client = found.get("drm-client-id", f"{pid}").strip()
                clients[address, client] = max(amount, clients.get((address, client), 0.0))
    total: dict[str, float] = {}
    for (address, _), amount in clients.items():
        total[address] = total.get(address, 0.0) + amount
    return total


def _opened(pid: int, roots: Roots) -> Iterator[str]:
    folder = f"{roots.proc}/{pid}"
    for number in names_in(f"{folder}/fd"):
        try:
            if os.readlink(f"{folder}/fd/{number}").startswith("/dev/dri/"):  # noqa: PTH115
                yield read_bytes(f"{folder}/fdinfo/{number}").decode(errors="replace")
        except GONE:
            continue


def _device_memory(found: dict[str, str]) -> float | None:
    amounts: dict[str, float] = {}
    for key, value in found.items():
        kind = _DEVICE_MEMORY.fullmatch(key)
        number, _, unit = value.strip().partition(" ")
        if kind is not None and number.isdecimal() and unit in _UNITS:
            amounts[kind[1]] = amounts.get(kind[1], 0.0) + float(number) * _UNITS[unit]
    return next((amounts[kind] for kind in _TELLING if kind in amounts), None)
