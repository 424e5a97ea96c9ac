"""The client against real servers: what stands between us and Prometheus, and how it fails."""

import gzip
import ssl
import threading
import traceback
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from ipaddress import IPv4Address
from pathlib import Path

import pytest

from cepheid.errors import (
    AnswerBrokenError,
    AnswerTooLargeError,
    QueryRejectedError,
    SourceBusyError,
    SourceError,
    SourceRefusedError,
    SourceUnreachableError,
)
from cepheid.sources.prometheus import PrometheusClient
from tests.cluster.pki import Authority
from tests.unit.sources import servers
from tests.unit.sources.samples import END
from tests.unit.sources.servers import Front, answer, success

Client = Callable[..., PrometheusClient]
SECRET = "s3cr3t-t0ken-Kq9"  # noqa: S105
ONE = [{"metric": {"a": "b"}, "values": [[1.5, "2"], [3, "NaN"]]}]


def everything_said(error: BaseException) -> str:
    return "".join(traceback.format_exception(error)) + repr(error)


def test_raw_samples_come_back_with_their_times(full: str, client: Client) -> None:
    answered = client(full).instant('DCGM_FI_DEV_GPU_UTIL{node="node-a",gpu="0"}[60s]', END)
    (one,) = answered.series
    assert list(one.times) == [END - 45, END - 30, END - 15, END]
    assert one.labels["modelName"] == "NVIDIA A100-SXM4-80GB"
    assert answered.complete
    assert answered.notes == ()


def test_a_path_before_the_api_is_kept(full: str, front: Front, client: Client) -> None:
    front.upstream, front.prefix = full, "/select/0/prometheus"
    one = client(f"{front.url}/select/0/prometheus/")
    assert one.instant("vector(7)", END).series[0].values[0] == 7
    with pytest.raises(SourceRefusedError, match="404"):
        client(front.url).instant("vector(7)", END)


def test_headers_and_parameters_go_along(full: str, front: Front, client: Client) -> None:
    front.upstream = full
    client(front.url, headers={"X-Scope-OrgID": "team-a"}, parameters={"dedup": "true"}).instant(
        "vector(1)", END
    )
    (request,) = front.requests
    assert request.headers["X-Scope-OrgID"] == "team-a"
    assert "dedup=true" in request.path
    assert "timeout=10s" in request.path


def test_a_rotated_token_is_used_at_once(front: Front, client: Client) -> None:
    front.reply = success(ONE)
    one = client(front.url, bearer_token=f"{SECRET}\n")
    one.instant("up", END)
    file = one.access.bearer_token_file
    assert file is not None
    file.write_text("another")
    one.instant("up", END)
    file.unlink()
    with pytest.raises(SourceRefusedError, match="bearer token file"):
        one.instant("up", END)
    assert [request.headers["Authorization"] for request in front.requests] == [
        f"Bearer {SECRET}",
        "Bearer another",
    ]


def test_basic_authentication(front: Front, client: Client) -> None:
    front.reply = success(ONE)
    client(front.url, username="cepheid", password="pass word\n").instant("up", END)  # noqa: S106
    assert front.requests[0].headers["Authorization"] == "Basic Y2VwaGVpZDpwYXNzIHdvcmQ="


def test_a_netrc_file_is_never_asked(
    front: Front, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text(f"machine 127.0.0.1 login me password {SECRET}\n")
    monkeypatch.setenv("NETRC", str(netrc))
    front.reply = success(ONE)
    client(front.url).instant("up", END)
    assert "Authorization" not in front.requests[0].headers


def half(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"status":"success","data":{')
    handler.close_connection = True


def half_chunk(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    handler.wfile.write(b'ff\r\n{"status":"success",')
    handler.close_connection = True


def hang_up(handler: BaseHTTPRequestHandler) -> None:
    handler.close_connection = True


def error(kind: str, text: str) -> bytes:
    return f'{{"status":"error","errorType":"{kind}","error":"{text}"}}'.encode()


BOMB = gzip.compress(b'{"status":"success",' + b" " * 3_000_000)

FAULTS = {
    "web page": (answer(200, b"<!DOCTYPE html><p>Sign in"), AnswerBrokenError, "a web page"),
    "empty": (answer(200, b""), AnswerBrokenError, "empty"),
    "half a body": (half, AnswerBrokenError, "ended in the middle"),
    "half a chunk": (half_chunk, AnswerBrokenError, "ended in the middle"),
    "hung up": (hang_up, SourceUnreachableError, "no connection"),
    "no gzip": (
        answer(200, b"plain", Content_Encoding="gzip"),
        AnswerBrokenError,
        "compression is broken",
    ),
    "failed": (answer(500, b"<html>stack trace"), AnswerBrokenError, "answered 500$"),
    "bad gateway": (answer(502, b""), AnswerBrokenError, "answered 502$"),
    "not allowed": (answer(401, b"Unauthorized"), SourceRefusedError, "answered 401$"),
    "forbidden": (answer(403, b""), SourceRefusedError, "answered 403$"),
    "rejected": (
        answer(422, error("execution", "query processing would load too many samples")),
        QueryRejectedError,
        "422: query processing would load too many samples",
    ),
    "bad query": (answer(400, error("bad_data", "parse error")), QueryRejectedError, "parse error"),
    "too many requests": (answer(429, b"", Retry_After="7"), SourceBusyError, "answered 429$"),
    "starting": (answer(503, b"Service Unavailable"), SourceBusyError, "answered 503$"),
    "redirected": (
        answer(302, b"", Location=f"https://sso.example.com/login?state={SECRET}"),
        SourceRefusedError,
        "redirect to https://sso.example.com/login$",
    ),
    "status in the body": (answer(200, error("internal", "boom")), AnswerBrokenError, "boom"),
    "no result": (answer(200, b'{"status":"success","data":{}}'), AnswerBrokenError, "results"),
    "large": (answer(200, b" " * 2_000_000), AnswerTooLargeError, "more than 1000000 bytes"),
    "large when unpacked": (
        answer(200, BOMB, Content_Encoding="gzip"),
        AnswerTooLargeError,
        "more than 1000000 bytes",
    ),
    "many series": (success(ONE * 101), AnswerTooLargeError, "more than 100 series"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_becomes_an_error_that_says_what_to_do(
    fault: str, front: Front, client: Client
) -> None:
    front.reply, kind, words = FAULTS[fault]
    one = client(
        front.url,
        bearer_token=SECRET,
        max_answer_bytes=1_000_000,
        max_answer_series=100,
        headers={"X-Key": f"{SECRET}-2"},
    )
    with pytest.raises(kind, match=words.replace("$", "\n")) as raised:
        one.instant("up", END)
    assert raised.value.hint
    assert len(front.requests) == 1  # not tried again
    assert SECRET not in everything_said(raised.value) + repr(one) + repr(one.access)
    front.reply = success(ONE)
    assert len(one.instant("up", END).series) == 1


def test_busy_says_for_how_long(front: Front, client: Client) -> None:
    front.reply = answer(429, b"", Retry_After="7")
    with pytest.raises(SourceBusyError) as raised:
        client(front.url).instant("up", END)
    assert raised.value.retry_after_seconds == 7


def test_a_secret_that_the_server_echoes_is_taken_out(front: Front, client: Client) -> None:
    def echo(handler: BaseHTTPRequestHandler) -> None:
        said = handler.headers["Authorization"] + handler.headers["X-Key"]
        answer(422, error("bad", f"cannot use {said} here"))(handler)

    front.reply = echo
    for settings in (
        {"bearer_token": SECRET},
        {"username": "me", "password": SECRET},
    ):
        one = client(front.url, headers={"X-Key": "header-secret"}, **settings)
        with pytest.raises(QueryRejectedError, match=r"\*\*\*") as raised:
            one.instant("up", END)
        said = everything_said(raised.value)
        assert not any(word in said for word in (SECRET, "header-secret", "bWU6"))


def test_an_answer_that_drips_is_given_up(front: Front, client: Client) -> None:
    stop = threading.Event()

    def drip(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "100000")
        handler.end_headers()
        while not stop.wait(0.05):  # always sooner than a time-out between two reads
            handler.wfile.write(b" ")
            handler.wfile.flush()

    front.reply = drip
    with pytest.raises(SourceUnreachableError, match=r"within 0\.3 s"):
        client(front.url, timeout_seconds=0.3).instant("up", END)
    stop.set()


def test_a_server_that_says_nothing_is_given_up(front: Front, client: Client) -> None:
    stop = threading.Event()

    def silent(handler: BaseHTTPRequestHandler) -> None:
        stop.wait(30)
        handler.close_connection = True

    front.reply = silent
    with pytest.raises(SourceUnreachableError, match=r"within 0\.2 s"):
        client(front.url, timeout_seconds=0.2).instant("up", END)
    stop.set()


def test_warnings_and_infos_are_kept(front: Front, client: Client) -> None:
    front.reply = success(ONE, warnings=["partial\x1b[31m answer"], infos=["x" * 1000, 5])
    answered = client(front.url).instant("up", END)
    assert answered.notes[0] == "partial [31m answer"
    assert len(answered.notes[1]) == 300
    assert not answered.complete
    front.reply = success(ONE, infos=["metric might not be a counter"])
    assert client(front.url).instant("up", END).complete


def test_prometheus_itself_warns_when_it_cuts_an_answer(full: str, client: Client) -> None:
    with pytest.raises(AnswerTooLargeError, match="more than 1 series"):
        client(full, max_answer_series=1).instant("DCGM_FI_DEV_GPU_UTIL", END)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("pki"))


@pytest.fixture
def locked(authority: Authority, full: str) -> Iterator[Front]:
    """Wants a certificate of its clients."""
    pair = authority.issue("server", "prometheus", addresses=[IPv4Address("127.0.0.1")])
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.certificate, pair.key)
    context.load_verify_locations(authority.certificate)
    context.verify_mode = ssl.CERT_REQUIRED
    with servers.front(context) as served:
        served.upstream = full
        yield served


def test_tls_with_an_own_authority_and_a_client_certificate(
    locked: Front, authority: Authority, client: Client, tmp_path: Path
) -> None:
    pair = authority.issue("client", "cepheid")
    mutual = {
        "client_certificate_file": pair.certificate,
        "client_key_file": pair.key,
        "ca_file": authority.certificate,
    }
    assert client(locked.url, **mutual).instant("vector(1)", END).series
    with pytest.raises(SourceUnreachableError, match="certificate verify failed"):
        client(locked.url, **{**mutual, "ca_file": None}).instant("vector(1)", END)
    with pytest.raises(SourceUnreachableError):
        client(locked.url, ca_file=authority.certificate).instant("vector(1)", END)
    for name in mutual:
        missing = tmp_path / f"missing-{name}"
        with pytest.raises(SourceRefusedError, match="cannot be read"):
            client(locked.url, **{**mutual, name: missing}).instant("vector(1)", END)


def test_a_rotated_client_certificate_is_used_after_the_old_was_refused(
    locked: Front, authority: Authority, client: Client, tmp_path: Path
) -> None:
    stranger = Authority(tmp_path / "stranger").issue("client", "cepheid")
    one = client(
        locked.url,
        ca_file=authority.certificate,
        client_certificate_file=stranger.certificate,
        client_key_file=stranger.key,
    )
    with pytest.raises(SourceError):
        one.instant("vector(1)", END)
    pair = authority.issue("client", "cepheid")
    stranger.certificate.write_bytes(pair.certificate.read_bytes())
    stranger.key.write_bytes(pair.key.read_bytes())
    assert one.instant("vector(1)", END).series
