"""Why a pod got its node: the answer first, and no more than can be known."""

from dataclasses import replace as changed
from datetime import timedelta

import pytest
from msgspec.structs import replace

from cepheid.reports.why_node import (
    facts,
    headline,
    hint,
    left_out,
    node_rows,
    not_shown,
    provenance,
)
from cepheid.reports.why_node_events import PodSeen, Told
from cepheid.whynode import Considered, Expected, LeftOut, Scored
from tests.unit.reports.considered import A100, CONSIDERED, FULL, NOW, PARTS, POD

WAITS = changed(POD, node=None, phase="Pending")
UNPLACED = replace(CONSIDERED, node=None)


def on(node: str) -> tuple[PodSeen, Considered]:
    return changed(POD, node=node), replace(CONSIDERED, node=node)


def scored(*scores: int) -> Considered:
    best = tuple(
        Scored(node=f"gpu-{chr(97 + place)}", score=score) for place, score in enumerate(scores)
    )
    return replace(CONSIDERED, best=best, out=(), nodes=len(scores), left_out=0)


@pytest.mark.parametrize(
    ("phase", "verb"),
    [("Pending", "starts on"), ("Running", "runs on"), ("Failed", "ran on"), ("", "is on")],
)
def test_the_first_sentence_is_the_answer(phase: str, verb: str) -> None:
    assert headline(changed(POD, phase=phase), CONSIDERED) == (
        f"train-0 {verb} gpu-a, which had the highest score of 3 nodes: 10 of 10."
    )


def test_a_node_that_was_not_the_best_is_said_to_be_none() -> None:
    words = headline(*on("gpu-b"))
    assert words.startswith("train-0 runs on gpu-b, whose score is 4 of 10, and not on gpu-a,")
    assert "one of several scores that the scheduler adds up" in words
    assert "highest of 3 nodes: 10" in words


@pytest.mark.parametrize(
    ("told", "words"),
    [
        (scored(10, 10), "shares the highest score of 2 nodes, 10 of 10, with gpu-b: the sched"),
        (scored(9, 9, 9, 3), "shares the highest score of 4 nodes, 9 of 10, with gpu-b, gpu-c:"),
        (scored(10), "runs on gpu-a, the only node that had room for it."),
        (replace(scored(10), nodes=4, left_out=3), "the only one of 4 nodes that suits it."),
        (replace(scored(), nodes=2, left_out=2), "not among the 2 nodes that were considered."),
        (replace(scored(), nodes=40), "which is not among the best 0 of 40 nodes."),
    ],
)
def test_what_else_can_be_true_of_its_node_is_said(told: Considered, words: str) -> None:
    assert words in headline(POD, told)


def test_a_node_that_had_been_left_out_is_no_best_one() -> None:
    assert "though it was left out" in headline(*on("gpu-c"))


def test_what_was_considered_while_it_waited_is_said_to_be() -> None:
    assert headline(POD, UNPLACED).endswith(" That was considered while it still waited.")


@pytest.mark.parametrize(
    ("told", "words"),
    [
        (replace(UNPLACED, best=(), nodes=3, left_out=3), "train-0 waits: none of 3 nodes takes"),
        (replace(UNPLACED, best=(), nodes=1, left_out=1), "train-0 waits: none of 1 node takes"),
        (replace(UNPLACED, best=(), nodes=0, left_out=0, out=()), "no node was considered"),
        (UNPLACED, "train-0 waits, though 3 nodes suit it by what Cepheid knows"),
    ],
)
def test_of_a_pod_without_a_node_it_says_that_it_waits(told: Considered, words: str) -> None:
    assert words in headline(WAITS, told)
    assert "kubectl describe pod train-0 -n research" in hint(WAITS, told)


def test_what_was_expected_is_told_with_units() -> None:
    best = replace(CONSIDERED, expected=replace(CONSIDERED.expected, best_type=A100))
    assert [*facts(best)] == [
        ("job", "research/bert, 5 earlier runs"),
        ("needs", "1 GPU, 12.4 GB, for 9 min"),
        ("best on", "A100-80, as a trial found"),
        ("speed", "A100-80 100 %, T4 21 % of the fastest"),
    ]


def test_what_was_not_known_is_not_known_and_never_0() -> None:
    unknown = "nothing is known of it: it belongs to no job that is known"
    told = replace(CONSIDERED, expected=Expected(gpus=2), unknown=unknown)
    assert [*facts(told)] == [
        ("job", "not known"),
        ("needs", "2 GPUs, memory each not known, length not known"),
        ("best on", "not known"),
        ("speed", "not known"),
        ("but", unknown),
    ]
    assert "when a run of its job is over" in hint(POD, told)


def test_each_node_has_its_parts_in_percent_and_its_own_is_marked() -> None:
    rows = node_rows(POD, CONSIDERED)
    assert [(row.node, row.score, row.is_its_node) for row in rows] == [
        ("gpu-a", 10, True),
        ("gpu-b", 4, False),
        ("gpu-d", 0, False),
        ("gpu-c", None, False),
    ]
    assert (rows[2].type_percent, rows[2].fit_percent) == (21.0, 96.0)
    assert (rows[3].type_percent, rows[3].left_out) == (None, FULL)


def test_a_share_that_is_none_is_not_known() -> None:
    parts = PARTS | {"type": 1e308, "fit": -0.5, "new": 0.4}
    del parts["free"]
    one = Scored(node="gpu-a", score=10, parts=parts)
    (row, *_) = node_rows(POD, replace(CONSIDERED, best=(one,)))
    assert (row.type_percent, row.fit_percent, row.free_percent) == (None, None, None)
    speeds = {A100: 1e308, "x": -1.0}
    told = replace(CONSIDERED, expected=replace(CONSIDERED.expected, speeds=speeds))
    assert dict(facts(told))["speed"] == "not known"


def test_nodes_left_out_for_one_reason_are_named_together() -> None:
    out = tuple(LeftOut(node=f"gpu-{name}", why=FULL) for name in "cefg")
    other = LeftOut(node="gpu-h", why="too few of its GPUs are well")
    told = replace(CONSIDERED, out=(*out, other), left_out=9, nodes=40)
    assert [*left_out(told)] == [
        f"gpu-c, gpu-e and 2 more: {FULL}",
        "gpu-h: too few of its GPUs are well",
        "4 more nodes",
    ]
    assert not_shown(told) == "and 28 more nodes that suit it, with lower scores"
    assert not_shown(CONSIDERED) is None


def test_it_is_said_who_tells_it_and_that_this_is_no_proof() -> None:
    words = provenance(POD, Told(CONSIDERED, NOW - timedelta(minutes=8)), NOW)
    assert "an Event of 8m ago, in the extender's name" in words
    assert "whoever may create Events in research could have written it" in words
