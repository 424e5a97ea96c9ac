"""What is applied to a cluster: no more rights than the real ones need, and sound hardware."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.simgpu.inventory import parse_inventory

SIMGPU = Path(__file__).parents[2] / "simgpu"


def objects(name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((SIMGPU / "manifests" / name).read_text()))


def test_kustomization_names_every_manifest() -> None:
    (kustomization,) = objects("kustomization.yaml")
    present = {path.name for path in (SIMGPU / "manifests").glob("*.yaml")}
    assert set(kustomization["resources"]) == present - {"kustomization.yaml"}


@pytest.mark.parametrize("name", ["device-plugin.yaml", "dcgm-exporter.yaml"])
def test_daemon_sets_have_no_api_rights_and_no_capabilities(name: str) -> None:
    pod = objects(name)[0]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["automountServiceAccountToken"] is False
    assert pod["nodeSelector"] == {"nvidia.com/gpu.present": "true"}
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert container["image"] == "localhost/cepheid/simgpu:dev"


def test_the_service_finds_the_exporter() -> None:
    daemon_set, service = objects("dcgm-exporter.yaml")
    labels = daemon_set["spec"]["template"]["metadata"]["labels"]
    assert service["spec"]["selector"].items() <= labels.items()
    assert service["spec"]["ports"][0]["port"] == 9400


@pytest.mark.parametrize("path", sorted((SIMGPU / "inventories").glob("*.json")), ids=str)
def test_every_committed_inventory_is_sound(path: Path) -> None:
    assert parse_inventory(json.loads(path.read_text()), "node1").gpus
