"""Nodes, pods, jobs and their profiles, as the API server would send them."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from cepheid.annotations.codec import encode_node
from cepheid.annotations.facts import (
    GB,
    ForecastFacts,
    GpuFacts,
    HealthFacts,
    NodeFacts,
    StaticFacts,
)
from cepheid.annotations.job_codec import encode_job
from cepheid.annotations.job_facts import BestPlacement, JobFacts
from cepheid.jobprofile import (
    Asked,
    CycleSeen,
    GpuHeld,
    HeldBackBy,
    JobIdentity,
    JobProfile,
    Outcome,
    Spread,
    Usage,
    Worker,
    to_document,
)
from cepheid_operator.discovery import Served

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
NOW = NOON.timestamp()
AGENT, TRIALS = "cepheid-agent", "cepheid-trials"
JOBS = Served("batch", "v1", "Job", "jobs")
MPI = Served("kubeflow.org", "v2beta1", "MPIJob", "mpijobs")
A100, A10, T4 = "NVIDIA-A100-SXM4-80GB", "NVIDIA-A10", "Tesla-T4"
KEY = "ai.centaurus.io/"


def applied(keys: Iterable[str], manager: str, operation: str = "Apply") -> list[dict[str, Any]]:
    """The API server's record of who set which annotation."""
    named: dict[str, Any] = {f"f:{key}": {} for key in keys}
    fields = {"f:metadata": {"f:annotations": {".": {}, **named}}}
    return [{"manager": manager, "operation": operation, "fieldsV1": fields}]


def gpu(
    index: int = 0,
    *,
    used: float | None = 0.0,
    free: float | None = 80.0,
    pods: int | None = 0,
    peak: float | None = None,
    util: float | None = None,
    **more: Any,
) -> GpuFacts:
    ahead = None
    if peak is not None or util is not None:
        ahead = ForecastFacts(600, util_mean_percent=util, mem_peak_gb=peak)
    return GpuFacts(index, mem_used_gb=used, mem_free_gb=free, pods=pods, forecast=ahead, **more)


def lost(index: int = 0) -> GpuFacts:
    """As the agent describes one: of what it does nothing is known."""
    return GpuFacts(index, health=HealthFacts(lost=True))


def facts(*gpus: GpuFacts, seconds: float = 600, cpu: float | None = None) -> NodeFacts:
    """They hold for so many seconds from noon."""
    return NodeFacts(
        static=StaticFacts(len({one.index for one in gpus}), "NVIDIA A100-SXM4-80GB", 80.0),
        gpus=gpus,
        cpu_forecast=None if cpu is None else ForecastFacts(600, util_p95_percent=cpu),
        valid_until=NOON + timedelta(seconds=seconds),
    )


def node(
    name: str = "gpu-a",
    known: NodeFacts | None = None,
    *,
    allocatable: int | None = None,
    kind: str | None = A100,
    uid: str | None = None,
    manager: str = AGENT,
    operation: str = "Apply",
    annotations: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    keys = {} if known is None else encode_node(known)
    count = allocatable if allocatable is not None else 0 if known is None else len(known.gpus)
    return {
        "metadata": {
            "name": name,
            "uid": uid or f"uid-{name}",
            "labels": {} if kind is None else {"nvidia.com/gpu.product": kind},
            "annotations": {**keys, **(annotations or {})},
            "managedFields": applied(keys, manager, operation),
        },
        "status": {"allocatable": {"cpu": "64", "nvidia.com/gpu": str(count)}},
    }


def owned_by(name: str, served: Served = JOBS) -> dict[str, Any]:
    return {
        "apiVersion": f"{served.group}/{served.version}",
        "kind": served.name,
        "name": name,
        "uid": f"uid-{name}",
        "controller": True,
    }


def pod(
    name: str = "train-0",
    gpus: int = 1,
    *,
    on: str | None = None,
    phase: str = "Pending",
    owner: dict[str, Any] | None = None,
    namespace: str = "team",
    annotations: Mapping[str, str] | None = None,
    version: int = 1,
) -> dict[str, Any]:
    metadata: dict[str, Any] = {
        "name": name,
        "namespace": namespace,
        "uid": f"uid-{name}",
        "resourceVersion": str(version),
        "annotations": dict(annotations or {}),
    }
    if owner is not None:
        metadata["ownerReferences"] = [owner]
    resources = {"limits": {"nvidia.com/gpu": str(gpus)}} if gpus else {}
    container = {"name": "main", "image": "x", "resources": resources}
    spec: dict[str, Any] = {"schedulerName": "cepheid", "containers": [container]}
    if on is not None:
        spec["nodeName"] = on
    return {"metadata": metadata, "spec": spec, "status": {"phase": phase}}


def job(
    name: str = "train",
    *,
    namespace: str = "team",
    image: str = "x",
    best: str | None = None,
    manager: str = TRIALS,
    annotations: Mapping[str, str] | None = None,
    owner: dict[str, Any] | None = None,
) -> dict[str, Any]:
    keys = dict(annotations or {})
    if best is not None:
        keys |= encode_job(JobFacts(best_placement=BestPlacement(best, 1, 1)))
    metadata: dict[str, Any] = {
        "name": name,
        "namespace": namespace,
        "uid": f"uid-{name}",
        "annotations": keys,
        "managedFields": applied(keys, manager),
    }
    if owner is not None:
        metadata["ownerReferences"] = [owner]
    spec = {"template": {"spec": {"containers": [{"name": "main", "image": image}]}}}
    return {"metadata": metadata, "spec": spec}


def record(  # noqa: PLR0913 # each of one clear meaning
    name: str = "train-1",
    *,
    series: str = "train",
    namespace: str = "team",
    template: str | None = None,
    gpus: int = 1,
    each: str = "1",
    model: str | None = "NVIDIA A100-SXM4-80GB",
    memory_gb: float | None = 40.0,
    busy: float | None = 50.0,
    seconds: float | None = 3600.0,
    ended: datetime | None = NOON,
    back: HeldBackBy | None = None,
    cycle: CycleSeen | None = None,
    **more: Any,
) -> JobProfile:
    """Of one run that went well."""
    known: dict[str, Any] = {
        "job": JobIdentity(
            api_version="batch/v1", kind="Job", namespace=namespace, name=name, uid=f"uid-{name}"
        ),
        "series": series,
        "template": template,
        "created": NOON - timedelta(hours=2),
        "ended": ended,
        "duration_seconds": seconds,
        "outcome": Outcome.SUCCESS,
        "gpus": () if model is None else (GpuHeld(node="gpu-a", index=0, model=model),),
        "gpu_count": gpus,
        "asked": (Asked(container="main", pods=1, limits={"nvidia.com/gpu": each}),),
        "usage": Usage(gpu_util_percent=Spread(mean=busy)),
        "workers": (
            Worker(
                name=f"{name}-0", gpu_memory_bytes=None if memory_gb is None else memory_gb * GB
            ),
        ),
        "held_back_by": back,
        "cycle": cycle,
        **more,
    }
    return JobProfile(**known)


def profile(known: JobProfile, *, uid: str | None = None, version: int = 1) -> dict[str, Any]:
    """The object of the cluster that holds it."""
    metadata = {
        "name": known.job.name,
        "namespace": known.job.namespace,
        "uid": uid or f"profile-{known.job.name}",
        "resourceVersion": str(version),
    }
    return {
        "apiVersion": "ai.centaurus.io/v1alpha1",
        "kind": "JobProfile",
        "metadata": metadata,
        **to_document(known),
    }


INPUT_BOUND = HeldBackBy(kind="input", share_percent=60.0)
PULSE = CycleSeen(period_seconds=60.0, strength=0.9)
