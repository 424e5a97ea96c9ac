"""HTTP and HTTPS as a kube-scheduler speaks it, and as nobody should."""

import contextlib
import gc
import http.client
import ipaddress
import json
import logging
import os
import shutil
import socket
import ssl
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from cepheid.errors import UsageError
from cepheid.settings import ExtenderSettings
from cepheid_operator.extender import serving
from cepheid_operator.extender.protocol import MOST_BYTES, QuestionError
from cepheid_operator.extender.serving import IDLE_SECONDS, MOST_CONNECTIONS, Server, serve
from tests.cluster.pki import Authority, Pair

PATIENCE_SECONDS = 60.0
"""Longer than anything takes: who waits for so long waits for ever."""
LOOPBACK = ipaddress.IPv4Address("127.0.0.1")


def backwards(body: bytes) -> bytes:
    if body.startswith(b"nonsense"):
        raise QuestionError("nobody asks like that")
    if body.startswith(b"bug"):
        raise ZeroDivisionError("of ours")
    return body[::-1]


@dataclass
class Stage:
    server: Server
    took: list[tuple[str, float]] = field(default_factory=list)
    tls: ssl.SSLContext | None = None

    @property
    def port(self) -> int:
        return int(self.server.server_address[1])

    @contextlib.contextmanager
    def connected(self) -> Iterator[http.client.HTTPConnection]:
        if self.tls is None:
            made = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_SECONDS)
        else:
            made = http.client.HTTPSConnection(
                "127.0.0.1", self.port, timeout=PATIENCE_SECONDS, context=self.tls
            )
        with contextlib.closing(made):
            yield made

    def ask(self, body: bytes = b"abc", path: str = "/filter") -> tuple[int, bytes]:
        with self.connected() as connection:
            return post(connection, body, path)

    @contextlib.contextmanager
    def plain(self) -> Iterator[socket.socket]:
        """A connection on which nothing is said yet."""
        with socket.create_connection(("127.0.0.1", self.port), PATIENCE_SECONDS) as made:
            yield made

    def said(self, text: bytes) -> bytes:
        """All that comes back."""
        with self.plain() as made:
            with contextlib.suppress(OSError):  # the server hung up already
                made.sendall(text)
                made.shutdown(socket.SHUT_WR)
            return everything(made)


def post(
    connection: http.client.HTTPConnection, body: bytes = b"abc", path: str = "/filter"
) -> tuple[int, bytes]:
    connection.request("POST", path, body)
    answer = connection.getresponse()
    return answer.status, answer.read()


def everything(made: socket.socket) -> bytes:
    found = b""
    with contextlib.suppress(ConnectionError):
        while part := made.recv(65536):
            found += part
    return found


@contextlib.contextmanager
def serving_on(settings: ExtenderSettings, tls: ssl.SSLContext | None = None) -> Iterator[Stage]:
    took: list[tuple[str, float]] = []
    verbs = {"filter": backwards, "prioritize": bytes.upper}
    server = serve(settings, verbs, lambda verb, seconds: took.append((verb, seconds)))
    try:
        yield Stage(server, took, tls)
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    with serving_on(ExtenderSettings(serve="127.0.0.1:0")) as made:
        yield made


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/filter", b"cba"),
        ("/prioritize", b"ABC"),
        ("/filter/", b"cba"),
        ("//prioritize", b"ABC"),
    ],
)
def test_each_path_has_its_answer(stage: Stage, path: str, expected: bytes) -> None:
    with stage.connected() as connection:
        connection.request("POST", path, b"abc")
        answer = connection.getresponse()
        assert (answer.status, answer.read()) == (200, expected)
        assert answer.headers["Content-Type"] == "application/json"


def test_how_long_an_answer_took_is_told_with_its_verb() -> None:
    with (
        serving_on(ExtenderSettings(serve="127.0.0.1:0")) as stage,
        stage.connected() as connection,
    ):
        for path in ("/filter", "/prioritize", "/else"):
            post(connection, path=path)
        # By one thread: what was told before the last answer is there when that came.
        assert [verb for verb, _ in stage.took] == ["filter", "prioritize"]
        assert all(seconds >= 0 for _, seconds in stage.took)


def test_a_connection_is_kept_for_the_next_question(stage: Stage) -> None:
    with stage.connected() as connection:
        assert post(connection) == (200, b"cba")
        kept = connection.sock
        assert kept is not None
        for number in range(5):
            assert post(connection, str(number).encode()) == (200, str(number).encode())
            assert connection.sock is kept


def test_an_empty_question_is_one(stage: Stage) -> None:
    assert stage.ask(b"") == (200, b"")


def test_a_question_as_large_as_may_be(stage: Stage) -> None:
    status, said = stage.ask(b"x" * MOST_BYTES)
    assert (status, len(said)) == (200, MOST_BYTES)


def test_a_question_that_comes_in_pieces_is_one(stage: Stage) -> None:
    with stage.plain() as made:
        for piece in (b"POST /fil", b"ter HTTP/1.1\r\nContent-Le", b"ngth: 6\r\n\r\nabc", b"def"):
            made.sendall(piece)
        assert made.recv(65536).endswith(b"fedcba")


def test_two_questions_at_once_have_two_answers(stage: Stage) -> None:
    one = b"POST /filter HTTP/1.1\r\nContent-Length: 3\r\n\r\n"
    said = stage.said(one + b"abc" + one + b"xyz")
    assert said.count(b"200 OK") == 2
    assert said.index(b"cba") < said.index(b"zyx")


@pytest.mark.parametrize(
    ("head", "status", "words"),
    [
        ("POST /else HTTP/1.1\r\nContent-Length: 3", 404, b"/filter or /prioritize"),
        ("POST / HTTP/1.1\r\nContent-Length: 3", 404, b"/filter or /prioritize"),
        ("POST /filter?x=1 HTTP/1.1\r\nContent-Length: 3", 404, b"/filter or /prioritize"),
        ("POST /filter HTTP/1.1\r\nHost: x", 411, b"how long"),
        ("POST /filter HTTP/1.1\r\nContent-Length: ", 411, b"how long"),
        ("POST /filter HTTP/1.1\r\nContent-Length: -1", 411, b"how long"),
        ("POST /filter HTTP/1.1\r\nContent-Length: +3", 411, b"how long"),
        ("POST /filter HTTP/1.1\r\nContent-Length: three", 411, b"how long"),
        ("POST /filter HTTP/1.1\r\nContent-Length: \xb2", 411, b"how long"),
        ("POST /filter HTTP/1.1\r\nTransfer-Encoding: chunked", 411, b"how long"),
        (f"POST /filter HTTP/1.1\r\nContent-Length: {MOST_BYTES + 1}", 413, b"at most"),
        (f"POST /filter HTTP/1.1\r\nContent-Length: {'9' * 5000}", 413, b"at most"),
        (f"POST /filter HTTP/1.1\r\nContent-Length: {'0' * 12}9999999999", 413, b"at most"),
        ("POST /filter HTTP/1.1\r\nContent-Length: 8\r\n\r\nnonsense", 400, b"nobody asks like"),
        ("POST /filter HTTP/1.1\r\nContent-Length: 3\r\n\r\nbug", 500, b"a bug"),
        ("GET /filter HTTP/1.1", 501, b""),
        ("DELETE /filter HTTP/1.1", 501, b""),
        ("POST /" + "x" * 70_000 + " HTTP/1.1", 414, b""),
        ("POST /filter HTTP/1.1\r\nx: " + "x" * 70_000, 431, b""),
        ("POST /filter HTTP/1.1" + "\r\nx: y" * 200, 431, b""),
    ],
    ids=range(20),
)
def test_what_is_refused_is_told_why_and_the_connection_ends(
    stage: Stage, head: str, status: int, words: bytes
) -> None:
    with stage.plain() as made:
        end = "" if "\r\n\r\n" in head else "\r\n\r\n"
        with contextlib.suppress(ConnectionError):
            made.sendall((head + end).encode("latin-1"))
        said = everything(made)  # which ends: the server hangs up
    if len(head) < 60_000:  # of what was not read the kernel may throw away the answer
        assert said.startswith(f"HTTP/1.1 {status} ".encode()), said
        assert words in said
    assert stage.ask() == (200, b"cba")


def test_a_bug_is_in_the_log(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    stage.ask(b"bug")
    assert "ZeroDivisionError" in caplog.text


@pytest.mark.parametrize(
    "nonsense",
    [
        b"",
        b"\r\n\r\n",
        b"\x00" * 100,
        b"\x16\x03\x01\x02\x00\x01",
        b"hello\r\n",
        b"POST",
        b"\xff",
        b"POST /filter HTTP/9.9\r\n\r\n",
    ],
)
def test_nonsense_harms_nobody(stage: Stage, nonsense: bytes) -> None:
    stage.said(nonsense)
    assert stage.ask() == (200, b"cba")


def test_who_hangs_up_in_the_middle_harms_nobody(stage: Stage) -> None:
    with stage.plain() as made:
        made.sendall(b"POST /filter HTTP/1.1\r\nContent-Length: 100\r\n\r\nabc")
    with stage.plain() as made:
        made.sendall(b"POST /filter HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc")
        linger = b"\x01\x00\x00\x00\x00\x00\x00\x00"  # closes with a reset, unread
        made.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    assert stage.ask() == (200, b"cba")


def test_who_connects_and_says_nothing_holds_up_nobody(stage: Stage) -> None:
    with contextlib.ExitStack() as silent:
        for _ in range(MOST_CONNECTIONS // 2):
            silent.enter_context(stage.plain())
        half = silent.enter_context(stage.plain())
        half.sendall(b"POST /filter HTTP/1.1\r\nContent-Length: 9\r\n\r\nabc")
        assert [stage.ask() for _ in range(5)] == [(200, b"cba")] * 5


def test_everybody_gets_their_own_answer(stage: Stage) -> None:
    def many(number: int) -> bool:
        with stage.connected() as connection:
            texts = [f"{number} {turn}".encode() * 50 for turn in range(20)]
            return all(post(connection, text) == (200, text[::-1]) for text in texts)

    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(many, range(32)))


def test_more_connections_than_it_takes_are_closed_and_room_is_made_when_one_ends() -> None:
    with serving_on(ExtenderSettings(serve="127.0.0.1:0")) as stage:
        with contextlib.ExitStack() as all_of_them:
            kept = []
            for _ in range(MOST_CONNECTIONS):
                connection = all_of_them.enter_context(stage.connected())
                assert post(connection) == (200, b"cba")
                kept.append(connection)
            for _ in range(3):
                with stage.plain() as late:
                    assert everything(late) == b""
            assert [post(connection) for connection in kept] == [(200, b"cba")] * MOST_CONNECTIONS
            kept.pop().close()
            assert again(stage) == (200, b"cba")
        for _ in range(2 * MOST_CONNECTIONS):  # none of them keeps its place
            stage.said(b"GET / HTTP/1.1\r\n\r\n")
        with contextlib.ExitStack() as all_of_them:
            for _ in range(MOST_CONNECTIONS // 2):
                connection = all_of_them.enter_context(stage.connected())
                assert post(connection) == (200, b"cba")


def again(stage: Stage) -> tuple[int, bytes]:
    """Until it is let in: that a connection has ended the server sees a moment later."""
    while True:
        with contextlib.suppress(ConnectionError, http.client.BadStatusLine):
            return stage.ask()


def test_a_thread_that_cannot_start_keeps_no_place(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving_on(ExtenderSettings(serve="127.0.0.1:0")) as stage:
        start = threading.Thread.start

        def none_left(thread: threading.Thread) -> None:
            if "process_request_thread" in thread.name:
                raise RuntimeError("can't start new thread")
            start(thread)

        with monkeypatch.context() as patched:
            patched.setattr(threading.Thread, "start", none_left)
            for _ in range(MOST_CONNECTIONS + 1):
                assert stage.said(b"x") == b""
        assert stage.ask() == (200, b"cba")


def test_an_address_of_the_sixth_version() -> None:
    if not socket.has_ipv6:
        pytest.skip("this machine has none")
    with serving_on(ExtenderSettings(serve="[::1]:0")) as stage:
        made = http.client.HTTPConnection("::1", stage.port, timeout=PATIENCE_SECONDS)
        with contextlib.closing(made):
            assert post(made) == (200, b"cba")


# With certificates.


@dataclass
class Papers:
    """Who signs, what the server shows, what a scheduler shows."""

    authority: Authority
    server: Pair
    client: Pair

    @classmethod
    def made(cls, folder: Path) -> "Papers":
        authority = Authority(folder)
        return cls(
            authority,
            authority.issue("server", "extender", addresses=[LOOPBACK]),
            authority.issue("client", "scheduler"),
        )

    def settings(self, client_ca: bool = True) -> ExtenderSettings:
        return ExtenderSettings(
            serve="127.0.0.1:0",
            certificate_file=str(self.server.certificate),
            key_file=str(self.server.key),
            client_ca_file=str(self.authority.certificate) if client_ca else "",
        )

    def context(self, client: Pair | None) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=str(self.authority.certificate))
        if client is not None:
            context.load_cert_chain(client.certificate, client.key)
        return context


@pytest.fixture(scope="module")
def papers(tmp_path_factory: pytest.TempPathFactory) -> Papers:
    return Papers.made(tmp_path_factory.mktemp("papers"))


@pytest.fixture(scope="module")
def secured(papers: Papers) -> Iterator[Stage]:
    with serving_on(papers.settings(), papers.context(papers.client)) as made:
        yield made


def test_who_has_a_certificate_is_answered_on_a_connection_that_is_kept(secured: Stage) -> None:
    with secured.connected() as connection:
        for number in range(3):
            assert post(connection, str(number).encode() * 3000)[0] == 200
    assert secured.ask(b"x" * MOST_BYTES)[0] == 200


def refused(stage: Stage, context: ssl.SSLContext) -> bool:
    """With TLS 1.3 a client learns that it was refused when it reads."""
    stranger = Stage(stage.server, tls=context)
    try:
        stranger.ask()
    except (ssl.SSLError, ConnectionError, http.client.BadStatusLine):
        return True
    return False


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_who_has_no_certificate_or_one_of_another_authority_is_not_answered(
    secured: Stage, papers: Papers, tmp_path: Path, version: ssl.TLSVersion
) -> None:
    other = Papers.made(tmp_path / "other")
    for pair, expected in ((None, True), (other.client, True), (papers.client, False)):
        context = papers.context(pair)
        context.minimum_version = context.maximum_version = version
        assert refused(secured, context) is expected
    assert secured.ask() == (200, b"cba")


def test_without_an_authority_for_clients_anybody_is_answered(papers: Papers) -> None:
    with serving_on(papers.settings(client_ca=False), papers.context(None)) as stage:
        assert stage.ask() == (200, b"cba")


def test_plain_http_is_not_answered_where_there_are_certificates(secured: Stage) -> None:
    said = secured.said(b"POST /filter HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc")
    assert b"cba" not in said
    assert b"200" not in said
    assert secured.ask() == (200, b"cba")


def test_who_never_finishes_the_handshake_holds_up_nobody(secured: Stage) -> None:
    with contextlib.ExitStack() as silent:
        for _ in range(MOST_CONNECTIONS // 2):
            silent.enter_context(secured.plain())
        half = silent.enter_context(secured.plain())
        half.sendall(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")
        assert [secured.ask() for _ in range(3)] == [(200, b"cba")] * 3


def test_who_never_finishes_the_handshake_is_hung_up_on(
    secured: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "HANDSHAKE_SECONDS", 0.1)
    with secured.plain() as made:
        assert everything(made) == b""  # and not only after PATIENCE_SECONDS


def test_once_its_hand_was_shaken_a_scheduler_may_take_its_time(secured: Stage) -> None:
    with secured.connected() as connection:
        assert post(connection) == (200, b"cba")
        assert connection.sock is not None
        ours = connection.sock.getsockname()
        there = [
            one
            for one in gc.get_objects()
            if isinstance(one, ssl.SSLSocket) and one.server_side and one.fileno() >= 0
        ]
        assert [one.gettimeout() for one in there if one.getpeername() == ours] == [IDLE_SECONDS]


def shown_by(stage: Stage, papers: Papers) -> int:
    """The serial number of the certificate that the server shows."""
    context = papers.context(papers.client)
    with stage.plain() as made, context.wrap_socket(made, server_hostname="127.0.0.1") as wrapped:
        shown = wrapped.getpeercert()
        assert shown is not None
        return int(str(shown["serialNumber"]), 16)


def put(given: dict[Path, Path], at: float) -> None:
    for source, target in given.items():
        shutil.copy(source, target)
        os.utime(target, (at, at))


def test_renewed_certificates_are_shown_to_whom_connects_from_then_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    mounted = Papers.made(tmp_path / "mounted")
    other = Papers.made(tmp_path / "other")
    before = Papers.made(tmp_path / "before")
    for one in (before, other):
        assert one.authority.certificate.read_bytes() != mounted.authority.certificate.read_bytes()
    shutil.copy(mounted.authority.certificate, before.authority.certificate)
    for name in ("client", "server"):
        for end in ("crt", "key"):
            shutil.copy(tmp_path / f"mounted/{name}.{end}", tmp_path / f"before/{name}.{end}")
    new = {
        other.server.certificate: mounted.server.certificate,
        other.server.key: mounted.server.key,
        other.authority.certificate: mounted.authority.certificate,
    }
    with serving_on(mounted.settings(), before.context(before.client)) as stage:
        first = shown_by(stage, before)
        with stage.connected() as kept:
            assert post(kept) == (200, b"cba")
            # While they are being written: the certificate has no key that fits, one is missing.
            put({other.server.certificate: mounted.server.certificate}, 2e9)
            assert shown_by(stage, before) == first
            mounted.server.key.unlink()
            assert shown_by(stage, before) == first
            assert sum("reading the certificates again: " in line for line in caplog.messages) == 1
            put(new, 2e9 + 1)
            second = shown_by(stage, other)
            assert second != first
            assert post(kept) == (200, b"cba")  # its hand was shaken before
            assert refused(stage, before.context(before.client))
            assert sum("were read again" in line for line in caplog.messages) == 1
            assert sum("over, after 2 times" in line for line in caplog.messages) == 1


def test_certificates_that_cannot_be_used_are_told_of_at_the_start(tmp_path: Path) -> None:
    papers = Papers.made(tmp_path)
    papers.server.key.write_text("no key")
    with pytest.raises(UsageError, match="cannot be used") as problem:
        serve(papers.settings(), {}, lambda *_: None)
    assert "--key-file" in (problem.value.hint or "")


def test_a_whole_question_through_tls(papers: Papers) -> None:
    """As JSON, which is what both ends speak."""
    asked = json.dumps({"Pod": {"metadata": {"name": "ä"}}, "NodeNames": ["n"] * 1000}).encode()
    with serving_on(papers.settings(), papers.context(papers.client)) as stage:
        assert stage.ask(asked)[1][::-1] == asked
