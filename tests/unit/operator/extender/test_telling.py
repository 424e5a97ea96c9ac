"""An Event a pod, at a bounded rate, and never in the way."""

import contextlib
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from prometheus_client.exposition import generate_latest

from cepheid.annotations.api import ApiServer, connect
from cepheid.whynode import KEY, REASON, from_text
from cepheid_operator.extender import telling as module
from cepheid_operator.extender.answering import Case
from cepheid_operator.extender.index import Asked, Index
from cepheid_operator.extender.judging import WEIGHTS, Judged
from cepheid_operator.extender.needs import Needs
from cepheid_operator.extender.runs import Lineage
from cepheid_operator.extender.telemetry import Telemetry
from cepheid_operator.extender.telling import WAITED_SECONDS, Telling
from tests.unit.annotations.server import Answer, FakeServer, refusal, serving
from tests.unit.annotations.test_api import kubeconfig
from tests.unit.operator.extender.world import NOON, pod

MADE = Answer(201, {"kind": "Event", "metadata": {"name": "it", "uid": "1"}})


def case_of(thing: dict[str, Any], *scores: float) -> Case:
    given = np.array(scores or (0.5, 0.4))
    parts = {name: np.full(len(given), 0.5) for name in WEIGHTS}
    judged = Judged(np.zeros(len(given), np.int8), parts, given)
    names = [f"gpu-{letter}" for letter, _ in zip("abcdefgh", given, strict=False)]
    return Case(thing, Asked(Needs(1, 2), Lineage("team", "train")), names, judged)


class Desk:
    def __init__(self, server: ApiServer, fake: FakeServer, per_second: float = 1000.0) -> None:
        self.now, self.fake = 100.0, fake
        self.telemetry = Telemetry(Index())
        self.telling = Telling(
            server, self.telemetry, per_second, clock=lambda: self.now, wall=lambda: NOON
        )

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        stop = threading.Event()
        thread = threading.Thread(target=self.telling.run, args=(stop,))
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()

    def told(self, outcome: str = "told") -> float:
        text = generate_latest(self.telemetry.registry).decode()
        name = f'cepheid_extender_told_total{{outcome="{outcome}"}} '
        return sum(float(line.removeprefix(name)) for line in text.splitlines() if name in line)

    @property
    def events(self) -> list[dict[str, Any]]:
        return [request.body for request in self.fake.requests]


class Ticks(threading.Event):
    """Time for so many Events, and no more; passes at once."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self._left = count

    def wait(self, timeout: float | None = None) -> bool:
        del timeout
        self._left -= 1
        return self._left < 0


def until(condition: Callable[[], bool]) -> None:
    pause = threading.Event()
    while not condition():
        pause.wait(0.005)


@contextlib.contextmanager
def desk(folder: Path, *answers: Answer, per_second: float = 1000.0) -> Iterator[Desk]:
    with serving(*(answers or (MADE,))) as fake:
        path = kubeconfig(folder, fake.address)
        with ApiServer(lambda: connect(str(path))) as server:
            yield Desk(server, fake, per_second)


def test_a_pod_that_got_its_node_has_an_event_that_says_what_was_considered(
    tmp_path: Path,
) -> None:
    with desk(tmp_path) as it:
        it.telling.note(case_of(pod("a")))
        it.telling.bound("uid-a", "gpu-b")
        with it.running():
            until(lambda: it.told() == 1)
        (request,) = it.fake.requests
        (event,) = it.events
    assert (request.method, request.path.partition("?")[0]) == (
        "POST",
        "/api/v1/namespaces/team/events",
    )
    assert event["involvedObject"] == {
        "apiVersion": "v1",
        "kind": "Pod",
        "namespace": "team",
        "name": "a",
        "uid": "uid-a",
    }
    assert (event["reason"], event["type"], event["action"]) == (REASON, "Normal", "Placing")
    assert event["message"].startswith("scores of 2 nodes: gpu-a 10, gpu-b")
    told = from_text(event["metadata"]["annotations"][KEY])
    assert (told.node, told.at, told.expected.job) == ("gpu-b", NOON, "team/train")


def test_a_pod_that_waits_is_told_of_once_and_again_when_it_has_its_node(tmp_path: Path) -> None:
    with desk(tmp_path) as it, it.running():
        it.telling.note(case_of(pod("a")))
        it.telling.note(case_of(pod("b")))
        it.telling.bound("uid-b", "gpu-a")
        until(lambda: it.told() == 1)
        it.now += WAITED_SECONDS + 1
        until(lambda: it.told() == 2)
        it.telling.note(case_of(pod("a"), 0.1, 0.9))  # it was tried once more
        it.telling.note(case_of(pod("c")))
        it.telling.bound("uid-c", "gpu-a")
        until(lambda: it.told() == 3)
        it.telling.bound("uid-a", "gpu-b")
        until(lambda: it.told() == 4)
        nodes = [from_text(event["metadata"]["annotations"][KEY]).node for event in it.events]
        names = [event["involvedObject"]["name"] for event in it.events]
    assert list(zip(names, nodes, strict=True)) == [
        ("b", "gpu-a"),
        ("a", None),
        ("c", "gpu-a"),
        ("a", "gpu-b"),
    ]
    assert len({event["metadata"]["name"] for event in it.events}) == 4
    assert "gpu-b 10" in it.events[3]["message"]  # what was considered last


def test_while_it_goes_on_waiting_it_is_not_told_of_again(tmp_path: Path) -> None:
    with desk(tmp_path) as it:
        for _ in range(4):
            it.telling.note(case_of(pod("a")))
            it.now += WAITED_SECONDS + 1
            it.telling.run(Ticks(3))
    assert [event["involvedObject"]["name"] for event in it.events] == ["a"]


def test_a_pod_has_some_time_to_get_its_node(tmp_path: Path) -> None:
    with desk(tmp_path) as it:
        it.telling.note(case_of(pod("a")))
        it.now += WAITED_SECONDS
        it.telling.run(Ticks(3))
    assert it.events == []


def test_how_long_it_waits_counts_from_when_it_was_first_tried(tmp_path: Path) -> None:
    with desk(tmp_path) as it, it.running():
        for _ in range(4):
            it.telling.note(case_of(pod("a")))
            it.now += WAITED_SECONDS / 3
        until(lambda: it.told() == 1)
        it.telling.note(case_of(pod("b")))
        it.telling.bound("uid-b", "gpu-a")  # while there is nothing else to tell of a
        until(lambda: it.told() == 2)
    assert [event["involvedObject"]["name"] for event in it.events] == ["a", "b"]


def test_that_other_pods_get_nodes_is_no_news(tmp_path: Path) -> None:
    with desk(tmp_path) as it:
        it.telling.bound("uid-x", "gpu-a")
        it.telling.note(case_of(pod("a")))
        it.telling.bound("uid-a", "gpu-a")
        with it.running():
            until(lambda: it.told() == 1)
    assert len(it.events) == 1


@pytest.mark.parametrize("missing", ["namespace", "name", "uid"])
def test_of_what_is_no_pod_nothing_is_told(tmp_path: Path, missing: str) -> None:
    with desk(tmp_path) as it:
        broken, whole = pod("a"), pod("b")
        del broken["metadata"][missing]
        for thing in (broken, {}, whole):
            it.telling.note(case_of(thing))
        for uid in ("uid-a", "uid-b"):
            it.telling.bound(uid, "gpu-a")
        with it.running():
            until(lambda: it.told() == 1)
    assert [event["involvedObject"]["name"] for event in it.events] == ["b"]


def test_more_pods_than_are_remembered_are_left_out_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST", 3)
    with desk(tmp_path) as it:
        for name in "abcde":
            it.telling.note(case_of(pod(name)))
        it.telling.note(case_of(pod("c")))  # again: it takes no more room
        assert it.told("left out") == 2
        for name in "abcde":
            it.telling.bound(f"uid-{name}", "gpu-a")
        with it.running():
            until(lambda: it.told() == 3)
    assert sorted(event["involvedObject"]["name"] for event in it.events) == ["c", "d", "e"]


def test_of_large_clusters_fewer_pods_are_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_NODES", 9)
    with desk(tmp_path) as it:
        for _ in range(3):
            for name in "abc":
                it.telling.note(case_of(pod(name), 0.1, 0.2, 0.3))
        assert it.told("left out") == 0
        it.telling.note(case_of(pod("d"), 0.1, 0.2, 0.3, 0.4))
        assert it.told("left out") == 2
        for name in "abcd":
            it.telling.bound(f"uid-{name}", "gpu-a")
        with it.running():
            until(lambda: it.told() == 2)
        for name in "efg":  # those that were told of take no room
            it.telling.note(case_of(pod(name), 0.1, 0.2, 0.3))
        assert it.told("left out") == 2
    assert [event["involvedObject"]["name"] for event in it.events] == ["c", "d"]


def test_none_a_second_are_none_at_all_and_nothing_is_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST", 1)
    with desk(tmp_path, per_second=0.0) as it:
        for name in "ab":
            it.telling.note(case_of(pod(name)))
            it.telling.bound(f"uid-{name}", "gpu-a")
        it.telling.run(threading.Event())  # which ends by itself
        assert it.told("left out") == 0
    assert it.events == []


def test_an_api_server_that_refuses_is_told_of_once_and_the_next_event_is_tried(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    no = refusal(403, "events are forbidden")
    with desk(tmp_path, no, no, MADE) as it:
        for name in "abc":
            it.telling.note(case_of(pod(name)))
            it.telling.bound(f"uid-{name}", "gpu-a")
        with it.running():
            until(lambda: it.told() == 1)
        assert it.told("failed") == 2
    warnings = [line for line in caplog.messages if "telling of what was considered" in line]
    assert len(warnings) == 1


def test_an_event_that_is_there_already_is_no_trouble(tmp_path: Path) -> None:
    with desk(tmp_path, refusal(409, "already exists")) as it:
        it.telling.note(case_of(pod("a")))
        it.telling.bound("uid-a", "gpu-a")
        with it.running():
            until(lambda: it.told() == 1)
        assert it.told("failed") == 0
