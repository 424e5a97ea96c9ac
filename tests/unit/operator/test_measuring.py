"""Finished runs are measured in time, again while Prometheus is away, and not for ever."""

import logging
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import pytest

from cepheid.jobs.pods import Phase, PodState
from cepheid.logs import Troubles
from cepheid.sources.access import Access
from cepheid.sources.jobs import JobReader
from cepheid.sources.prometheus import PrometheusClient
from cepheid_operator.measuring import (
    AFTER_SECONDS,
    AGAIN_SECONDS,
    GIVE_UP_SECONDS,
    Answer,
    Measuring,
    Question,
)
from tests.unit.sources import servers
from tests.unit.sources.servers import Front

ENDED = datetime(2026, 3, 1, 12, tzinfo=UTC)
POD = PodState(
    "uid",
    "train-0",
    "team",
    ENDED - timedelta(hours=1),
    Phase.SUCCEEDED,
    node="gpu-a",
    started=ENDED - timedelta(minutes=30),
)
QUESTION = Question("team", (POD,), ENDED.timestamp())


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def front() -> Iterator[Front]:
    with servers.front() as served:
        served.reply = servers.success([])
        yield served


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def measuring(front: Front, clock: Clock) -> Iterator[Measuring]:
    client = PrometheusClient(Access(url=front.url, timeout_seconds=5.0))
    yield Measuring(JobReader(client), Troubles(logging.getLogger("test")), clock=clock)
    client.close()


@pytest.fixture
def told() -> list[Answer | None]:
    return []


def test_it_waits_until_the_last_samples_are_scraped(
    measuring: Measuring, clock: Clock, told: list[Answer | None], front: Front
) -> None:
    measuring.ask(QUESTION, told.append)
    measuring.step()
    assert (told, front.requests) == ([], [])
    clock.now = AFTER_SECONDS
    measuring.step()
    (answer,) = told
    assert answer is not None
    assert answer.figures.measured is None  # Prometheus had nothing of it


def test_one_that_ended_long_ago_is_not_waited_for(
    measuring: Measuring, told: list[Answer | None]
) -> None:
    measuring.ask(QUESTION, told.append, ended_ago_seconds=3600.0)
    measuring.step()
    assert len(told) == 1


def test_while_prometheus_is_away_it_is_asked_again_and_then_given_up(
    measuring: Measuring, clock: Clock, told: list[Answer | None], front: Front
) -> None:
    front.reply = servers.answer(503, b"")
    measuring.ask(QUESTION, told.append)
    clock.now = AFTER_SECONDS
    measuring.step()
    assert told == []
    asked = len(front.requests)
    measuring.step()
    assert len(front.requests) == asked  # not in a loop
    clock.now += AGAIN_SECONDS
    measuring.step()
    assert len(front.requests) > asked
    clock.now = GIVE_UP_SECONDS + AFTER_SECONDS
    measuring.step()
    assert told == [None]
    assert len(measuring) == 0


def test_one_that_never_ran_is_not_asked_for(
    measuring: Measuring, told: list[Answer | None], front: Front
) -> None:
    measuring.ask(Question("team", (), ENDED.timestamp()), told.append, ended_ago_seconds=60.0)
    measuring.step()
    assert len(told) == 1
    assert front.requests == []


@pytest.mark.parametrize(
    "reply",
    [
        servers.success([{"metric": {"__name__": "x"}, "values": []}]),
        servers.success([{"metric": {"pod": "train-0"}, "values": [[1, "NaN"]]}]),
    ],
)
def test_series_that_say_nothing_are_no_figures(
    measuring: Measuring,
    told: list[Answer | None],
    front: Front,
    reply: Callable[..., None],
) -> None:
    front.reply = reply
    measuring.ask(QUESTION, told.append, ended_ago_seconds=60.0)
    measuring.step()
    (answer,) = told
    assert answer is not None
    assert answer.figures.measured is None
