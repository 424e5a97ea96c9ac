"""What the series of a job say: what it used as a whole, and what analysis makes of it.

Used at the same time is added up over the workers, shares are averaged. A kind of job, its cycle
and what holds it back are those of its leading worker, the one that most was measured of: workers
of one job do the same, and a sum of them all would blur it. What was not measured is not there.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cepheid.analysis.alias import confirm
from cepheid.analysis.bottleneck import bottlenecks
from cepheid.analysis.forecast import FEWEST_SAMPLES, forecast
from cepheid.analysis.jobrules import JobKind
from cepheid.analysis.jobtype import job_type
from cepheid.analysis.leak import find_leak
from cepheid.analysis.period import find_cycles
from cepheid.analysis.signals import Signals, known, measured, quantiles
from cepheid.annotations.facts import MB
from cepheid.jobprofile import CycleSeen, HeldBackBy, MemoryLeak, Spread, Usage, Worker
from cepheid.jobs.fields import one_line
from cepheid.jobs.lagging import lagging
from cepheid.jobs.series import Combine, JobSeries, WorkerSeries, added, averaged
from cepheid.model import Cycle, FloatArray

AVERAGED = ("power_watts", "engine_active_ratio", "tensor_active_ratio", "dram_active_ratio")
"""Means over the time between two samples: they cannot alias."""
# Where a cycle is looked for, what it is then called, and whether the signal is such a mean.
CYCLES = (
    ("power_watts", "power", True),
    ("engine_active_ratio", "engine", True),
    ("tensor_active_ratio", "tensor", True),
    ("dram_active_ratio", "dram", True),
    ("gpu_util_percent", "gpu_util", False),
    ("mem_copy_util_percent", "mem_copy_util", False),
    ("cpu_cores", "cpu", True),
)
HORIZON_SECONDS = 600.0
FORECASTS = 8
"""So often in a job's life it is foretold what comes, and seen what came."""
MOST_SHARE_UNMEASURED = 0.5
"""Of a worker's life; of more the energy is not known."""

_OF_SIGNALS = frozenset(Signals.__dataclass_fields__) - {"step_seconds", "cycles", "pods"}


@dataclass(frozen=True, slots=True)
class Measured:
    usage: Usage
    samples: int
    """Of the worker with the most."""
    interval_seconds: float
    workers: Mapping[str, Worker] = field(default_factory=dict)
    """By the name of the pod: the most that it used, and in which way it lags."""
    job_type: JobKind | None = None
    cycle: CycleSeen | None = None
    held_back_by: HeldBackBy | None = None
    leak: MemoryLeak | None = None
    forecast_error_percent: float | None = None


def measure(series: JobSeries) -> Measured | None:
    """None where nothing was measured of any worker."""
    leading = _leading(series)
    if leading is None:
        return None
    step = series.step_seconds
    cycles, metric = _cycles(leading, step)
    signals = _signals(leading, cycles, step)
    kind = job_type(signals).kind if _has_gpu(leading) else None
    return Measured(
        usage=_usage(series),
        samples=max(_samples(worker) for worker in series.workers.values()),
        interval_seconds=step,
        workers=_workers(series),
        job_type=kind,
        cycle=_seen(cycles, metric),
        held_back_by=_held_back_by(signals, kind),
        leak=_leak(series),
        forecast_error_percent=_forecast_error(leading, cycles, step),
    )


def _leading(series: JobSeries) -> WorkerSeries | None:
    """A GPU's first; of equals the first by name."""
    ranked = sorted(
        series.workers.items(), key=lambda one: (-_has_gpu(one[1]), -_samples(one[1]), one[0])
    )
    return ranked[0][1] if ranked and _samples(ranked[0][1]) else None


def _has_gpu(worker: WorkerSeries) -> bool:
    names = ("gpu_util_percent", "gpu_memory_used_mib", *AVERAGED)
    return any(known(worker.signals.get(name)).size for name in names)


def _samples(worker: WorkerSeries) -> int:
    return max((known(values).size for values in worker.signals.values()), default=0)


# How each figure of a job is made: from which signals of a worker, in which unit, how combined.
_USED: tuple[tuple[str, tuple[tuple[str, float], ...], Combine], ...] = (
    ("cpu_cores", (("cpu_cores", 1.0),), added),
    ("memory_bytes", (("memory_working_set_bytes", 1.0),), added),
    ("gpu_util_percent", (("gpu_util_percent", 1.0),), averaged),
    ("gpu_memory_bytes", (("gpu_memory_used_mib", float(MB)),), added),
    ("tensor_percent", (("tensor_active_ratio", 100.0),), averaged),
    ("power_watts", (("power_watts", 1.0),), added),
    (
        "network_bytes_per_second",
        (("network_receive_bytes_per_second", 1.0), ("network_transmit_bytes_per_second", 1.0)),
        added,
    ),
    (
        "disk_bytes_per_second",
        (("disk_read_bytes_per_second", 1.0), ("disk_write_bytes_per_second", 1.0)),
        added,
    ),
)
_OF_WORKERS = frozenset(Worker.__struct_fields__)


def _usage(series: JobSeries) -> Usage:
    spreads = {}
    for figure, parts, combine in _USED:
        each = [_part(worker, figure, parts) for worker in series.workers.values()]
        spreads[figure] = _spread(combine([values for values in each if values is not None]))
    return Usage(**spreads, energy_joules=_energy(series))


def _part(
    worker: WorkerSeries, figure: str, parts: tuple[tuple[str, float], ...]
) -> FloatArray | None:
    found = [
        scale * values
        for name, scale in parts
        if (values := measured(worker.signals.get(name))) is not None
    ]
    engine = measured(worker.signals.get("engine_active_ratio"), ceiling=1.0)
    if not found and figure == "gpu_util_percent" and engine is not None:
        found = [100.0 * engine]  # a MIG slice has no other
    if not found:
        return None
    total = sum(found[1:], start=found[0])
    return measured(total, ceiling=100.0) if figure.endswith("_percent") else total


def _spread(values: FloatArray | None) -> Spread | None:
    there = known(values)
    if not there.size:
        return None
    p95 = quantiles(values, 0.95)[0]
    return Spread(mean=float(there.mean()), p95=p95, max=float(there.max()), min=float(there.min()))


def _energy(series: JobSeries) -> float | None:
    """None where one worker's power is not known well enough: then neither is the sum."""
    total = 0.0
    each = [measured(values) for values in series.each("power_watts").values()]
    for values in each:
        if values is None:
            return None
        there = np.flatnonzero(np.isfinite(values))
        life = int(there[-1] - there[0]) + 1
        if there.size < (1 - MOST_SHARE_UNMEASURED) * life:
            return None
        total += float(values[there].mean()) * life * series.step_seconds
    return total if each and total >= 0 else None


def _workers(series: JobSeries) -> dict[str, Worker]:
    lags = lagging(series)
    found = {}
    for name, worker in series.workers.items():
        most: dict[str, Any] = {}
        for figure, parts, _ in _USED:
            there = known(_part(worker, figure, parts))
            if there.size and figure in _OF_WORKERS:
                most[figure] = float(there.max())
        found[name] = Worker(name=name, straggles=lags.get(name), **most)
    return found


def _cycles(worker: WorkerSeries, step_seconds: float) -> tuple[list[Cycle], str]:
    for name, called, is_average in CYCLES:
        values = worker.signals.get(name)
        cycles = [] if values is None else find_cycles(values, step_seconds)
        if not cycles or values is None:
            continue
        if is_average:
            cycles = [Cycle(c.period_seconds, c.strength, c.cycles_seen, True) for c in cycles]
        else:
            averages = [worker.signals[other] for other in AVERAGED if other in worker.signals]
            cycles = confirm(cycles, values, averages, step_seconds)
        return cycles, called
    return [], ""


def _seen(cycles: list[Cycle], metric: str) -> CycleSeen | None:
    if not cycles:
        return None
    first = cycles[0]
    return CycleSeen(
        period_seconds=first.period_seconds,
        strength=first.strength,
        metric=metric,
        confirmed=first.confirmed,
    )


def _signals(worker: WorkerSeries, cycles: list[Cycle], step_seconds: float) -> Signals:
    arrays = {name: values for name, values in worker.signals.items() if name in _OF_SIGNALS}
    return Signals(
        step_seconds=step_seconds,
        **arrays,
        gpu_memory_total_mib=worker.gpu_memory_total_mib,
        power_idle_watts=worker.power_idle_watts,
        power_limit_watts=worker.power_limit_watts,
        cpu_limit_cores=worker.cpu_limit_cores,
        memory_limit_bytes=worker.memory_limit_bytes,
        pods=1,
        cycles=cycles,
    )


def _held_back_by(signals: Signals, kind: JobKind | None) -> HeldBackBy | None:
    found = bottlenecks(signals, kind)
    if not found:
        return None
    worst = found[0]
    return HeldBackBy(
        kind=str(worst.kind),
        share_percent=min(100.0, 100 * worst.share),
        advice=one_line(worst.advice),
    )


def _leak(series: JobSeries) -> MemoryLeak | None:
    """The fastest, of all workers."""
    leaks = [
        find_leak(values, series.step_seconds)
        for values in series.each("memory_working_set_bytes").values()
    ]
    fastest = max(
        (leak for leak in leaks if leak is not None),
        key=lambda leak: leak.growth_per_second,
        default=None,
    )
    if fastest is None:
        return None
    return MemoryLeak(
        bytes_per_second=fastest.growth_per_second, confidence=min(1.0, fastest.confidence)
    )


def _forecast_error(worker: WorkerSeries, cycles: list[Cycle], step_seconds: float) -> float | None:
    """At several moments of its life what was foretold, against what came; percent of the level.

    Cycles are those that were confirmed over its whole life: each forecast knows them a little
    too early, but not one value that it foretells.
    """
    values = _load(worker)
    there = np.flatnonzero(np.isfinite(values)) if values is not None else np.empty(0, np.intp)
    if values is None or there.size < 2 * FEWEST_SAMPLES:
        return None
    values = values[there[0] : there[-1] + 1]
    steps = max(1, min(round(HORIZON_SECONDS / step_seconds), values.size // FORECASTS))
    confirmed = [cycle for cycle in cycles if cycle.confirmed is not False]
    missed = size = 0.0
    for foretold, came in _foretold(values, steps, confirmed, step_seconds):
        both = np.isfinite(came)
        missed += float(np.abs(foretold[both] - came[both]).sum())
        size += float(np.abs(came[both]).sum())
    return 100 * missed / size if size > 0 else None


def _foretold(
    values: FloatArray, steps: int, cycles: list[Cycle], step_seconds: float
) -> Iterator[tuple[FloatArray, FloatArray]]:
    first, last = max(FEWEST_SAMPLES, values.size // 4), values.size - steps
    for moment in np.unique(np.linspace(first, last, FORECASTS).astype(np.intp)):
        past = values[:moment]
        told = forecast(past, step_seconds, steps, cycles=cycles) if moment <= last else None
        if told is not None:
            yield told.mean, values[moment : moment + steps]


def _load(worker: WorkerSeries) -> FloatArray | None:
    for name in ("engine_active_ratio", "gpu_util_percent", "cpu_cores"):
        values = worker.signals.get(name)
        if known(values).size:
            return values
    return None
