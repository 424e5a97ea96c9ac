"""From what was read to what is said of the node and of each of its pods. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Self

import numpy as np

from cepheid.agent.forecasts import MIB_PER_GB, of_share
from cepheid.agent.gpu import GpuView, PodName, busy_percent, holders_of, mig_of
from cepheid.agent.gridding import TimeGrid
from cepheid.agent.recent import known, newest, recent, span_of
from cepheid.analysis.jobrules import JobKind
from cepheid.annotations.facts import (
    MB,
    ForecastFacts,
    NodeFacts,
    PodFacts,
    PodGpuFacts,
    StaticFacts,
)
from cepheid.model import FloatArray
from cepheid.sources.reading import GpuReading, NodeReading, PodReading, Signals, arrays

USED = (
    "cpu_cores",
    "memory_working_set_bytes",
    "network_receive_bytes_per_second",
    "network_transmit_bytes_per_second",
    "disk_read_bytes_per_second",
    "disk_write_bytes_per_second",
)


@dataclass(frozen=True, slots=True)
class NodeOutlook:
    """What comes for the node itself."""

    cpu: ForecastFacts | None
    memory: ForecastFacts | None

    @classmethod
    def of(cls, reading: NodeReading, grid: TimeGrid, horizon_seconds: float) -> Self:
        names = ("cpu_cores", "memory_working_set_bytes")
        wanted = {name: reading.node[name] for name in names if name in reading.node}
        measured = arrays(wanted, grid)
        cpu, memory = (measured.get(name) for name in names)
        times = {"step_seconds": grid.step_seconds, "horizon_seconds": horizon_seconds}
        return cls(
            of_share(cpu, reading.cpu_cores_total, **times),
            of_share(memory, reading.memory_bytes_total, **times),
        )


def node_facts(
    reading: NodeReading,
    views: Sequence[GpuView],
    outlook: NodeOutlook,
    valid_until_seconds: float,
) -> NodeFacts:
    return NodeFacts(
        static=_static(reading.gpus),
        gpus=tuple(view.facts for view in views),
        cpu_forecast=outlook.cpu,
        mem_forecast=outlook.memory,
        free_gpu_score=_free_score(views),
        valid_until=datetime.fromtimestamp(int(valid_until_seconds), UTC),
    )


def _static(gpus: Sequence[GpuReading]) -> StaticFacts | None:
    if not gpus:
        return None
    boards = {(gpu.index, gpu.uuid) for gpu in gpus}
    models = {gpu.model for gpu in gpus}
    whole = [gpu.memory_total_mib for gpu in gpus if gpu.mig_id is None]
    totals = {None if total is None else round(total / MIB_PER_GB) for total in whole}
    return StaticFacts(
        count=len(boards),
        model=models.pop() if len(models) == 1 else None,
        mem_gb=float(memory) if len(totals) == 1 and (memory := totals.pop()) else None,
    )


def _free_score(views: Sequence[GpuView]) -> int | None:
    """Mean over the GPUs: all of an empty one, of others what their forecast leaves; lost: none."""
    shares = []
    for view in views:
        facts = view.facts
        if facts.health is not None and facts.health.lost:
            shares.append(0.0)
        elif facts.job_type is JobKind.EMPTY:
            shares.append(100.0)
        elif facts.forecast is not None and facts.forecast.util_mean_percent is not None:
            shares.append(100.0 - facts.forecast.util_mean_percent)
        else:
            return None  # not known of one is not known of the node
    return round(float(np.mean(shares))) if shares else None


def pod_facts(
    pod: PodReading,
    node_name: str,
    views: Sequence[GpuView],
    reading: NodeReading,
    grid: TimeGrid,
    cpu_limit_cores: float | None,
) -> PodFacts:
    name = (pod.namespace, pod.name)
    held = [view for view in views if name in holders_of(view.reading)]
    alone = [view for view in held if not view.reading.shared]
    first = alone[0].facts if alone else held[0].facts if held else None
    shared = bool(held) and not alone
    span = span_of(first.cycle.period_seconds if first is not None and first.cycle else None)
    now = {name: recent(pod.signals.get(name), pod.newest_seconds, span) for name in USED}
    limit = cpu_limit_cores or reading.cpu_cores_total
    cores = now["cpu_cores"]
    network = _sum(now, "network_receive_bytes_per_second", "network_transmit_bytes_per_second")
    disk = _sum(now, "disk_read_bytes_per_second", "disk_write_bytes_per_second")
    return PodFacts(
        node=node_name if held else None,
        cpu_util_percent=None if cores is None or not limit else 100 * cores / limit,
        cpu_mem_mb=_per(now["memory_working_set_bytes"], MB),
        network_mbps=_per(network, 1e6 / 8),
        disk_io_mbps=_per(disk, 1e6),
        gpus=tuple(_pod_gpu(view, name, grid, round(span / grid.step_seconds)) for view in held),
        job_type=None if first is None else first.job_type,
        cycle=None if first is None or first.cycle is None else replace(first.cycle, shared=shared),
        forecast=None
        if first is None or first.forecast is None
        else replace(first.forecast, shared=shared),
    )


def _pod_gpu(view: GpuView, name: PodName, grid: TimeGrid, steps: int) -> PodGpuFacts:
    """Of a shared GPU the pod's own part, where the exporter tells it; else all, and so said."""
    if view.facts.health is not None and view.facts.health.lost:
        return PodGpuFacts(view.reading.index, mig_of(view.reading))
    own: Signals = {}
    for holding in view.reading.holdings:
        if (holding.holder.namespace, holding.holder.pod) == name:
            own = holding.signals
    util = arrays(own, grid).get("gpu_util_percent")
    if util is None:
        util = busy_percent(view.arrays)
    memory = own.get("gpu_memory_used_mib", view.reading.signals.get("gpu_memory_used_mib"))
    return PodGpuFacts(
        index=view.reading.index,
        mig=mig_of(view.reading),
        util_percent=_recent(util, steps),
        mem_mb=newest(memory),
        shared=view.reading.shared and not own,
    )


def _recent(values: FloatArray | None, steps: int) -> float | None:
    """Of the last that were measured, also if nothing has been for a while."""
    lately = known(values)[-max(1, steps) :]
    return float(lately.mean()) if lately.size else None


def _sum(values: Mapping[str, float | None], *names: str) -> float | None:
    known = [value for name in names if (value := values.get(name)) is not None]
    return sum(known) if known else None


def _per(value: float | None, unit: float) -> float | None:
    return None if value is None else value / unit
