"""The way to the API server: one client, its credentials read again in time, its errors by name.

lightkube reads a rotated token again when it is refused. The certificates to trust it reads once,
and a token of a kubeconfig as well: for those, a new client.
"""

import ssl
import time
from collections.abc import Callable
from http import HTTPStatus
from typing import Self, TypeVar

import httpx2
import lightkube
from lightkube import Client, KubeConfig
from lightkube.core.exceptions import ConfigError

from cepheid.errors import (
    ApiError,
    ForbiddenError,
    GoneError,
    LoginError,
    ThrottledError,
    TooLargeError,
    UnavailableError,
)

MOST_WAIT_SECONDS = 600.0
"""However long an API server, or what answers in its place, asks to be left alone."""
DEFAULT_WAIT_SECONDS = 5.0
RENEW_SECONDS = 600.0
"""After that a new client reads everything again. The kubelet renews a token at four fifths of its
hour; the API server would accept the old one for long, and count it as stale."""
TIMEOUT_SECONDS = 10.0
_MOST_CHARACTERS = 300

T = TypeVar("T")


class RefusedError(ApiError):
    """A conflict, or not valid: among other reasons because the object is another one now."""


class DistrustError(UnavailableError):
    """One side's certificate is not signed by whom the other trusts."""


def connect(kubeconfig: str | None = None, timeout_seconds: float = TIMEOUT_SECONDS) -> Client:
    """With the service account of the pod, or with a kubeconfig."""
    config = KubeConfig.from_env() if kubeconfig is None else KubeConfig.from_file(kubeconfig)
    return Client(config, timeout=httpx2.Timeout(timeout_seconds))


class ApiServer:
    """Raises ApiError and its kin, and nothing else; asked to wait, it waits for all who ask."""

    def __init__(
        self,
        connect: Callable[[], Client] = connect,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._connect = connect
        self._clock = clock
        self._client: Client | None = None
        self._renew_at = 0.0
        self._quiet_until: float | None = None

    def ask(self, doing: str, question: Callable[[Client], T]) -> T:
        """`doing` begins the message of an error, as in "reading Node gpu-a".

        Asked once, and once more where the old client's token or certificates were at fault.
        """
        now = self._clock()
        if self._quiet_until is not None and now < self._quiet_until:
            left = self._quiet_until - now
            raise ThrottledError(
                f"{doing}: the API server asked to be left alone, for {left:.0f} s more",
                retry_after_seconds=left,
            )
        if now >= self._renew_at:
            self.close()
        was_new = self._client is None
        try:
            return self._once(doing, question)
        except (LoginError, DistrustError):
            self.close()
            if was_new:
                raise
        return self._once(doing, question)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """It can be asked again, and then connects anew."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def _once(self, doing: str, question: Callable[[Client], T]) -> T:
        client = self._client or self._connected(doing)
        try:
            return question(client)
        except httpx2.HTTPStatusError as error:
            raise self._of_status(doing, error) from error
        except KeyError as error:
            # lightkube looks for the content type of an error, and some proxies send none.
            if isinstance(error.__context__, httpx2.HTTPStatusError):
                raise self._of_status(doing, error.__context__) from error
            raise
        except httpx2.HTTPError as error:
            raise _of_transport(doing, error) from error
        except (ConfigError, OSError) as error:  # the token's file
            raise _no_credentials(doing, error) from error
        except ValueError as error:
            raise UnavailableError(
                f"{doing}: the answer is not one of Kubernetes: {_words(error)}"
            ) from error

    def _connected(self, doing: str) -> Client:
        try:
            self._client = self._connect()
        except (ConfigError, OSError, KeyError, ValueError) as error:
            raise _no_credentials(doing, error) from error
        self._renew_at = self._clock() + RENEW_SECONDS
        return self._client

    def _of_status(self, doing: str, error: httpx2.HTTPStatusError) -> ApiError:
        code, headers = error.response.status_code, error.response.headers
        message = f"{doing}: {code}, {_words(error)}"
        if code == HTTPStatus.TOO_MANY_REQUESTS or (
            code == HTTPStatus.SERVICE_UNAVAILABLE and "Retry-After" in headers
        ):
            wait = _wait_seconds(headers.get("Retry-After", ""))
            self._quiet_until = self._clock() + wait
            return ThrottledError(message, retry_after_seconds=wait)
        # Of what it reads at all, of annotations, and of etcd, which comes as a 500.
        if (
            code == HTTPStatus.REQUEST_ENTITY_TOO_LARGE
            or "annotations: Too long" in str(error)
            or "request is too large" in str(error)
        ):
            return TooLargeError(message, hint="some other annotation of the object is too large")
        if code == HTTPStatus.NOT_FOUND and not isinstance(error, lightkube.ApiError):
            return UnavailableError(message, hint="that is not an API server")
        kinds: dict[int, type[ApiError]] = {
            HTTPStatus.UNAUTHORIZED: LoginError,
            HTTPStatus.FORBIDDEN: ForbiddenError,
            HTTPStatus.NOT_FOUND: GoneError,
            HTTPStatus.GONE: GoneError,
            HTTPStatus.CONFLICT: RefusedError,
            HTTPStatus.UNPROCESSABLE_ENTITY: RefusedError,
        }
        is_request = HTTPStatus.BAD_REQUEST <= code < HTTPStatus.INTERNAL_SERVER_ERROR
        return kinds.get(code, ApiError if is_request else UnavailableError)(message)


def _of_transport(doing: str, error: httpx2.HTTPError) -> ApiError:
    if isinstance(error, httpx2.TimeoutException):
        return UnavailableError(f"{doing}: no answer in time")
    message = f"{doing}: {_words(error)}"
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLError):
            return DistrustError(message, hint="the certificates may have been rotated")
        cause = cause.__cause__ or cause.__context__
    return UnavailableError(message)


def _no_credentials(doing: str, error: Exception) -> LoginError:
    return LoginError(
        f"{doing}: there are no credentials: {_words(error)}",
        hint="run it with a service account, or give it a kubeconfig",
    )


def _wait_seconds(retry_after: str) -> float:
    """Seconds only: a date would need the API server's clock."""
    is_number = retry_after.isascii() and retry_after.isdigit()
    wait = float(retry_after[:9]) if is_number else DEFAULT_WAIT_SECONDS
    return min(max(wait, 1.0), MOST_WAIT_SECONDS)


def _words(error: BaseException) -> str:
    """What it says, on one line of a bearable length."""
    said = " ".join(str(error).split()) or type(error).__name__
    return said if len(said) <= _MOST_CHARACTERS else f"{said[:_MOST_CHARACTERS]}..."
