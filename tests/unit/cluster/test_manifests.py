"""What is applied, before it is applied."""

import json
from typing import Any

import yaml

from tests import REPOSITORY
from tests.cluster.addons import MPIJOB_CRD, kwok_node, training_operator
from tests.cluster.layout import DEFAULT_NODES, Cluster


def mpijob_crd() -> dict[str, Any]:
    schema = {"openAPIV3Schema": {"properties": {"spec": {"type": "object"}}}}
    version = {"name": "v1", "storage": True, "served": True, "schema": schema}
    return {
        "kind": "CustomResourceDefinition",
        "metadata": {"name": MPIJOB_CRD},
        "spec": {"versions": [version]},
    }


def test_mpijob_gets_a_second_version_and_the_first_stays_the_stored_one() -> None:
    (crd,) = training_operator([mpijob_crd()])
    versions = {version["name"]: version for version in crd["spec"]["versions"]}
    assert {name: v["storage"] for name, v in versions.items()} == {"v1": True, "v2beta1": False}
    spec = versions["v1"]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    assert spec["x-kubernetes-preserve-unknown-fields"] is True


def test_kind_gets_the_same_nodes_as_our_own_cluster() -> None:
    kind = yaml.safe_load((REPOSITORY / "tests/kind.yaml").read_text())
    workers = [node for node in kind["nodes"] if node["role"] == "worker"]
    ours = Cluster.of("same", DEFAULT_NODES).nodes
    assert len(workers) == len(ours)
    for worker, node in zip(workers, ours, strict=True):
        (mount,) = worker["extraMounts"]
        hardware = json.loads((REPOSITORY / mount["hostPath"]).read_text())
        assert hardware == node.hardware
        assert mount["containerPath"] == "/var/lib/simgpu/inventory.json"
        assert worker["labels"].items() <= node.labels.items()


def test_a_kwok_node_keeps_real_pods_away_and_has_gpus() -> None:
    node = kwok_node(7)
    assert node["metadata"]["name"] == "kwok-0007"
    assert node["spec"]["taints"][0]["effect"] == "NoSchedule"
    assert node["status"]["allocatable"]["nvidia.com/gpu"] == "8"
