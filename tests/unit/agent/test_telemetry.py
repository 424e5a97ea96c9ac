"""The agent's own figures and health, over real HTTP."""

import socket
import struct
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest

from cepheid.agent.main import JITTER, SLOWEST
from cepheid.agent.telemetry import PASSES_MISSED, Telemetry
from cepheid.serving import serve


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def telemetry(clock: Clock) -> Telemetry:
    return Telemetry(30.0, clock)


@pytest.fixture
def address(telemetry: Telemetry) -> Iterator[str]:
    server = serve(telemetry, ("127.0.0.1", 0))
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def get(url: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(url) as answer:  # noqa: S310 # on loopback
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code, refused.read().decode()


def test_it_is_ready_after_the_first_good_pass(address: str, telemetry: Telemetry) -> None:
    assert get(f"{address}/readyz") == (503, "not ready\n")
    telemetry.pass_ended(good=False)
    assert get(f"{address}/readyz")[0] == 503
    telemetry.pass_ended(good=True)
    telemetry.pass_ended(good=False)
    assert get(f"{address}/readyz") == (200, "ready\n")


def test_it_is_healthy_as_long_as_passes_end_whether_good_or_not(
    address: str, telemetry: Telemetry, clock: Clock
) -> None:
    assert get(f"{address}/healthz") == (200, "healthy\n")
    clock.now += PASSES_MISSED * 30.0
    assert get(f"{address}/healthz") == (503, "not healthy\n")
    telemetry.pass_ended(good=False)
    assert get(f"{address}/healthz")[0] == 200


def test_it_is_healthy_as_long_as_a_pass_goes_on_and_a_server_is_waited_for(clock: Clock) -> None:
    telemetry = Telemetry(30.0, clock, answer_seconds=20.0)
    for _ in range(100):
        clock.now += PASSES_MISSED * 30.0
        assert telemetry.healthy
        telemetry.alive()
    clock.now += PASSES_MISSED * 30.0 + 20.0
    assert not telemetry.healthy


def test_passes_that_fail_come_before_it_counts_as_stuck() -> None:
    assert SLOWEST * (1 + JITTER) < PASSES_MISSED


def test_its_figures_are_served(address: str, telemetry: Telemetry) -> None:
    telemetry.writes.labels("Node", "changed").inc()
    telemetry.pass_seconds.observe(0.05)
    status, page = get(f"{address}/metrics")
    assert status == 200
    assert 'cepheid_agent_writes_total{kind="Node",why="changed"} 1.0' in page
    assert 'cepheid_agent_pass_seconds_bucket{le="0.1"} 1.0' in page
    assert get(f"{address}/other")[0] == 404


def test_who_hangs_up_before_the_answer_is_no_news(
    address: str, telemetry: Telemetry, capfd: pytest.CaptureFixture[str]
) -> None:
    for number in range(20_000):  # so that the answer does not fit what is under way
        telemetry.writes.labels("Node", f"why-{number}").inc()
    host, port = address.removeprefix("http://").split(":")
    for _ in range(5):
        with socket.create_connection((host, int(port))) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            probe.sendall(b"GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n")
            probe.recv(1)
    assert get(f"{address}/healthz")[0] == 200
    assert capfd.readouterr().err == ""
