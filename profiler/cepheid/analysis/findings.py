"""How the time of a GPU divides, and what is said of what costs it."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from cepheid.analysis.signals import GpuLoad, Signals, gpu_load, known, mean, measured
from cepheid.model import FloatArray

FEWEST_SAMPLES = 8
# What costs less of the time is not worth a person's.
WORTHWHILE = 0.1
# At its limit, or so near that the averaging over a sample hides the rest.
AT_LIMIT = 0.9
# Below this a network holds nobody back: the slowest one of a GPU node carries 125 MB/s.
BUSY_NETWORK = 2e7


class Cause(StrEnum):
    GPU = "gpu"
    CPU = "cpu"
    CPU_THROTTLED = "cpu-throttled"
    MEMORY = "memory"
    DISK = "disk"
    NETWORK = "network"
    INPUT = "input"
    PEERS = "peers"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Bottleneck:
    kind: Cause
    share: float
    """0 to 1: of the time, as far as it can be estimated. Memory costs none until it kills: for
    it half the share of the time spent near its limit."""
    evidence: Mapping[str, float]
    reason: str
    advice: str


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """The signals, and how the GPU's time divides: NaN where that was not measured."""

    signals: Signals
    load: GpuLoad
    has_gpu: bool
    """Whether enough of its activity was measured to speak of it."""
    pausing: FloatArray
    """In each sample the share of the time in which no kernel runs."""
    pauses: float
    waits: float
    cpu: FloatArray | None
    cpu_ratio: FloatArray | None
    throttled: float

    def in_pauses(self, array: FloatArray | None) -> float:
        return weighted(array, self.pausing)

    def outside(self, array: FloatArray | None) -> float:
        return weighted(array, 1 - self.pausing)


def divide(signals: Signals) -> Case:
    load = gpu_load(signals)
    cpu = measured(signals.cpu_cores)
    return Case(
        signals=signals,
        load=load,
        has_gpu=known(load.busy).size >= FEWEST_SAMPLES,
        pausing=np.empty(0) if load.busy is None else 1 - load.busy,
        pauses=1 - mean(load.busy),
        waits=mean(load.waiting),
        cpu=cpu,
        cpu_ratio=of_limit(cpu, signals.cpu_limit_cores),
        throttled=mean(measured(signals.throttled_ratio, ceiling=1.0)),
    )


def of_limit(array: FloatArray | None, limit: float | None) -> FloatArray | None:
    if array is None or limit is None or not 0 < limit < np.inf:
        return None
    return array / limit


def weighted(array: FloatArray | None, weights: FloatArray | None) -> float:
    """The mean where there is any weight; a sample without a weight or a value counts nothing."""
    if array is None or weights is None or weights.size != array.size:
        return np.nan
    both = np.isfinite(array) & np.isfinite(weights)
    total = float(weights[both].sum())
    return float((array[both] * weights[both]).sum()) / total if total > 0 else np.nan
