"""Labels of GPU exporters, as several versions write them, to devices and their holders."""

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from cepheid.sources import amd, dcgm
from cepheid.sources.answer import RawSeries
from cepheid.sources.catalog import Kind
from cepheid.sources.devices import Devices, Identify
from cepheid.sources.reading import GpuReading, Holder
from cepheid.sources.sightings import Labels, exporters_among
from cepheid.sources.window import Bounds, Window
from tests.simgpu.activity import Activity
from tests.simgpu.device_file import Client
from tests.simgpu.exposition import Owner
from tests.simgpu.faults import GpuFaults, save_faults
from tests.unit.simgpu.conftest import Node
from tests.unit.sources.samples import A100, END, gpu

MAIN = Holder("team-a", "train-0", "main")
HELD = {"namespace": "team-a", "pod": "train-0", "container": "main"}
EXPORTED = {f"exported_{name}": value for name, value in HELD.items()}
SCRAPE = {"namespace": "gpu", "pod": "nvidia-dcgm-exporter-x7k2p", "container": "exporter"}


def new() -> Devices:
    return Devices(Window(Bounds()))


def series(name: str, labels: Mapping[str, str], times: object, values: object) -> RawSeries:
    when = np.array(times, dtype=np.float64)
    return RawSeries(
        {"__name__": name, **labels}, when, np.broadcast_to(np.array(values, float), when.shape)
    )


def values(reading: GpuReading, signal: str) -> list[float]:
    (part,) = reading.signals[signal].parts
    return list(part.values)


@pytest.mark.parametrize(
    ("labels", "holder"),
    [
        pytest.param({}, None, id="nobody"),
        pytest.param({"namespace": "", "pod": "", "container": ""}, None, id="empty, as in 2.x"),
        pytest.param(HELD, MAIN, id="honor_labels"),
        pytest.param(SCRAPE | EXPORTED, MAIN, id="no honor_labels"),
        pytest.param(SCRAPE, None, id="no honor_labels, nobody"),
        pytest.param({"namespace": "gpu", "service": "x"}, None, id="namespace of the scrape"),
        pytest.param(HELD | {"Hostname": "train-0"}, None, id="exporter by any name"),
        pytest.param(HELD | {"hostname": "train-0"}, None, id="the same, newer"),
        pytest.param({**HELD, "container": ""}, Holder("team-a", "train-0", ""), id="no container"),
    ],
)
def test_the_workload_holds_the_gpu_and_never_the_exporter(
    labels: dict[str, str], holder: Holder | None
) -> None:
    assert dcgm.identify(gpu(3, **labels), frozenset()).holder == holder


def test_an_exporter_of_any_name_is_known_by_the_series_beside_it() -> None:
    scrape = {"namespace": "mon", "pod": "gpu-metrics-0", "container": "c"}
    devices = new()
    devices.take(
        [
            series("DCGM_FI_DEV_GPU_UTIL", gpu(0) | scrape | EXPORTED, [END], 1),
            series("DCGM_FI_DEV_GPU_UTIL", gpu(1) | scrape, [END], 1),
        ],
        dcgm.identify,
    )
    first, second = devices.readings()
    assert [one.holder for one in first.holdings] == [MAIN]
    assert second.holdings == ()


@pytest.mark.parametrize(
    "labels",
    [
        {},
        {"gpu": "x"},
        {"gpu": "-1"},
        {"gpu": "٣"},
        {"gpu": "9" * 30},
        {"gpu": "0", "UUID": "u" * 500},
        {"gpu": "0", "modelName": "a\nb"},
        gpu(0, namespace="a", pod="B", container="c"),
        gpu(0, namespace="a", pod="p" * 254, container="c"),
        gpu(0, namespace="a", pod='x"', container="c"),
    ],
)
def test_labels_that_no_device_or_pod_can_have_are_refused(labels: dict[str, str]) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        dcgm.identify(labels, frozenset())
    devices = new()
    assert devices.take([series("DCGM_FI_DEV_GPU_UTIL", labels, [END], 1)], dcgm.identify) == 1
    assert devices.readings() == ()


@given(
    st.dictionaries(
        st.sampled_from(["gpu", "gpu_id", "UUID", "pod", "exported_pod", "namespace", "container",
                         "GPU_I_ID", "serial_number", "device", "Hostname"]),
        st.text(max_size=20) | st.sampled_from(["0", "7", "pod-a"]),
    ),
    st.sampled_from([dcgm.identify, amd.identify]),
)  # fmt: skip
def test_any_labels_are_a_sighting_or_a_value_error(labels: Labels, identify: Identify) -> None:
    try:
        found = identify(labels, exporters_among([labels]))
    except ValueError:
        return
    assert found.device.index >= 0
    assert found.holder is None or found.holder.pod.isprintable()


def test_the_index_is_taken_from_the_device_where_gpu_is_missing() -> None:
    labels = {**gpu(5), "gpu": ""}
    assert dcgm.identify(labels, frozenset()).device.index == 5


def test_a_gpu_that_changes_hands_is_one_series() -> None:
    devices = new()
    other = gpu(0, namespace="team-b", pod="train-9", container="main")
    name = "DCGM_FI_DEV_GPU_UTIL"
    devices.take(
        [
            series(name, other, [END, END + 15], [3, 4]),
            series(name, gpu(0), [END - 30], 0),
            series(name, gpu(0, **HELD), [END - 60, END - 45], [1, 2]),
        ],
        dcgm.identify,
    )
    (reading,) = devices.readings()
    assert values(reading, "gpu_util_percent") == [1, 2, 0, 3, 4]
    (holding,) = reading.holdings
    assert (holding.holder.pod, holding.since_seconds) == ("train-9", END)
    assert not reading.shared


def test_a_gpu_that_was_left_has_been_so_since_the_first_sample_without_a_holder() -> None:
    devices = new()
    name = "DCGM_FI_DEV_GPU_UTIL"
    devices.take(
        [
            series(name, gpu(0), [END - 30, END - 15], 0),
            series(name, gpu(0, **HELD), [END - 60, END - 45], [1, 2]),
            series(name, gpu(1), [END - 60, END - 45], [1, 2]),
        ],
        dcgm.identify,
    )
    left, never_held = devices.readings()
    assert (left.holdings, left.since_seconds) == ((), END - 30)
    assert never_held.since_seconds == -np.inf


@pytest.mark.parametrize("new_uuid", ["GPU-0", "GPU-z"])
def test_of_two_boards_at_one_place_the_last_one_measured_is_there(new_uuid: str) -> None:
    devices = new()
    name = "DCGM_FI_DEV_FB_USED"
    devices.take(
        [
            series(name, gpu(0, UUID="GPU-old"), [END - 60, END - 45], 1),
            series(name, gpu(0, UUID=new_uuid), [END - 30, END - 15], 2),
        ],
        dcgm.identify,
    )
    (reading,) = devices.readings()
    assert (reading.uuid, values(reading, "gpu_memory_used_mib")) == (new_uuid, [2, 2])


@pytest.mark.parametrize("label", ["gpu", "GPU_I_ID"])
def test_a_number_that_no_annotation_has_room_for_is_no_gpus(label: str) -> None:
    dcgm.identify(gpu(0, **{label: "999"}), frozenset())
    for text in ("1000", "-1", "x", "\u0661"):
        with pytest.raises(ValueError, match="no index of a GPU"):
            dcgm.identify(gpu(0, **{label: text}), frozenset())


def test_a_gpu_is_the_same_after_its_exporter_and_driver_changed() -> None:
    devices = new()
    name = "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION"
    devices.take([series(name, gpu(0, instance="10.0.0.1:9400"), [END], 5)], dcgm.identify)
    newer = {**gpu(0, instance="10.0.0.9:9400"), "gpu": "1", "DCGM_FI_DRIVER_VERSION": "600"}
    devices.take([series(name, newer, [END + 30], 9)], dcgm.identify)
    (reading,) = devices.readings()
    assert reading.index == 1
    assert values(reading, "power_watts") == [5, 9]


@pytest.mark.parametrize("blank", [9223372036854775794.0, 2147483632.0, 140737488355328.0, -1.0])
def test_blanks_of_older_exporters_are_gaps(blank: float) -> None:
    devices = new()
    for name in ("DCGM_FI_DEV_FB_USED", "DCGM_FI_DEV_POWER_USAGE", "DCGM_FI_PROF_DRAM_ACTIVE"):
        devices.take([series(name, gpu(0), [END, END + 15], [1, blank])], dcgm.identify)
    (reading,) = devices.readings()
    for signal in ("gpu_memory_used_mib", "power_gauge_watts", "dram_active_ratio"):
        assert values(reading, signal) == [1]
    assert reading.newest_seconds == END + 15


def test_a_gpu_of_which_everything_is_blank_is_still_there() -> None:
    devices = new()
    devices.take([series("DCGM_FI_DEV_GPU_UTIL", gpu(0, **HELD), [END], np.nan)], dcgm.identify)
    (reading,) = devices.readings()
    assert reading.signals == {}
    assert len(reading.holdings) == 1


def test_links_add_up_and_measured_nvlink_is_preferred() -> None:
    devices = new()
    names = ("PROF_PCIE_TX_BYTES", "PROF_PCIE_RX_BYTES", "DEV_NVLINK_BANDWIDTH_TOTAL")
    for name in names:
        devices.take([series(f"DCGM_FI_{name}", gpu(0), [END], 1)], dcgm.identify)
    (reading,) = devices.readings()
    parts = reading.signals["interconnect_bytes_per_second"].parts
    assert [(part.kind, part.scale) for part in parts] == [
        (Kind.GAUGE, 1), (Kind.GAUGE, 1), (Kind.COUNTER, 1e6)
    ]  # fmt: skip
    devices.take([series("DCGM_FI_PROF_NVLINK_TX_BYTES", gpu(0), [END], 1)], dcgm.identify)
    (reading,) = devices.readings()
    parts = reading.signals["interconnect_bytes_per_second"].parts
    assert [part.group for part in parts][2:] == ["DCGM_FI_PROF_NVLINK_TX_BYTES"]


@pytest.mark.parametrize(
    ("measured", "kind"),
    [
        ([0.0] * 50, Kind.COUNTER),
        ([float(i) for i in range(50)], Kind.COUNTER),
        ([float(i % 25) for i in range(50)], Kind.COUNTER),  # one restart
        ([5.0, 3.0, 8.0, 2.0] * 12, Kind.GAUGE),
        ([7.0], Kind.COUNTER),
    ],
)
def test_nvlink_is_a_counter_unless_it_keeps_falling(measured: list[float], kind: Kind) -> None:
    assert dcgm.nvlink_kind(np.array(measured)) is kind


# What the simulated exporter prints, which is what dcgm-exporter prints.


def take_page(devices: Devices, page: str, at: float, **more: str) -> None:
    # The parser puts `_total` behind a counter's name, which dcgm-exporter does not.
    devices.take(
        [
            series(
                sample.name.removesuffix("_total"), {**sample.labels, **more}, [at], sample.value
            )
            for family in text_string_to_metric_families(page)
            for sample in family.samples
        ],
        dcgm.identify,
    )


@pytest.fixture
def node(tmp_path: Path) -> Callable[..., Node]:
    def build(**hardware: object) -> Node:
        return Node(tmp_path, {"model": A100, "count": 1, **hardware})

    return build


def test_a_page_of_the_exporter_becomes_a_gpu(node: Callable[..., Node]) -> None:
    one = node(count=2)
    one.owners = {one.inventory.gpus[0].uuid: [Owner("team-a", "train-0", "main")]}
    collector = one.collector()
    devices = new()
    for at in (10.0, 40.0):
        take_page(devices, collector.collect(at), END + at)
    first, second = devices.readings()
    assert (first.index, first.uuid) == (0, one.inventory.gpus[0].uuid)
    assert [holding.holder for holding in first.holdings] == [MAIN]
    assert second.holdings == ()
    assert first.memory_total_mib == 81_920
    energy = values(first, "power_watts")
    assert (energy[1] - energy[0]) / 30 / 1000 == pytest.approx(55.0)  # an idle A100


def test_time_slicing_with_copies_is_never_summed(node: Callable[..., Node]) -> None:
    one = node()
    uuid = one.inventory.gpus[0].uuid
    owners = [Owner("team-a", name, "main", replica=str(i)) for i, name in enumerate(("a", "b"))]
    one.owners = {uuid: owners}
    collector = one.collector(virtual_gpus=True)
    clients = [Client(one.device(), name, now=0.0) for name in ("a", "b")]
    for client, memory in zip(clients, (1000, 200), strict=True):
        client.announce(Activity(engine=0.5), memory, now=0.0, until=10.0)
    collector.glance(9.0)
    page = collector.collect(10.0)
    for client in clients:
        client.close(now=10.0)
    devices = new()
    take_page(devices, page, END)
    (reading,) = devices.readings()
    assert reading.shared
    assert [holding.holder.pod for holding in reading.holdings] == ["a", "b"]
    assert values(reading, "gpu_memory_used_mib") == [1200]
    assert len(values(reading, "power_watts")) == 1
    own = {
        holding.holder.pod: holding.signals["gpu_memory_used_mib"].last
        for holding in reading.holdings
    }
    assert own == {"a": 1000, "b": 200}
    assert set(reading.holdings[0].signals) == {"gpu_memory_used_mib", "gpu_util_percent"}


def test_mig_instances_are_devices_without_a_power_of_their_own(node: Callable[..., Node]) -> None:
    one = node(mig=["3g.40gb", "3g.40gb"])
    devices = new()
    collector = one.collector()
    for at in (10.0, 40.0):
        take_page(devices, collector.collect(at), END + at)
    readings = devices.readings()
    assert len(readings) == 2
    assert len({reading.mig_id for reading in readings}) == 2
    for reading in readings:
        assert reading.mig_profile == "3g.40gb"
        assert "gpu_util_percent" not in reading.signals
        assert "engine_active_ratio" in reading.signals
        assert "power_watts" not in reading.signals
        assert "board_power_watts" in reading.signals


def test_faults_show_as_an_xid_and_as_silence(node: Callable[..., Node]) -> None:
    one = node(count=2)
    collector = one.collector()
    devices = new()
    take_page(devices, collector.collect(10.0), END)
    save_faults(one.root, {0: GpuFaults(xid=79), 1: GpuFaults(lost=True)})
    for at in (40.0, 70.0):
        take_page(devices, collector.collect(at), END + at)
    first, lost = devices.readings()
    assert first.xid is not None
    assert (first.xid.code, first.xid.since_seconds) == (79, END + 40)
    assert lost.newest_seconds == END
    devices.forget_until(END + 1)
    assert [reading.index for reading in devices.readings()] == [0]


def test_amds_labels() -> None:
    labels = {
        "gpu_id": "2", "serial_number": "69", "card_model": "MI300X", "gpu_partition_id": "0",
        "hostname": "n", **HELD,
    }  # fmt: skip
    sighting = amd.identify(labels, frozenset())
    assert sighting.holder == MAIN
    assert (sighting.device.index, sighting.device.model) == (2, "MI300X")
    devices = new()
    both = [
        series("gpu_power_usage", labels, [END], 400),
        series("gpu_package_power", labels, [END], 500),
    ]
    devices.take(both, amd.identify)
    (reading,) = devices.readings()
    assert values(reading, "power_gauge_watts") == [400]
