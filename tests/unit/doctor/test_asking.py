"""The way to Prometheus: which it is, and what is made of every answer that can come."""

import json
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.doctor import asking
from cepheid.doctor.asking import (
    ProxyForbiddenError,
    Questions,
    connection_of,
    headers_of,
    service_of,
)
from cepheid.doctor.measurements import measurements
from cepheid.errors import (
    AnswerBrokenError,
    AnswerTooLargeError,
    SourceError,
    SourceRefusedError,
    SourceUnreachableError,
)
from cepheid.sources.access import Access
from tests.unit.sources.servers import Front, Reply, answer, front, success


@pytest.mark.parametrize(
    ("url", "service", "path"),
    [
        (
            "http://prometheus.cepheid-monitoring.svc:9090",
            "cepheid-monitoring/prometheus:9090",
            "/api/v1/namespaces/cepheid-monitoring/services/prometheus:9090/proxy",
        ),
        (
            "https://thanos.monitoring.svc.cluster.local/prefix/",
            "monitoring/thanos:443",
            "/api/v1/namespaces/monitoring/services/https:thanos:443/proxy/prefix",
        ),
    ],
)
def test_a_service_of_the_cluster_is_reached_through_the_api_server(
    url: str, service: str, path: str
) -> None:
    assert service_of(url) == (service, path)


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:9090",
        "https://prometheus.example.org",
        "http://prometheus.monitoring",
        "http://svc",
        "http://a.b.svcx",
        "http://..svc",
        "",
    ],
)
def test_any_other_address_is_asked_directly(url: str) -> None:
    assert service_of(url) is None


@pytest.fixture
def served() -> Iterator[Front]:
    with front() as made:
        yield made


@pytest.fixture
def questions(served: Front) -> Iterator[Questions]:
    """As through the API server."""
    with httpx2.Client(timeout=5) as connection:
        yield Questions(connection, served.url, is_proxied=True)


REFUSED = json.dumps({"kind": "Status", "reason": "Forbidden", "message": "no"}).encode()
MISSING = json.dumps({"kind": "Status", "message": 'services "p" not found'}).encode()
CASES: dict[str, tuple[Reply, type[SourceError], str]] = {
    "forbidden": (answer(403, REFUSED), ProxyForbiddenError, "you may not"),
    "no service": (answer(404, MISSING), SourceUnreachableError, 'services "p" not found'),
    "a web page": (answer(200, b"<html>log in"), AnswerBrokenError, "a web page"),
    "a proxy's page": (answer(502, b"<html>bad"), AnswerBrokenError, "502"),
    "a login": (answer(401, b""), SourceRefusedError, "401"),
    "a list": (answer(200, b"[]"), AnswerBrokenError, "no JSON object"),
    "odd series": (success([{"metric": 3, "value": [0, "1"]}]), AnswerBrokenError, "labels"),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_no_answer_is_an_error_by_name(
    served: Front, questions: Questions, case: str
) -> None:
    served.reply, kind, words = CASES[case]
    with pytest.raises(kind, match=words):
        questions.vector("up")


def test_a_403_of_prometheus_itself_is_not_the_api_servers(
    served: Front, questions: Questions
) -> None:
    served.reply = answer(403, b"")
    with pytest.raises(SourceRefusedError) as caught:
        questions.vector("up")
    assert not isinstance(caught.value, ProxyForbiddenError)


def test_an_answer_without_end_is_left(
    served: Front, questions: Questions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "MOST_BYTES", 1000)
    served.reply = answer(200, b" " * 2000)
    with pytest.raises(AnswerTooLargeError):
        questions.vector("up")


def test_nobody_there_is_an_error_with_a_hint() -> None:
    with httpx2.Client(timeout=5) as connection, pytest.raises(SourceUnreachableError) as caught:
        Questions(connection, "http://127.0.0.1:9").vector("up")
    assert "--prometheus" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("body", "version"),
    [
        (b'{"data":{"version":"3.1.0"}}', "3.1.0"),
        (b'{"data":{"version":"\\u001b[2J"}}', "[2J"),
        (b'{"data":[]}', ""),
        (b"[]", ""),
        (b"<html>", ""),
    ],
)
def test_a_version_that_is_none_is_none(
    served: Front, questions: Questions, body: bytes, version: str
) -> None:
    served.reply = answer(200, body)
    assert questions.version() == version


def test_credentials_go_along_and_stay_out_of_words(served: Front, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("s3cret-token\n")
    access = Access(url=served.url, bearer_token_file=token, headers={"X-Scope-OrgID": "team"})
    served.reply = success([])
    with connection_of(access) as connection:
        assert Questions(connection, access.url, headers=headers_of(access)).vector("up") == []
    sent = {name.lower(): value for name, value in served.requests[0].headers.items()}
    assert sent["authorization"] == "Bearer s3cret-token"
    assert sent["x-scope-orgid"] == "team"


def test_a_certificate_that_is_not_there_is_said() -> None:
    access = Access(url="https://127.0.0.1:9", ca_file=Path("/nowhere"))
    with pytest.raises(SourceRefusedError, match="cannot be read"):
        connection_of(access)


VALUES = st.lists(st.tuples(st.floats(0, 1e10), st.text(max_size=5) | st.just("NaN")), max_size=3)
SERIES = st.lists(
    st.fixed_dictionaries(
        {"metric": st.dictionaries(st.text(max_size=8), st.text(max_size=8), max_size=3)},
        optional={"value": st.tuples(st.just(5), st.sampled_from(["1", "NaN", "+Inf", "x"]))}
        | {"values": VALUES},
    ),
    max_size=3,
)


@given(result=SERIES)
def test_whatever_prometheus_answers_it_is_facts_or_a_source_error(result: object) -> None:
    document = {"status": "success", "data": {"resultType": "vector", "result": result}}
    transport = httpx2.MockTransport(lambda _: httpx2.Response(200, json=document))
    with httpx2.Client(transport=transport) as connection:
        try:
            found = measurements(Questions(connection, "http://prometheus"), lambda: 100.0)
        except SourceError:
            return
    assert abs(found.ahead_seconds) < float("inf")
