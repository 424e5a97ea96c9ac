"""Which nodes a pod must not get, and how good the others are."""

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cepheid.annotations.facts import GpuFacts, HealthFacts, NodeFacts
from cepheid_operator.extender.judging import (
    MOST_SCORE,
    ROUGH_GB,
    SPAN,
    WEIGHTS,
    Judged,
    Verdict,
    judge,
)
from cepheid_operator.extender.needs import Needs
from cepheid_operator.extender.supply import Gpu, Node, Supply, node_of
from cepheid_operator.extender.views import UNKNOWN
from tests import REPOSITORY
from tests.unit.operator.extender.world import A10, A100, NOW, T4, facts, gpu, lost, node

NAN = float("nan")
XID = HealthFacts(xid=79)
SLOW = HealthFacts(throttled="thermal")


def supply_of(*raws: dict[str, Any], held: dict[str, int] | None = None) -> Supply:
    supply = Supply()
    for raw in raws:
        found = node_of(raw)
        assert found is not None
        supply.put(found)
    for name, count in (held or {}).items():
        supply.hold(name, count, 1.0)
    return supply


@dataclass(frozen=True)
class Case:
    what: str
    gpus: tuple[GpuFacts, ...]
    expected: Verdict
    asks: int = 1
    memory: float | None = 40.0
    held: int = 0
    allocatable: int | None = None
    seconds: float = 600.0

    def verdict(self) -> Verdict:
        raw = node("n", facts(*self.gpus, seconds=self.seconds), allocatable=self.allocatable)
        supply = supply_of(raw, held={"n": self.held})
        judged = judge(supply, ["n"], Needs(self.asks, memory_gb=self.memory), NOW)
        return Verdict(int(judged.verdicts[0]))


def small(index: int = 0, **more: Any) -> GpuFacts:
    return gpu(index, free=24.0, **more)


def held(index: int = 0, **more: Any) -> GpuFacts:
    return gpu(index, used=30.0, free=50.0, pods=1, **more)


TAKES, NO_ROOM, ILL = Verdict
CASES = [
    # GPUs for one pod each.
    Case("an empty one with room", (gpu(),), TAKES),
    Case("too small", (small(),), NO_ROOM),
    Case("too small and nothing known of who holds it", (small(pods=None),), NO_ROOM),
    Case("large enough, and full of what no pod holds", (gpu(used=60, free=20),), NO_ROOM),
    Case("foretold to be full", (gpu(peak=60.0),), NO_ROOM),
    Case("one of two has room", (small(0), gpu(1)), TAKES),
    Case("one of two has room, both are asked for", (small(0), gpu(1)), NO_ROOM, asks=2),
    Case("both have, both are asked for", (gpu(0), gpu(1)), TAKES, asks=2),
    Case("its memory is not known", (small(),), TAKES, memory=None),
    Case("nor is it, and others will need more than all", (gpu(peak=99.0),), TAKES, memory=None),
    Case("the GPU's memory is not known", (GpuFacts(0, pods=0),), TAKES),
    Case("who holds it is not known", (gpu(used=70, free=10, pods=None),), TAKES),
    Case("it fills a GPU like this", (gpu(used=0.2, free=79.7),), TAKES, memory=79.95),
    Case("it needs a little more than that", (gpu(),), NO_ROOM, memory=80.1 + ROUGH_GB),
    Case("it has just room", (gpu(used=20.0, free=60.0),), TAKES, memory=60.0 + ROUGH_GB),
    Case("not quite", (gpu(used=20.0, free=60.0),), NO_ROOM, memory=60.1 + ROUGH_GB),
    # Ill ones.
    Case("lost", (lost(),), ILL),
    Case("with an XID", (gpu(health=XID),), ILL),
    Case("with an XID, of a pod whose memory is not known", (gpu(health=XID),), ILL, memory=None),
    Case("hot, and no more than that", (gpu(health=SLOW),), TAKES),
    Case("one of two is ill", (gpu(0, health=XID), gpu(1)), TAKES),
    Case("one of two is lost", (lost(0), gpu(1)), TAKES),
    Case("one of two is ill, both are asked for", (gpu(0, health=XID), gpu(1)), ILL, asks=2),
    Case("one of two is lost, both are asked for", (lost(0), gpu(1)), ILL, asks=2),
    Case("one is ill and one is small", (gpu(0, health=XID), small(1)), NO_ROOM),
    Case("ill, and too small", (small(health=XID),), ILL),
    Case("the lost one is what is left", (lost(0), held(1)), ILL, held=1),
    Case("so it is beside seven", (lost(0), *map(held, range(1, 8))), ILL, held=7),
    Case("the ill one is what is left", (gpu(0, health=XID), held(1)), ILL, held=1),
    Case("an ill one that was freed since", (held(0, health=XID),), ILL),
    # What the device plugin withdrew.
    Case("a lost one, withdrawn", (lost(0), gpu(1)), TAKES, allocatable=1),
    Case("withdrawn, all the others", (lost(0), gpu(1), gpu(2)), TAKES, asks=2, allocatable=2),
    Case("an ill one, withdrawn", (gpu(0, health=XID), gpu(1)), TAKES, allocatable=1),
    Case("withdrawn, another freed", (lost(0), held(1), held(2)), TAKES, held=1, allocatable=2),
    Case("all of them withdrawn", (lost(0),), TAKES, allocatable=0),
    # What ended since.
    Case("held a minute ago", (held(0), held(1)), TAKES, held=1),
    Case("both were", (held(0), held(1)), TAKES, asks=2),
    Case("one was, and it is too small", (small(0, pods=1), gpu(1, pods=1)), TAKES, held=1),
    Case("both are too small", (small(0, pods=1), small(1, pods=1)), NO_ROOM, held=1),
    Case("one was, the empty one is full", (held(0), gpu(1, used=70, free=10)), TAKES),
    Case("not held, the empty one is full", (held(0), gpu(1, used=70, free=10)), NO_ROOM, held=1),
    # What others say of it.
    Case("too few by count", (small(0), held(1)), TAKES, asks=2, held=1),
    Case("more held than there are", (lost(),), TAKES, held=9),
    Case("expired", (small(), lost(1)), TAKES, seconds=-1),
    Case("it expires now", (lost(),), TAKES, seconds=0),
    Case("it expires in a second", (lost(),), ILL, seconds=1),
    Case("no GPU is asked for", (lost(),), TAKES, asks=0),
    # In turns.
    Case("in turns, with room", (held(0),), TAKES, allocatable=4, held=2),
    Case("in turns, without", (held(0, peak=50.0),), NO_ROOM, allocatable=4, held=2),
    Case("in turns, one with room", (held(0, peak=50.0), held(1)), TAKES, allocatable=8, held=8),
    Case("in turns, one with room, two asked", (small(0), gpu(1)), TAKES, asks=2, allocatable=8),
    Case("in turns, ill", (held(0, health=XID), lost(1)), ILL, allocatable=8),
    Case("in turns, ill, handed out by what we know", (lost(),), ILL, allocatable=4, held=4),
    Case("in turns, one ill", (held(0, health=XID), held(1)), TAKES, allocatable=8),
    Case("in turns, one ill, one full", (lost(0), held(1, peak=70)), NO_ROOM, allocatable=8),
    Case("in turns, memory not known", (held(0, peak=79.0),), TAKES, memory=None, allocatable=4),
    Case("in turns, expired", (lost(),), TAKES, allocatable=4, seconds=-1),
    Case("in turns, none asked for", (lost(),), TAKES, asks=0, allocatable=4),
    # In slices.
    Case("slices, too small", (gpu(0, mig=1, free=10), gpu(0, mig=2, free=10)), TAKES),
    Case("slices, lost", (GpuFacts(0, 1, health=HealthFacts(lost=True)),), TAKES),
    Case("slices beside a GPU", (small(0), gpu(1, mig=1, free=10)), TAKES, allocatable=8),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.what)
def test_a_node_is_excluded_only_where_it_is_certain(case: Case) -> None:
    assert case.verdict() is case.expected


def test_nodes_without_annotations_or_not_known_at_all_are_never_excluded() -> None:
    raws = [node("bare", allocatable=8), node("forged", facts(lost()), manager="kubectl")]
    judged = judge(supply_of(*raws), ["bare", "forged", "nowhere", ""], Needs(8, memory_gb=1e6), 0)
    assert judged.verdicts.tolist() == [0, 0, 0, 0]


def test_a_gpu_with_a_damaged_annotation_excludes_nothing() -> None:
    """It does not make of the others GPUs that are shared in turns, either."""
    raw = node("n", facts(held(0, peak=70.0), held(1)))
    raw["metadata"]["annotations"]["ai.centaurus.io/gpu-1"] = "?"
    supply = supply_of(raw, held={"n": 1})
    assert judge(supply, ["n"], Needs(1, memory_gb=40.0), NOW).verdicts.tolist() == [TAKES]


def test_nothing_is_asked_of_no_nodes() -> None:
    judged = judge(supply_of(node("n", facts(gpu()))), [], Needs(1, memory_gb=1.0), NOW)
    assert (judged.scores.tolist(), judged.verdicts.tolist()) == ([], [])
    assert judge(Supply(), ["n"], Needs(1, 1, 1.0, speeds={A10: 1.0}), NOW).scores.tolist() == [10]


# The parts of a score.


def parts(supply: Supply, needs: Needs, *names: str) -> dict[str, list[float]]:
    judged = judge(supply, list(names), needs, NOW)
    return {name: part.round(6).tolist() for name, part in judged.parts.items()}


def put(*given: Node) -> Supply:
    supply = Supply()
    for one in given:
        supply.put(one)
    return supply


def made(name: str = "n", *gpus: Gpu, kind: str = A100, count: int = 0, **more: Any) -> Node:
    return Node(name, kind, count or len(gpus), gpus, valid_until=NOW + 60, **more)


def test_the_score_is_the_weighted_mean_of_its_parts() -> None:
    supply = supply_of(node("a", facts(gpu(), cpu=20)), node("b", facts(small()), kind=A10))
    judged = judge(supply, ["a", "b"], Needs(1, 3, 10.0, 900.0, {A100: 1.0, A10: 0.4}), NOW)
    assert judged.parts.keys() == WEIGHTS.keys()
    for row in (0, 1):
        weighed = sum(WEIGHTS[name] * part[row] for name, part in judged.parts.items())
        assert judged.score[row] == pytest.approx(weighed / sum(WEIGHTS.values()))


def test_type_is_how_fast_the_job_is_there() -> None:
    supply = put(
        made("a", Gpu(80.0), kind=A100),
        made("b", Gpu(16.0), kind=T4),
        made("c", Gpu(16.0), kind=""),
        made("d", Gpu(24.0), kind=A10),
    )
    needs = Needs(1, speeds={A100: 1.0, A10: 0.4})
    assert parts(supply, needs, "a", "b", "c", "d", "nowhere")["type"] == [
        1.0,
        UNKNOWN,
        UNKNOWN,
        0.4,
        UNKNOWN,
    ]
    assert parts(supply, Needs(1), "a", "b")["type"] == [UNKNOWN, UNKNOWN]


def test_the_fastest_are_kept_for_nobody_however_few_are_left() -> None:
    supply = put(made("a", *[Gpu(80.0)] * 4), made("b", Gpu(24.0), kind=A10))
    hardly_gains = Needs(1, speeds={A100: 1.0, A10: 0.9})
    for held in range(5):
        supply.hold("a", held, 1.0)
        assert parts(supply, hardly_gains, "a", "b")["type"] == [1.0, 0.9]


def test_fit_is_how_little_memory_it_leaves_unused() -> None:
    supply = put(made("a", Gpu(80.0)), made("b", Gpu(24.0), Gpu(40.0)), made("c", Gpu()))
    assert parts(supply, Needs(1, memory_gb=20.0), "a", "b", "c", "nowhere")["fit"] == [
        1 - 60 / 80,
        1 - 20 / 80,
        UNKNOWN,
        UNKNOWN,
    ]
    assert parts(supply, Needs(1, memory_gb=90.0), "a", "b")["fit"] == [1.0, 1.0]
    assert parts(supply, Needs(1), "a", "b")["fit"] == [UNKNOWN, UNKNOWN]


def test_free_is_what_is_foretold_of_the_cores_and_of_gpus_that_are_shared() -> None:
    supply = put(
        made("own", Gpu(80.0, busy=0.9, empty=True), cpu_busy=0.2, horizon_seconds=600.0),
        made("turns", Gpu(80, busy=0.7), Gpu(80, busy=0.3), count=8, cpu_busy=0.2),
        made("unknown", Gpu(80.0, empty=True)),
    )
    one = parts(supply, Needs(1), "own", "turns", "unknown", "nowhere")["free"]
    assert one == pytest.approx([(1 + 0.8) / 2, (0.7 + 0.8) / 2, (1 + 0.5) / 2, UNKNOWN])
    two = parts(supply, Needs(2), "turns")["free"]
    assert two == pytest.approx([(0.5 + 0.8) / 2])


def test_free_counts_gpus_alone_that_the_pod_could_get() -> None:
    full = Gpu(80, peak_gb=79, busy=0.1)
    supply = put(made("turns", full, Gpu(80, busy=0.6), count=8, cpu_busy=0.0))
    assert parts(supply, Needs(1, memory_gb=10.0), "turns")["free"] == pytest.approx([0.7])


@pytest.mark.parametrize(
    ("seconds", "covered"), [(None, 1.0), (0.0, 1.0), (300.0, 1.0), (600.0, 1.0), (1200.0, 0.5)]
)
def test_beyond_the_horizon_nobody_knows(seconds: float | None, covered: float) -> None:
    supply = put(made("n", Gpu(80.0), cpu_busy=0.0, horizon_seconds=600.0))
    (free,) = parts(supply, Needs(1, seconds=seconds), "n")["free"]
    assert free == pytest.approx(covered * 1.0 + (1 - covered) * UNKNOWN)


def test_without_a_forecast_nothing_is_foretold() -> None:
    supply = put(made("n", Gpu(80.0), cpu_busy=0.0))
    assert parts(supply, Needs(1, seconds=60.0), "n")["free"] == [UNKNOWN]


@pytest.mark.parametrize(
    ("draws", "spared", "apart"),
    [
        (None, 0.0, 1.0),
        (0.0, 0.0, 1.0),
        (1.0, 1.0, 1.0),
        (1.0, 0.0, 0.0),
        (0.5, 0.6, 0.8),
    ],
)
def test_apart_is_how_seldom_two_would_draw_at_once(
    draws: float | None, spared: float, apart: float
) -> None:
    supply = put(made("n", Gpu(80.0)))
    supply.hold("n", 1, spared)
    assert parts(supply, Needs(1, draws=draws), "n")["apart"] == [apart]


def test_two_that_wait_for_data_are_kept_apart_and_pulses_that_leave_room_may_share() -> None:
    supply = put(*(made(name, *[Gpu(80.0, empty=True)] * 4) for name in ("busy", "pulse", "idle")))
    supply.hold("busy", 2, 0.0)
    supply.hold("pulse", 2, 0.7)
    supply.hold("idle", 2, 1.0)
    names = ["busy", "pulse", "idle"]
    always = judge(supply, names, Needs(1, draws=1.0), NOW)
    assert always.score[0] < always.score[1] < always.score[2]
    never = judge(supply, names, Needs(1, draws=0.0), NOW)
    assert never.score[0] == never.score[1] == never.score[2]
    seldom = judge(supply, names, Needs(1, draws=0.3), NOW)
    assert seldom.score[2] - seldom.score[1] < always.score[2] - always.score[1]


def test_half_of_pack_is_how_few_gpus_would_be_left_over() -> None:
    supply = put(*(made(name, count=8) for name in ("begun", "half", "full")))
    supply.hold("begun", 1, 1.0)
    supply.hold("half", 4, 1.0)
    supply.hold("full", 8, 1.0)
    found = parts(supply, Needs(2), "begun", "half", "full")["pack"]
    assert found == [(1 - 5 / 8 + 1) / 2, (1 - 2 / 8 + 1) / 2, 1.0]


def test_the_fewer_of_the_largest_nodes_are_entirely_free_the_less_is_one_broken_up() -> None:
    names = ["a", "b", "small", "begun"]
    supply = put(*(made(name, count=4 if name == "small" else 8) for name in names))
    supply.hold("begun", 1, 1.0)
    over = [1 - 7 / 8, 1 - 7 / 8, 1 - 3 / 4, 1 - 6 / 8]
    both = parts(supply, Needs(1), *names)["pack"]
    assert both == [(over[0] + 0.5) / 2, (over[1] + 0.5) / 2, (over[2] + 1) / 2, (over[3] + 1) / 2]
    supply.hold("b", 1, 1.0)
    last = parts(supply, Needs(1), *names)["pack"]
    assert last[0] == over[0] / 2
    assert last[2:] == both[2:]


def test_who_needs_a_whole_node_breaks_up_none() -> None:
    supply = put(made("a", count=8), made("b", count=8))
    assert parts(supply, Needs(8), "a", "b")["pack"] == [1.0, 1.0]


def test_slices_are_no_large_node() -> None:
    """Of 8 GPUs in 56 slices: they do not hide that the other one is the last that is whole."""
    supply = put(made("a", count=8), Node("cut", A100, 56, divided=True, valid_until=NOW + 1))
    assert parts(supply, Needs(1), "a", "cut")["pack"] == pytest.approx([1 / 16, (1 / 56 + 1) / 2])


def test_a_small_job_takes_the_node_of_its_type_that_is_begun_however_bad_others_are() -> None:
    """Ten steps are few: what others have to offer must not round this away."""
    names = ["whole", "begun", "bad"]
    supply = put(*(made(n, count=8, kind=T4 if n == "bad" else A100) for n in names))
    supply.hold("begun", 4, 1.0)
    found = judge(supply, names, Needs(1, 1, speeds={A100: 1.0, T4: 0.1}), NOW).scores.tolist()
    assert found[1] == MOST_SCORE
    assert found[0] < MOST_SCORE / 2
    assert found[2] == 0


def test_sound_is_the_share_of_those_that_it_could_get_which_are_well_and_have_room() -> None:
    well, ill, full = Gpu(80.0, empty=True), Gpu(80.0, empty=True, ill=True), Gpu(80, 70, 0, True)
    supply = put(
        made("all", well, well),
        made("half", well, ill),
        made("third", well, ill, full),
        made("small", well, Gpu(8.0, empty=True)),
        made("held", Gpu(80.0), Gpu(80.0, ill=True)),
    )
    names = ("all", "half", "third", "small", "held", "nowhere")
    found = parts(supply, Needs(1, memory_gb=40.0), *names)["sound"]
    assert found == pytest.approx([1.0, 0.5, 1 / 3, 0.5, 1.0, 1.0], abs=1e-5)


# What a scheduler gets.


def judged_of(*scores: float, out: tuple[int, ...] = ()) -> Judged:
    verdicts = np.array([Verdict.ILL if at in out else 0 for at in range(len(scores))], np.int8)
    return Judged(verdicts, {}, np.array(scores))


@pytest.mark.parametrize(
    ("judged", "expected"),
    [
        (judged_of(), []),
        (judged_of(0.3), [10]),
        (judged_of(0.3, 0.3), [10, 10]),
        (judged_of(0.9, 0.9 - SPAN), [10, 0]),
        (judged_of(0.9, 0.9 - SPAN / 2), [10, 5]),
        (judged_of(0.9, 0.9 - SPAN / 10), [10, 9]),
        (judged_of(0.9, 0.9 - 1e-9), [10, 10]),
        (judged_of(0.9, 0.9 - SPAN / 2, 0.0), [10, 5, 0]),
        (judged_of(1.0, 0.5, 0.5 - SPAN, out=(0,)), [10, 10, 0]),
        (judged_of(0.5, 0.5 - SPAN, 0.0, out=(2,)), [10, 0, 0]),
        (judged_of(0.5, 0.4, out=(0, 1)), [10, 10]),
    ],
)
def test_the_best_that_takes_it_has_ten_and_others_as_much_less_as_they_are_worse(
    judged: Judged, expected: list[int]
) -> None:
    assert judged.scores.tolist() == expected


def test_by_itself_what_is_best_for_a_pod_is_what_it_should_get() -> None:
    """One question each: all else is the same."""
    good = facts(gpu(0), gpu(1), cpu=10)
    supply = supply_of(
        node("good", good),
        node("slow", good, kind=T4),
        node("loaded", facts(gpu(0), gpu(1), cpu=90)),
        node("apart", facts(gpu(0), gpu(1), gpu(2), gpu(3), cpu=10)),
        node("ill", facts(gpu(0), gpu(1, health=XID), cpu=10)),
    )
    needs = Needs(1, 1, 40.0, 300.0, {A100: 1.0, T4: 0.3}, draws=1.0)
    judged = judge(supply, ["good", "slow", "loaded", "apart", "ill"], needs, NOW)
    assert judged.verdicts.tolist() == [TAKES] * 5
    assert all(judged.score[0] > other for other in judged.score[1:])


GPUS = st.builds(
    Gpu,
    total_gb=st.sampled_from([NAN, 0.1, 16.0, 80.0, 1e5]),
    peak_gb=st.sampled_from([NAN, 0.0, 15.0, 90.0]),
    busy=st.sampled_from([NAN, 0.0, 0.5, 1.0]),
    empty=st.booleans(),
    ill=st.booleans(),
)
NODES = st.lists(
    st.builds(
        Node,
        name=st.sampled_from([f"n-{number}" for number in range(8)]),
        gpu_type=st.sampled_from(["", A100, A10, T4, "Brand-New", "Tesla-P100"]),
        allocatable=st.integers(0, 4096),
        gpus=st.lists(GPUS, max_size=4).map(tuple),
        divided=st.booleans(),
        horizon_seconds=st.sampled_from([NAN, 0.001, 600.0, 1e7]),
        cpu_busy=st.sampled_from([NAN, 0.0, 0.4, 1.0]),
        valid_until=st.sampled_from([-np.inf, NOW - 1, NOW, NOW + 1]),
    ),
    max_size=8,
)
NEEDS = st.builds(
    Needs,
    gpus=st.sampled_from([0, 1, 2, 8, 10_000]),
    runs=st.integers(0, 5),
    memory_gb=st.none() | st.sampled_from([0.0, 1.0, 15.5, 80.0, 1e300]),
    seconds=st.none() | st.sampled_from([0.0, 1e-300, 60.0, 1e300]),
    speeds=st.dictionaries(
        st.sampled_from([A100, A10, T4, "Brand-New", "gone"]), st.floats(0.001, 1.0)
    ),
    best_type=st.none() | st.sampled_from([A100, "gone"]),
    draws=st.none() | st.floats(0, 1),
)
HELD = st.lists(st.tuples(st.integers(0, 9999), st.floats(0, 1)), min_size=8, max_size=8)


@settings(max_examples=60)
@given(NODES, NEEDS, HELD, st.randoms())
def test_scores_are_whole_numbers_from_0_to_10_and_no_matter_in_which_order_nodes_come(
    given_nodes: list[Node], needs: Needs, holds: list[tuple[int, float]], chance: Any
) -> None:
    supply = put(*given_nodes)
    for at, (count, spared) in enumerate(holds):
        supply.hold(f"n-{at}", count, spared)
    names = [f"n-{at}" for at in range(10)]
    judged = judge(supply, names, needs, NOW)
    assert all(0 <= score <= MOST_SCORE for score in judged.scores.tolist())
    assert all(isinstance(score, int) for score in judged.scores.tolist())
    for part in (judged.score, *judged.parts.values()):
        assert ((part >= 0) & (part <= 1 + 1e-9)).all()
    if (judged.verdicts == TAKES).any():
        assert judged.scores.max() == MOST_SCORE
    order = list(range(10))
    chance.shuffle(order)
    again = judge(supply, [names[at] for at in order], needs, NOW)
    assert again.verdicts.tolist() == judged.verdicts[order].tolist()
    assert again.scores.tolist() == judged.scores[order].tolist()


@settings(max_examples=40)
@given(NODES, NEEDS)
def test_what_does_not_hold_any_more_excludes_nothing(
    given_nodes: list[Node], needs: Needs
) -> None:
    supply = put(*given_nodes)
    judged = judge(supply, [one.name for one in given_nodes], needs, NOW + 1)
    assert not judged.verdicts.any()


@settings(max_examples=40)
@given(NODES, NEEDS)
def test_a_pod_of_which_nothing_is_known_is_kept_from_ill_gpus_alone(
    given_nodes: list[Node], needs: Needs
) -> None:
    supply = put(*given_nodes)
    names = [one.name for one in given_nodes]
    judged = judge(supply, names, Needs(needs.gpus), NOW)
    assert Verdict.NO_ROOM not in judged.verdicts.tolist()
    well = [
        Node(**{**_fields(one), "gpus": tuple(Gpu(g.total_gb, empty=g.empty) for g in one.gpus)})
        for one in given_nodes
    ]
    assert not judge(put(*well), names, Needs(needs.gpus), NOW).verdicts.any()


def _fields(one: Node) -> dict[str, Any]:
    return {name: getattr(one, name) for name in one.__dataclass_fields__}


def test_facts_without_gpus_exclude_nothing() -> None:
    known = NodeFacts(valid_until=facts(gpu()).valid_until)
    supply = supply_of(node("n", known, allocatable=8))
    assert judge(supply, ["n"], Needs(8, memory_gb=500.0), NOW).verdicts.tolist() == [TAKES]


def test_the_documentation_has_every_part_with_its_weight() -> None:
    text = (REPOSITORY / "docs/scheduler.md").read_text()
    rows = re.findall(r"(?m)^\| `(\w+)` \| ([\d.]+) \| ", text)
    assert {name: float(weight) for name, weight in rows} == WEIGHTS
