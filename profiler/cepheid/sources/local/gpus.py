"""All GPUs of the machine, in one row of numbers, whoever made them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Protocol

from cepheid.sources.local import catalog
from cepheid.sources.local.facts import GpuFacts

NAN = math.nan
MIB = 2.0**20


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuReading:
    """In the order of the catalog's columns."""

    gpu_util_percent: float = NAN
    mem_copy_util_percent: float = NAN
    gpu_memory_used_mib: float = NAN
    gpu_tree_memory_mib: float = NAN
    gpu_power_watts: float = NAN
    gpu_energy_joules: float = NAN


MEASURES = tuple(measure.name for measure in fields(GpuReading))


class Maker(Protocol):
    """The GPUs of one maker, by his driver."""

    gpus: tuple[GpuFacts, ...]
    troubles: dict[str, str]
    """Which of them cannot be read any more, and why; the others still are."""

    def read(self) -> Sequence[GpuReading]: ...

    def close(self) -> None: ...


class Gpus:
    """Of one maker, as a collector."""

    def __init__(self, maker: Maker) -> None:
        self.maker = maker
        self.columns = tuple(
            f"{name}.{gpu.index}" for gpu in maker.gpus for name in catalog.of("gpu")
        )

    @property
    def troubles(self) -> dict[str, str]:
        return self.maker.troubles

    def read(self) -> Sequence[float]:
        return [getattr(reading, measure) for reading in self.maker.read() for measure in MEASURES]

    def close(self) -> None:
        self.maker.close()
