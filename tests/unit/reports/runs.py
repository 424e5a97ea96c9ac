"""Runs on a laptop and jobs of a cluster, as their profiles would be."""

from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec.structs import replace

from cepheid.history import TimeSeries
from cepheid.jobprofile import (
    Asked,
    CycleSeen,
    GpuHeld,
    HeldBackBy,
    JobIdentity,
    JobProfile,
    Outcome,
    Phase,
    ProcessSeen,
    Spread,
    Usage,
    Worker,
)

GIB, MIB = 2.0**30, 2.0**20
END = datetime(2026, 3, 1, 12, tzinfo=UTC)


def process(number: int = 0, *, seconds: float = 720.0, **others: Any) -> JobProfile:
    """`train.py`, which ended `number` hours before END."""
    ended = END - timedelta(hours=number)
    started = ended - timedelta(seconds=seconds)
    name = others.pop("name", "train.py")
    seen = ProcessSeen(
        command="python train.py --num-workers 2",
        host="wolf",
        directory="/home/ann/bert",
        cores=8.0,
        memory_total_bytes=32 * GIB,
        cpu_seconds=3.9 * seconds,
        peak_memory_bytes=6 * GIB,
        rss_bytes=Spread(mean=5 * GIB, max=6 * GIB, min=GIB),
        threads=Spread(mean=41.0, max=58.0, min=1.0),
        processes=Spread(mean=5.0, max=5.0, min=1.0),
        read_bytes=9 * GIB,
        written_bytes=GIB,
        phases=(
            Phase(name="start-up", seconds=31.0, cpu_cores=1.0),
            Phase(name="steady", seconds=seconds - 31, cpu_cores=4.1),
        ),
    )
    made = JobProfile(
        job=JobIdentity(
            api_version="",
            kind="Process",
            namespace="laptop",
            name=name,
            uid=others.pop("uid", f"{number:08x}{'c' * 24}"),
        ),
        series=others.pop("series", name),
        user="ann",
        created=started,
        started=started,
        ended=ended,
        duration_seconds=seconds,
        outcome=Outcome.SUCCESS,
        exit_code=0,
        gpus=(GpuHeld(node="wolf", index=0, model="NVIDIA GeForce RTX 3090"),),
        gpu_count=1,
        samples=1440,
        interval_seconds=0.5,
        usage=Usage(
            cpu_cores=Spread(mean=3.9, p95=6.0, max=8.0, min=0.1),
            memory_bytes=Spread(mean=5 * GIB, p95=5.9 * GIB, max=6 * GIB, min=GIB),
            gpu_util_percent=Spread(mean=71.0, p95=99.0, max=100.0, min=0.0),
            energy_joules=130_000.0,
        ),
        process=others.pop("process", seen),
    )
    return replace(made, **others)


def pod_job(number: int = 0, *, used_bytes: float = 37.9 * GIB, **others: Any) -> JobProfile:
    """`bert-nightly`, an MPIJob of four workers with a GPU and 64Gi each."""
    ended = END - timedelta(hours=number)
    seconds = others.pop("seconds", 8040.0)
    made = JobProfile(
        job=JobIdentity(
            api_version="kubeflow.org/v2beta1",
            kind="MPIJob",
            namespace="research",
            name=f"bert-nightly-{28 - number}",
            uid=others.pop("uid", f"3f2b8c1e-0000-4000-8000-{number:012d}"),
        ),
        series="bert-nightly",
        user="lin",
        created=ended - timedelta(seconds=seconds + 90),
        started=ended - timedelta(seconds=seconds),
        ended=ended,
        waited_seconds=90.0,
        duration_seconds=seconds,
        outcome=Outcome.SUCCESS,
        nodes=("gpu-a", "gpu-b"),
        node_count=2,
        gpus=tuple(
            GpuHeld(node=node, index=index, model="NVIDIA A100-SXM4-80GB")
            for node in ("gpu-a", "gpu-b")
            for index in range(2)
        ),
        gpu_count=4,
        asked=(
            Asked(
                container="trainer",
                role="Worker",
                pods=4,
                requests={"cpu": "16", "memory": "64Gi"},
                limits={"cpu": "16", "memory": "64Gi", "nvidia.com/gpu": "1"},
            ),
        ),
        samples=536,
        interval_seconds=15.0,
        usage=Usage(
            cpu_cores=Spread(mean=12.0, p95=13.0, max=14.0, min=1.0),
            memory_bytes=Spread(mean=140 * GIB, max=4 * used_bytes, min=GIB),
            gpu_util_percent=Spread(mean=91.0, p95=100.0, max=100.0, min=0.0),
            gpu_memory_bytes=Spread(mean=240 * GIB, max=244 * GIB, min=0.0),
            energy_joules=12.3e6,
        ),
        worker_count=4,
        workers=tuple(
            Worker(name=f"bert-worker-{rank}", cpu_cores=3.5, memory_bytes=used_bytes)
            for rank in range(4)
        ),
        cycle=CycleSeen(period_seconds=42.1, strength=0.93, metric="power", confirmed=True),
        held_back_by=HeldBackBy(kind="gpu", share_percent=85.0, advice="all is well"),
    )
    return replace(made, **others)


def series(seconds: int = 60) -> list[TimeSeries]:
    """A second a sample: CPU rises from 0 to 8 cores, two GPUs are at 40 and 60 %."""
    times = [END.timestamp() + second for second in range(seconds)]
    return [
        TimeSeries("cpu_cores", times, [8 * second / seconds for second in range(seconds)]),
        TimeSeries("gpu_util_percent", times, [40.0] * seconds, "gpu-0"),
        TimeSeries("gpu_util_percent", times, [60.0] * seconds, "gpu-1"),
        TimeSeries("power_watts", times, [100.0] * seconds, "gpu-0"),
        TimeSeries("power_watts", times, [50.0] * seconds, "gpu-1"),
    ]
