"""What stands on nodes and pods becomes rows, and what is of the past none."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.analysis.jobrules import JobKind
from cepheid.annotations.codec import PREFIX, encode_node, encode_pod
from cepheid.annotations.facts import (
    CycleFacts,
    ForecastFacts,
    GpuFacts,
    HealthFacts,
    NodeFacts,
    PodFacts,
    PodGpuFacts,
    StaticFacts,
)
from cepheid.annotations.standing import Owner, Thing
from cepheid.reports.fleet import Fleet, Place, fleet, job_of
from cepheid.reports.top import Live, gpu_rows, job_rows, node_rows

NOW = datetime(2026, 3, 1, 10, 0, tzinfo=UTC)
FRESH = NOW + timedelta(minutes=10)
A100 = StaticFacts(count=2, model="NVIDIA A100-SXM4-80GB", mem_gb=80)
BUSY = GpuFacts(
    0,
    mem_used_gb=71.2,
    mem_free_gb=8.8,
    pods=1,
    job_type=JobKind.TRAINING,
    cycle=CycleFacts(42.1, 0.93, "power", True),
    forecast=ForecastFacts(600, util_mean_percent=88, mem_peak_gb=71.4),
)
EMPTY = GpuFacts(1, mem_used_gb=0.5, mem_free_gb=79.5, pods=0, job_type=JobKind.EMPTY)


def node(name: str = "gpu-a", until: datetime | None = FRESH, *gpus: GpuFacts) -> Thing:
    facts = NodeFacts(
        static=A100,
        gpus=gpus or (BUSY, EMPTY),
        cpu_forecast=ForecastFacts(600, util_mean_percent=12),
        free_gpu_score=46,
        valid_until=until,
    )
    return Thing(name, annotations=encode_node(facts))


def pod(name: str, node: str = "gpu-a", *gpus: PodGpuFacts, **labels: str) -> Thing:
    facts = PodFacts(
        node=node,
        cpu_mem_mb=2048,
        gpus=gpus or (PodGpuFacts(0, util_percent=91, mem_mb=70 * 1024),),
        job_type=JobKind.TRAINING,
        cycle=CycleFacts(42.1, 0.93),
        forecast=ForecastFacts(600, util_mean_percent=88),
    )
    return Thing(name, "research", labels, encode_pod(facts))


def seen(*nodes: Thing, pods: tuple[Thing, ...] = ()) -> Fleet:
    return fleet(nodes or (node(),), pods, NOW)


def test_a_gpu_is_told_with_who_holds_it() -> None:
    busy, empty = gpu_rows(seen(pods=(pod("bert-0", job_name="x"),)), {})
    assert (busy.node, busy.gpu, busy.model) == ("gpu-a", "0", "NVIDIA A100-SXM4-80GB")
    assert (busy.util_percent, busy.mem_used_gb, busy.mem_total_gb) == (91, 71.2, 80)
    assert (busy.jobs, busy.job_type, busy.period_seconds) == ("research/bert-0", "training", 42.1)
    assert (busy.forecast_util_percent, busy.forecast_seconds) == (88, 600)
    assert busy.forecast_mem_gb == 71.4
    assert busy.trouble is None
    assert (empty.util_percent, empty.jobs, empty.pods) == (None, None, 0)


def test_what_was_measured_last_counts_more_than_what_a_pod_says() -> None:
    live = {Place("gpu-a", 0): Live((10.0, None, 64.0), power_watts=301.5)}
    busy, empty = gpu_rows(seen(pods=(pod("bert-0"),)), live)
    assert (busy.util_percent, busy.power_watts) == (64.0, 301.5)
    assert busy.course == (10.0, None, 64.0)
    assert (empty.util_percent, empty.power_watts, empty.course) == (None, None, ())


def test_where_the_latest_is_missing_the_pod_is_believed() -> None:
    live = {Place("gpu-a", 0): Live((10.0, None))}
    busy, _ = gpu_rows(seen(pods=(pod("bert-0"),)), live)
    assert busy.util_percent == 91


def test_a_node_adds_up_its_gpus() -> None:
    live = {
        Place("gpu-a", 0): Live((50.0, 90.0), power_watts=300),
        Place("gpu-a", 1): Live((0.0,), power_watts=60),
    }
    (row,) = node_rows(seen(pods=(pod("bert-0"),)), live)
    assert (row.gpus, row.held, row.free_gpu_score) == (2, 1, 46)
    assert row.util_percent == 45
    assert row.course == (50.0, 45.0)
    assert row.mem_used_gb == pytest.approx(71.7)
    assert row.mem_total_gb == pytest.approx(160)
    assert row.power_watts == 360
    assert row.job_type == "1 training, 1 empty"
    assert (row.period_seconds, row.forecast_util_percent) == (42.1, 88)
    assert row.forecast_cpu_percent == 12
    assert row.trouble is None


def test_a_part_does_not_pass_for_the_whole() -> None:
    (row,) = gpu_rows(seen(node("gpu-a", FRESH, GpuFacts(0, mem_used_gb=3.0))), {})
    assert (row.mem_used_gb, row.mem_total_gb) == (3.0, None)


def test_of_a_stale_node_nothing_is_told_but_that() -> None:
    stale = node(until=NOW - timedelta(minutes=12))
    live = {Place("gpu-a", 0): Live((90.0,), 300.0)}
    found = seen(stale, pods=(pod("bert-0"),))
    (row,) = node_rows(found, live)
    assert (row.node, row.gpus, row.model) == ("gpu-a", 2, A100.model)
    told = (row.util_percent, row.mem_used_gb, row.power_watts, row.held, row.free_gpu_score)
    assert told == (None,) * 5
    assert row.trouble == "stale for 12 min"
    assert [one.trouble for one in gpu_rows(found, live)] == ["stale for 12 min"] * 2
    assert job_rows(found, live) == []


def test_without_an_end_it_is_stale_too() -> None:
    (row,) = node_rows(seen(node(until=None)), {})
    assert row.trouble == "no longer written"


def test_nodes_without_gpus_are_left_out() -> None:
    assert node_rows(seen(Thing("cpu-1"), Thing("cpu-2", annotations={"a": "b"})), {}) == []


@pytest.mark.parametrize(
    ("health", "words"),
    [
        (HealthFacts(lost=True), "lost"),
        (HealthFacts(xid=79), "XID 79"),
        (HealthFacts(throttled="thermal"), "slowed: thermal"),
    ],
)
def test_what_is_wrong_with_a_gpu_is_told(health: HealthFacts, words: str) -> None:
    found = seen(node("gpu-a", FRESH, GpuFacts(3, health=health)), pods=(pod("x", "gpu-a"),))
    assert gpu_rows(found, {})[0].trouble == words
    assert node_rows(found, {})[0].trouble == f"GPU 3 {words}"


def test_a_job_is_all_its_pods() -> None:
    label = {"training.kubeflow.org/job-name": "bert"}
    gpus = PodGpuFacts(0, util_percent=91, mem_mb=1024), PodGpuFacts(1, util_percent=89, mem_mb=512)
    pods = (pod("bert-0", "gpu-a", *gpus, **label), pod("bert-1", "gpu-b", **label))
    found = seen(node("gpu-a"), node("gpu-b"), pods=pods)
    live = {Place("gpu-a", 0): Live((80.0,), 300), Place("gpu-b", 0): Live((60.0,), 200)}
    (row,) = job_rows(found, live)
    assert (row.namespace, row.job, row.pods, row.gpus, row.nodes) == ("research", "bert", 2, 3, 2)
    assert row.util_percent == pytest.approx((80 + 89 + 60) / 3)
    assert row.gpu_mem_gb == pytest.approx(71.5)
    assert row.mem_gb == 4
    assert row.power_watts == 500
    assert (row.job_type, row.period_seconds) == ("training", 42.1)


@pytest.mark.parametrize(
    ("labels", "owner", "name"),
    [
        ({"job-name": "etl"}, None, "etl"),
        ({"job-name": "launcher", "training.kubeflow.org/job-name": "bert"}, None, "bert"),
        ({}, Owner("ReplicaSet", "serve-7f", True), "serve-7f"),
        ({}, Owner("Node", "gpu-a", False), "pod"),
        ({}, None, "pod"),
    ],
)
def test_whose_a_pod_is(labels: dict[str, str], owner: Owner | None, name: str) -> None:
    owners = () if owner is None else (owner,)
    assert job_of(Thing("pod", "ns", labels, owner_references=owners)) == name


@pytest.mark.parametrize("name", ["gpu-a", "n" * 41, "gpu-" + "x" * 200, "a.b" * 30])
def test_pods_are_found_on_nodes_of_any_name(name: str) -> None:
    found = seen(node(name), pods=(pod("x", name),))
    assert gpu_rows(found, {})[0].jobs == "research/x"


def test_mig_slices_are_rows_of_their_own() -> None:
    slices = tuple(GpuFacts(0, mig, mem_used_gb=1, mem_free_gb=9) for mig in (1, 2))
    holds = pod("x", "gpu-a", PodGpuFacts(0, 2, util_percent=5))
    first, second = gpu_rows(seen(node("gpu-a", FRESH, *slices), pods=(holds,)), {})
    assert (first.gpu, first.jobs) == ("0/1", None)
    assert (second.gpu, second.jobs) == ("0/2", "research/x")


@given(
    st.dictionaries(
        st.sampled_from(["gpu-0", "gpu-static", "gpu-0-cycle", "valid-until", "gpu-0-forecast"])
        | st.text(max_size=20),
        st.text(max_size=60) | st.just('{"count":8}') | st.just("2026-03-01T11:00:00Z"),
    )
)
def test_whatever_stands_there_no_row_fails(written: dict[str, str]) -> None:
    ours = {PREFIX + key: text for key, text in written.items()}
    found = seen(Thing("a", annotations=ours), pods=(Thing("p", "n", {}, ours),))
    assert len(node_rows(found, {})) == len(found.nodes)
    assert len(gpu_rows(found, {})) == len(found.gpus)
    assert len(job_rows(found, {})) <= 1
