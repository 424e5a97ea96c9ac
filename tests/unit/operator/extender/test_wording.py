"""What was considered, in words."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cepheid.whynode import (
    MOST_BYTES,
    MOST_NODES,
    Expected,
    LeftOut,
    WhyNodeError,
    from_text,
    to_text,
)
from cepheid_operator.extender.index import Asked, Unknowns
from cepheid_operator.extender.judging import WEIGHTS, Judged, Verdict
from cepheid_operator.extender.needs import Needs
from cepheid_operator.extender.runs import Lineage
from cepheid_operator.extender.wording import SHOWN, considered, expected, reason, sentence
from tests.unit.operator.extender.world import A100, NOON, T4

KNOWN = Asked(
    Needs(2, 3, 40.04, 7200.0, {A100: 1.0, T4: 0.333}, A100),
    Lineage("team", "bert", "abc"),
)


def judged_of(*scores: float, out: dict[int, Verdict] | None = None) -> Judged:
    verdicts = np.zeros(len(scores), np.int8)
    for row, verdict in (out or {}).items():
        verdicts[row] = verdict
    parts = {name: np.full(len(scores), 0.123456) for name in WEIGHTS}
    return Judged(verdicts, parts, np.array(scores))


@pytest.mark.parametrize(
    ("verdict", "gpus", "memory", "words"),
    [
        (
            Verdict.ILL,
            1,
            None,
            "too few of its GPUs are well: a GPU asked for, others lost or with an XID",
        ),
        (
            Verdict.ILL,
            8,
            4.0,
            "too few of its GPUs are well: 8 GPUs asked for, others lost or with an XID",
        ),
        (
            Verdict.NO_ROOM,
            1,
            39.96,
            "no room on its GPUs: its job is known to need 40.0 GB, foretold to be free is less",
        ),
        (
            Verdict.NO_ROOM,
            2,
            7.0,
            (
                "no room on its GPUs: its job is known to need 7.0 GB each,"
                " foretold to be free is less"
            ),
        ),
    ],
)
def test_a_scheduler_is_told_why_a_node_is_left_out(
    verdict: Verdict, gpus: int, memory: float | None, words: str
) -> None:
    assert reason(verdict, Needs(gpus, memory_gb=memory)) == words


def test_what_was_expected_is_rounded_for_people() -> None:
    assert expected(KNOWN) == Expected(
        gpus=2,
        job="team/bert",
        runs=3,
        memory_gb=40.0,
        seconds=7200.0,
        best_type=A100,
        speeds={A100: 1.0, T4: 0.33},
    )
    assert expected(Asked(Needs(1), None)) == Expected(gpus=1)


def test_the_best_nodes_come_first_and_the_one_that_it_got_is_among_them() -> None:
    names = [f"n-{row}" for row in range(30)]
    judged = judged_of(
        *(row / 100 for row in range(30)), out={29: Verdict.ILL, 28: Verdict.NO_ROOM}
    )
    told = considered(KNOWN, names, judged, "n-3", NOON)
    best = [f"n-{row}" for row in range(27, 27 - MOST_NODES, -1)]
    assert [one.node for one in told.best] == [*best, "n-3"]
    assert [one.score for one in told.best] == [judged.scores[int(n[2:])] for n in (*best, "n-3")]
    assert told.best[0].parts == dict.fromkeys(WEIGHTS, 0.12)
    assert (told.at, told.node, told.nodes, told.left_out) == (NOON, "n-3", 30, 2)
    assert [one.node for one in told.out] == ["n-28", "n-29"]
    assert "XID" in told.out[1].why
    assert [one.node for one in considered(KNOWN, names, judged, best[2], NOON).best] == best
    assert [one.node for one in considered(KNOWN, names, judged, None, NOON).best] == best


def test_of_many_that_are_left_out_a_few_are_named() -> None:
    names = [f"n-{row}" for row in range(30)]
    judged = judged_of(*[0.5] * 30, out=dict.fromkeys(range(30), Verdict.ILL))
    told = considered(KNOWN, names, judged, None, NOON)
    assert (told.best, told.left_out, len(told.out)) == ((), 30, MOST_NODES)
    assert sentence(told).startswith("scores of 30 nodes: none takes it; 30 left out (n-0: too few")


def test_a_sentence_for_who_describes_the_pod() -> None:
    judged = judged_of(0.9, 0.65, 0.9, 0.899, 0.5, out={4: Verdict.ILL})
    told = considered(KNOWN, ["a", "b", "c", "d", "e"], judged, "a", NOON)
    assert sentence(told) == (
        "scores of 5 nodes: a 10, c 10, d 10; 1 left out (e: too few of its GPUs are well: 2 GPUs"
        " asked for, others lost or with an XID); expected by 3 earlier runs: 40 GB a GPU, 2h, best"
        " on A100-80"
    )
    assert len(told.best[:SHOWN]) == 3


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (Asked(Needs(1, 1), None), "expected by 1 earlier run: nothing"),
        (Asked(Needs(1, 2, 1.25), None), "expected by 2 earlier runs: 1.2 GB a GPU"),
        (Asked(Needs(1, 2, seconds=90.0), None), "expected by 2 earlier runs: 1m 30s"),
        (
            Asked(Needs(1), None, unknown=Unknowns.NO_JOB),
            "nothing is known of it: it belongs to no job that is known",
        ),
        (
            Asked(Needs(1), None, unknown=Unknowns.NO_RUNS),
            "nothing is known of it: its job has not run yet",
        ),
    ],
)
def test_what_is_known_of_it_is_said(asked: Asked, words: str) -> None:
    told = considered(asked, ["a"], judged_of(0.5), None, NOON)
    assert sentence(told) == f"scores of 1 node: a 10; {words}"


@pytest.mark.parametrize("text", ["", "{}", "[]", " " * (MOST_BYTES + 1), '{"at":"today"}'])
def test_what_no_extender_wrote_is_refused(text: str) -> None:
    with pytest.raises(WhyNodeError) as problem:
        from_text(text)
    assert problem.value.hint


NAMES = st.lists(
    st.from_regex(r"[a-j0-9]([a-j0-9.-]{0,251}[a-j0-9])?", fullmatch=True), max_size=25, unique=True
)


@settings(max_examples=40)
@given(NAMES, st.data())
def test_what_is_written_can_be_read_and_fits(names: list[str], data: st.DataObject) -> None:
    each: dict[str, Any] = {"min_size": len(names), "max_size": len(names)}
    scores = data.draw(st.lists(st.floats(0, 1), **each))
    verdicts = data.draw(st.lists(st.sampled_from(Verdict), **each))
    judged = judged_of(*scores, out=dict(enumerate(verdicts)))
    got = data.draw(st.none() | st.sampled_from(names)) if names else None
    told = considered(replace(KNOWN, unknown=Unknowns.NO_RUNS), names, judged, got, NOON)
    text = to_text(told)
    assert len(text.encode()) < MOST_BYTES
    assert from_text(text) == told
    assert told.left_out == sum(verdict is not Verdict.TAKES for verdict in verdicts)
    assert all(isinstance(one, LeftOut) for one in told.out)
    assert "\n" not in sentence(told)
