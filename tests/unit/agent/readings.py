"""Readings of a node made by hand, as the reader would give them."""

import numpy as np

from cepheid.model import FloatArray
from cepheid.sources.catalog import Kind, Source
from cepheid.sources.reading import (
    GpuReading,
    Holder,
    Holding,
    NodeReading,
    Part,
    PodReading,
    Signal,
    Xid,
)

STEP = 15.0
SLOTS = 240
NOW = 1_800_000_000.0
TIMES = NOW - STEP * np.arange(SLOTS - 1, -1, -1, dtype=np.float64)


def gauge(values: FloatArray | float, times: FloatArray = TIMES) -> Signal:
    filled = np.broadcast_to(np.asarray(values, dtype=np.float64), times.shape)
    return Signal((Part("", Kind.GAUGE, 1.0, times, filled),))


def counter(rates: FloatArray | float, scale: float, times: FloatArray = TIMES) -> Signal:
    """What grows so fast between two samples, times `scale` in its own unit."""
    growth = np.broadcast_to(np.asarray(rates, dtype=np.float64), times.shape)
    total = 1e6 + np.cumsum(growth) * STEP / scale
    return Signal((Part("", Kind.COUNTER, scale, times, total),))


def gpu(
    index: int = 0,
    *,
    busy: FloatArray | float = 0.0,
    memory_mib: FloatArray | float = 30_000.0,
    holders: tuple[tuple[str, str], ...] = (("team", "train"),),
    since_seconds: float = NOW - 7200,
    xid: Xid | None = None,
    times: FloatArray = TIMES,
    mig_id: str | None = None,
) -> GpuReading:
    """An A100 of which a kernel runs `busy` of the time, drawing power accordingly."""
    share = np.broadcast_to(np.asarray(busy, dtype=np.float64), times.shape)
    return GpuReading(
        source=Source.DCGM,
        index=index,
        uuid=f"GPU-{index}",
        model="NVIDIA A100-SXM4-80GB",
        mig_profile=None if mig_id is None else "1g.10gb",
        mig_id=mig_id,
        holdings=tuple(Holding(Holder(*holder, "main"), since_seconds) for holder in holders),
        since_seconds=since_seconds,
        shared=len(holders) > 1,
        signals={
            "gpu_util_percent": gauge(100 * share, times),
            "engine_active_ratio": gauge(share, times),
            "tensor_active_ratio": gauge(0.6 * share, times),
            "mem_copy_util_percent": gauge(40 * share, times),
            "gpu_memory_used_mib": gauge(memory_mib, times),
            "power_watts": counter(55 + 300 * share, 1e-3, times),
        },
        memory_total_mib=81_920.0,
        xid=xid,
        newest_seconds=float(times[-1]),
    )


def pod(name: str = "train", namespace: str = "team", cores: float = 2.0) -> PodReading:
    return PodReading(
        namespace=namespace,
        name=name,
        uid=f"uid-{name}",
        signals={
            "cpu_cores": counter(cores, 1.0),
            "memory_working_set_bytes": gauge(4 * 2.0**30),
            "network_receive_bytes_per_second": counter(1e6, 1.0),
            "network_transmit_bytes_per_second": counter(0.25e6, 1.0),
            "disk_read_bytes_per_second": counter(2e6, 1.0),
            "disk_write_bytes_per_second": counter(1e6, 1.0),
        },
        newest_seconds=NOW,
    )


def node(gpus: tuple[GpuReading, ...] = (), pods: tuple[PodReading, ...] = ()) -> NodeReading:
    return NodeReading(
        at_seconds=NOW + 5,
        newest_seconds=NOW,
        gpus=gpus,
        pods=pods,
        node={
            "cpu_cores": counter(8.0, 1.0),
            "memory_working_set_bytes": gauge(64 * 2.0**30),
        },
        cpu_cores_total=32.0,
        memory_bytes_total=256 * 2.0**30,
        found_by={Source.DCGM: "node", Source.CADVISOR: "node"},
        failures={},
        notes=(),
        series=100,
        window_bytes=0,
    )
