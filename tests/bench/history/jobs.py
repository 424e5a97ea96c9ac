"""Profiles as a busy cluster would leave them, the same in every run.

Large ones: every field is known, eight workers on two nodes with eight GPUs each. Most jobs of a
real cluster are smaller.
"""

import math
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from random import Random
from uuid import UUID

from cepheid.history import TimeSeries
from cepheid.jobprofile import (
    Asked,
    CycleSeen,
    GpuHeld,
    HeldBackBy,
    JobIdentity,
    JobProfile,
    MemoryLeak,
    Outcome,
    Reason,
    Regressed,
    Spread,
    Usage,
    Worker,
)

USERS = 200
NAMESPACES = 40
SERIES = 5_000
WORKERS = 8
MODELS = ("NVIDIA A100-SXM4-80GB", "Tesla T4")
END = datetime(2026, 3, 1, tzinfo=UTC)
GIB = 2.0**30


def profiles(count: int) -> Iterator[JobProfile]:
    return (profile(number) for number in range(count))


def profile(number: int) -> JobProfile:
    chance = Random(number)  # noqa: S311
    seconds = chance.lognormvariate(8, 1.5)
    ended = END + timedelta(seconds=60 * number + chance.random())
    started = ended - timedelta(seconds=seconds)
    run = f"llm-finetune-{number % SERIES:04d}"
    namespace = f"team-{number % NAMESPACES:02d}-research"
    nodes = tuple(f"gpu-node-{chance.randrange(64):03d}.cluster.example" for _ in range(2))
    failed = chance.random() < 0.15
    return JobProfile(
        job=JobIdentity(
            api_version="kubeflow.org/v2beta1",
            kind="MPIJob",
            namespace=namespace,
            name=f"{run}-{number:08d}",
            uid=str(UUID(int=chance.getrandbits(128), version=4)),
        ),
        series=run,
        template=f"{chance.getrandbits(64):016x}",
        user=f"user-{chance.randrange(USERS):03d}@lab.example",
        service_account=f"{namespace}:default",
        labels={"app": "llm-finetune", "team": namespace, "experiment": f"e{number % 97}"},
        created=started - timedelta(seconds=90),
        started=started,
        ended=ended,
        waited_seconds=90.0,
        duration_seconds=seconds,
        outcome=Outcome.FAILED if failed else Outcome.SUCCESS,
        reason=Reason.OOM_KILLED if failed else None,
        message="container trainer was killed: it used more than its limit of 480Gi"
        if failed
        else None,
        exit_code=137 if failed else 0,
        restarts=chance.randrange(3),
        nodes=nodes,
        gpus=tuple(
            GpuHeld(node=node, index=index, model=chance.choice(MODELS))
            for node in nodes
            for index in range(8)
        ),
        gpu_count=16,
        asked=tuple(
            Asked(
                container="trainer",
                role=role,
                pods=pods,
                requests={"cpu": "48", "memory": "400Gi", "nvidia.com/gpu": "2"},
                limits={"cpu": "64", "memory": "480Gi", "nvidia.com/gpu": "2"},
            )
            for role, pods in (("Launcher", 1), ("Worker", WORKERS))
        ),
        samples=round(seconds / 15),
        interval_seconds=15.0,
        usage=_usage(chance),
        worker_count=WORKERS,
        workers=tuple(
            Worker(
                name=f"{run}-{number:08d}-worker-{place}",
                node=nodes[place % 2],
                cpu_cores=_figure(chance, 48),
                memory_bytes=_figure(chance, 400 * GIB),
                gpu_util_percent=_figure(chance, 100),
                gpu_memory_bytes=_figure(chance, 80 * GIB),
                network_bytes_per_second=_figure(chance, 3e9),
                disk_bytes_per_second=_figure(chance, 5e8),
                restarts=0,
            )
            for place in range(WORKERS)
        ),
        job_type="training",
        cycle=CycleSeen(period_seconds=42.1, strength=0.93, metric="power", confirmed=True),
        held_back_by=HeldBackBy(
            kind="input", share_percent=34.0, advice="more workers in the data loader"
        ),
        leak=MemoryLeak(bytes_per_second=_figure(chance, 1e4), confidence=0.8),
        forecast_error_percent=6.1,
        regression=(
            Regressed(what="duration", now=seconds, usual=seconds / 2, change_percent=100, runs=9),
        ),
        advice=(
            "GPUs waited for input a third of the time: more workers in the data loader",
            "memory grew to the end: look for what the loop keeps",
        ),
        verdict="waits for input a third of the time",
    )


def series(number: int, samples: int) -> list[TimeSeries]:
    """Of every 15 s: a load that repeats, with noise; whole percents as a GPU tells them."""
    chance = Random(number)  # noqa: S311
    times = [END.timestamp() + 15 * place for place in range(samples)]
    waves = [0.5 + 0.4 * math.sin(place / 3) + chance.gauss(0, 0.03) for place in range(samples)]
    return [
        TimeSeries("gpu_util_percent", times, [float(round(100 * wave)) for wave in waves]),
        TimeSeries("cpu_cores", times, [48 * wave for wave in waves]),
        TimeSeries("memory_bytes", times, [400 * GIB * wave for wave in waves]),
        TimeSeries("power_watts", times, [round(400 * wave, 1) for wave in waves]),
    ]


def _usage(chance: Random) -> Usage:
    def spread(most: float) -> Spread:
        low, middle, high, top = sorted(_figure(chance, most) for _ in range(4))
        return Spread(mean=middle, p95=high, max=top, min=low)

    return Usage(
        cpu_cores=spread(384),
        memory_bytes=spread(3200 * GIB),
        gpu_util_percent=spread(100),
        gpu_memory_bytes=spread(1280 * GIB),
        tensor_percent=spread(100),
        power_watts=spread(6400),
        energy_joules=_figure(chance, 1e9),
        network_bytes_per_second=spread(2e10),
        disk_bytes_per_second=spread(4e9),
    )


def _figure(chance: Random, most: float) -> float:
    """As it is written: bytes whole, others to three decimals."""
    figure = chance.uniform(0, most)
    return float(round(figure)) if most > 1e4 else round(figure, 3)
