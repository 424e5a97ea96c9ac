"""What nodes have, as far as it may be believed."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cepheid.annotations.codec import encode_node
from cepheid.annotations.facts import ForecastFacts, GpuFacts, HealthFacts, NodeFacts
from cepheid_operator.extender.supply import MOST_GPUS, Gpu, Ignored, Node, Supply, node_of
from tests.unit.annotations.strategies import ANY_NUMBER, ANY_TEXT, nodes
from tests.unit.jobs.strategies import ANYTHING, spoilt
from tests.unit.operator.extender.world import (
    A10,
    A100,
    KEY,
    NOW,
    T4,
    applied,
    facts,
    gpu,
    lost,
    node,
)


def seen(thing: dict[str, Any]) -> Node:
    found = node_of(thing)
    assert found is not None
    return found


def test_a_node_is_what_its_agent_says_of_it() -> None:
    first = gpu(0, used=1.0, free=79.0, pods=0, util=0)
    second = gpu(1, used=30.0, free=50.0, pods=1, peak=41.5, util=70)
    assert seen(node("gpu-a", facts(first, second, seconds=60, cpu=40))) == Node(
        name="gpu-a",
        gpu_type=A100,
        allocatable=2,
        gpus=(
            Gpu(total_gb=80.0, peak_gb=1.0, busy=0.0, empty=True),
            Gpu(total_gb=80.0, peak_gb=41.5, busy=0.7),
        ),
        horizon_seconds=600.0,
        cpu_busy=0.4,
        valid_until=NOW + 60,
    )


def test_of_gpus_what_is_not_known_is_not_a_number() -> None:
    (one,) = seen(node("n", facts(GpuFacts(0, pods=1)))).gpus
    assert (one.total_gb, one.empty, one.ill) == (80.0, False, False)  # as gpu-static says
    assert np.isnan([one.peak_gb, one.busy]).all()
    bare = seen(node("n", NodeFacts(gpus=(GpuFacts(0, pods=1),), valid_until=None)))
    assert np.isnan([bare.gpus[0].total_gb, bare.cpu_busy, bare.horizon_seconds]).all()
    assert bare.valid_until == -math.inf


@pytest.mark.parametrize(
    ("used", "peak", "expected"), [(30.0, 41.5, 41.5), (50.0, 41.5, 50.0), (None, 41.5, 41.5)]
)
def test_needed_by_who_holds_it_is_what_they_hold_or_are_foretold_to(
    used: float | None, peak: float, expected: float
) -> None:
    assert seen(node("n", facts(gpu(used=used, peak=peak)))).gpus[0].peak_gb == expected


@pytest.mark.parametrize(
    ("health", "ill"),
    [
        (None, False),
        (HealthFacts(lost=True), True),
        (HealthFacts(xid=79), True),
        (HealthFacts(xid=0), True),
        (HealthFacts(throttled="thermal"), False),
    ],
)
def test_ill_is_what_is_lost_or_has_an_xid(health: HealthFacts | None, ill: bool) -> None:
    assert seen(node("n", facts(gpu(health=health)))).gpus[0].ill is ill


@pytest.mark.parametrize(("pods", "empty"), [(0, True), (1, False), (3, False), (None, False)])
def test_empty_is_what_no_pod_holds(pods: int | None, empty: bool) -> None:
    assert seen(node("n", facts(gpu(pods=pods)))).gpus[0].empty is empty


def test_a_lost_gpu_may_be_handed_out_since_nobody_knows_who_holds_it() -> None:
    assert seen(node("n", facts(lost()))).gpus[0].empty


def test_the_horizon_is_that_of_the_gpu_whose_is_nearest() -> None:
    near = GpuFacts(1, forecast=ForecastFacts(300, util_mean_percent=1))
    assert seen(node("n", facts(gpu(0, util=5), near, gpu(2)))).horizon_seconds == 300


def test_a_gpu_of_which_nothing_is_believed_is_there_all_the_same() -> None:
    raw = node("n", facts(gpu(0), gpu(1), gpu(2)))
    raw["metadata"]["annotations"][f"{KEY}gpu-1"] = "{"
    found = seen(raw)
    assert found.ignored == (Ignored.MALFORMED,)
    assert len(found.gpus) == 3
    assert sum(one.empty for one in found.gpus) == 2
    assert found.gpus[2].total_gb == 80.0


def test_slices_divide_a_node_and_have_their_own_memory() -> None:
    slices = [gpu(0, used=1.0, free=9.0, mig=part) for part in (1, 2)]
    found = seen(node("n", facts(*slices, gpu(1, mig=1, used=None, free=None))))
    assert found.divided
    assert len(found.gpus) == 3
    assert [one.total_gb for one in found.gpus[:2]] == [10.0, 10.0]
    assert math.isnan(found.gpus[2].total_gb)  # gpu-static has that of the whole GPU
    assert not seen(node("n", facts(gpu()))).divided


def test_of_a_divided_node_what_is_described_is_all_that_is_known() -> None:
    raw = node("n", facts(gpu(0, mig=1)))
    raw["metadata"]["annotations"][f"{KEY}gpu-static"] = '{"count":3,"mem_gb":80}'
    assert len(seen(raw).gpus) == 1


def test_a_gpu_without_any_memory_is_one_of_which_that_is_not_known() -> None:
    assert math.isnan(seen(node("n", facts(gpu(used=0.0, free=0.0)))).gpus[0].total_gb)


def test_more_gpus_than_are_looked_at_are_left_out() -> None:
    many = NodeFacts(gpus=tuple(GpuFacts(index, pods=0) for index in range(MOST_GPUS + 9)))
    found = seen(node("n", many, allocatable=10**9))
    assert len(found.gpus) == MOST_GPUS
    supply = Supply()
    supply.put(found)
    claimed = node("n", facts(gpu()))
    claimed["metadata"]["annotations"][f"{KEY}gpu-static"] = '{"count":99999}'
    assert len(seen(claimed).gpus) == MOST_GPUS


@pytest.mark.parametrize(
    ("given_amounts", "allocatable"),
    [
        ({"nvidia.com/gpu": "8"}, 8),
        ({"amd.com/gpu": "4", "cpu": "64"}, 4),
        ({"nvidia.com/gpu": "0", "nvidia.com/gpu.shared": "16"}, 16),
        ({"nvidia.com/mig-1g.10gb": "7", "nvidia.com/gpu": "1"}, 8),
        ({"nvidia.com/gpu": "many"}, 0),
        ({"nvidia.com/gpu": 8}, 0),
        ({"nvidia.com/gpu": None}, 0),
        ({"nvidia.com/gpu": "9" * 24 + "e99"}, MOST_GPUS * MOST_GPUS),
    ],
)
def test_gpus_that_may_be_handed_out_are_counted_whatever_they_are_called(
    given_amounts: dict[str, Any], allocatable: int
) -> None:
    raw = node()
    raw["status"]["allocatable"] = given_amounts
    found = seen(raw)
    assert found.allocatable == allocatable
    Supply().put(found)


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        ({"nvidia.com/gpu.product": "NVIDIA-A10"}, "NVIDIA-A10"),
        ({"nvidia.com/gpu.product": "NVIDIA-A10-SHARED"}, "NVIDIA-A10"),
        ({"amd.com/gpu.product-name": "MI300X"}, "MI300X"),
        ({"nvidia.com/gpu.product": "x" * 300}, ""),
        ({"nvidia.com/gpu.product": 7}, ""),
        ({}, ""),
    ],
)
def test_the_type_is_what_the_label_says(labels: dict[str, Any], kind: str) -> None:
    raw = node("n", facts(gpu()))
    raw["metadata"]["labels"] = labels
    assert seen(raw).gpu_type == kind


def test_a_node_without_gpus_is_none_of_ours() -> None:
    assert node_of(node(kind=None)) is None
    assert node_of({}) is None
    nameless = node("n", facts(gpu()))
    del nameless["metadata"]["name"]
    assert node_of(nameless) is None


def test_one_whose_gpus_are_not_handed_out_yet_is() -> None:
    assert seen(node(allocatable=0)).allocatable == 0


@pytest.mark.parametrize(
    ("manager", "operation"),
    [
        ("kubectl", "Apply"),
        ("cepheid-operator", "Apply"),
        ("cepheid-agent", "Update"),
        ("", "Apply"),
    ],
)
def test_what_the_agent_did_not_apply_does_not_count(manager: str, operation: str) -> None:
    found = seen(node("n", facts(gpu(pods=1)), manager=manager, operation=operation))
    assert (found.gpus, found.valid_until) == ((), -math.inf)
    assert found.ignored == (Ignored.FORGED, Ignored.MISSING)


def test_a_key_that_somebody_else_wrote_beside_the_agents_does_not_count() -> None:
    raw = node("n", facts(gpu()), annotations={f"{KEY}gpu-0-health": '{"lost":true}'})
    found = seen(raw)
    assert not found.gpus[0].ill
    assert found.ignored == (Ignored.FORGED,)


def test_what_others_write_under_their_own_names_is_none_of_ours() -> None:
    raw = node("n", facts(gpu()), annotations={"volumes.kubernetes.io/controller-managed": "true"})
    assert seen(raw).ignored == ()


def test_a_key_that_the_agent_applied_to_a_subresource_does_not_count() -> None:
    raw = node("n", facts(gpu()))
    raw["metadata"]["managedFields"][0]["subresource"] = "status"
    assert seen(raw).gpus == ()


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("gpu-0", "{}x"),
        ("gpu-0-health", '{"lost":false}'),
        ("gpu-0-forecast", '{"horizon_s":600,"mem_peak_gb":-1}'),
        ("gpu-0-forecast", '{"horizon_s":600,"mem_peak_gb":NaN}'),
        ("gpu-9000", '{"pods":1}'),
        ("gpu-0-shape", "of a later version"),
        ("valid-until", "tomorrow"),
        ("gpu-static", '{"model":"A10"}'),
        ("gpu-0", "[" * 110),
        ("gpu-0", '{"pods":1}' + " " * 200),
    ],
)
def test_a_value_that_is_not_in_the_contract_is_told_of_and_the_rest_counts(
    key: str, text: str
) -> None:
    raw = node("n", facts(gpu(0), gpu(1)))
    raw["metadata"]["annotations"][KEY + key] = text
    raw["metadata"]["managedFields"] = applied(raw["metadata"]["annotations"], "cepheid-agent")
    found = seen(raw)
    assert Ignored.MALFORMED in found.ignored
    assert len(found.gpus) == 2
    assert found.valid_until == (-math.inf if key == "valid-until" else NOW + 600)


def test_why_nodes_are_not_believed_is_counted() -> None:
    supply = Supply()
    for raw in (
        node("good", facts(gpu())),
        node("bare"),
        node("old", facts(gpu(), seconds=-1)),
        node("just", facts(gpu(), seconds=0)),
        node("forged", facts(gpu()), manager="kubectl"),
        node("broken", facts(gpu()), annotations={}),
    ):
        if raw["metadata"]["name"] == "broken":
            raw["metadata"]["annotations"][f"{KEY}gpu-0"] = "?"
        supply.put(seen(raw))
    assert supply.ignored(NOW) == {
        Ignored.MISSING: 2,
        Ignored.EXPIRED: 2,
        Ignored.FORGED: 1,
        Ignored.MALFORMED: 1,
    }
    for name in ("bare", "old", "just", "forged", "broken"):
        supply.drop(name)
    assert set(supply.ignored(NOW).values()) == {0}
    assert supply.ignored(NOW + 600)[Ignored.EXPIRED] == 1


def test_nodes_are_taken_in_the_order_of_their_names_and_one_not_known_is_bare() -> None:
    supply = Supply()
    supply.put(Node("a", A10, 1, (Gpu(24.0), Gpu(24.0))))
    supply.put(Node("b", T4, 2, (Gpu(16.0),)))
    rows, gpus = supply.take(["b", "nowhere", "a", "b"])
    assert rows["allocatable"].tolist() == [2, 0, 1, 2]
    assert rows["count"].tolist() == [1, 0, 2, 1]
    assert rows["kind"].tolist() == [1, -1, 0, 1]
    assert rows["spared"].tolist() == [1.0] * 4
    assert rows["valid_until"].tolist() == [-math.inf] * 4
    np.testing.assert_array_equal(
        gpus["total_gb"], [[16, np.nan], [np.nan, np.nan], [24, 24], [16, np.nan]]
    )
    assert [len(part) for part in supply.take([])] == [0, 0]


def test_one_that_is_not_known_is_bare_however_many_there_are() -> None:
    supply = Supply()
    for number in range(200):
        supply.put(Node(f"n-{number}", A10, 8, (Gpu(24.0),)))
        rows, gpus = supply.take(["nowhere"])
        assert (rows["allocatable"].tolist(), rows["count"].tolist()) == ([0], [0])
        assert np.isnan(gpus["total_gb"]).all()


def test_a_new_node_takes_the_room_of_one_that_went_and_of_no_other() -> None:
    supply = Supply()
    for name, count in (("a", 1), ("b", 2)):
        supply.put(Node(name, A10, count))
    supply.drop("a")
    for name, count in (("c", 3), ("d", 4)):
        supply.put(Node(name, A10, count))
    assert supply.take(["b", "c", "d"])[0]["allocatable"].tolist() == [2, 3, 4]


A = Node("a", A10, 2, (Gpu(24.0, 3.0, empty=True), Gpu(24.0)), valid_until=NOW + 60)
B = Node("b", T4, 1, (Gpu(16.0),), valid_until=NOW + 60)


def of_both() -> Supply:
    supply = Supply()
    for one in (A, B, replace(B, name="another like b")):
        supply.put(one)
    return supply


def test_what_changes_nothing_is_not_looked_at_again() -> None:
    supply = of_both()
    view = supply.view(["a", "b"], NOW)
    supply.put(A)
    supply.hold("a", 0, 1.0)
    supply.hold("nowhere", 1, 0.5)
    supply.drop("nowhere")
    assert supply.view(["a", "b"], NOW + 59) is view


@pytest.mark.parametrize(
    "change",
    [
        lambda supply: supply.put(replace(A, gpus=(A.gpus[1], A.gpus[0]))),
        lambda supply: supply.put(replace(A, allocatable=3)),
        lambda supply: supply.put(replace(A, gpu_type=T4)),
        lambda supply: supply.put(replace(B, gpu_type="")),
        lambda supply: supply.put(Node("c", A10, 4)),
        lambda supply: supply.hold("b", 1, 1.0),
        lambda supply: supply.hold("b", 0, 0.5),
        lambda supply: supply.drop("b"),
    ],
)
def test_what_changes_is_seen(change: Callable[[Supply], None]) -> None:
    supply, names = of_both(), ["a", "b", "c"]
    before = supply.view(names, NOW)
    change(supply)
    after = supply.view(names, NOW)
    assert after.nodes.tobytes() != before.nodes.tobytes() or (after.choice != before.choice).any()
    assert after.nodes.tobytes() == supply.take(names)[0].tobytes()


def test_what_expires_is_seen_also_where_a_clock_is_set_back() -> None:
    supply, names = of_both(), ["a", "b"]
    assert supply.view(names, NOW).fresh.tolist() == [True, True]
    supply.put(replace(B, valid_until=NOW + 5))
    assert supply.view(names, NOW + 10).fresh.tolist() == [True, False]
    assert supply.view(names, NOW).fresh.tolist() == [True, True]


def test_other_nodes_are_others_in_another_order_too() -> None:
    supply = of_both()
    for names in (["a", "b"], ["b", "a"], ["b"], []):
        assert supply.view(names, NOW).nodes["count"].tolist() == [
            {"a": 2, "b": 1}[name] for name in names
        ]


def test_what_is_taken_is_a_copy() -> None:
    supply = Supply()
    supply.put(Node("a", A10, 1))
    rows, _ = supply.take(["a"])
    rows["allocatable"] = 99
    assert supply.take(["a"])[0]["allocatable"].tolist() == [1]


def test_what_is_held_stays_while_a_node_changes_and_goes_with_it() -> None:
    supply = Supply()
    supply.hold("a", 3, 0.5)  # of a node that is not known: no matter
    supply.put(Node("a", A10, 4, (Gpu(24.0),)))
    assert supply.take(["a"])[0][["held", "spared"]].tolist() == [(0, 1.0)]
    supply.hold("a", 3, 0.5)
    supply.put(Node("a", T4, 8))
    rows, gpus = supply.take(["a"])
    assert rows[["held", "spared", "allocatable"]].tolist() == [(3, 0.5, 8)]
    assert np.isnan(gpus["total_gb"]).all()
    supply.drop("a")
    supply.drop("a")
    supply.put(Node("b", A10, 4))
    assert supply.take(["b"])[0][["held", "spared"]].tolist() == [(0, 1.0)]
    assert ("a" in supply, "b" in supply, len(supply)) == (False, True, 1)


def test_many_nodes_come_and_go_in_the_room_of_as_many_as_there_were() -> None:
    supply = Supply()
    for _ in range(3):
        for number in range(200):
            supply.put(Node(f"n-{number}", f"type-{number % 3}", number))
        rows, _ = supply.take([f"n-{number}" for number in range(200)])
        assert rows["allocatable"].tolist() == list(range(200))
        size = len(supply._nodes)  # noqa: SLF001
        for number in range(200):
            supply.drop(f"n-{number}")
        assert (len(supply), supply.types) == (0, [])
    assert len(supply._nodes) == size == 256  # noqa: SLF001


def test_a_type_that_no_node_has_any_more_is_forgotten() -> None:
    supply = Supply()
    for name, kind in (("a", A100), ("b", A10), ("c", T4), ("d", T4)):
        supply.put(Node(name, kind, 1))
    supply.hold("c", 1, 1.0)
    supply.drop("a")
    assert supply.types == [A10, T4]
    assert supply.take(["b", "c", "d"])[0]["kind"].tolist() == [0, 1, 1]
    supply.put(Node("b", T4, 1))  # its GPUs were exchanged
    assert supply.types == [T4]
    assert supply.take(["b", "c", "d"])[0]["kind"].tolist() == [0, 0, 0]
    assert supply.take(["b", "c", "d"])[0]["held"].tolist() == [0, 1, 0]


HOSTILE_NODES = spoilt(
    node("gpu-a", facts(gpu(0, pods=1, peak=50, util=40), lost(1), cpu=10)),
    node("gpu-b", facts(gpu(0, mig=1), gpu(0, mig=2))),
)


@settings(max_examples=60)
@given(
    HOSTILE_NODES
    | st.dictionaries(st.sampled_from(["metadata", "spec", "status"]), ANYTHING, max_size=3)
)
def test_nothing_that_a_node_can_hold_stops_it(raw: dict[str, Any]) -> None:
    found = node_of(raw)
    if found is not None:
        supply = Supply()
        supply.put(found)
        supply.ignored(NOW)


@settings(max_examples=60)
@given(nodes(ANY_NUMBER, ANY_TEXT))
def test_whatever_an_agent_writes_can_be_kept(written: NodeFacts) -> None:
    keys = encode_node(written)
    raw = node("n", annotations=keys)
    raw["metadata"]["managedFields"] = applied(keys, "cepheid-agent")
    found = seen(raw)
    assert Ignored.FORGED not in found.ignored
    assert len(found.gpus) <= MOST_GPUS
    Supply().put(found)
