"""Series of containers to pods: what counts, what repeats something else, and what adds up."""

from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.analysis.grid import Grid, align, counter_rate, to_grid
from cepheid.model import FloatArray
from cepheid.sources import catalog
from cepheid.sources.answer import RawSeries
from cepheid.sources.cadvisor import Containers, identify
from cepheid.sources.catalog import Kind
from cepheid.sources.reading import Part, PodReading, Signal, arrays
from cepheid.sources.window import Bounds, Window
from tests.unit.sources.samples import END, STEP, UIDS, container

CPU = "container_cpu_usage_seconds_total"
MEMORY = "container_memory_working_set_bytes"
RECEIVED = "container_network_receive_bytes_total"
WRITTEN = "container_fs_writes_bytes_total"
TIMES = np.arange(END, END + 601, STEP)
LIKE = Grid(END, STEP, np.zeros(TIMES.size))


def gridder(times: FloatArray, values: FloatArray, kind: Kind) -> FloatArray | None:
    """What the layer above hands in."""
    put = to_grid if kind is Kind.GAUGE else counter_rate
    grid = put(times, values, step_seconds=STEP)
    return None if grid is None else align(grid, LIKE).values


def series(
    name: str, labels: Mapping[str, str], values: object, times: FloatArray = TIMES
) -> RawSeries:
    return RawSeries(
        {"__name__": name, **labels}, times, np.broadcast_to(np.array(values, float), times.shape)
    )


def pods(*found: RawSeries) -> tuple[PodReading, ...]:
    containers = Containers(Window(Bounds()))
    assert containers.take(found) == 0
    return containers.readings()[0]


def only(*found: RawSeries) -> dict[str, FloatArray]:
    (pod,) = pods(*found)
    return arrays(pod.signals, gridder)


def grows(rate: float, times: FloatArray = TIMES) -> FloatArray:
    return (times - END + 1000) * rate


def test_the_pods_cgroup_and_the_pause_container_are_not_counted_again() -> None:
    found = only(
        series(CPU, container("a", "p", "main"), grows(2)),
        series(CPU, container("a", "p", "side"), grows(1)),
        series(CPU, container("a", "p", ""), grows(3)),
        series(CPU, container("a", "p", "POD"), grows(1)),
    )
    assert np.nanmax(found["cpu_cores"]) == pytest.approx(3.0)


def test_a_restarted_container_counts_once_while_both_series_last() -> None:
    old, new = TIMES[:25], TIMES[15:]
    found = only(
        series(MEMORY, container("a", "p", "main", run=1), 5e9, old),
        series(MEMORY, container("a", "p", "main", run=2), 1e9, new),
        series(MEMORY, container("a", "p", "side"), 1e8),
    )
    memory = found["memory_working_set_bytes"]
    assert np.all(memory[:25] == 5.1e9)
    assert np.all(memory[25:] == 1.1e9)


def test_a_counter_that_begins_anew_is_a_gap_and_no_peak() -> None:
    values = grows(2)
    values[20:] -= values[20]
    found = only(series(CPU, container("a", "p", "main"), values))
    assert np.isnan(found["cpu_cores"][20])
    assert np.nanmax(found["cpu_cores"]) == pytest.approx(2.0)


def test_a_gap_in_one_container_is_a_gap_in_the_pod_and_not_a_dip() -> None:
    with_gap = np.delete(TIMES, slice(18, 22))
    found = only(
        series(MEMORY, container("a", "p", "main"), 2e9),
        series(MEMORY, container("a", "p", "side"), 1e9, with_gap),
    )
    memory = found["memory_working_set_bytes"]
    assert np.all(np.isnan(memory[18:22]))
    assert set(memory[~np.isnan(memory)]) == {3e9}


def test_a_container_that_ended_no_longer_counts_and_a_late_sample_is_waited_for() -> None:
    found = only(
        series(MEMORY, container("a", "p", "main"), 2e9),
        series(MEMORY, container("a", "p", "init"), 1e9, TIMES[:10]),
        series(MEMORY, container("a", "p", "side"), 5e8, TIMES[:-1]),
    )
    memory = found["memory_working_set_bytes"]
    assert np.all(memory[:10] == 3.5e9)
    assert np.all(memory[10:-1] == 2.5e9)
    assert np.isnan(memory[-1])


def test_network_is_the_pods_and_adds_up_over_interfaces() -> None:
    sandbox = container("a", "p", "")
    found = only(
        series(RECEIVED, sandbox | {"interface": "eth0"}, grows(100)),
        series(RECEIVED, sandbox | {"interface": "net1"}, grows(10)),
        series(RECEIVED, sandbox | {"interface": "lo"}, grows(1000)),
        series(RECEIVED, sandbox | {"interface": "tunl0"}, 0),
    )
    assert np.nanmedian(found["network_receive_bytes_per_second"]) == pytest.approx(110)


def test_a_pod_on_the_nodes_network_has_no_network_of_its_own() -> None:
    sandbox = container("a", "p", "")
    found = only(
        series(CPU, container("a", "p", "main"), grows(1)),
        series(RECEIVED, sandbox | {"interface": "eth0"}, grows(100)),
        series(RECEIVED, sandbox | {"interface": "veth1a2b"}, grows(10)),
    )
    assert set(found) == {"cpu_cores"}


def test_the_node_is_counted_on_its_physical_interfaces() -> None:
    containers = Containers(Window(Bounds()))
    names = ("eth0", "eth1", "lo", "veth1", "cni0", "bond0", "eth0.100", "docker0")
    containers.take(series(RECEIVED, {"id": "/", "interface": name}, grows(100)) for name in names)
    found, node = containers.readings()
    assert found == ()
    total = arrays(node, gridder)["network_receive_bytes_per_second"]
    assert np.nanmedian(total) == pytest.approx(200)


@pytest.mark.parametrize(
    ("devices", "rate"),
    [
        (("/dev/sda", "/dev/sdb"), 20),
        (("/dev/sda", "/dev/dm-0", "/dev/md127"), 10),
        (("/dev/dm-0",), 10),
        (("",), 10),
    ],
)
def test_disks_add_up_without_those_that_lie_on_others(
    devices: tuple[str, ...], rate: float
) -> None:
    labels = container("a", "p", "main")
    found = only(*(series(WRITTEN, labels | {"device": name}, grows(10)) for name in devices))
    assert np.nanmedian(found["disk_write_bytes_per_second"]) == pytest.approx(rate)


def test_throttling_is_a_share_and_unknown_where_nothing_limits() -> None:
    labels = container("a", "p", "main")
    found = only(
        series("container_cpu_cfs_periods_total", labels, grows(10)),
        series("container_cpu_cfs_throttled_periods_total", labels, grows(4)),
    )
    assert np.nanmedian(found["throttled_ratio"]) == pytest.approx(0.4)
    still = only(
        series("container_cpu_cfs_periods_total", labels, 7),
        series("container_cpu_cfs_throttled_periods_total", labels, 7),
    )
    assert np.all(np.isnan(still["throttled_ratio"]))


@pytest.mark.parametrize(
    ("path", "uid"),
    [
        ("/kubepods/burstable/pod0f0e0d0c-1111-4222-8333-444455556666/abc", UIDS["train-0"]),
        (container("a", "train-0", "c")["id"], UIDS["train-0"]),
        ("/kubepods/pod4f2c1d0e9b8a7f6e5d4c3b2a19080706/abc", None),  # a static pod's hash
        ("/docker/abc", None),
    ],
)
def test_the_uid_of_a_pod_stands_in_its_cgroup(path: str, uid: str | None) -> None:
    labels = container("a", "p", "c") | {"id": path}
    key = identify(labels, catalog.BY_NAME[CPU])
    assert key is not None
    assert key.pod is not None
    assert key.pod.uid == uid


def test_two_pods_of_one_name_are_two() -> None:
    old, new = pods(
        series(CPU, container("a", "web-0", "c", uid_of="web-0 replaced"), 2, TIMES[20:]),
        series(CPU, container("a", "web-0", "c"), 1, TIMES[:20]),
    )
    assert (old.uid, new.uid) == (UIDS["web-0"], UIDS["web-0 replaced"])
    assert old.newest_seconds < new.newest_seconds


def test_names_moved_by_the_scrape_are_preferred() -> None:
    labels = {f"exported_{k}": v for k, v in container("a", "p", "main").items() if k in NAMES}
    scrape = {"namespace": "kube-system", "pod": "kubelet", "container": "", "id": "/x"}
    (pod,) = pods(series(CPU, labels | scrape, grows(1)))
    assert (pod.namespace, pod.name) == ("a", "p")


NAMES = ("namespace", "pod", "container")


@given(
    st.dictionaries(
        st.sampled_from(["id", "namespace", "pod", "container", "interface", "device", "image"]),
        st.text(max_size=20) | st.sampled_from(["/", "pod-a", "main", "eth0"]),
    ),
    st.sampled_from(catalog.of(catalog.Source.CADVISOR)),
)
def test_any_labels_are_understood_or_left_out(
    labels: dict[str, str], metric: catalog.Metric
) -> None:
    containers = Containers(Window(Bounds()))
    assert containers.take([series(metric.name, labels, 1)]) in {0, 1}
    containers.readings()


def test_a_signal_without_anything_on_the_grid_is_none() -> None:
    part = Part("g", Kind.GAUGE, 1.0, np.array([END]), np.array([1.0]))
    assert Signal((part,)).onto(lambda *_: None) is None
