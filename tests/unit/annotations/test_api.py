"""What the API server, or something in its place, answers, by what to do about it."""

import ipaddress
import socket
from pathlib import Path

import pytest
import yaml
from lightkube import Client
from lightkube.resources.core_v1 import Node

from cepheid.annotations.api import RENEW_SECONDS, ApiServer, RefusedError, connect
from cepheid.errors import (
    ApiError,
    ForbiddenError,
    GoneError,
    LoginError,
    ThrottledError,
    TooLargeError,
    UnavailableError,
)
from tests.cluster.pki import Authority
from tests.unit.annotations.server import Answer, FakeServer, refusal, serving

NODE = Answer(200, {"kind": "Node", "metadata": {"name": "gpu-a", "uid": "1"}})
HTML = {"Content-Type": "text/html"}


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def kubeconfig(folder: Path, address: str, *, user: str = "one", ca: Path | None = None) -> Path:
    """As a file, so that it can change under a client that has read it."""
    cluster = {"server": address} | ({} if ca is None else {"certificate-authority": str(ca)})
    path = folder / "kubeconfig"
    path.write_text(
        yaml.safe_dump(
            {
                "current-context": "it",
                "clusters": [{"name": "it", "cluster": cluster}],
                "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
                "users": [{"name": "it", "user": {"token": user}}],
            }
        )
    )
    return path


@pytest.fixture
def clock() -> Clock:
    return Clock()


def server_at(path: Path, clock: Clock, timeout_seconds: float = 10) -> ApiServer:
    return ApiServer(lambda: connect(str(path), timeout_seconds), clock=clock)


def get(client: Client) -> str:
    metadata = client.get(Node, "gpu-a").metadata
    assert metadata is not None
    assert metadata.name is not None
    return metadata.name


def asked(fake: FakeServer, folder: Path, clock: Clock) -> str:
    with server_at(kubeconfig(folder, fake.address), clock) as server:
        return server.ask("reading it", get)


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (refusal(400), ApiError),
        (refusal(401), LoginError),
        (refusal(403), ForbiddenError),
        (refusal(404), GoneError),
        (refusal(409), RefusedError),
        (refusal(410), GoneError),
        (refusal(413), TooLargeError),
        (refusal(422, "metadata.name: Too long"), RefusedError),
        (refusal(422, "x" * 400 + "metadata.annotations: Too long: at most"), TooLargeError),
        (refusal(429), ThrottledError),
        (refusal(500), UnavailableError),
        (refusal(500, "etcdserver: request is too large"), TooLargeError),
        (refusal(503, Retry_After="3"), ThrottledError),
        (refusal(503), UnavailableError),
        (Answer(404, b"<html>nothing here</html>", HTML), UnavailableError),
        (Answer(302, b"", {"Location": "/login"}), UnavailableError),
        (Answer(503, b"no type", {}), UnavailableError),
        (Answer(502, b"<html>", {"Content-Type": "application/json"}), UnavailableError),
        (Answer(502, b"[]", {"Content-Type": "application/json"}), UnavailableError),
        (Answer(200, b"<html>welcome</html>", HTML), UnavailableError),
        (Answer(200, b'{"kind": "Node"', cut=100), UnavailableError),
    ],
)
def test_each_answer_has_its_error(
    answer: Answer, kind: type[ApiError], tmp_path: Path, clock: Clock
) -> None:
    with serving(answer) as fake, pytest.raises(ApiError, match="reading it: ") as raised:
        asked(fake, tmp_path, clock)
    assert type(raised.value) is kind
    assert "\n" not in raised.value.message
    assert len(raised.value.message) < 400


def test_a_server_that_does_not_answer_in_time(tmp_path: Path, clock: Clock) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        server = server_at(kubeconfig(tmp_path, address), clock, timeout_seconds=0.2)
        with pytest.raises(UnavailableError, match="no answer in time"):
            server.ask("reading it", get)
        server.close()


def test_a_server_that_is_not_there(tmp_path: Path, clock: Clock) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    server = server_at(kubeconfig(tmp_path, f"http://127.0.0.1:{port}"), clock)
    with pytest.raises(UnavailableError, match="refused"):
        server.ask("reading it", get)
    server.close()


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry_After": "7"}, 7),
        ({}, 5),
        ({"Retry_After": "Wed, 21 Oct 2026 07:28:00 GMT"}, 5),
        ({"Retry_After": "9" * 500}, 600),
        ({"Retry_After": "0"}, 1),
    ],
)
def test_asked_to_come_back_later_it_does_not_ask_before(
    headers: dict[str, str], seconds: float, tmp_path: Path, clock: Clock
) -> None:
    with serving(refusal(429, **headers), NODE) as fake:
        server = server_at(kubeconfig(tmp_path, fake.address), clock)
        for now in (0.0, seconds - 0.5):
            clock.now = now
            with pytest.raises(ThrottledError) as raised:
                server.ask("reading it", get)
            assert raised.value.retry_after_seconds == seconds - now
        assert len(fake.requests) == 1
        clock.now = seconds
        assert server.ask("reading it", get) == "gpu-a"
        server.close()


def test_a_refused_token_is_read_again(tmp_path: Path, clock: Clock) -> None:
    with serving(NODE, refusal(401), NODE) as fake:
        server = server_at(kubeconfig(tmp_path, fake.address, user="one"), clock)
        server.ask("reading it", get)
        kubeconfig(tmp_path, fake.address, user="two")
        assert server.ask("reading it", get) == "gpu-a"
        server.close()
    tokens = [request.headers["Authorization"] for request in fake.requests]
    assert tokens == ["Bearer one", "Bearer one", "Bearer two"]


def test_a_token_that_stays_refused_is_tried_once(tmp_path: Path, clock: Clock) -> None:
    with serving(NODE, refusal(401)) as fake:
        server = server_at(kubeconfig(tmp_path, fake.address), clock)
        server.ask("reading it", get)
        with pytest.raises(LoginError):
            server.ask("reading it", get)
        server.close()
    assert len(fake.requests) == 3


def test_a_rotated_token_is_used_before_the_old_one_is_refused(
    tmp_path: Path, clock: Clock
) -> None:
    with serving(NODE) as fake:
        server = server_at(kubeconfig(tmp_path, fake.address, user="one"), clock)
        for clock.now in (0.0, RENEW_SECONDS - 1, RENEW_SECONDS):
            server.ask("reading it", get)
            kubeconfig(tmp_path, fake.address, user="two")
        server.close()
    tokens = [request.headers["Authorization"] for request in fake.requests]
    assert tokens == ["Bearer one", "Bearer one", "Bearer two"]


def test_a_rotated_authority_is_trusted(tmp_path: Path, clock: Clock) -> None:
    local = [ipaddress.IPv4Address("127.0.0.1")]
    last = Answer(200, NODE.body, {**NODE.headers, "Connection": "close"})
    port, trusted = 0, tmp_path / "ca.crt"
    server = server_at(tmp_path / "kubeconfig", clock)
    for name in ("old", "new"):
        authority = Authority(tmp_path / name)
        pair = authority.issue("server", "server", addresses=local)
        trusted.write_bytes(authority.certificate.read_bytes())
        with serving(last, tls=(pair.certificate, pair.key), port=port) as fake:
            kubeconfig(tmp_path, fake.address, ca=trusted)
            assert server.ask("reading it", get) == "gpu-a"
        port = int(fake.address.rpartition(":")[2])
    stranger = Authority(tmp_path / "stranger").issue("server", "server", addresses=local)
    with (
        serving(last, tls=(stranger.certificate, stranger.key), port=port),
        pytest.raises(UnavailableError, match="certificate"),
    ):
        server.ask("reading it", get)
    server.close()


def test_without_credentials_it_says_what_to_do(tmp_path: Path, clock: Clock) -> None:
    server = server_at(tmp_path / "nothing", clock)
    with pytest.raises(LoginError, match=r"no credentials(.|\n)*hint: run it with a service"):
        server.ask("reading it", get)
