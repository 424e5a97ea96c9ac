"""Asks one Prometheus one question at a time, within limits of time and size.

The question goes out by prometheus-api-client. What it sends through is our own `_Wire` around a
requests.Session: it reads a body piece by piece, so that neither a large nor a slow answer can
hold the agent up, makes typed errors of everything that is not an answer, and keeps the warnings,
which the library would drop. Nothing is retried here: the next pass is the retry.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import requests
import urllib3
from prometheus_api_client import PrometheusConnect

from cepheid.errors import (
    AnswerBrokenError,
    AnswerTooLargeError,
    SourceError,
    SourceRefusedError,
    SourceUnreachableError,
)
from cepheid.sources.access import Access
from cepheid.sources.answer import Payload, RawSeries, error_of, parse_payload, parse_series

CHUNK_BYTES = 64 * 1024
MAX_ERROR_BYTES = 64 * 1024
OK = 200
CHECK_NETWORK = "is Prometheus running, and does a NetworkPolicy let this pod reach it?"


@dataclass(frozen=True, slots=True)
class Answer:
    series: list[RawSeries]
    notes: tuple[str, ...]
    """Warnings and infos of the server."""
    complete: bool
    """False where the server warned: something may be missing."""


@dataclass(slots=True)
class Traffic:
    """Since the start."""

    queries: int = 0
    errors: int = 0
    wire_bytes: int = 0
    """Bodies as they came, most often compressed."""
    body_bytes: int = 0
    """The same uncompressed."""


class PrometheusClient:
    """Not for several threads at once."""

    def __init__(self, access: Access, asked: Callable[[], None] = lambda: None) -> None:
        """`asked` is called after every question, answered or not."""
        self.access = access
        self.traffic = Traffic()
        self._asked = asked
        self._wire = _Wire(access, self.traffic)
        self._connect = PrometheusConnect(
            url=access.url, session=self._wire, retry=urllib3.Retry(0, read=False)
        )

    def instant(self, expression: str, at_seconds: float) -> Answer:
        """`metric[5m]` gives the raw samples of the five minutes before `at_seconds`."""
        parameters = {**self._parameters(), "time": f"{at_seconds:.3f}"}
        return self._ask(lambda: self._connect.custom_query(expression, params=parameters))

    def range(
        self, expression: str, start_seconds: float, end_seconds: float, step_seconds: float
    ) -> Answer:
        """The value at every step; Prometheus gives at most 11,000 of them."""
        # Also as parameters: the library rounds them to whole seconds.
        parameters = {
            **self._parameters(),
            "start": f"{start_seconds:.3f}",
            "end": f"{end_seconds:.3f}",
        }
        start, end = (datetime.fromtimestamp(at, UTC) for at in (start_seconds, end_seconds))
        return self._ask(
            lambda: self._connect.custom_query_range(
                expression, start, end, f"{step_seconds:.3f}", params=parameters
            )
        )

    def _parameters(self) -> dict[str, str]:
        limit = self.access.max_answer_series
        return {
            **self.access.parameters,
            "timeout": f"{self.access.timeout_seconds:g}s",
            "limit": str(limit + 1),  # Prometheus 3.0; others ignore it. One more, to be noticed.
        }

    def _ask(self, question: Callable[[], object]) -> Answer:
        self.traffic.queries += 1
        try:
            series = parse_series(question(), max_series=self.access.max_answer_series)
        except SourceError:
            self.traffic.errors += 1
            # Fresh connections next time: with the address, CA and client certificate of then.
            self._wire.session.close()
            raise
        finally:
            self._asked()
        return Answer(series, self._wire.notes, not self._wire.warned)

    def close(self) -> None:
        self._wire.session.close()

    def __repr__(self) -> str:
        return f"PrometheusClient({self.access.url!r})"


class _Response:
    """As much of a response as prometheus-api-client looks at."""

    status_code = OK

    def __init__(self, payload: Payload) -> None:
        self._payload = payload

    def json(self) -> Any:
        return self._payload.document


class _Wire:
    """What prometheus-api-client takes for a session."""

    def __init__(self, access: Access, traffic: Traffic) -> None:
        self.access = access
        self.traffic = traffic
        self.session = requests.Session()
        self.session.headers.update({"User-Agent": "cepheid", **access.headers})
        ca_file = True if access.ca_file is None else str(access.ca_file)
        # HTTPS_PROXY and its kin are looked at once: nobody changes them while we run, and to look
        # is a tenth of what a question costs.
        set_outside = self.session.merge_environment_settings(access.url, {}, True, ca_file, None)
        self.session.proxies = set_outside["proxies"]
        self.verify: str | bool = set_outside["verify"]
        self.session.trust_env = False
        self.cert: tuple[str, str] | None = None
        if access.client_certificate_file is not None:
            self.cert = (str(access.client_certificate_file), str(access.client_key_file))
        self.notes: tuple[str, ...] = ()
        self.warned = False

    def mount(self, prefix: str, adapter: Any) -> None:
        self.session.mount(prefix, adapter)

    def request(self, *, method: str, url: str, params: dict[str, str], **_rest: Any) -> _Response:
        authorization = self.access.authorization()
        deadline = time.monotonic() + self.access.timeout_seconds
        try:
            status, headers, body = self._exchange(method, url, params, authorization, deadline)
            if status != OK:
                raise error_of(status, headers, body)
            payload = parse_payload(body)
        except SourceError as error:
            error.message = self.access.redact(error.message, authorization)
            error.args = (error.message,)
            raise
        self.notes, self.warned = payload.notes, payload.warned
        return _Response(payload)

    def _exchange(
        self,
        method: str,
        url: str,
        params: dict[str, str],
        authorization: str | None,
        deadline: float,
    ) -> tuple[int, Any, bytearray]:
        def authorize(request: Any) -> Any:
            # Always set, even to do nothing: otherwise requests looks into ~/.netrc.
            if authorization is not None:
                request.headers["Authorization"] = authorization
            return request

        try:
            with self.session.request(
                method,
                url,
                params=params,
                auth=authorize,
                verify=self.verify,
                cert=self.cert,
                timeout=(self.access.connect_timeout_seconds, self.access.timeout_seconds),
                allow_redirects=False,
                stream=True,
            ) as response:
                return response.status_code, response.headers, self._body(response, deadline)
        except requests.exceptions.SSLError as error:
            raise SourceUnreachableError(
                f"no trusted connection to {self.access.url}: {_innermost(error)}",
                hint="check ca_file, the client certificate, and the name in the address",
            ) from error
        except requests.exceptions.ConnectTimeout as error:
            raise SourceUnreachableError(
                f"no connection to {self.access.url} within "
                f"{self.access.connect_timeout_seconds:g} s",
                hint=CHECK_NETWORK,
            ) from error
        except (requests.exceptions.Timeout, urllib3.exceptions.TimeoutError) as error:
            raise self._too_slow() from error
        except (requests.exceptions.ContentDecodingError, urllib3.exceptions.DecodeError) as error:
            raise AnswerBrokenError(
                "the answer's compression is broken",
                hint="a proxy before Prometheus may have cut or changed it",
            ) from error
        except (urllib3.exceptions.IncompleteRead, urllib3.exceptions.ProtocolError) as error:
            raise AnswerBrokenError(
                "the answer ended in the middle",
                hint="Prometheus or a proxy before it was stopped? It is asked again",
            ) from error
        except requests.exceptions.ConnectionError as error:
            raise SourceUnreachableError(
                f"no connection to {self.access.url}: {_innermost(error)}",
                hint=CHECK_NETWORK,
            ) from error
        except (requests.exceptions.RequestException, urllib3.exceptions.HTTPError) as error:
            raise SourceUnreachableError(
                f"{self.access.url} could not be asked: {type(error).__name__}",
                hint="check the address of Prometheus",
            ) from error
        except OSError as error:  # requests: a CA or certificate file that is not there
            raise SourceRefusedError(
                f"a file for TLS cannot be read: {_innermost(error)}",
                hint="check ca_file, client_certificate_file and client_key_file",
            ) from error

    def _body(self, response: Any, deadline: float) -> bytearray:
        # Of an error only the beginning is read: the rest of a proxy's page tells nothing.
        limit = self.access.max_answer_bytes if response.status_code == OK else MAX_ERROR_BYTES
        body = bytearray()
        # read1, not iter_content: that waits for a whole chunk, however slowly the bytes drip.
        while chunk := response.raw.read1(CHUNK_BYTES, decode_content=True):
            self.traffic.body_bytes += len(chunk)
            body += chunk
            if len(body) > limit:
                if response.status_code != OK:
                    break
                raise AnswerTooLargeError(
                    f"the answer has more than {limit} bytes",
                    hint="is the node's label right? Otherwise raise prometheus-answer-mib",
                )
            if time.monotonic() > deadline:
                raise self._too_slow()
        self.traffic.wire_bytes += response.raw.tell()
        return body

    def _too_slow(self) -> SourceUnreachableError:
        return SourceUnreachableError(
            f"no whole answer from {self.access.url} within {self.access.timeout_seconds:g} s",
            hint="is Prometheus overloaded? It is asked again; timeout_seconds can be raised",
        )


def _innermost(error: BaseException) -> str:
    """The operating system's words: those around it repeat the address and the whole query."""
    seen: BaseException = error
    for _ in range(8):
        inner = seen.__cause__ or seen.__context__ or getattr(seen, "reason", None)
        if not isinstance(inner, BaseException):
            break
        seen = inner
    return getattr(seen, "strerror", None) or getattr(seen, "reason", None) or str(seen)[:200]
