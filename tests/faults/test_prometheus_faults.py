"""What it reads from is away, slow, empty, wrong or much too large."""

import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from itertools import chain, repeat
from pathlib import Path

import pytest

from tests.cluster.progress import wait_for
from tests.faults.watch import AWAY, PATIENCE_SECONDS, SECRET, SOON, watched
from tests.stage.surroundings import Stage
from tests.stage.world import Node
from tests.unit.sources.servers import Front, Reply, answer, front

TIMEOUT_SECONDS = 5
READING = "reading Prometheus"
MOST_GROWTH_BYTES = 64 * 2**20
"""While it reads what is much too large: the text up to the limit, and what comes of it."""
A_SERIES = (
    b'{"metric":{"__name__":"DCGM_FI_DEV_FB_USED","gpu":"0","node":"a","n":"%d"},'
    b'"values":[[1700000000,"1"]]}'
)


def slow(handler: BaseHTTPRequestHandler) -> None:
    time.sleep(2 * TIMEOUT_SECONDS)
    answer(200, b"too late")(handler)


def dripping(handler: BaseHTTPRequestHandler) -> None:
    """Never silent for long, and never done."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000000")
    handler.end_headers()
    for _ in range(40 * TIMEOUT_SECONDS):
        handler.wfile.write(b" ")
        handler.wfile.flush()
        time.sleep(0.1)
    handler.close_connection = True


def half(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "1000000")
    handler.end_headers()
    handler.wfile.write(b'{"status":"success","data":{"resultType":"matrix","result":[{"metr')
    handler.close_connection = True


def echo(handler: BaseHTTPRequestHandler) -> None:
    """A failing proxy that repeats what it was sent, the password included."""
    said = str(handler.headers["Authorization"])
    answer(500, b'{"status":"error","error":"%s"}' % said.encode())(handler)


def million(handler: BaseHTTPRequestHandler) -> None:
    """Chunked, so that nobody knows beforehand how much will come."""
    handler.send_response(200)
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    start = b'{"status":"success","data":{"resultType":"matrix","result":['
    every = (A_SERIES % number + b"," for number in range(1_000_000))
    for piece in chain([start], every, repeat(b"]}}", 1), repeat(b"", 1)):
        handler.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))


FAULTS: dict[str, tuple[Reply, str]] = {
    "slow": (slow, f"within {TIMEOUT_SECONDS} s"),
    "dripping": (dripping, f"within {TIMEOUT_SECONDS} s"),
    "500": (echo, r"Prometheus answered 500: Bearer \*\*\*"),
    "html": (answer(200, b"<html>Please log in</html>"), "a web page"),
    "half": (half, "ended in the middle"),
}


@pytest.fixture
def before_prometheus(stage: Stage) -> Iterator[Front]:
    with front() as served:
        served.upstream = stage.prometheus.url
        yield served


@pytest.mark.parametrize("fault", FAULTS)
def test_an_answer_that_is_none_changes_nothing(
    fault: str, stage: Stage, node: Node, before_prometheus: Front, tmp_path: Path
) -> None:
    reply, words = FAULTS[fault]
    token = tmp_path / "token"
    token.write_text(SECRET)
    agent = stage.agent(
        node.name,
        **SOON,
        prometheus_url=before_prometheus.url,
        prometheus_token_file=token,
        prometheus_timeout_seconds=TIMEOUT_SECONDS,
    )
    with watched(stage, node, agent) as seen:
        peak_bytes = agent.usage().peak_rss_bytes
        before_prometheus.reply = reply
        seen.says(READING, words)
        seen.change()
        seen.more_passes()
        seen.kept()
        assert agent.usage().peak_rss_bytes - peak_bytes < MOST_GROWTH_BYTES
        before_prometheus.reply = None
        seen.tells()
        seen.said_once(READING, words)


def test_a_million_series_of_one_kind_leave_the_others_alone(
    stage: Stage, node: Node, before_prometheus: Front
) -> None:
    honest = Front("", upstream=stage.prometheus.url)

    def flood(handler: BaseHTTPRequestHandler) -> None:
        of_containers = "container_memory" in handler.path and "label_replace" not in handler.path
        (million if of_containers else honest.handle)(handler)

    agent = stage.agent(node.name, **SOON, prometheus_url=before_prometheus.url)
    with watched(stage, node, agent) as seen:
        peak_bytes = agent.usage().peak_rss_bytes
        before_prometheus.reply = flood
        seen.says("reading cadvisor", "more than")
        seen.change()
        wait_for("what is new of the GPUs", seen.told_on_node, PATIENCE_SECONDS)
        seen.more_passes()
        seen.kept()
        assert agent.usage().peak_rss_bytes - peak_bytes < MOST_GROWTH_BYTES
        before_prometheus.reply = None
        seen.tells()
        seen.said_once("reading cadvisor", "more than")


def test_a_prometheus_that_was_stopped_is_waited_for(stage: Stage, node: Node) -> None:
    with watched(stage, node, stage.agent(node.name, **SOON)) as seen:
        stage.prometheus.stop()
        seen.says(READING, AWAY)
        seen.change()
        seen.more_passes(6)  # the last ones four times as far from each other as usual
        seen.kept()
        stage.prometheus.start()
        seen.tells()
        seen.said_once(READING, AWAY)


def test_a_prometheus_that_forgot_everything_takes_nothing_away(stage: Stage, node: Node) -> None:
    with watched(stage, node, stage.agent(node.name, **SOON)) as seen:
        stage.prometheus.stop()
        seen.says(READING, AWAY)
        stage.prometheus.wipe()
        seen.change()
        seen.tells()
        seen.said_once(READING, AWAY)
        assert seen.gpu(0).forecast is not None  # it remembers itself what Prometheus does not
