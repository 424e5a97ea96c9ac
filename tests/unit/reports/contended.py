"""Jobs that hold, wait and run on a small cluster, at hours of one day."""

from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec.structs import replace

from cepheid.jobprofile import (
    Asked,
    GpuHeld,
    JobIdentity,
    JobProfile,
    Outcome,
    Spread,
    Usage,
)
from cepheid.reports.contention.moving import NodeType

GIB = 2.0**30
A100, T4 = "NVIDIA A100-SXM4-80GB", "Tesla T4"
DAY = datetime(2026, 3, 1, tzinfo=UTC)
NODES = (
    NodeType(name="gpu-a", gpu_model=A100, gpu_count=8, cpu_cores=64.0, memory_bytes=512 * GIB),
    NodeType(name="gpu-b", gpu_model=T4, gpu_count=4, cpu_cores=32.0, memory_bytes=128 * GIB),
    NodeType(name="cpu-a", cpu_cores=96.0, memory_bytes=384 * GIB),
)
_MODELS = {"gpu-a": A100, "gpu-b": T4}


def hour(hours: float) -> datetime:
    return DAY + timedelta(hours=hours)


def ran(
    user: str,
    begin: float,
    end: float | None,
    *,
    gpus: int = 0,
    node: str | None = "gpu-a",
    made: float | None = None,
    **others: Any,
) -> JobProfile:
    """From `begin` to `end` o'clock, made at `made`; without an end it still runs.

    Its GPUs are busy, its GPU memory full and its cores and memory few, unless told otherwise.
    """
    name = others.pop("name", f"{user}-{begin:g}")
    cpu, memory = others.pop("cpu", "1"), others.pop("memory", "1Gi")
    resource = others.pop("resource", "nvidia.com/gpu")
    model = _MODELS.get(node or "")
    asked = {"cpu": cpu, "memory": memory}
    created = hour(begin if made is None else made)
    size = 16.0 if model == T4 else 80.0
    profile = JobProfile(
        job=JobIdentity(
            api_version="batch/v1",
            kind="Job",
            namespace=others.pop("namespace", "lab"),
            name=name,
            uid=others.pop("uid", f"{user}-{name}-{begin}-{made}"),
        ),
        series=others.pop("series", name),
        user=user,
        created=created,
        started=hour(begin),
        ended=None if end is None else hour(end),
        waited_seconds=(hour(begin) - created).total_seconds(),
        duration_seconds=None if end is None else 3600 * (end - begin),
        outcome=Outcome.RUNNING if end is None else Outcome.SUCCESS,
        nodes=() if node is None else (node,),
        node_count=0 if node is None else 1,
        gpus=tuple(GpuHeld(node=node or "x", index=at, model=model) for at in range(gpus)),
        gpu_count=gpus,
        asked=(
            Asked(
                container="main",
                requests={key: text for key, text in asked.items() if text},
                limits={resource: str(gpus)} if gpus else {},
            ),
        ),
        usage=Usage(
            cpu_cores=Spread(mean=1.0, max=1.0),
            memory_bytes=Spread(mean=GIB, max=GIB),
            gpu_util_percent=Spread(mean=95.0, max=100.0) if gpus else None,
            gpu_memory_bytes=Spread(max=0.95 * size * GIB * gpus) if gpus else None,
            tensor_percent=Spread(mean=60.0, max=90.0) if gpus else None,
        ),
    )
    return replace(profile, **others)


def waits(user: str, made: float, *, gpus: int = 0, **others: Any) -> JobProfile:
    """Since `made` o'clock, and not yet started."""
    return replace(
        ran(user, made, None, gpus=gpus, name=others.pop("name", f"{user}-waits"), **others),
        started=None,
        waited_seconds=None,
        gpus=(),
        nodes=(),
        node_count=0,
        usage=None,
    )


def idle(profile: JobProfile, percent: float = 2.0, gpu_memory_bytes: float = GIB) -> JobProfile:
    """With GPUs that hardly anything ran on."""
    return replace(
        profile,
        usage=Usage(
            gpu_util_percent=Spread(mean=percent, max=40.0),
            gpu_memory_bytes=Spread(max=gpu_memory_bytes),
        ),
    )
