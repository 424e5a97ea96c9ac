"""It starts before its servers, stops in the middle of a pass, and is killed."""

import time
from collections.abc import Iterator
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler

import pytest

from tests.cluster.progress import wait_for
from tests.faults.watch import (
    PATIENCE_SECONDS,
    SOON,
    Watched,
    stops_and_kept_its_secrets,
    watched,
)
from tests.stage.surroundings import Stage
from tests.stage.world import Node
from tests.unit.sources.servers import Front, front

HANG_SECONDS = 90
"""Longer than a daemon of the stage is waited for."""
SLOW_SECONDS = 1.5
TROUBLES = ["reading Prometheus", "reaching the API server"]


@pytest.fixture
def before_prometheus(stage: Stage) -> Iterator[Front]:
    with front() as served:
        served.upstream = stage.prometheus.url
        yield served


def test_it_stops_in_the_middle_of_a_question(
    stage: Stage, node: Node, before_prometheus: Front
) -> None:
    agent = stage.agent(
        node.name,
        **SOON,
        prometheus_url=before_prometheus.url,
        prometheus_timeout_seconds=HANG_SECONDS,
    )
    with watched(stage, node, agent) as seen:
        asked = len(before_prometheus.requests)
        before_prometheus.reply = lambda _: time.sleep(HANG_SECONDS)
        wait_for("a question", lambda: len(before_prometheus.requests) > asked)
        seen.said_nothing()


def test_it_is_well_and_stops_while_it_reads_a_long_past_slowly(
    stage: Stage, node: Node, before_prometheus: Front
) -> None:
    """More than a hundred questions: the first pass takes minutes."""
    honest = Front("", upstream=stage.prometheus.url)

    def slow(handler: BaseHTTPRequestHandler) -> None:
        time.sleep(SLOW_SECONDS)
        honest.handle(handler)

    before_prometheus.reply = slow
    settings = SOON | {"window_seconds": 3600, "prometheus_timeout_seconds": 10}
    agent = stage.agent(node.name, **settings, prometheus_url=before_prometheus.url)
    with agent:
        wait_for("many questions", lambda: len(before_prometheus.requests) > 14)
        assert agent.get("/healthz")[0] == HTTPStatus.OK
        assert agent.get("/readyz")[0] == HTTPStatus.SERVICE_UNAVAILABLE
        stops_and_kept_its_secrets(agent)
    agent.untroubled()


def test_after_a_kill_it_finds_what_it_wrote(stage: Stage, node: Node) -> None:
    agent = stage.agent(node.name, **SOON)
    with watched(stage, node, agent) as seen:
        seen.more_passes()
    before = seen.objects()
    with agent:
        agent.kill()
    with agent:
        seen.more_passes(5)
        assert not any('why="first"' in series for series in agent.metrics())
        seen.before = before
        seen.kept()
        stops_and_kept_its_secrets(agent)


def test_it_waits_for_servers_that_are_not_there_yet(stage: Stage, node: Node) -> None:
    agent = stage.agent(node.name, **SOON)
    stage.prometheus.stop()
    stage.api.kill()
    seen = Watched(stage, node, agent)
    with agent:
        away = seen.says(TROUBLES[0])
        assert agent.get("/healthz")[0] == HTTPStatus.OK
        assert agent.get("/readyz")[0] == HTTPStatus.SERVICE_UNAVAILABLE
        stage.prometheus.start()
        away_too = seen.says(TROUBLES[1])
        assert agent.get("/healthz")[0] == HTTPStatus.OK
        stage.api.start()
        wait_for("what stands", seen.stands, PATIENCE_SECONDS)
        wait_for("/readyz", lambda: agent.get("/readyz")[0] == HTTPStatus.OK)
        overs = [seen.says_over(trouble) for trouble in (away, away_too)]
        agent.untroubled(but=[away, away_too, *overs])
        stops_and_kept_its_secrets(agent)
