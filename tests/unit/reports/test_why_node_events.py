"""Which Event is believed, and what is said where there is none."""

import json
from dataclasses import replace as changed
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from cepheid.reports.why_node_events import (
    WAITS_SECONDS,
    PodSeen,
    heard,
    nothing_told,
)
from cepheid.whynode import (
    COMPONENT,
    KEY,
    MOST_BYTES,
    MOST_SCORE,
    SOURCE,
    to_document,
    to_text,
)
from cepheid_operator.eventing import About, Word, event_of
from cepheid_operator.extender import judging
from cepheid_operator.extender.index import Asked
from cepheid_operator.extender.needs import Needs
from cepheid_operator.extender.runs import Lineage
from cepheid_operator.extender.telling import WAITED_SECONDS
from cepheid_operator.extender.wording import considered
from tests.unit.history.strategies import ATTACKS
from tests.unit.reports.considered import CONSIDERED, NOW, POD, event


def test_what_the_extender_writes_is_what_is_believed() -> None:
    told = event_of(
        About(api_version="v1", kind="Pod", namespace="research", name="train-0", uid=POD.uid),
        Word(reason="NodesConsidered", words="", action="", annotations={KEY: "{}"}),
        NOW,
    )
    assert (told["reportingComponent"], told["source"]["component"]) == (COMPONENT, SOURCE)
    assert judging.MOST_SCORE == MOST_SCORE
    assert WAITED_SECONDS < WAITS_SECONDS


def test_what_the_extender_judged_can_be_read_back() -> None:
    parts = {name: np.array([1.0, 0.5, 0.25]) for name in judging.WEIGHTS}
    verdicts = np.array([0, judging.Verdict.NO_ROOM, 0], np.int8)
    judged = judging.Judged(verdicts, parts, np.array([0.9, 0.8, 0.2]))
    asked = Asked(Needs(1, runs=2, memory_gb=31.24), Lineage("research", "bert"))
    told = considered(asked, ["gpu-a", "gpu-b.example.org", "gpu-c"], judged, "gpu-a", NOW)
    found = heard(POD, [event(to_text(told))])
    assert found.told is not None
    assert found.told.considered == told
    assert (told.nodes, told.left_out, len(told.best)) == (3, 1, 2)


def test_what_tests_show_is_what_the_extender_would_score() -> None:
    parts = {
        name: np.array([one.parts[name] for one in CONSIDERED.best]) for name in judging.WEIGHTS
    }
    weights = [judging.WEIGHTS[name] for name in parts]
    score = np.average(np.stack([*parts.values()]), axis=0, weights=weights)
    judged = judging.Judged(np.zeros(3, np.int8), parts, score)
    assert judged.scores.tolist() == [one.score for one in CONSIDERED.best]


def test_the_newest_is_taken_and_of_two_in_a_second_the_one_with_the_node() -> None:
    waiting = to_text(replace(CONSIDERED, node=None))
    for events in (
        [event(waiting, seconds=60), event(seconds=5)],
        [event(seconds=5), event(waiting, seconds=5)],
    ):
        found = heard(POD, events)
        assert found.told is not None
        assert found.told.considered.node == "gpu-a"
        assert found.told.created == NOW - timedelta(seconds=5)


@pytest.mark.parametrize(
    "other",
    [
        {"reportingComponent": "kubelet"},
        {"reportingComponent": ""},
        {"source": {"component": "me"}},
        {"source": None},
    ],
)
def test_an_event_of_somebody_else_is_counted_and_not_believed(other: dict[str, Any]) -> None:
    found = heard(POD, [event(**other)])
    assert (found.told, found.foreign, found.wrong) == (None, 1, ())
    assert "(1 Event of somebody else not believed)" in nothing_told(POD, 1, NOW)[0]


@pytest.mark.parametrize(
    "other",
    [
        {"involvedObject": {"uid": "another pod of its name"}},
        {"involvedObject": "nonsense"},
        {"reason": "Scheduled"},
        {"metadata": {}},
        {"metadata": {"annotations": {KEY: 3}}},
    ],
)
def test_an_event_about_something_else_does_not_count(other: dict[str, Any]) -> None:
    assert heard(POD, [event(**other)]) == heard(POD, [])


def nonsense(**fields: Any) -> str:
    return json.dumps(to_document(CONSIDERED) | fields, default=str)


WRONG = {
    "empty": "",
    "no json": "no JSON",
    "long": " " * MOST_BYTES + "{}",
    "deep": nonsense()[:-1] + ', "x": ' + "[" * 15_000 + "]" * 15_000 + "}",
    "half a character": "\ud800",
    "many": nonsense(nodes=10**30),
    "negative": nonsense(leftOut=-1),
    "more left out than there are": nonsense(nodes=3, leftOut=2),
    "fewer left out than named": nonsense(leftOut=0),
    "a score": nonsense(best=[{"node": "gpu-a", "score": 11}]),
    "a node that can be none": nonsense(best=[{"node": "\x1b[2J", "score": 1}]),
    "two lines": nonsense(best=[{"node": "gpu-a\n", "score": 1}]),
    "no time": nonsense(at="2026-03-01T10:41:00"),
    "another node": nonsense(node="gpu-b"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_cannot_be_true_is_left_out_and_the_rest_is_believed(what: str) -> None:
    forged = heard(POD, [event(WRONG[what])])
    assert (forged.told, len(forged.wrong)) == (None, 1)
    assert str(forged.wrong[0]).replace("\n", "").isprintable()
    assert "hint: " in str(forged.wrong[0])
    found = heard(POD, [event(seconds=9), event(WRONG[what])])
    assert found.told is not None
    assert found.told.considered == CONSIDERED


def test_a_pod_without_a_node_is_believed_and_not_the_event() -> None:
    found = heard(changed(POD, node=None), [event()])
    assert found.told is None
    assert "the pod that it has no node" in str(found.wrong[0])


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(ATTACKS),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


@given(st.dictionaries(st.sampled_from([*to_document(CONSIDERED), "unknown"]), json_values))
def test_whatever_stands_there_is_read_or_refused(fields: dict[str, Any]) -> None:
    found = heard(POD, [event(nonsense(**fields))])
    assert (found.told is None) == (len(found.wrong) == 1)
    assert all(problem.message.isprintable() for problem in found.wrong)


GPU = [{"name": "main", "resources": {"limits": {"nvidia.com/gpu": "1"}}}]


def pod(**spec: Any) -> dict[str, Any]:
    return {
        "metadata": {
            "name": "train-0",
            "namespace": "research",
            "uid": POD.uid,
            "creationTimestamp": "2026-03-01T10:00:00Z",
        },
        "spec": {"containers": GPU, "schedulerName": "cepheid"} | spec,
    }


def seen(condition: dict[str, str] | None = None, **spec: Any) -> PodSeen:
    status = {"phase": "Pending", "conditions": [condition] if condition else []}
    return PodSeen.of(pod(**spec) | {"status": status})


PLACED = {
    "type": "PodScheduled",
    "status": "True",
    "lastTransitionTime": "2026-03-01T10:00:05Z",
}
UNSCHEDULABLE = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "Unschedulable",
    "message": "0/3 nodes are available: 3 Insufficient nvidia.com/gpu.\x1b[2J\u202e",
}
LATER = datetime(2026, 3, 1, 12, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("looked", "now", "words", "what_to_do"),
    [
        (seen(containers=[{"name": "web"}]), NOW, "asks for no GPUs", "kubectl describe pod"),
        (seen(schedulingGates=[{"name": "x"}]), NOW, "schedulingGates", "kubectl describe pod"),
        (seen(PLACED, nodeName="gpu-a"), LATER, "got its node 2h ago", "within an hour"),
        (seen(), NOW.replace(minute=0, second=9), "has waited for 9 s", "ask again"),
        (seen(UNSCHEDULABLE), NOW, "3 Insufficient nvidia.com/gpu", "kubectl describe pod"),
        (seen(), NOW, "scheduler 'cepheid' seems not to ask", "kubectl get pods -n cepheid"),
        (seen(schedulerName="volcano"), NOW, "scheduler 'volcano'", "schedulerName: cepheid"),
        (seen(schedulerName="a\x1b[2Jb"), NOW, "scheduler", "schedulerName: cepheid"),
        (seen(PLACED, nodeName="gpu-a"), NOW, "seems not to ask", "extender"),
    ],
)
def test_where_there_is_no_event_it_says_why_as_far_as_the_pod_shows_it(
    looked: PodSeen, now: datetime, words: str, what_to_do: str
) -> None:
    message, hint = nothing_told(looked, 0, now)
    assert message.startswith("no Event says which nodes were considered for train-0: ")
    assert words in message
    assert what_to_do in hint
    assert (message + hint).isprintable()
