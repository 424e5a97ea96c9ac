"""One question, one answer, whatever is wrong."""

import json
import logging
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client.exposition import generate_latest

from cepheid_operator.discovery import PODS
from cepheid_operator.extender.answering import (
    FORGED,
    NOT_UNDERSTOOD,
    SAME_SECONDS,
    Answers,
    Case,
)
from cepheid_operator.extender.index import NODES, PROFILES, Asked, Index
from cepheid_operator.extender.judging import Judged
from cepheid_operator.extender.needs import Needs
from cepheid_operator.extender.protocol import QuestionError
from cepheid_operator.extender.supply import Ignored
from cepheid_operator.extender.telemetry import PATIENCE_SECONDS, Telemetry
from cepheid_operator.extender.wording import considered, sentence
from tests.unit.jobs.strategies import ANYTHING, HOSTILE_PODS, spoilt
from tests.unit.operator.extender.world import (
    A10,
    A100,
    JOBS,
    KEY,
    NOON,
    NOW,
    applied,
    facts,
    gpu,
    job,
    lost,
    node,
    owned_by,
    pod,
    profile,
    record,
)

CHOSEN = ("cepheid",)


class Desk:
    """Everything but the wire and the clock."""

    def __init__(self, index: Index | None = None, *, ready: bool = True) -> None:
        self.index = Index() if index is None else index
        self.telemetry = Telemetry(self.index)
        self.telemetry.ready = ready
        self.cases: list[Case] = []
        self.now = NOW
        self.answers = Answers(
            self.index, self.telemetry, self.cases.append, CHOSEN, lambda: self.now
        )

    def filter(self, thing: Any, *names: str) -> dict[str, Any]:
        body = json.dumps({"Pod": thing, "Nodes": None, "NodeNames": names}).encode()
        found: dict[str, Any] = json.loads(self.answers.filter(body))
        return found

    def prioritize(self, thing: Any, *names: str) -> dict[str, int]:
        body = json.dumps({"Pod": thing, "NodeNames": names}).encode()
        found = json.loads(self.answers.prioritize(body))
        assert [one["Host"] for one in found] == list(names)
        return {one["Host"]: one["Score"] for one in found}

    def count(self, metric: str) -> float:
        """Of a line of /metrics."""
        for line in generate_latest(self.telemetry.registry).decode().splitlines():
            if line.startswith(f"cepheid_extender_{metric} "):
                return float(line.rpartition(" ")[2])
        return 0.0


def furnished() -> Desk:
    desk = Desk()
    for thing in (
        node("good", facts(gpu(0), gpu(1))),
        node("small", facts(gpu(0, free=16.0), gpu(1, free=16.0)), kind=A10),
        node("lost", facts(lost(0), lost(1))),
        node("bare", allocatable=2),
    ):
        desk.index.see(NODES, thing, False)
    desk.index.see(JOBS, job(), False)
    desk.index.see(PROFILES, profile(record()), False)
    return desk


NAMES = ("lost", "good", "bare", "small", "nowhere")
TRAIN = pod(owner=owned_by("train"))


def test_nodes_that_it_must_not_get_are_left_out_with_the_reason() -> None:
    desk = furnished()
    found = desk.filter(TRAIN, *NAMES)
    assert found["NodeNames"] == ["good", "bare", "nowhere"]
    assert found["FailedAndUnresolvableNodes"].keys() == {"lost", "small"}
    assert "XID" in found["FailedAndUnresolvableNodes"]["lost"]
    assert "40.0 GB" in found["FailedAndUnresolvableNodes"]["small"]
    assert found["Error"] == ""
    assert desk.count('left_out_total{why="ill"}') == 1
    assert desk.count('left_out_total{why="no_room"}') == 1
    assert desk.count('requests_total{known="known",verb="filter"}') == 1


def test_every_node_that_was_asked_about_has_a_score() -> None:
    desk = furnished()
    found = desk.prioritize(TRAIN, *NAMES)
    assert all(0 <= score <= 10 for score in found.values())
    assert found["good"] == 10
    assert desk.count('requests_total{known="known",verb="prioritize"}') == 1


def test_of_a_pod_that_nothing_is_known_of_ill_gpus_are_kept_away_all_the_same() -> None:
    desk = furnished()
    assert desk.filter(pod("new"), *NAMES)["FailedAndUnresolvableNodes"].keys() == {"lost"}
    assert desk.count('requests_total{known="unknown",verb="filter"}') == 1


def test_what_was_filtered_is_noted_with_all_that_was_found() -> None:
    desk = furnished()
    desk.prioritize(TRAIN, *NAMES)
    assert not desk.cases
    desk.filter(TRAIN, *NAMES)
    (case,) = desk.cases
    assert case.pod == TRAIN
    assert case.names == list(NAMES)
    assert case.asked.needs.memory_gb == 40.0
    assert case.judged.verdicts.tolist() == [2, 0, 0, 1, 0]


def test_scores_are_those_of_the_judgement_that_filtered() -> None:
    desk = furnished()
    left = desk.filter(TRAIN, *NAMES)["NodeNames"]
    (case,) = desk.cases
    judged = dict(zip(case.names, case.judged.scores.tolist(), strict=True))
    desk.index.see(NODES, node("good", facts(lost(0), lost(1))), False)
    assert desk.prioritize(TRAIN, *left) == {name: judged[name] for name in left}
    assert desk.count('requests_total{known="known",verb="prioritize"}') == 1


@pytest.mark.parametrize("changed", ["time", "clock", "nodes", "pod"])
def test_another_question_is_judged_anew(changed: str) -> None:
    desk = furnished()
    left = desk.filter(TRAIN, *NAMES)["NodeNames"]
    desk.index.see(NODES, node("good", facts(lost(0), lost(1))), False)
    asked = TRAIN
    match changed:
        case "time":
            desk.now += SAME_SECONDS
        case "clock":
            desk.now -= 1
        case "nodes":
            left = left[1:] + left[:1]
        case "pod":
            asked = pod(owner=owned_by("train"), gpus=2)
    fresh = Desk(desk.index)
    fresh.now = desk.now
    assert desk.prioritize(asked, *left) == fresh.prioritize(asked, *left)
    assert fresh.prioritize(asked, *left)["good"] < 10


def test_until_everything_was_listed_every_node_is_as_good_as_any_other() -> None:
    desk = Desk(furnished().index, ready=False)
    found = desk.filter(TRAIN, *NAMES)
    assert (found["NodeNames"], found["FailedAndUnresolvableNodes"]) == (list(NAMES), {})
    assert desk.prioritize(TRAIN, *NAMES) == dict.fromkeys(NAMES, 0)
    assert desk.count('requests_total{known="not-ready",verb="filter"}') == 1
    assert desk.count('requests_total{known="not-ready",verb="prioritize"}') == 1
    assert not desk.cases


class Broken(Index):
    """With a bug in it."""

    def asked(self, pod: Any) -> Asked:
        if pod.get("bug") == "asked":
            raise ZeroDivisionError("of ours")
        return super().asked(pod)

    def judge(self, names: list[str], needs: Needs, now: float) -> Judged:
        if names[0] == "bug":
            raise MemoryError("of ours")
        return super().judge(names, needs, now)


@pytest.mark.parametrize(
    ("thing", "names"), [({**TRAIN, "bug": "asked"}, ("a", "b")), (TRAIN, ("bug", "b"))]
)
def test_a_bug_of_ours_keeps_no_pod_waiting(
    thing: Any, names: tuple[str, ...], caplog: pytest.LogCaptureFixture
) -> None:
    desk = Desk(Broken())
    assert desk.filter(thing, *names)["NodeNames"] == list(names)
    assert desk.prioritize(thing, *names) == dict.fromkeys(names, 0)
    assert desk.count('requests_total{known="failed",verb="filter"}') == 1
    assert desk.count('requests_total{known="failed",verb="prioritize"}') == 1
    assert [line.levelname for line in caplog.records] == ["ERROR", "ERROR"]
    assert "pod train-0 is scheduled without us" in caplog.text


def test_what_a_pod_claims_is_counted_told_once_and_changes_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    desk = furnished()
    claims = {f"{KEY}best-placement": '{"type":"NVIDIA-A10","workers":1,"gpus":1}'}
    liar = pod(owner=owned_by("train"), annotations=claims)
    liar["metadata"]["managedFields"] = applied(claims, "cepheid-trials")
    assert desk.filter(liar, *NAMES) == desk.filter(TRAIN, *NAMES)
    assert desk.prioritize(liar, *NAMES) == desk.prioritize(TRAIN, *NAMES)
    assert desk.count("forged_total") == 2
    assert [line.message for line in caplog.records] == [FORGED]


def test_what_a_trial_found_wins_and_a_forged_one_does_not(
    caplog: pytest.LogCaptureFixture,
) -> None:
    desk = Desk()
    for kind in (A100, A10):
        desk.index.see(NODES, node(kind, facts(gpu()), kind=kind), False)
    desk.index.see(JOBS, job(best=A10), False)
    assert desk.prioritize(TRAIN, A100, A10)[A100] < desk.prioritize(TRAIN, A100, A10)[A10] == 10
    assert desk.count("forged_total") == 0
    desk.index.see(JOBS, job(), False)
    without = desk.prioritize(TRAIN, A100, A10)
    desk.index.see(JOBS, job(best=A10, manager="kubectl"), False)
    assert desk.prioritize(TRAIN, A100, A10) == without
    assert without[A10] < without[A100] == 10
    assert desk.count("forged_total") == 1
    assert FORGED in caplog.text


@pytest.mark.parametrize("verb", ["filter", "prioritize"])
def test_what_is_no_question_is_refused_and_told_once(
    verb: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    desk = Desk()
    for _ in range(3):
        with pytest.raises(QuestionError):
            getattr(desk.answers, verb)(b'{"Pod":{}}')
    assert len(caplog.records) == 1
    assert NOT_UNDERSTOOD in caplog.text
    desk.prioritize(TRAIN, "a")  # of another scheduler, perhaps
    with pytest.raises(QuestionError):
        getattr(desk.answers, verb)(b'{"Pod":{}}')
    assert len(caplog.records) == 1


def test_no_nodes_are_no_trouble() -> None:
    desk = furnished()
    assert desk.filter(TRAIN)["NodeNames"] == []
    assert desk.prioritize(TRAIN) == {}


def test_by_the_clock_annotations_expire() -> None:
    index = furnished().index
    late = Answers(
        index, (telemetry := Telemetry(index)), lambda _: None, CHOSEN, lambda: NOW + 600
    )
    telemetry.ready = True
    body = json.dumps({"Pod": TRAIN, "NodeNames": NAMES}).encode()
    assert json.loads(late.filter(body))["NodeNames"] == list(NAMES)


def test_without_a_sign_of_life_it_is_not_healthy() -> None:
    now = [0.0]
    telemetry = Telemetry(Index(), lambda: now[0])
    healthy = []
    for seconds in (PATIENCE_SECONDS - 1, PATIENCE_SECONDS):
        now[0] = seconds
        healthy.append(telemetry.healthy)
    telemetry.alive()
    assert [*healthy, telemetry.healthy] == [True, False, True]
    assert not telemetry.ready


def test_what_is_kept_and_what_is_ignored_is_counted_when_somebody_asks() -> None:
    desk = furnished()
    desk.index.see(NODES, node("forged", facts(gpu()), manager="kubectl"), False)
    desk.index.see(PODS, pod("a", on="good"), False)
    expected = {"nodes": 5, "pods": 1, "jobs": 1, "runs": 1}
    assert {kind: desk.count(f'kept{{kind="{kind}"}}') for kind in expected} == expected
    known = [
        why for why in Ignored if why is not Ignored.EXPIRED
    ]  # which the day of the test is in
    ignored = {why: desk.count(f'ignored_nodes{{why="{why}"}}') for why in known}
    assert ignored == {"missing": 2, "forged": 1, "malformed": 0}


QUESTIONS = (
    HOSTILE_PODS
    | spoilt(pod(owner=owned_by("train"), annotations={f"{KEY}x": "y"}))
    | st.dictionaries(st.text(max_size=8), ANYTHING, max_size=4)
)


@settings(max_examples=60)
@given(QUESTIONS, st.lists(st.sampled_from(NAMES) | st.text(max_size=4), max_size=5, unique=True))
def test_whatever_a_pod_is_like_it_is_answered(thing: dict[str, Any], names: list[str]) -> None:
    desk = furnished()
    body = json.dumps({"Pod": thing, "NodeNames": names}).encode()
    try:
        kept = json.loads(desk.answers.filter(body))
    except QuestionError:
        return  # not JSON: NaN, or a number that no JSON of Go's has
    assert sorted([*kept["NodeNames"], *kept["FailedAndUnresolvableNodes"]]) == sorted(names)
    scores = json.loads(desk.answers.prioritize(body))
    assert all(type(one["Score"]) is int and 0 <= one["Score"] <= 10 for one in scores)
    assert [one["Host"] for one in scores] == names
    assert desk.count('requests_total{known="failed",verb="filter"}') == 0
    for case in desk.cases:
        sentence(considered(case.asked, case.names, case.judged, None, NOON))


@settings(max_examples=20)
@given(st.permutations(NAMES))
def test_the_answers_are_the_same_in_whatever_order_nodes_are_named(names: list[str]) -> None:
    desk = furnished()
    assert desk.prioritize(TRAIN, *names) == desk.prioritize(TRAIN, *NAMES)
    kept = desk.filter(TRAIN, *names)
    assert kept["NodeNames"] == [name for name in names if name not in ("lost", "small")]


def test_for_a_pod_that_chose_another_profile_all_nodes_are_equal_and_nothing_is_noted() -> None:
    desk = furnished()
    others = {**TRAIN, "spec": {**TRAIN["spec"], "schedulerName": "default-scheduler"}}
    assert desk.filter(others, *NAMES)["NodeNames"] == list(NAMES)
    body = json.dumps({"Pod": others, "NodeNames": NAMES}).encode()
    assert {one["Score"] for one in json.loads(desk.answers.prioritize(body))} == {0}
    assert desk.cases == []
    assert desk.filter(TRAIN, *NAMES)["NodeNames"] != list(NAMES)
