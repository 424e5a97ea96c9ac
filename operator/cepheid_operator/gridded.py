"""From what Prometheus has of a job's pods to arrays on one grid. Pure."""

from collections.abc import Iterable, Mapping

import numpy as np

from cepheid.agent.gridding import TimeGrid
from cepheid.analysis.grid import Grid, estimate_step
from cepheid.gpu_models import peaks_of, power_of
from cepheid.jobprofile import GpuHeld
from cepheid.jobs.pods import PodState
from cepheid.jobs.series import JobSeries, WorkerSeries, added, averaged
from cepheid.model import FloatArray
from cepheid.sources.jobs import PodHistory, Span
from cepheid.sources.reading import GpuReading, Signal, arrays

SHARES = (
    "gpu_util_percent",
    "engine_active_ratio",
    "tensor_active_ratio",
    "dram_active_ratio",
    "mem_copy_util_percent",
)
"""Averaged over the GPUs of a pod; all else of them is added up."""
AMOUNTS = ("gpu_memory_used_mib", "power_watts", "interconnect_bytes_per_second")
USUAL_STEP_SECONDS = 15.0


class JobGrid:
    """Put one pod after the other on it; what was read of each can then be dropped."""

    def __init__(self, span: Span) -> None:
        self._span = span
        self._grid: TimeGrid | None = None
        self._workers: dict[str, WorkerSeries] = {}
        self.gpus: list[GpuHeld] = []
        """Of all pods, as their exporter names them."""

    def add(self, history: PodHistory, pod: PodState) -> None:
        if not history.signals and not history.gpus:
            return
        if self._grid is None:
            self._grid = _grid(history, self._span)
        signals = dict(arrays(history.signals, self._grid))
        signals |= _of_gpus(history.gpus, self._grid)
        power = [power_of(gpu.model) for gpu in history.gpus if gpu.mig_id is None]
        self._workers[history.pod] = WorkerSeries(
            signals,
            role=pod.role,
            cpu_limit_cores=pod.total("cpu", limit=True),
            memory_limit_bytes=pod.total("memory", limit=True),
            gpu_memory_total_mib=_sum(gpu.memory_total_mib for gpu in history.gpus),
            power_idle_watts=_sum(None if one is None else one.idle_watts for one in power),
            power_limit_watts=_sum(None if one is None else one.limit_watts for one in power),
            tensor_peak_teraflops=_sum(_teraflops(gpu) for gpu in history.gpus),
            gpu_memory_most_mib=_most_memory(history.gpus),
        )
        self.gpus += [_held(gpu, pod.node) for gpu in history.gpus if pod.node is not None]

    def series(self) -> JobSeries | None:
        """None where nothing was measured."""
        if self._grid is None:
            return None
        start = float(self._grid.like.start_seconds)
        return JobSeries(self._grid.step_seconds, start, self._workers)


def _grid(history: PodHistory, span: Span) -> TimeGrid:
    step = span.step_seconds or _step(history) or USUAL_STEP_SECONDS
    first = np.floor(span.start_seconds / step) * step
    slots = max(1, int(np.ceil((span.end_seconds - first) / step)) + 1)
    return TimeGrid(Grid(float(first), step, np.full(slots, np.nan)))


def _step(history: PodHistory) -> float | None:
    """Of the GPUs, where there are any: their cycles are looked for."""
    of_gpus = [signal for gpu in history.gpus for signal in gpu.signals.values()]
    for signals in (of_gpus, list(history.signals.values())):
        steps = [step for signal in signals if (step := _signal_step(signal)) is not None]
        if steps:
            return max(steps)
    return None


def _signal_step(signal: Signal) -> float | None:
    return estimate_step(max(signal.parts, key=lambda part: part.times.size).times)


def _of_gpus(gpus: Iterable[GpuReading], grid: TimeGrid) -> dict[str, FloatArray]:
    each = [arrays(_own(gpu), grid) for gpu in gpus]
    found = {}
    for names, combine in ((SHARES, averaged), (AMOUNTS, added)):
        for name in names:
            values = combine([one[name] for one in each if name in one])
            if values is not None:
                found[name] = values
    return found


def _own(gpu: GpuReading) -> Mapping[str, Signal]:
    """Of a shared GPU the pod's own part, where its exporter tells it."""
    theirs = gpu.holdings[0].signals if len(gpu.holdings) == 1 else {}
    return {**gpu.signals, **theirs}


def _teraflops(gpu: GpuReading) -> float | None:
    """Of a shared GPU nobody can say whose work it did."""
    model = gpu.model if gpu.mig_profile is None else f"{gpu.model} MIG {gpu.mig_profile}"
    peaks = None if gpu.shared else peaks_of(model)
    return None if peaks is None else peaks.tensor_teraflops


def _most_memory(gpus: Iterable[GpuReading]) -> float | None:
    parts = [
        part.values * part.scale
        for gpu in gpus
        if (used := _own(gpu).get("gpu_memory_used_mib")) is not None
        for part in used.parts
    ]
    return max((float(values.max()) for values in parts if values.size), default=None)


def _held(gpu: GpuReading, node: str) -> GpuHeld:
    mig = None if gpu.mig_id is None else int(gpu.mig_id)
    return GpuHeld(node=node, index=gpu.index, mig=mig, model=gpu.model)


def _sum(amounts: Iterable[float | None]) -> float | None:
    known = list(amounts)
    return sum(one for one in known if one is not None) if known and None not in known else None
