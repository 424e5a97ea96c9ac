"""The page: names, types, help and labels as dcgm-exporter writes them, and whose they are."""

import csv
from collections.abc import Callable
from pathlib import Path

from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families

from tests.simgpu.activity import IDLE, Activity
from tests.simgpu.device_file import Client
from tests.simgpu.exposition import Owner
from tests.simgpu.faults import GpuFaults, save_faults
from tests.unit.simgpu.conftest import Node

TABLE = Path(__file__).with_name("dcgm_default_counters.csv")


def families(page: str) -> dict[str, Metric]:
    return {family.name: family for family in text_string_to_metric_families(page)}


def values(page: str, name: str) -> dict[str, float]:
    """By pod, "" where the series has none."""
    family = families(page).get(name)
    return {s.labels.get("pod", ""): s.value for s in family.samples} if family else {}


def test_names_types_and_help_are_those_of_dcgm_exporter(node: Callable[..., Node]) -> None:
    found = [
        (family.name, family.type, family.documentation)
        for family in text_string_to_metric_families(node().collector().collect(10.0))
    ]
    with TABLE.open(newline="") as table:
        assert found == [tuple(row) for row in csv.reader(table)]


def test_labels_stand_in_the_order_of_dcgm_exporter(node: Callable[..., Node]) -> None:
    one = node()
    gpu = one.inventory.gpus[0]
    one.owners = {gpu.uuid: [Owner("team-a", "train-0", "main")]}
    page = one.collector().collect(10.0).splitlines()
    (line,) = (line for line in page if line.startswith("DCGM_FI_DEV_XID_ERRORS"))
    assert line == (
        f'DCGM_FI_DEV_XID_ERRORS{{gpu="0",UUID="{gpu.uuid}",pci_bus_id="00000000:07:00.0",'
        'device="nvidia0",modelName="NVIDIA A100-SXM4-80GB",Hostname="node1",'
        'DCGM_FI_DRIVER_VERSION="550.90.07",container="main",err_code="0",err_msg="No Error",'
        'namespace="team-a",pod="train-0"} 0'
    )


def test_floats_have_six_decimals_and_integers_none(node: Callable[..., Node]) -> None:
    page = node().collector().collect(10.0)
    assert " 55.000000\n" in page
    assert " 550000\n" in page
    assert not [line for line in page.splitlines() if line.endswith(".0")]


def test_a_gpu_without_a_pod_has_no_pod_labels(node: Callable[..., Node]) -> None:
    page = node().collector().collect(10.0)
    assert "pod=" not in page
    assert "namespace=" not in page


def test_mig_slices_have_profile_and_id_but_no_utilisation(node: Callable[..., Node]) -> None:
    one = node(mig=["3g.40gb", "1g.10gb", "1g.10gb"])
    collector = one.collector()
    client = Client(one.device(device=1), "pod", now=0.0)
    client.announce(Activity(engine=1.0), 5000, now=0.0, until=10.0)
    one.owners = {one.device(device=1).name: [Owner("ns", "pod", "main")]}
    collector.glance(9.0)
    page = families(collector.collect(10.0))
    assert "DCGM_FI_DEV_GPU_UTIL" not in page
    used = {
        (s.labels["GPU_I_PROFILE"], s.labels["GPU_I_ID"], s.labels.get("pod")): s.value
        for s in page["DCGM_FI_DEV_FB_USED"].samples
    }
    assert used == {
        ("3g.40gb", "1", None): 0,
        ("1g.10gb", "7", "pod"): 5000,
        ("1g.10gb", "8", None): 0,
    }
    engine = [s.value for s in page["DCGM_FI_PROF_GR_ENGINE_ACTIVE"].samples]
    assert engine == [0.0, 1.0, 0.0]
    # Power is the board's: every slice repeats it, and a seventh of the GPU was busy.
    power = {s.value for s in page["DCGM_FI_DEV_POWER_USAGE"].samples}
    assert power == {round(55 + 345 * 0.2 / 7, 6)}
    energy = {s.value for s in page["DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION"].samples}
    assert energy == {int(10_000 * (55 + 345 * 0.2 / 7))}
    uuids = {s.labels["UUID"] for s in page["DCGM_FI_DEV_POWER_USAGE"].samples}
    assert uuids == {one.inventory.gpus[0].uuid}


def shared_node(node: Callable[..., Node]) -> Node:
    one = node(time_slicing=4)
    uuid = one.inventory.gpus[0].uuid
    one.owners = {uuid: [Owner("ns", f"pod-{n}", "main", str(n)) for n in (0, 1)]}
    return one


def test_one_pod_gets_the_series_of_a_shared_gpu_by_default(node: Callable[..., Node]) -> None:
    page = shared_node(node).collector().collect(10.0)
    assert set(values(page, "DCGM_FI_DEV_GPU_UTIL")) == {"pod-1"}
    assert "vgpu=" not in page


def test_virtual_gpus_copy_the_value_to_every_pod(node: Callable[..., Node]) -> None:
    one = shared_node(node)
    collector = one.collector(virtual_gpus=True)
    clients = [Client(one.device(), f"pod-{n}", now=0.0) for n in (0, 1)]
    clients[0].announce(Activity(engine=0.5), 1000, now=0.0, until=10.0)
    clients[1].announce(IDLE, 200, now=0.0, until=10.0)
    collector.glance(9.0)
    page = collector.collect(10.0)
    power = values(page, "DCGM_FI_DEV_POWER_USAGE")
    assert set(power) == {"pod-0", "pod-1"}
    assert len(set(power.values())) == 1
    # These two alone are each process's own, beside the device's.
    assert values(page, "DCGM_FI_DEV_GPU_UTIL") == {"": 50, "pod-0": 50, "pod-1": 0}
    assert values(page, "DCGM_FI_DEV_FB_USED") == {"": 1200, "pod-0": 1000, "pod-1": 200}
    replicas = {
        s.labels["pod"]: s.labels["vgpu"] for s in families(page)["DCGM_FI_DEV_POWER_USAGE"].samples
    }
    assert replicas == {"pod-0": "0", "pod-1": "1"}


def test_a_lost_gpu_has_no_series_and_a_found_one_has_them_again(
    node: Callable[..., Node],
) -> None:
    one = node(count=2)
    collector = one.collector()
    save_faults(one.root, {0: GpuFaults(lost=True)})
    (sample,) = families(collector.collect(10.0))["DCGM_FI_DEV_GPU_TEMP"].samples
    assert sample.labels["gpu"] == "1"
    save_faults(one.root, {})
    assert len(families(collector.collect(20.0))["DCGM_FI_DEV_GPU_TEMP"].samples) == 2


def test_an_xid_carries_its_code_and_message(node: Callable[..., Node]) -> None:
    one = node()
    save_faults(one.root, {0: GpuFaults(xid=79)})
    (sample,) = families(one.collector().collect(10.0))["DCGM_FI_DEV_XID_ERRORS"].samples
    assert sample.value == 79
    assert sample.labels["err_code"] == "79"
    assert sample.labels["err_msg"] == "GPU has fallen off the bus"


def test_a_blank_is_omitted_or_huge_as_older_versions_print_it(node: Callable[..., Node]) -> None:
    one = node()
    blank = {
        "DCGM_FI_DEV_POWER_USAGE": "omit",
        "DCGM_FI_DEV_GPU_TEMP": "9223372036854775794",
        "DCGM_FI_DEV_SM_CLOCK": "2147483634",
    }
    save_faults(one.root, {0: GpuFaults(blank=blank)})
    page = one.collector().collect(10.0)
    assert "DCGM_FI_DEV_POWER_USAGE" not in families(page)
    assert page.count(" 9223372036854775794\n") == 1
    assert page.count(" 2147483634\n") == 1


def test_a_t4_has_neither_row_remapping_nor_a_memory_sensor(node: Callable[..., Node]) -> None:
    page = families(node(model="Tesla T4").collector().collect(10.0))
    assert "DCGM_FI_DEV_ROW_REMAP_FAILURE" not in page
    assert page["DCGM_FI_DEV_MEMORY_TEMP"].samples[0].value == 0
