"""Asks Prometheus: directly, or through the API server where its address holds inside a cluster.

By httpx2, which comes with the client of Kubernetes: a laptop has no library for Prometheus, and
through the API server only that client has the credentials.
"""

import json
import math
import re
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import httpx2
from lightkube import Client
from lightkube.config import client_adapter

from cepheid.annotations.api import ApiServer
from cepheid.errors import (
    AnswerTooLargeError,
    SourceError,
    SourceRefusedError,
    SourceUnreachableError,
)
from cepheid.settings import PrometheusSettings, read
from cepheid.sources.access import Access, access_of
from cepheid.sources.answer import RawSeries, error_of, parse_payload, parse_series, plain

INSIDE = re.compile(
    r"(?P<service>[a-z0-9]([a-z0-9-]*[a-z0-9])?)\.(?P<namespace>[a-z0-9]([a-z0-9-]*[a-z0-9])?)"
    r"\.svc(\.[a-z0-9.-]+)?"
)
"""A service's name as pods of a cluster resolve it. Without `svc` it could be anybody's."""
MOST_BYTES = 64 * 2**20
MOST_SERIES = 50_000
"""A holder of a GPU each: some thousands of nodes."""
TIMEOUT_SECONDS = 20.0
OK = 200
FORBIDDEN = 403


class ProxyForbiddenError(SourceRefusedError):
    """The API server, not Prometheus, said no."""


def service_of(url: str) -> tuple[str, str] | None:
    """Namespace/service, and the path of it at the API server; None for an address of outside."""
    parts = urlsplit(url)
    host = INSIDE.fullmatch((parts.hostname or "").lower())
    if host is None:
        return None
    port = parts.port or (443 if parts.scheme == "https" else 80)
    scheme = "https:" if parts.scheme == "https" else ""
    namespace, service = host["namespace"], host["service"]
    path = (
        f"/api/v1/namespaces/{namespace}/services/{scheme}{service}:{port}/proxy"
        f"{parts.path.rstrip('/')}"
    )
    return f"{namespace}/{service}:{port}", path


class Questions:
    """`connection` leads to the server that `base` is a path of."""

    def __init__(
        self,
        connection: httpx2.Client,
        base: str,
        *,
        headers: Callable[[], Mapping[str, str]] = dict,
        is_proxied: bool = False,
    ) -> None:
        self._connection = connection
        self._base = base.rstrip("/")
        self._headers = headers
        self._is_proxied = is_proxied

    def vector(self, expression: str) -> list[RawSeries]:
        """At the moment, by the clock of Prometheus."""
        parameters = {"query": expression, "timeout": f"{TIMEOUT_SECONDS:g}s"}
        return _series(self._get("/api/v1/query", parameters))

    def range(
        self, expression: str, begin_seconds: float, end_seconds: float, step_seconds: float
    ) -> list[RawSeries]:
        """Every step from the beginning to the end, both included."""
        parameters = {
            "query": expression,
            "start": f"{begin_seconds:.3f}",
            "end": f"{end_seconds:.3f}",
            "step": f"{step_seconds:g}",
            "timeout": f"{TIMEOUT_SECONDS:g}s",
        }
        return _series(self._get("/api/v1/query_range", parameters))

    def number(self, expression: str) -> float | None:
        return next(
            (value for one in self.vector(expression) if (value := last(one)) is not None), None
        )

    def version(self) -> str:
        """Empty where it does not say: not every server that speaks PromQL does."""
        try:
            data = json.loads(self._get("/api/v1/status/buildinfo", {})).get("data")
        except (SourceError, ValueError, AttributeError, RecursionError):
            return ""
        return plain(data.get("version"))[:40] if isinstance(data, dict) else ""

    def _get(self, path: str, parameters: Mapping[str, str]) -> bytes:
        url = f"{self._base}{path}"
        try:
            with self._connection.stream(
                "GET", url, params=dict(parameters), headers=dict(self._headers())
            ) as response:
                body = _body(response)
                status, headers = response.status_code, response.headers
        except httpx2.TimeoutException as problem:
            raise SourceUnreachableError(
                f"no answer within {TIMEOUT_SECONDS:g} s", hint="is it overloaded?"
            ) from problem
        except httpx2.HTTPError as problem:
            raise SourceUnreachableError(
                f"no connection: {plain(str(problem)) or type(problem).__name__}",
                hint="is it running, and reached from here? --prometheus names another address",
            ) from problem
        if status == OK:
            return body
        if self._is_proxied and status == FORBIDDEN and b'"Forbidden"' in body:
            raise ProxyForbiddenError("you may not ask this service through the API server")
        if self._is_proxied and (said := _of_api_server(body)):
            raise SourceUnreachableError(
                f"the API server answers {status}: {said}",
                hint="does the service exist, and does a pod of it run?",
            )
        raise error_of(status, headers, body)


@contextmanager
def questions(server: ApiServer, url: str, environment: Mapping[str, str]) -> Iterator[Questions]:
    """To that Prometheus; through the API server where its address holds inside the cluster.

    `environment` has the credentials for Prometheus, as an agent's would.
    """
    access = access_of(read(PrometheusSettings, {"prometheus_url": url}, environment))
    through = service_of(url)
    if through is None:
        with connection_of(access) as connection:
            yield Questions(connection, access.url, headers=headers_of(access))
        return
    with server.ask("connecting to Prometheus", _through) as connection:
        yield Questions(connection, through[1], is_proxied=True)


def _through(client: Client) -> httpx2.Client:
    parameters = client_adapter.ConnectionParams(timeout=httpx2.Timeout(TIMEOUT_SECONDS))
    return client_adapter.Client(client.config, parameters)


def _series(body: bytes) -> list[RawSeries]:
    data = parse_payload(body).document["data"]
    result = data["result"] if isinstance(data, dict) else None
    return parse_series(result, max_series=MOST_SERIES)


def last(series: RawSeries) -> float | None:
    """Its newest value; None where that is none."""
    value = float(series.values[-1]) if series.values.size else math.nan
    return value if math.isfinite(value) else None


def _of_api_server(body: bytes) -> str:
    """What its Status says, if it is one."""
    try:
        document: Any = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    if not isinstance(document, dict) or document.get("kind") != "Status":
        return ""
    return plain(document.get("message"))


def _body(response: httpx2.Response) -> bytes:
    body = bytearray()
    for chunk in response.iter_bytes():
        body += chunk
        if len(body) > MOST_BYTES:
            raise AnswerTooLargeError(f"the answer has more than {MOST_BYTES >> 20} MiB")
    return bytes(body)


def headers_of(access: Access) -> Callable[[], Mapping[str, str]]:
    def headers() -> Mapping[str, str]:
        authorization = access.authorization()
        return dict(access.headers) | ({"Authorization": authorization} if authorization else {})

    return headers


def connection_of(access: Access) -> httpx2.Client:
    """Directly, by what settings of the environment say of TLS."""
    try:
        context = ssl.create_default_context(
            cafile=None if access.ca_file is None else str(access.ca_file)
        )
        if access.client_certificate_file is not None:
            context.load_cert_chain(access.client_certificate_file, access.client_key_file)
    except OSError as problem:
        raise SourceRefusedError(
            f"a file for TLS cannot be read: {problem.strerror or problem}",
            hint="check CEPHEID_PROMETHEUS_CA_FILE, ..._CERTIFICATE_FILE and ..._KEY_FILE",
        ) from problem
    return httpx2.Client(verify=context, timeout=httpx2.Timeout(TIMEOUT_SECONDS))
