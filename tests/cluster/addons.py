"""All that is applied with kubectl: on our own nodes, or on a cluster that exists already."""

import json
from pathlib import Path
from typing import Any

import yaml

from tests import REPOSITORY
from tests.cluster.kubectl import Kubectl
from tests.cluster.layout import Cluster
from tests.cluster.progress import run, say, step, wait_for

MANIFESTS = Path(__file__).with_name("manifests")
MPIJOB_CRD = "mpijobs.kubeflow.org"
ROLLOUT_SECONDS = 180
KWOK_BATCH = 500  # objects in one `kubectl create`
KWOK_GPUS = 8


def install_base(kubectl: Kubectl) -> None:
    """What a cluster has of its own, and what ours therefore needs too."""
    for name in ("kubelet-access.yaml", "coredns.yaml"):
        kubectl("apply", "--server-side", f"--filename={MANIFESTS / name}")


def wait_for_base(kubectl: Kubectl) -> None:
    """Apart from installing it, so that all else starts meanwhile."""
    _wait_for_rollout(kubectl.within("kube-system"), "Deployment/coredns")


def install(kubectl: Kubectl, share: Path) -> None:
    """Simulated GPUs, the training operator, and the product by the two manifests of the README."""
    product = list(yaml.safe_load_all((REPOSITORY / "manifests/cepheid.yaml").read_text()))
    manifests = [
        *_kustomize(kubectl, REPOSITORY / "tests/simgpu/manifests"),
        *_kustomize(kubectl, MANIFESTS / "prometheus"),
        *training_operator(_kustomize(kubectl, share / "training-operator/overlays/standalone")),
        *product,
    ]
    first = [m for m in manifests if m["kind"] in ("Namespace", "CustomResourceDefinition")]
    kubectl.apply(*first)
    kubectl.apply(*(manifest for manifest in manifests if manifest not in first))
    with step("waiting for the add-ons"):
        for workload in manifests:
            # An agent is ready when it has read and written: after two scrapes of Prometheus.
            if workload["kind"] in ("Deployment", "DaemonSet") and workload not in product:
                there = kubectl.within(workload["metadata"]["namespace"])
                name = f"{workload['kind']}/{workload['metadata']['name']}"
                _wait_for_rollout(there, name)


def _wait_for_rollout(there: Kubectl, name: str) -> None:
    limit = f"--timeout={ROLLOUT_SECONDS}s"
    there("rollout", "status", name, limit, timeout_seconds=ROLLOUT_SECONDS + 10)


def _kustomize(kubectl: Kubectl, directory: Path) -> list[dict[str, Any]]:
    # Files beside the overlay's own folder: they are all ours.
    text = kubectl("kustomize", "--load-restrictor=LoadRestrictionsNone", directory)
    return [document for document in yaml.safe_load_all(text) if document]


def training_operator(upstream: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The operator's own manifests with images that are here, and MPIJob v2beta1 beside v1."""
    for manifest in upstream:
        if manifest["kind"] == "Deployment":
            (container,) = manifest["spec"]["template"]["spec"]["containers"]
            container["image"] = "localhost/cepheid/training-operator:dev"
            delivery = "localhost/cepheid/kubectl-delivery:dev"
            container["args"] = [f"--mpi-kubectl-delivery-image={delivery}"]
            # Ready as soon as it is, instead of at the next of its leisurely probes.
            container["readinessProbe"] |= {"initialDelaySeconds": 1, "periodSeconds": 1}
        if manifest["metadata"]["name"] == MPIJOB_CRD:
            newer = yaml.safe_load((MANIFESTS / "mpijob-v2beta1.yaml").read_text())
            (older,) = manifest["spec"]["versions"]
            # Stored as v1: without this the fields that only v2beta1 has would be cut off.
            properties = older["schema"]["openAPIV3Schema"]["properties"]
            properties["spec"]["x-kubernetes-preserve-unknown-fields"] = True
            manifest["spec"]["versions"].append(newer)
    return upstream


def write_kwok_stages(programs: Path, cluster: Cluster) -> None:
    """How kwok's nodes and pods come to life: its own `fast` stages, in one file."""
    stages = programs.parent / "share/kwok/fast"
    text = run([programs / "kubectl", "kustomize", stages])
    (cluster.control_plane.directory / "etc/kubernetes/kwok-stages.yaml").write_text(text)


def kwok_node(index: int) -> dict[str, Any]:
    name = f"kwok-{index:04d}"
    capacity = {"cpu": "96", "memory": "1024Gi", "pods": "110", "nvidia.com/gpu": str(KWOK_GPUS)}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "annotations": {"kwok.x-k8s.io/node": "fake"},
            "labels": {
                "kubernetes.io/hostname": name,
                "type": "kwok",
                "nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB",
                "nvidia.com/gpu.count": str(KWOK_GPUS),
            },
        },
        # DaemonSets of real nodes, and pods that do not ask for it, stay away.
        "spec": {
            "taints": [{"key": "kwok.x-k8s.io/node", "value": "fake", "effect": "NoSchedule"}]
        },
        "status": {"capacity": capacity, "allocatable": capacity},
    }


def add_kwok_nodes(kubectl: Kubectl, count: int) -> None:
    with step(f"adding {count} kwok nodes"):
        for first in range(0, count, KWOK_BATCH):
            nodes = [kwok_node(index) for index in range(first, min(first + KWOK_BATCH, count))]
            batch = {"apiVersion": "v1", "kind": "List", "items": nodes}
            kubectl("create", "--filename=-", stdin=json.dumps(batch))
        # All in one question: `kubectl wait` asks for each, which takes minutes for a thousand.
        wait_for("all kwok nodes are ready", lambda: _ready_kwok_nodes(kubectl) == count, 300, 2)
    say(f"{count} kwok nodes are ready")


def _ready_kwok_nodes(kubectl: Kubectl) -> int:
    said = kubectl("get", "nodes", "--selector=type=kwok", "--no-headers")
    return sum(line.split()[1] == "Ready" for line in said.splitlines())
