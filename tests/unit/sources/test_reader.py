"""A node, read from a real Prometheus whose time the tests decide."""

from collections.abc import Callable
from urllib.parse import unquote_plus

import numpy as np
import pytest

from cepheid.errors import AnswerBrokenError, SourceBusyError, SourceUnreachableError
from cepheid.model import FloatArray
from cepheid.sources.access import Access
from cepheid.sources.catalog import Kind, Source
from cepheid.sources.prometheus import PrometheusClient
from cepheid.sources.reader import NodeReader
from cepheid.sources.reading import GpuReading, Holder, NodeReading, arrays
from cepheid.sources.selection import Found, Target, selectors
from cepheid.sources.window import Bounds
from tests.unit.sources import servers
from tests.unit.sources.samples import A100, END, EVIL_NODE, HOUR, STEP, UIDS, gpu
from tests.unit.sources.servers import Front

Reader = Callable[..., NodeReader]


def samples_of(gpu: GpuReading, signal: str) -> tuple[FloatArray, FloatArray]:
    (part,) = gpu.signals[signal].parts
    return part.times.copy(), part.values.copy()


def window(at: float) -> FloatArray:
    return np.arange(at - HOUR + STEP, at + 1, STEP)


def growth(times: FloatArray, values: FloatArray, kind: Kind) -> FloatArray:
    """A stand-in for a grid, for samples that all lie on the same times."""
    if kind is Kind.GAUGE:
        return values
    return np.concatenate(([np.nan], np.diff(values) / np.diff(times)))


def last(reading: NodeReading, pod: str, signal: str) -> float:
    (found,) = (one for one in reading.pods if one.name == pod)
    return float(arrays(found.signals, growth)[signal][-1])


def test_the_first_reading_holds_the_whole_window(full: str, reader: Reader) -> None:
    reading = reader(full, "node-a").read(END)
    assert not reading.failures
    assert not reading.notes
    assert reading.found_by == {Source.DCGM: "node", Source.CADVISOR: "node"}
    assert reading.newest_seconds == END
    first, second = reading.gpus
    assert (first.index, first.model, first.mig_id) == (0, A100, None)
    times, _ = samples_of(first, "gpu_util_percent")
    assert np.array_equal(times, window(END))
    assert first.holdings[0].holder == Holder("team-a", "train-0", "main")
    assert first.holdings[0].since_seconds == END - HOUR + STEP
    assert (second.holdings, second.shared) == ((), False)
    assert first.memory_total_mib == 30_000 + 50_000 + 920


def test_blanks_and_what_is_not_in_the_catalog_are_left_out(full: str, reader: Reader) -> None:
    gpu = reader(full, "node-a").read(END).gpus[0]
    assert "mem_copy_util_percent" not in gpu.signals
    assert set(gpu.signals) == {
        "gpu_util_percent", "engine_active_ratio", "tensor_active_ratio", "gpu_memory_used_mib",
        "gpu_memory_free_mib", "gpu_memory_reserved_mib", "power_watts", "power_gauge_watts", "xid",
    }  # fmt: skip


def test_power_is_the_growth_of_the_energy_counter(full: str, reader: Reader) -> None:
    gpu = reader(full, "node-a").read(END).gpus[0]
    (part,) = gpu.signals["power_watts"].parts
    assert part.kind is Kind.COUNTER
    assert arrays(gpu.signals, growth)["power_watts"][-1] == pytest.approx(300.0)


def test_an_xid_has_the_time_at_which_it_came(full: str, reader: Reader) -> None:
    first, second = reader(full, "node-a").read(END).gpus
    assert first.xid is None
    assert second.xid is not None
    assert (second.xid.code, second.xid.since_seconds) == (79, END - 600)


def test_pods_are_the_sum_of_their_containers_and_nothing_else(full: str, reader: Reader) -> None:
    reading = reader(full, "node-a").read(END)
    assert [(pod.name, pod.uid) for pod in reading.pods] == [
        ("train-0", UIDS["train-0"]),
        ("web-0", UIDS["web-0"]),
    ]
    assert last(reading, "train-0", "cpu_cores") == pytest.approx(4.0)
    assert last(reading, "web-0", "cpu_cores") == pytest.approx(2.0)
    assert last(reading, "train-0", "memory_working_set_bytes") == 2e9
    assert last(reading, "train-0", "processes") == 6
    assert last(reading, "train-0", "disk_write_bytes_per_second") == pytest.approx(4.0)
    assert last(reading, "train-0", "network_receive_bytes_per_second") == pytest.approx(2e6)
    assert arrays(reading.node, growth)["cpu_cores"][-1] == pytest.approx(8.0)
    assert (reading.cpu_cores_total, reading.memory_bytes_total) == (96, 1e12)


def test_later_readings_ask_only_for_what_is_new(full: str, front: Front, reader: Reader) -> None:
    front.upstream = full
    one = reader(front.url, "node-a")
    one.read(END)
    traffic = one.client.traffic
    at_first = (front.body_bytes, traffic.body_bytes)
    passes = 10
    for number in range(1, passes + 1):
        reading = one.read(END + 30.0 * number)
        assert not reading.failures
    steady = (front.body_bytes - at_first[0], traffic.body_bytes - at_first[1])
    assert traffic.wire_bytes == front.body_bytes
    before = (front.body_bytes, traffic.body_bytes)
    for found in (Found(Source.DCGM, "node"), Found(Source.CADVISOR, "node", "container")):
        for selector in selectors(one.target, found):
            one.client.instant(f"{selector}[3600s]", END + 300)
    whole = (front.body_bytes - before[0], traffic.body_bytes - before[1])
    for how, new, all_of_it in zip(("compressed", "uncompressed"), steady, whole, strict=True):
        share = new / passes / all_of_it
        print(f"{how}: {share:.3f} of a window a pass")
        assert share <= 0.1, how
    times, _ = samples_of(reading.gpus[0], "gpu_util_percent")
    assert np.array_equal(times, window(END + 300))


def test_a_long_gap_is_filled_and_no_more_than_it(full: str, front: Front, reader: Reader) -> None:
    front.upstream = full
    one = reader(front.url, "node-a")
    one.read(END - 900)
    front.reply = servers.answer(503, b"starting")
    for seconds in range(870, 0, -30):
        assert isinstance(one.read(END - seconds).failures[Source.DCGM], SourceBusyError)
    front.reply, sent = None, len(front.requests)
    reading = one.read(END)
    times, _ = samples_of(reading.gpus[0], "gpu_util_percent")
    assert np.array_equal(times, window(END))
    # Fifteen minutes in slices of two; one selector for GPUs and three for containers.
    assert len(front.requests) - sent == 8 * (1 + 3) + 1  # and one that looks for AMD


def test_a_failing_prometheus_leaves_what_was_read(full: str, front: Front, reader: Reader) -> None:
    front.upstream = full
    one = reader(front.url, "node-a")
    before = one.read(END - 60)
    util = samples_of(before.gpus[0], "gpu_util_percent")
    for reply in (
        servers.answer(500, b"oops"),
        servers.answer(200, b"<html>log in</html>"),
        servers.answer(200, b'{"status":"success","data":{"resu'),
    ):
        front.reply = reply
        reading = one.read(END - 30)
        assert {type(error) for error in reading.failures.values()} == {AnswerBrokenError}
        assert np.array_equal(samples_of(reading.gpus[0], "gpu_util_percent"), util)
        assert len(reading.pods) == 2
        assert reading.newest_seconds == END - 60
    front.reply = None
    reading = one.read(END)
    assert not reading.failures
    assert reading.newest_seconds == END


def test_when_nobody_answers_one_failure_ends_the_pass(
    full: str, front: Front, reader: Reader
) -> None:
    front.upstream = full
    one = reader(front.url, "node-a")
    one.read(END - 45)
    front.reply, sent = servers.answer(503, b""), len(front.requests)
    reading = one.read(END - 30)
    assert set(reading.failures) == {Source.DCGM, Source.CADVISOR}
    assert len(front.requests) == sent + 1


def test_a_prometheus_that_lost_everything_takes_nothing_from_the_window(
    full: str, empty: str, front: Front, reader: Reader
) -> None:
    front.upstream = full
    one = reader(front.url, "node-a")
    one.read(END - 120)
    front.upstream = empty
    for seconds in (90, 60, 30):
        reading = one.read(END - seconds)
        assert not reading.failures
        assert reading.newest_seconds == END - 120
        assert len(reading.gpus) == 2
    front.upstream = full
    times, _ = samples_of(one.read(END).gpus[0], "gpu_util_percent")
    assert np.array_equal(times, window(END))


def test_time_that_goes_back_reads_the_window_anew(full: str, reader: Reader) -> None:
    one = reader(full, "node-a")
    one.read(END + 900)
    reading = one.read(END)
    assert "time went back: the window is read anew" in reading.notes
    times, _ = samples_of(reading.gpus[0], "gpu_util_percent")
    assert (times[0], times[-1]) == (END - HOUR + STEP, END)


def test_a_clock_that_is_a_minute_off_loses_nothing(full: str, reader: Reader) -> None:
    one = reader(full, "node-a")
    for at in (END - 300, END - 360, END - 200, END - 140, END - 170, END):
        reading = one.read(at)
        assert not reading.notes
    times, _ = samples_of(reading.gpus[0], "gpu_util_percent")
    assert np.array_equal(times, window(END))


def test_without_honor_labels_the_exporter_holds_no_gpu(full: str, reader: Reader) -> None:
    reading = reader(full, "host-b").read(END)
    assert reading.found_by[Source.DCGM] == "Hostname"
    first, second = reading.gpus
    assert [one.holder for one in first.holdings] == [Holder("team-b", "train-1", "main")]
    assert second.holdings == ()


def test_a_node_is_found_by_its_address_where_nothing_else_tells(full: str, reader: Reader) -> None:
    assert reader(full, "inst-c").read(END).gpus == ()
    reading = reader(full, "inst-c", addresses=("10.0.0.3", "fd00::3")).read(END)
    assert reading.found_by == {Source.DCGM: "instance"}
    assert len(reading.gpus) == 1


def test_a_source_that_comes_later_is_found_within_a_pass(full: str, reader: Reader) -> None:
    one = reader(full, "host-b")
    assert one.read(END - 700).gpus == ()
    assert one.read(END - 670).gpus == ()
    assert len(one.read(END - 570).gpus) == 2


def test_a_node_without_gpus_is_seldom_asked_for_them(
    full: str, front: Front, reader: Reader
) -> None:
    front.upstream = full
    one = reader(front.url, "nobody")
    for number in range(120):
        one.read(END - HOUR + 30.0 * number)
    assert len(front.requests) <= 16


def test_a_pair_of_replicas_is_one_series(full: str, reader: Reader) -> None:
    reading = reader(full, "ha-d").read(END)
    (gpu,) = reading.gpus
    times, values = samples_of(gpu, "gpu_util_percent")
    assert np.all(np.diff(times) > 0)
    assert times.size > 41 + 30  # both replicas'
    assert set(values) == {10.0}
    (pod,) = reading.pods
    (part,) = pod.signals["cpu_cores"].parts
    assert np.all(np.diff(part.times) >= STEP)


def test_hostile_names_neither_break_the_query_nor_come_through(full: str, reader: Reader) -> None:
    reading = reader(full, EVIL_NODE).read(END)
    assert not reading.failures
    assert [(gpu.index, gpu.holdings) for gpu in reading.gpus] == [(0, ())]
    assert reading.notes == ("dcgm: series left out whose labels no GPU or pod can have",)


def test_amds_exporter_with_a_prefix(full: str, reader: Reader) -> None:
    reading = reader(full, "amd-e", amd_prefix="amd_").read(END)
    assert reading.found_by == {Source.AMD: "hostname"}
    (gpu,) = reading.gpus
    assert (gpu.model, gpu.memory_total_mib) == ("AMD Instinct MI300X", 196_592)
    assert gpu.holdings[0].holder == Holder("team-e", "train-e", "main")
    on_grid = arrays(gpu.signals, growth)
    assert on_grid["dram_active_ratio"][-1] == pytest.approx(0.25)
    assert on_grid["power_watts"][-1] == pytest.approx(500.0)


def test_a_cadvisor_that_runs_by_itself(full: str, reader: Reader) -> None:
    reading = reader(full, "alone-f").read(END)
    assert reading.found_by == {Source.CADVISOR: "kubernetes_node"}
    assert [(pod.namespace, pod.name) for pod in reading.pods] == [("team-f", "train-f")]
    assert last(reading, "train-f", "cpu_cores") == pytest.approx(0.5)


def test_warnings_of_the_server_are_passed_on_and_the_answer_is_asked_for_again(
    full: str, front: Front, reader: Reader
) -> None:
    front.upstream = full
    one = reader(front.url, "node-a")
    one.read(END - 120)
    front.reply = servers.success([], warnings=["one store\nis away"], infos=["fine"])
    reading = one.read(END - 60)
    assert reading.notes == ("Prometheus says: one store is away", "Prometheus says: fine")
    front.reply = None
    times, _ = samples_of(one.read(END).gpus[0], "gpu_util_percent")
    assert np.array_equal(times, window(END))


def test_an_answer_above_the_limit_is_refused_and_the_rest_goes_on(
    full: str, access: Callable[..., Access]
) -> None:
    client = PrometheusClient(access(full, max_answer_series=15))
    reading = NodeReader(client, Target(node="node-a")).read(END)
    client.close()
    assert "more than 15 series" in str(reading.failures[Source.DCGM])
    assert len(reading.pods) == 2


def test_a_full_window_takes_up_no_more(full: str, client: Callable[..., PrometheusClient]) -> None:
    bounds = Bounds(max_series=10, max_samples=100, max_bytes=1 << 20)
    reading = NodeReader(client(full), Target(node="node-a"), bounds).read(END)
    assert reading.series <= 10
    assert reading.window_bytes <= 1 << 20
    assert any("window is full" in note for note in reading.notes)
    for one in reading.gpus:
        for signal in one.signals.values():
            assert signal.parts[0].times.size <= 100
            assert signal.parts[0].times[-1] == END


def test_no_prometheus_at_all_is_a_failure_of_every_source(reader: Reader) -> None:
    reading = reader("http://127.0.0.1:9", "node-a").read(END)
    assert {type(error) for error in reading.failures.values()} == {SourceUnreachableError}
    assert set(reading.failures) == set(Source)
    assert (reading.gpus, reading.pods, reading.newest_seconds) == ((), (), None)


def test_each_pass_asks_half_a_minute_back_for_samples_that_came_late(
    full: str, front: Front, reader: Reader
) -> None:
    front.upstream = full
    one = reader(front.url, "node-a")
    one.read(END)
    sent = len(front.requests)
    one.read(END + 15)
    asked = [unquote_plus(request.path) for request in front.requests[sent:]]
    assert len(asked) == 4
    assert all("[45s]" in path and f"time={END + 15:.3f}" in path for path in asked)


def test_a_sample_that_came_late_finds_its_place(front: Front, reader: Reader) -> None:
    labels = {"__name__": "DCGM_FI_DEV_GPU_UTIL", "way": "0", **gpu(0, node="node-a")}

    def reply(*times: float) -> None:
        values = [[when, str(when - END)] for when in times]
        front.reply = servers.success([{"metric": labels, "values": values}])

    one = reader(front.url, "node-a")
    reply(END - 45, END - 30, END)
    one.read(END)
    reply(END - 15, END, END + 15)
    times, values = samples_of(one.read(END + 20).gpus[0], "gpu_util_percent")
    assert list(times) == [END, END + 15]  # below 0 is no utilisation
    assert list(values) == [0, 15]
    reply(END + 10, END + 15, END + 30)
    times, _ = samples_of(one.read(END + 40).gpus[0], "gpu_util_percent")
    assert list(times) == [END, END + 10, END + 15, END + 30]
