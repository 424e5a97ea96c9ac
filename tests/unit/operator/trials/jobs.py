"""Jobs of each kind, as small as they can be, and nodes to try them on."""

from typing import Any

from cepheid_operator.trials.copying.template import Template, read

TYPE = "nvidia.com/gpu.product"
GPU = "nvidia.com/gpu"
A100, T4 = "NVIDIA-A100-SXM4-80GB", "Tesla-T4"

Document = dict[str, Any]


def pod(gpus: int = 0, *, resource: str = GPU, **spec: Any) -> Document:
    container: Document = {"name": "main", "image": "example.org/train:1"}
    if gpus:
        container["resources"] = {"limits": {resource: gpus}}
    return {"spec": {"containers": [container], **spec}}


def mpi_job(workers: int = 2, gpus: int = 1, version: str = "v2beta1") -> Document:
    return {
        "apiVersion": f"kubeflow.org/{version}",
        "kind": "MPIJob",
        "metadata": {"name": "bert", "namespace": "team"},
        "spec": {
            "slotsPerWorker": gpus,
            "mpiReplicaSpecs": {
                "Launcher": {"replicas": 1, "template": pod()},
                "Worker": {"replicas": workers, "template": pod(gpus)},
            },
        },
    }


def pytorch_job(workers: int = 2, gpus: int = 1) -> Document:
    """One of the workers is the Master."""
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": "bert", "namespace": "team"},
        "spec": {
            "pytorchReplicaSpecs": {
                "Master": {"replicas": 1, "template": pod(gpus)},
                "Worker": {"replicas": workers - 1, "template": pod(gpus)},
            }
        },
    }


def plain_job(workers: int = 2, gpus: int = 1) -> Document:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "bert", "namespace": "team"},
        "spec": {
            "parallelism": workers,
            "template": pod(gpus, restartPolicy="Never"),
        },
    }


KINDS = {"MPIJob": mpi_job, "PyTorchJob": pytorch_job, "Job": plain_job}


def as_read(document: Document) -> Template:
    return read(document, type_label=TYPE)


def workers_spec(document: Document) -> Document:
    """The pod spec of its workers."""
    spec = document["spec"]
    for key in ("mpiReplicaSpecs", "pytorchReplicaSpecs"):
        if key in spec:
            spec = spec[key]["Worker"]
    found: Document = spec["template"]["spec"]
    return found


def node(name: str, kind: str = T4, gpus: int = 4, **more: Any) -> Document:
    allocatable = {"cpu": "32", "memory": "128Gi", GPU: str(gpus)}
    return {
        "metadata": {"name": name, "labels": {TYPE: kind, **more.pop("labels", {})}},
        "spec": more,
        "status": {
            "allocatable": allocatable,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }
