"""The node's hardware: stable serial numbers, and errors that say what to write instead."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.simgpu.errors import SimgpuError
from tests.simgpu.inventory import load_inventory, parse_inventory
from tests.simgpu.silicon import MODELS, find_model

UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
T4 = {"model": "Tesla T4", "count": 2}


def test_uuids_are_stable_on_a_node_and_differ_between_nodes_and_models() -> None:
    a10 = {"model": "NVIDIA A10", "count": 2}
    nodes = [parse_inventory(T4, "n1"), parse_inventory(T4, "n2"), parse_inventory(a10, "n1")]
    uuids = [gpu.uuid for node in nodes for gpu in node.gpus]
    assert len(set(uuids)) == 6
    assert all(re.fullmatch(f"GPU-{UUID}", uuid) for uuid in uuids)
    assert [gpu.uuid for gpu in parse_inventory(T4, "n1").gpus] == uuids[:2]


def test_a_node_named_in_the_inventory_needs_no_environment() -> None:
    assert parse_inventory({**T4, "node": "n1"}) == parse_inventory(T4, "n1")


def test_mig_slices_are_devices_of_their_own_resource() -> None:
    hardware = {"model": "NVIDIA A100-SXM4-80GB", "count": 1, "mig": ["1g.10gb", "3g.40gb"]}
    big, small = parse_inventory(hardware, "n1").gpus[0].devices
    assert (big.resource, big.instance_id) == ("nvidia.com/mig-3g.40gb", 1)
    assert (small.resource, small.instance_id) == ("nvidia.com/mig-1g.10gb", 7)
    assert re.fullmatch(f"MIG-{UUID}", small.uuid)
    assert small.model.memory_mib == 9728
    assert find_model(small.model.name) == small.model


def test_time_slicing_gives_each_device_several_names() -> None:
    inventory = parse_inventory({**T4, "time_slicing": 3}, "n1")
    uuid = inventory.gpus[0].uuid
    names = inventory.device_ids(inventory.gpus[0].devices[0])
    assert names == [f"{uuid}::0", f"{uuid}::1", f"{uuid}::2"]
    assert max(map(len, names)) <= 63  # the kubelet's limit


def test_node_labels_are_those_of_gpu_feature_discovery() -> None:
    assert parse_inventory(T4, "n1").node_labels() == {
        "nvidia.com/gpu.present": "true",
        "nvidia.com/gpu.product": "Tesla-T4",
        "nvidia.com/gpu.count": "2",
        "nvidia.com/gpu.replicas": "1",
        "nvidia.com/gpu.memory": "15360",
    }


@pytest.mark.parametrize(
    ("hardware", "message"),
    [
        ([], "not a JSON object"),
        ({}, '"model" is missing'),
        ({"model": "Voodoo 2"}, "unknown GPU model 'Voodoo 2'\nhint: one of: NVIDIA A100"),
        ({**T4, "count": 0}, '"count" is 0\nhint: a whole number from 1 to 16'),
        ({**T4, "count": True}, '"count" is True'),
        ({**T4, "time_slicing": "4"}, "\"time_slicing\" is '4'"),
        ({**T4, "mig": ["1g.10gb"]}, "Tesla T4 has no MIG\nhint: models that do: NVIDIA A100"),
        ({**T4, "memory": 1}, "unknown key 'memory'\nhint: known: count, mig"),
        ({"model": "NVIDIA A100-SXM4-80GB", "mig": "1g.10gb"}, "\"mig\" is '1g.10gb'"),
        ({"model": "NVIDIA A100-SXM4-80GB", "mig": ["9g.1gb"]}, "no MIG profile '9g.1gb'"),
        (
            {"model": "NVIDIA A100-SXM4-80GB", "mig": ["4g.40gb", "4g.40gb"]},
            "takes 8 compute and 8 memory slices of each GPU\nhint: a GPU has 7 and 8",
        ),
    ],
)
def test_a_wrong_inventory_says_what_is_wrong_and_what_would_be_right(
    hardware: Any, message: str
) -> None:
    with pytest.raises(SimgpuError) as caught:
        parse_inventory(hardware, "n1")
    assert message in str(caught.value)


def test_a_node_without_a_name_is_refused() -> None:
    with pytest.raises(SimgpuError, match="NODE_NAME"):
        parse_inventory(T4)


def test_errors_of_the_file_name_the_file(tmp_path: Path) -> None:
    with pytest.raises(SimgpuError, match=r"inventory\.json does not exist\nhint: write"):
        load_inventory(tmp_path, {"NODE_NAME": "n1"})
    (tmp_path / "inventory.json").write_text("{")
    with pytest.raises(SimgpuError, match="must be JSON"):
        load_inventory(tmp_path, {"NODE_NAME": "n1"})
    (tmp_path / "inventory.json").write_text('{"model": "x"}')
    with pytest.raises(SimgpuError, match=r"inventory\.json: unknown GPU model"):
        load_inventory(tmp_path, {"NODE_NAME": "n1"})


def test_no_model_idles_above_its_maximum_or_reserves_all_its_memory() -> None:
    for model in MODELS.values():
        assert model.idle_watts < model.max_watts
        assert model.idle_sm_mhz < model.max_sm_mhz
        assert model.reserved_mib < model.memory_mib / 10
