"""What stands in the cluster, as agents, users and the operator write it. Pure.

Nodes of 8 GPUs, of three types. Half of them is shared by pods that hold some of their GPUs, the
others are empty. A hundred jobs that run again and again, each with ten earlier runs. The same in
every run of the benchmark, but for times and uids.
"""

from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from msgspec.structs import replace

from cepheid.annotations.codec import encode_node
from cepheid.annotations.facts import (
    CycleFacts,
    ForecastFacts,
    GpuFacts,
    HealthFacts,
    NodeFacts,
    StaticFacts,
)
from cepheid.jobprofile import GpuHeld, to_document
from cepheid.jobs.names import profile_name
from cepheid.jobs.placed import type_label
from tests.bench.history.jobs import profile
from tests.bench.operator.jobs import pod_spec

NODES = 1000
GPUS = 8
SERIES = 100
RUNS = 10
"""Earlier ones of each series."""
NAMESPACES = 20
ILL_EVERY = 97
MODELS = (("NVIDIA H100 80GB HBM3", 80), ("NVIDIA A100-SXM4-80GB", 80), ("Tesla T4", 16))
CAPACITY = {"cpu": "64", "memory": "512Gi", "pods": "110", "nvidia.com/gpu": str(GPUS)}
VALID = timedelta(hours=2)
SIDECAR = {
    "name": "sync",
    "image": "registry.example.com/platform/checkpoint-sync:v2.4.1",
    "args": ["--from=/checkpoints", "--to=s3://checkpoints/team", "--every=600s", "--keep=5"],
    "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}},
    "volumeMounts": [{"name": "checkpoints", "mountPath": "/checkpoints"}],
}

Document = dict[str, Any]


def node_name(number: int) -> str:
    return f"gpu-{number:04}.cluster.example"


def node(number: int) -> Document:
    """As its kubelet and GPU feature discovery make it."""
    model, _ = MODELS[number % len(MODELS)]
    labels = {
        "kubernetes.io/hostname": node_name(number),
        "nvidia.com/gpu.product": type_label(model),
        "nvidia.com/gpu.count": str(GPUS),
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": node_name(number),
            "labels": labels,
            "annotations": {"kwok.x-k8s.io/node": "fake"},
        },
        "status": {"capacity": CAPACITY, "allocatable": CAPACITY},
    }


def held(number: int) -> int:
    """GPUs of a node that pods hold from the beginning."""
    return 0 if number % 2 else 1 + number // 2 % (GPUS - 1)


def annotations(number: int, turn: int) -> dict[str, str]:
    """What the agent of a node says of it, the first time and after each change."""
    model, size = MODELS[number % len(MODELS)]
    draw = Random(f"{number} {turn}")  # noqa: S311 # no secret
    gpus = tuple(
        _busy(index, size, draw) if index < held(number) else _idle(number, index, size)
        for index in range(GPUS)
    )
    return encode_node(
        NodeFacts(
            static=StaticFacts(GPUS, model, size),
            gpus=gpus,
            cpu_forecast=ForecastFacts(600, draw.uniform(5, 60), draw.uniform(60, 95)),
            mem_forecast=ForecastFacts(600, draw.uniform(5, 60), draw.uniform(60, 95)),
            free_gpu_score=round(100 * (1 - held(number) / GPUS)),
            valid_until=datetime.now(UTC) + VALID,
        )
    )


def _busy(index: int, size: float, draw: Random) -> GpuFacts:
    used = draw.uniform(0.3, 0.9) * size
    busy = draw.uniform(40, 100)
    return GpuFacts(
        index,
        mem_used_gb=used,
        mem_free_gb=size - used,
        pods=1,
        cyclic_pattern=True,
        max_mem_util_percent=100 * used / size,
        max_gpu_util_percent=busy,
        cycle=CycleFacts(draw.uniform(30, 120), 0.9, "gpu_util", confirmed=True),
        forecast=ForecastFacts(600, 0.9 * busy, busy, min(size, 1.05 * used), 5.0),
    )


def _idle(number: int, index: int, size: float) -> GpuFacts:
    ill = (number * GPUS + index) % ILL_EVERY == 0
    return GpuFacts(
        index,
        mem_used_gb=0.0,
        mem_free_gb=size,
        pods=0,
        max_gpu_util_percent=0.0,
        forecast=ForecastFacts(600, 0.0, 0.0, 0.0),
        health=HealthFacts(xid=79) if ill else None,
    )


def series(number: int) -> str:
    return f"finetune-{number % SERIES:03}"


def namespace(number: int) -> str:
    """Of a series."""
    return f"team-{number % SERIES % NAMESPACES:02}"


def run(number: int) -> Document:
    """The JobProfile of an earlier run."""
    model, _ = MODELS[number // SERIES % len(MODELS)]
    made = profile(number)
    made = replace(
        made,
        job=replace(made.job, namespace=namespace(number), name=f"{series(number)}-{number:05}"),
        series=series(number),
        gpus=tuple(GpuHeld(node=gpu.node, index=gpu.index, model=model) for gpu in made.gpus),
        workers=tuple(
            # Two GPUs each: some runs need more than a T4 has, some do not.
            replace(one, gpu_memory_bytes=2 * (4 + 3 * (number % 10)) * 2**30)
            for one in made.workers
        ),
    )
    name = profile_name(made.job.name, made.job.uid)
    metadata = {"name": name, "namespace": namespace(number)}
    kind = {"apiVersion": "ai.centaurus.io/v1alpha1", "kind": "JobProfile"}
    return {**kind, "metadata": metadata, **to_document(made)}


def job(number: int) -> Document:
    """The run of a series that has begun now; no controller makes its pods."""
    metadata = {
        "name": f"{series(number)}-x7k2p",
        "generateName": f"{series(number)}-",
        "namespace": namespace(number),
        "labels": {"team": namespace(number), "user": f"user-{number:03}"},
    }
    template = {"spec": {"restartPolicy": "Never", **training_spec(1)}}
    spec = {"completions": GPUS, "parallelism": GPUS, "completionMode": "Indexed"}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata,
        "spec": {**spec, "template": template},
    }


def gpu_pod(name: str, number: int, job_uid: str, gpus: int, **spec: object) -> Document:
    """Of the job of a series."""
    owner = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "name": job(number)["metadata"]["name"],
        "uid": job_uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
    labels = {
        "batch.kubernetes.io/job-name": owner["name"],
        "batch.kubernetes.io/job-completion-index": "0",
        "team": namespace(number),
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": namespace(number),
            "labels": labels,
            "ownerReferences": [owner],
        },
        "spec": {"restartPolicy": "Never", **training_spec(gpus), **spec},
    }


def plain_pod(name: str, number: int, **spec: object) -> Document:
    """Of a service, as there are many in a cluster: no GPU, little of everything."""
    resources = {"requests": {"cpu": "100m", "memory": "128Mi"}}
    container = {"name": "web", "image": "registry.example.com/team/web:v1", "resources": resources}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace(number), "labels": {"app": "web"}},
        "spec": {"containers": [container], **spec},
    }


def training_spec(gpus: int) -> Document:
    """That of the operator's benchmark, with a sidecar, and without claims that nobody binds."""
    spec = pod_spec()
    (main,) = spec["containers"]
    asked = {"cpu": "4", "memory": "32Gi", "nvidia.com/gpu": str(gpus)}
    main = {**main, "resources": {"limits": asked, "requests": asked}}
    main["env"] = [
        *main["env"],
        *(
            {"name": f"NCCL_SETTING_{number:02}", "value": f"eth{number}=1,timeout=1800,retry=7"}
            for number in range(25)
        ),
    ]
    volumes = [{"name": one["name"], "emptyDir": {}} for one in spec["volumes"]]
    return {**spec, "containers": [main, SIDECAR], "volumes": volumes}


def question(pod: Document, names: list[str]) -> Document:
    """As kube-scheduler asks with nodeCacheCapable; its cache leaves out who set which field."""
    metadata = {key: value for key, value in pod["metadata"].items() if key != "managedFields"}
    return {"Pod": {**pod, "metadata": metadata}, "Nodes": None, "NodeNames": names}
