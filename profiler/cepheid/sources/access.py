"""How to reach Prometheus, or whatever stands before it: address, credentials, limits.

Secrets are read from their files for every request, so that a rotated one is used at once and
none is kept; they never stand in a message or a repr.
"""

import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from urllib.parse import SplitResult, urlsplit

from cepheid.errors import SourceRefusedError
from cepheid.settings import PrometheusSettings

MAX_SECRET_BYTES = 64 * 1024
SHORTEST_SECRET = 4
"""A tenant called "1" is no secret, and would take every 1 out of a message."""
SECRET = re.compile(r"[\x21-\x7e]+")
HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
HEADER_VALUE = re.compile(r"[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """One Prometheus, or a server that speaks its API: Thanos, Mimir, VictoriaMetrics."""

    url: str
    """With the path before `/api/v1`, if there is one. Never with a password."""
    bearer_token_file: Path | None = None
    username: str | None = None
    password_file: Path | None = None
    """With `username`: basic authentication."""
    ca_file: Path | None = None
    """Who signs the server's certificate; the system's list otherwise."""
    client_certificate_file: Path | None = None
    client_key_file: Path | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Sent along, for instance X-Scope-OrgID for a tenant."""
    parameters: Mapping[str, str] = field(default_factory=lambda: {"partial_response": "true"})
    """Sent along with each query. Thanos: half an answer is better than none, and marked."""
    connect_timeout_seconds: float = 5.0
    timeout_seconds: float = 20.0
    """For a whole answer; the server is told to stop computing after it too."""
    max_answer_bytes: int = 8 * 1024 * 1024
    """Uncompressed. Two minutes of 8 GPUs and 60 pods are 0.8 MB."""
    max_answer_series: int = 4_000

    def __post_init__(self) -> None:
        parts = _split(self.url)
        if parts is None or parts.scheme not in {"http", "https"} or not parts.hostname:
            raise _wrong("the address of Prometheus is no http:// or https:// URL")
        if parts.username is not None or parts.password is not None:
            raise SourceRefusedError(
                "the address of Prometheus holds a user name or password",
                hint="give username and password_file instead: an address is shown in logs",
            )
        if parts.query or parts.fragment:
            raise _wrong("the address of Prometheus has a query (?) or fragment (#)")
        if (self.username is None) != (self.password_file is None):
            raise _wrong("basic authentication needs both a user name and a password file")
        if self.username is not None and (":" in self.username or not self.username.isprintable()):
            raise _wrong("the user name holds a colon or a control character")
        if self.username is not None and self.bearer_token_file is not None:
            raise _wrong("both a bearer token and basic authentication are given")
        if (self.client_certificate_file is None) != (self.client_key_file is None):
            raise _wrong("a client certificate needs both a certificate and a key file")
        for name, value in self.headers.items():
            if not HEADER_NAME.fullmatch(name) or not HEADER_VALUE.fullmatch(value):
                raise _wrong(f"the extra header {name[:64]!r} or its value cannot be sent")
        for name, limit in (
            ("connect_timeout_seconds", self.connect_timeout_seconds),
            ("timeout_seconds", self.timeout_seconds),
            ("max_answer_bytes", self.max_answer_bytes),
            ("max_answer_series", self.max_answer_series),
        ):
            if not 0 < limit < float("inf"):
                raise _wrong(f"{name} is {limit}, it must be more than 0")
        object.__setattr__(self, "url", self.url.rstrip("/"))
        object.__setattr__(self, "headers", MappingProxyType(dict(self.headers)))
        object.__setattr__(self, "parameters", MappingProxyType(dict(self.parameters)))

    def authorization(self) -> str | None:
        """The value of the header, from the files as they are now."""
        if self.bearer_token_file is not None:
            return f"Bearer {read_secret(self.bearer_token_file, 'bearer token')}"
        if self.username is not None and self.password_file is not None:
            password = _read(self.password_file, "password").rstrip("\r\n")
            return "Basic " + base64.b64encode(f"{self.username}:{password}".encode()).decode()
        return None

    def redact(self, text: str, authorization: str | None) -> str:
        """Without what a server might have echoed."""
        secrets = list(self.headers.values())
        if authorization is not None:
            secrets.append(authorization.partition(" ")[2])
        if authorization is not None and authorization.startswith("Basic "):
            decoded = base64.b64decode(authorization.removeprefix("Basic ")).decode()
            secrets.append(decoded.partition(":")[2])
        for secret in sorted(secrets, key=len, reverse=True):
            if len(secret) >= SHORTEST_SECRET:
                text = text.replace(secret, "***")
        return text


def access_of(settings: PrometheusSettings) -> Access:
    def path(text: str) -> Path | None:
        return Path(text) if text else None

    return Access(
        url=settings.prometheus_url,
        bearer_token_file=path(settings.prometheus_token_file),
        username=settings.prometheus_user or None,
        password_file=path(settings.prometheus_password_file),
        ca_file=path(settings.prometheus_ca_file),
        client_certificate_file=path(settings.prometheus_certificate_file),
        client_key_file=path(settings.prometheus_key_file),
        headers=settings.headers,
        timeout_seconds=settings.prometheus_timeout_seconds,
        max_answer_bytes=int(settings.prometheus_answer_mib * 2**20),
        max_answer_series=settings.most_series,
    )


def read_secret(file: Path, what: str) -> str:
    secret = _read(file, what).strip()
    if not SECRET.fullmatch(secret):
        raise SourceRefusedError(
            f"the {what} in {file} is empty or holds blanks or control characters",
            hint="the file should hold the secret and nothing else",
        )
    return secret


def _read(file: Path, what: str) -> str:
    try:
        with file.open("rb") as stream:
            content = stream.read(MAX_SECRET_BYTES + 1)
        if len(content) > MAX_SECRET_BYTES:
            raise SourceRefusedError(
                f"the {what} file {file} has more than {MAX_SECRET_BYTES} bytes",
                hint="check the path",
            )
        return content.decode()
    except UnicodeDecodeError:
        # Without the cause: it would show the bytes.
        raise SourceRefusedError(
            f"the {what} file {file} is no text", hint="check the path"
        ) from None
    except OSError as error:
        raise SourceRefusedError(
            f"the {what} file {file} cannot be read: {error.strerror}",
            hint="check the path, the mounted secret and its permissions",
        ) from error


def _split(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises where it is no number
        return parts
    except ValueError:
        return None


def _wrong(message: str) -> SourceRefusedError:
    return SourceRefusedError(message, hint="see the settings for Prometheus")
