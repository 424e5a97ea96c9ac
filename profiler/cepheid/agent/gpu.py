"""From what was read of one GPU to what is said of it. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from cepheid.agent.forecasts import MIB_PER_GB, of_gpu
from cepheid.agent.gridding import TimeGrid
from cepheid.agent.recent import known, newest
from cepheid.analysis.alias import confirm
from cepheid.analysis.jobrules import JobKind
from cepheid.analysis.jobtype import EMPTY_MIB, job_type
from cepheid.analysis.period import find_cycles
from cepheid.analysis.signals import Signals
from cepheid.annotations.facts import CycleFacts, ForecastFacts, GpuFacts, HealthFacts
from cepheid.gpu_models import power_of
from cepheid.model import Cycle, FloatArray
from cepheid.sources.reading import GpuReading, NodeReading, PodReading, arrays
from cepheid.sources.reading import Signals as MeasuredSignals

AVERAGED = ("power_watts", "engine_active_ratio", "tensor_active_ratio", "dram_active_ratio")
"""Means over the time between two samples: they cannot alias."""
GAUGES = ("gpu_util_percent", "mem_copy_util_percent")
OF_GPU = (*AVERAGED, "gpu_util_percent", "gpu_memory_used_mib", "interconnect_bytes_per_second")
OF_POD = (
    "cpu_cores",
    "throttled_ratio",
    "memory_working_set_bytes",
    "network_receive_bytes_per_second",
    "network_transmit_bytes_per_second",
    "disk_read_bytes_per_second",
    "disk_write_bytes_per_second",
)
OF_HOLDER = (*OF_POD, "cpu_periods_per_second", "cpu_throttled_periods_per_second")
LOOKED_AT = (*OF_GPU, *GAUGES)
CYCLE_NAMES = {
    "power_watts": "power",
    "engine_active_ratio": "engine",
    "tensor_active_ratio": "tensor",
    "dram_active_ratio": "dram",
    "gpu_util_percent": "gpu_util",
    "mem_copy_util_percent": "mem_copy_util",
}
ENOUGH_FOR_CYCLES = 24
"""Samples, after which it may be said that there is none."""
YOUNG_SECONDS = 900.0
"""So long a GPU in new hands is looked at with every sample: its cycle may show with the next."""

LEAVING_SECONDS = 30.0
"""From one measurement of an exporter to the next, as it comes."""

Arrays = Mapping[str, FloatArray]
PodName = tuple[str, str]
"""Namespace and name."""


@dataclass(frozen=True, slots=True, eq=False)
class GpuView:
    """What one GPU's facts rest on, for its node and for the pods that hold it."""

    reading: GpuReading
    """The newest, also where the rest is a little older."""
    facts: GpuFacts
    arrays: Arrays
    holders: frozenset[PodName]
    """When it was looked at."""
    seen_seconds: float
    """Its newest sample then."""

    @property
    def settled(self) -> bool:
        """Whether all that can be said is said; else the next sample may bring it."""
        facts = self.facts
        if facts.job_type is JobKind.EMPTY:
            return True
        if facts.forecast is None or facts.cyclic_pattern is None:
            return False
        return (
            facts.cyclic_pattern or self.seen_seconds - self.reading.since_seconds > YOUNG_SECONDS
        )


def view_gpu(
    gpu: GpuReading,
    health: HealthFacts | None,
    reading: NodeReading,
    grid: TimeGrid,
    pods: Mapping[PodName, PodReading],
    horizon_seconds: float,
) -> GpuView:
    """Raises what analysis raises for one GPU; the others do not suffer from it."""
    measured = arrays(_only(gpu.signals, LOOKED_AT), grid)
    if health is not None and health.lost:
        # What it did before is no news, and what it does now is not known.
        facts = GpuFacts(gpu.index, mig_of(gpu), health=health)
        return GpuView(gpu, facts, measured, frozenset(holders_of(gpu)), gpu.newest_seconds)
    measured = _since(gpu.since_seconds, measured, grid)
    cycles, metric = _cycles(measured, grid.step_seconds)
    holders = holders_of(gpu)
    holder = pods.get(next(iter(holders))) if len(holders) == 1 else None
    used = newest(gpu.signals.get("gpu_memory_used_mib"))
    if not holders and used is not None and used < EMPTY_MIB:
        kind = JobKind.EMPTY  # at once: an average still tells of the last holder for a while
    else:
        signals = _signals(gpu, measured, cycles, holder, reading, grid, len(holders))
        kind = job_type(signals).kind
    total = gpu.memory_total_mib
    ahead = None
    if kind is JobKind.EMPTY:
        cycles = None  # it does nothing, and what comes is for a scheduler to say
    else:
        ahead = _forecast(measured, total, cycles, grid.step_seconds, horizon_seconds)
    facts = GpuFacts(
        index=gpu.index,
        mig=mig_of(gpu),
        mem_used_gb=None if used is None else used / MIB_PER_GB,
        mem_free_gb=None if total is None or used is None else max(total - used, 0) / MIB_PER_GB,
        pods=len(holders),
        cyclic_pattern=_cyclic(cycles),
        max_mem_util_percent=_max_percent(measured, "mem_copy_util_percent", "dram_active_ratio"),
        max_gpu_util_percent=_max_percent(measured, "gpu_util_percent", "engine_active_ratio"),
        job_type=kind,
        cycle=_cycle_facts(cycles, metric),
        forecast=ahead,
        health=health,
    )
    return GpuView(gpu, facts, measured, frozenset(holders), gpu.newest_seconds)


def just_left(gpu: GpuReading) -> bool:
    """Whether its holder went a moment ago, and its memory has not been measured since.

    Whose a GPU is an exporter knows at once, what it does only when it measures next.
    """
    used = newest(gpu.signals.get("gpu_memory_used_mib"))
    return (
        not gpu.holdings
        and used is not None
        and used >= EMPTY_MIB
        and gpu.newest_seconds - gpu.since_seconds < LEAVING_SECONDS
    )


def _only(signals: MeasuredSignals, names: Iterable[str]) -> MeasuredSignals:
    """Each costs: a grid is made for it."""
    return {name: signals[name] for name in names if name in signals}


def busy_percent(measured: Arrays) -> FloatArray | None:
    """The average where there is one; GPU_UTIL is a moment, and says only that some kernel ran."""
    engine = measured.get("engine_active_ratio")
    return measured.get("gpu_util_percent") if engine is None else 100 * engine


def holders_of(gpu: GpuReading) -> set[tuple[str, str]]:
    return {(h.holder.namespace, h.holder.pod) for h in gpu.holdings}


def mig_of(gpu: GpuReading) -> int | None:
    return int(gpu.mig_id) if gpu.mig_id is not None and gpu.mig_id.isdecimal() else None


def _since(seconds: float, measured: Arrays, grid: TimeGrid) -> dict[str, FloatArray]:
    """What was measured before is another's."""
    before = grid.times() <= seconds - grid.step_seconds  # the slot of its first sample is its own
    if not before.any():
        return dict(measured)
    return {name: np.where(before, np.nan, values) for name, values in measured.items()}


def _cycles(measured: Arrays, step_seconds: float) -> tuple[list[Cycle] | None, str]:
    """None where there was too little to look at; averaged signals first, since they are right."""
    looked = False
    for name in (*AVERAGED, *GAUGES):
        values = measured.get(name)
        if values is None:
            continue
        looked = looked or int(np.isfinite(values).sum()) >= ENOUGH_FOR_CYCLES
        cycles = find_cycles(values, step_seconds)
        if not cycles:
            continue
        averaged = [measured[other] for other in AVERAGED if other in measured]
        if name in AVERAGED:
            cycles = [Cycle(c.period_seconds, c.strength, c.cycles_seen, True) for c in cycles]
        else:
            cycles = confirm(cycles, values, averaged, step_seconds)
        return cycles, CYCLE_NAMES[name]
    return ([] if looked else None), ""


def _cyclic(cycles: list[Cycle] | None) -> bool | None:
    return None if cycles is None else any(cycle.confirmed is not False for cycle in cycles)


def _cycle_facts(cycles: list[Cycle] | None, metric: str) -> CycleFacts | None:
    if not cycles:
        return None
    first = cycles[0]
    return CycleFacts(first.period_seconds, first.strength, metric, first.confirmed)


def _signals(
    gpu: GpuReading,
    measured: Arrays,
    cycles: list[Cycle] | None,
    holder: PodReading | None,
    reading: NodeReading,
    grid: TimeGrid,
    pods: int,
) -> Signals:
    of_pod = {} if holder is None else arrays(_only(holder.signals, OF_HOLDER), grid)
    power = power_of(gpu.model)
    limit = newest(gpu.signals.get("power_limit_watts"))
    known: dict[str, Any] = {name: measured[name] for name in OF_GPU if name in measured}
    known |= {name: of_pod[name] for name in OF_POD if name in of_pod}
    return Signals(
        step_seconds=grid.step_seconds,
        **known,
        gpu_memory_total_mib=gpu.memory_total_mib,
        power_idle_watts=None if power is None else power.idle_watts,
        power_limit_watts=limit or (None if power is None else power.limit_watts),
        cpu_limit_cores=reading.cpu_cores_total,
        pods=pods,
        cycles=cycles,
    )


def _forecast(
    measured: Arrays,
    total_mib: float | None,
    cycles: list[Cycle] | None,
    step_seconds: float,
    horizon_seconds: float,
) -> ForecastFacts | None:
    return of_gpu(
        busy_percent(measured),
        measured.get("gpu_memory_used_mib"),
        total_mib,
        [cycle for cycle in cycles or () if cycle.confirmed is not False],
        step_seconds=step_seconds,
        horizon_seconds=horizon_seconds,
    )


def _max_percent(measured: Arrays, percent: str, ratio: str) -> float | None:
    for name, scale in ((percent, 1.0), (ratio, 100.0)):
        values = known(measured.get(name))
        if values.size:
            return min(100.0, scale * float(values.max()))
    return None
