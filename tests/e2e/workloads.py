"""Pods and jobs for the tests, as the strictest Pod Security wants them."""

from collections.abc import Mapping, Sequence
from typing import Any

from tests.cluster.kubectl import Kubectl

IMAGE = "localhost/cepheid/workload:dev"
WORKLOAD = ["python3", "-m", "simgpu.workload"]
A100 = "NVIDIA-A100-SXM4-80GB"
T4 = "Tesla-T4"

Manifest = dict[str, Any]


def pod_spec(
    arguments: Sequence[str],
    *,
    gpus: int = 1,
    resource: str = "nvidia.com/gpu",
    product: str | None = None,
    selector: Mapping[str, str] | None = None,
    command: Sequence[str] = WORKLOAD,
    name: str = "main",
) -> Manifest:
    limits: dict[str, str | int] = {"memory": "256Mi"}
    if gpus:
        limits[resource] = gpus
    spec: Manifest = {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 1,
        "automountServiceAccountToken": False,
        "nodeSelector": dict(selector or {}),
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": 1000,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [
            {
                "name": name,
                "image": IMAGE,
                "command": list(command),
                "args": list(arguments),
                "resources": {"requests": {"cpu": "10m"}, "limits": limits},
                "securityContext": {
                    "allowPrivilegeEscalation": False,
                    "capabilities": {"drop": ["ALL"]},
                },
            }
        ],
    }
    if product:
        spec["nodeSelector"]["nvidia.com/gpu.product"] = product
    return spec


def pod(name: str, spec: Manifest) -> Manifest:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def mpi_job(name: str, arguments: Sequence[str], *, workers: int, version: str = "v1") -> Manifest:
    """One GPU a worker; the launcher starts the ranks by a real mpirun."""
    mpirun = ["mpirun", "-n", str(workers), *WORKLOAD]
    launcher = pod_spec(arguments, gpus=0, command=mpirun)
    launcher["automountServiceAccountToken"] = True  # it execs into the workers
    worker = pod_spec(["infinity"], command=["sleep"])
    return {
        "apiVersion": f"kubeflow.org/{version}",
        "kind": "MPIJob",
        "metadata": {"name": name},
        "spec": {
            "slotsPerWorker": 1,
            "runPolicy": {"cleanPodPolicy": "None"},
            "mpiReplicaSpecs": {
                "Launcher": {"replicas": 1, "template": {"spec": launcher}},
                "Worker": {"replicas": workers, "template": {"spec": worker}},
            },
        },
    }


def exporter_on(kubectl: Kubectl, node: str) -> str:
    """The pod of the GPU exporter on a node."""
    (exporter,) = kubectl.within("gpu").items(
        "pods",
        "--selector=app.kubernetes.io/name=dcgm-exporter",
        f"--field-selector=spec.nodeName={node}",
    )
    name: str = exporter["metadata"]["name"]
    return name
