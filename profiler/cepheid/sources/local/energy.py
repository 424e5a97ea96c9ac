"""What the machine's CPUs and their memory draw: RAPL, of Intel and AMD alike."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from cepheid.errors import SourceError
from cepheid.sources.local import catalog
from cepheid.sources.local.files import Roots, names_in, number_of, read_bytes, text_of

_MICRO = 1e-6


@dataclass(slots=True, eq=False)
class Zone:
    path: str
    range_microjoules: float
    """Where its counter begins anew."""
    last_microjoules: float

    def grown_microjoules(self) -> float:
        now = float(read_bytes(f"{self.path}/energy_uj"))
        grown = now - self.last_microjoules
        self.last_microjoules = now
        return grown if grown >= 0 else max(grown + self.range_microjoules, 0.0)


@dataclass(slots=True, eq=False)
class CpuEnergy:
    zones: tuple[Zone, ...]
    columns: tuple[str, ...] = catalog.of("energy")
    _joules: float = field(default=0.0)

    def read(self) -> Sequence[float]:
        self._joules += sum(zone.grown_microjoules() for zone in self.zones) * _MICRO
        return (self._joules,)


def cpu_energy(roots: Roots) -> CpuEnergy | None:
    """None where the machine has no such counters; SourceError where they may not be read."""
    folder = f"{roots.sys}/class/powercap"
    zones = []
    for name in names_in(folder):
        path = f"{folder}/{name}"
        # Packages hold their cores and graphics, memory stands beside; `psys` holds all of it
        # again, and `intel-rapl-mmio` is the same by another way.
        if not name.startswith("intel-rapl:") or not (text_of(f"{path}/name") or "").startswith(
            ("package", "dram")
        ):
            continue
        try:
            now = float(read_bytes(f"{path}/energy_uj"))
        except PermissionError as error:
            raise SourceError(
                f"{path}/energy_uj may be read by root alone",
                hint=f"chmod a+r {folder}/intel-rapl:*/energy_uj, where that is no risk",
            ) from error
        zones.append(Zone(path, number_of(f"{path}/max_energy_range_uj") or 0.0, now))
    return CpuEnergy(tuple(zones)) if zones else None
