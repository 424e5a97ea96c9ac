"""Jobs whose requests, limits and peaks a test chooses."""

from datetime import timedelta
from typing import Any

from msgspec.structs import replace

from cepheid.jobprofile import (
    Asked,
    GpuHeld,
    HeldBackBy,
    JobIdentity,
    JobProfile,
    Outcome,
    Reason,
    Spread,
    Usage,
    Worker,
)
from tests.unit.reports.runs import END, GIB, pod_job

A100 = "NVIDIA A100-SXM4-80GB"
ALIKE = {"cpu": "4", "memory": "16Gi"}
THROTTLED = HeldBackBy(kind="cpu-throttled", share_percent=30.0)


def batch(
    number: int = 0,
    *,
    gib: float | None = 12.0,
    cores: float | None = 3.6,
    p95: float | None = None,
    requests: dict[str, str] | None = None,
    limits: dict[str, str] | None = None,
    gpu: tuple[float, float] | None = None,
    **others: Any,
) -> JobProfile:
    """`etl`, a Job of one pod: 16Gi and 4 cores, of which it uses so much. Ended `number` days ago.

    `gpu` is its load in percent, and GiB of GPU memory.
    """
    memory = None if gib is None else gib * GIB
    name = others.pop("name", f"etl-{number}")
    identity = JobIdentity(
        api_version=others.pop("api_version", "batch/v1"),
        kind=others.pop("kind", "Job"),
        namespace="research",
        name=name,
        uid=f"e71b8c1e-0000-4000-8000-{number:012d}",
    )
    asked = Asked(
        container="main",
        role=others.pop("role", None),
        requests=ALIKE if requests is None else requests,
        limits=ALIKE if limits is None else limits,
    )
    ended = END - timedelta(days=number)
    load, held = (None, None) if gpu is None else (gpu[0], gpu[1] * GIB)
    known: dict[str, Any] = {
        "job": identity,
        "series": "etl",
        "created": ended - timedelta(hours=3),
        "ended": ended,
        "asked": (asked,),
        "gpus": () if gpu is None else (GpuHeld(node="gpu-a", index=0, model=A100),),
        "gpu_count": 0 if gpu is None else 1,
        "usage": Usage(
            cpu_cores=None if cores is None else Spread(max=cores, p95=p95),
            memory_bytes=None if memory is None else Spread(max=memory),
            gpu_util_percent=None if load is None else Spread(max=load, p95=load),
            gpu_memory_bytes=None if held is None else Spread(max=held),
        ),
        "worker_count": 1,
        "workers": (
            Worker(
                name=f"{name}-x",
                cpu_cores=cores,
                memory_bytes=memory,
                gpu_util_percent=load,
                gpu_memory_bytes=held,
            ),
        ),
        "cycle": None,
        "held_back_by": None,
        **others,
    }
    return replace(pod_job(), **known)


def killed(number: int = 0, **others: Any) -> JobProfile:
    return batch(number, **{"outcome": Outcome.FAILED, "reason": Reason.OOM_KILLED, **others})


def stopped(number: int = 0, **others: Any) -> JobProfile:
    return batch(number, **{"outcome": Outcome.TIMEOUT, "reason": Reason.DEADLINE, **others})


def with_launcher(profile: JobProfile) -> JobProfile:
    """A launcher beside the workers, which asks for little and uses less."""
    asked = Asked(container="mpirun", role="Launcher", requests={"memory": "1Gi"})
    name = f"{profile.job.name}-launcher-x2b"
    own = Worker(name=name, memory_bytes=0.9 * GIB, cpu_cores=0.1)
    workers = tuple(
        replace(worker, name=f"{profile.job.name}-worker-{rank}")
        for rank, worker in enumerate(profile.workers)
    )
    return replace(profile, asked=(*profile.asked, asked), workers=(*workers, own))
