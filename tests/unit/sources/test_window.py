"""Samples in, each once and in order, within bounds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.model import FloatArray
from cepheid.sources.answer import RawSeries
from cepheid.sources.cadvisor import Containers
from cepheid.sources.dcgm import identify
from cepheid.sources.devices import Devices
from cepheid.sources.window import Bounds, Track, Window
from tests.unit.sources.samples import END, container, gpu, ticks


def array(values: object) -> FloatArray:
    return np.array(values, dtype=np.float64)


batches = st.lists(st.lists(st.integers(0, 400), max_size=30).map(sorted), max_size=12)


@given(batches, st.integers(1, 64))
def test_a_track_is_what_sorting_everything_gives(batches: list[list[int]], most: int) -> None:
    track = Track()
    expected: dict[int, float] = {}
    for number, batch in enumerate(batches):
        track.add(array(batch), array([number * 1000 + one for one in batch]), most=10_000)
        for one in batch:
            expected.setdefault(one, number * 1000 + one)
    assert list(track.times) == sorted(expected)
    assert list(track.values) == [expected[one] for one in sorted(expected)]
    track.forget_until(200)
    assert list(track.times) == sorted(one for one in expected if one > 200)
    bounded = Track()
    for batch in batches:
        bounded.add(array(batch), array(batch), most=most)
    assert len(bounded) <= most
    assert list(bounded.times) == sorted(set(bounded.times))


def test_a_track_moves_seldom_and_stays_small() -> None:
    track = Track()
    for number in range(10_000):
        track.add(array([number * 15.0]), array([number]), most=4096)
        track.forget_until(number * 15.0 - 3600)
    assert len(track) == 240
    assert track.nbytes == 256 * 16
    assert list(track.values) == list(range(9760, 10_000))


def test_a_view_is_no_copy_and_not_to_be_written_to() -> None:
    track = Track()
    track.add(array([1, 2]), array([1, 2]), most=10)
    assert np.shares_memory(track.times, track.times)
    with pytest.raises(ValueError, match="read-only"):
        track.values[0] = 5


def test_samples_of_one_time_but_for_rounding_are_one() -> None:
    track = Track()
    track.add(array([1.0, 2.0]), array([1, 2]), most=10)
    track.add(array([1.0001, 2.0001, 3.0]), array([9, 9, 3]), most=10)
    assert list(track.values) == [1, 2, 3]


def test_a_series_that_is_not_seen_for_a_window_is_dropped_with_its_bytes() -> None:
    window: Window[str] = Window(Bounds())
    window.add("old", array([1]), array([1]))
    window.add("new", array([5000]), array([1]))
    window.forget_until(1400)
    assert [key for key, _ in window.items()] == ["new"]
    window.forget_until(6000)
    assert (len(window), window.nbytes) == (0, 0)


@pytest.mark.parametrize("bounds", [Bounds(max_series=7), Bounds(max_bytes=7 * 4096)])
def test_a_full_window_says_so_and_goes_on(bounds: Bounds) -> None:
    window: Window[int] = Window(bounds)
    for number in range(50):
        window.add(number, array([number]), array([number]))
    assert len(window) == 7
    assert window.refused == 43
    window.refused = 0
    for number in range(1000):
        window.add(3, array([100.0 + number]), array([number]))
    assert window.nbytes <= bounds.max_bytes
    kept = window.get(3)
    assert kept is not None
    assert kept.values[-1] == 999
    assert (len(kept) < 1000) == bool(window.refused)


def test_an_hour_of_eight_gpus_and_sixty_pods_takes_ten_megabytes() -> None:
    times = array(ticks(END - 3600, END))
    devices, containers = Devices(Window(Bounds())), Containers(Window(Bounds()))
    held = {"namespace": "team", "pod": "train", "container": "main"}
    for part in np.array_split(times, 12):  # as the reader's slices come
        devices.take(
            [
                RawSeries({"__name__": name, **gpu(index), **held}, part, part * 0 + 0.5)
                for index in range(8)
                for name in GPU_METRICS
            ],
            identify,
        )
        containers.take(
            [
                RawSeries({"__name__": name, **labels}, part, part * 0 + 1)
                for pod in range(60)
                for labels, names in pod_series(pod)
                for name in names
            ]
        )
    assert len(devices.window) == 8 * len(GPU_METRICS)
    assert len(containers.window) == 60 * (2 * 8 + 2)
    total = devices.window.nbytes + containers.window.nbytes
    print(f"{len(devices.window) + len(containers.window)} series, {total / 2**20:.1f} MiB")
    assert total <= 10 * 2**20


GPU_METRICS = (
    "DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_PROF_GR_ENGINE_ACTIVE", "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE",
    "DCGM_FI_PROF_DRAM_ACTIVE", "DCGM_FI_DEV_MEM_COPY_UTIL", "DCGM_FI_DEV_FB_USED",
    "DCGM_FI_DEV_FB_FREE", "DCGM_FI_DEV_FB_RESERVED", "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION",
    "DCGM_FI_DEV_POWER_USAGE", "DCGM_FI_PROF_PCIE_TX_BYTES", "DCGM_FI_PROF_PCIE_RX_BYTES",
    "DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL", "DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_SM_CLOCK",
    "DCGM_FI_DEV_XID_ERRORS",
)  # fmt: skip


def pod_series(pod: int) -> list[tuple[dict[str, str], tuple[str, ...]]]:
    of_container = (
        "container_cpu_usage_seconds_total",
        "container_cpu_cfs_periods_total",
        "container_cpu_cfs_throttled_periods_total",
        "container_memory_working_set_bytes",
        "container_processes",
    )
    disk = ("container_fs_reads_bytes_total", "container_fs_writes_bytes_total")
    network = ("container_network_receive_bytes_total", "container_network_transmit_bytes_total")
    series: list[tuple[dict[str, str], tuple[str, ...]]] = []
    for number, name in enumerate(("main", "sidecar")):
        labels = container("team", f"pod-{pod}", name, run=2 * pod + number)
        series.append((labels, of_container))
        series.append((labels | {"device": "/dev/nvme0n1"}, disk))
        series.append((labels | {"device": "/dev/nvme1n1"}, disk[:1]))
    pause = container("team", f"pod-{pod}", "", run=9)
    series.append((pause | {"interface": "eth0"}, network))
    return series
