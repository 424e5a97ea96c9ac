"""Where is a history kept, and what may be said of that place?

A path is a file of SQLite. `postgresql://user:password@host:port/database` is a server; what
libpq knows as a parameter may follow, such as `?sslmode=verify-full`. The password is connected
with, and stands in nothing else: no message, no log, no repr.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlsplit

from cepheid.errors import HistoryRefusedError

EXAMPLE = "postgresql://user:password@host:5432/database"
SERVERS = frozenset({"postgresql", "postgres", "postgresql+psycopg"})


@dataclass(frozen=True, slots=True)
class File:
    path: Path

    @property
    def is_read_only(self) -> bool:
        """Somebody else's, or on a disk that nothing can be written to."""
        needed = (self.path, self.path.parent)
        is_readable = os.access(self.path, os.R_OK)
        return is_readable and not all(os.access(path, os.W_OK) for path in needed)

    @property
    def uri(self) -> str:
        """As SQLite names it, before its parameters."""
        return self.path.absolute().as_uri()

    @property
    def reading(self) -> dict[str, str]:
        """Parameters to read it by. Readers share files beside it, which cannot be made where
        nothing can be written to; if nobody wrote a log there either, nobody is writing."""
        log = self.path.with_name(f"{self.path.name}-wal")
        is_still = self.is_read_only and not (log.exists() and log.stat().st_size)
        return {"mode": "ro", "immutable": "1"} if is_still else {"mode": "ro"}

    def __str__(self) -> str:
        return str(self.path)


@dataclass(frozen=True, slots=True)
class Server:
    host: str | None
    port: int | None
    database: str | None
    user: str | None
    password: str | None = field(default=None, repr=False)
    parameters: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Of libpq; a password may be among them."""

    def __str__(self) -> str:
        user = "" if self.user is None else f"{quote(self.user)}@"
        host = self.host or self.parameters.get("host", "")
        port = "" if self.port is None else f":{self.port}"
        return f"postgresql://{user}{host}{port}/{quote(self.database or '')}"


def default_path(environment: Mapping[str, str] = os.environ) -> Path:
    """On a laptop: where the XDG rules have a user's data."""
    told = Path(environment.get("XDG_DATA_HOME", ""))
    # The rules say that a relative one is invalid and ignored.
    data = told if told.is_absolute() else Path.home() / ".local/share"
    return data / "cepheid/history.db"


def place_of(url_or_path: str | Path) -> File | Server:
    if isinstance(url_or_path, Path) or "://" not in url_or_path:
        return _file(str(url_or_path))
    scheme, _, rest = url_or_path.partition("://")
    if scheme == "sqlite":
        return _file(unquote(rest).removeprefix("/"))
    if scheme in SERVERS:
        return _server(url_or_path)
    raise HistoryRefusedError(
        f"a history cannot be kept in {scheme[:20]!r}",
        hint=f"give the path of a file for SQLite, or {EXAMPLE}",
    )


def _file(path: str) -> File:
    if not path or path.startswith(":memory:"):
        raise HistoryRefusedError(
            "no file is named to keep the history in", hint=f"such as {default_path()}"
        )
    return File(Path(path).expanduser().absolute())


def _server(url: str) -> Server:
    """No cause is chained: what the parsers say may quote a part of the password."""
    hint = f"it goes {EXAMPLE}; in a name or password write %40 for @, %2F for /, %23 for #"
    if url.count("@") > 1:
        raise HistoryRefusedError("the history's address has more than one @", hint=hint)
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise HistoryRefusedError("the history's address has no port or host", hint=hint) from None
    if parts.fragment:
        raise HistoryRefusedError("the history's address has a # in it", hint=hint)
    return Server(
        host=parts.hostname,
        port=port,
        database=unquote(parts.path.removeprefix("/")) or None,
        user=_plain(parts.username),
        password=_plain(parts.password),
        parameters=_parameters(parts),
    )


def _plain(text: str | None) -> str | None:
    return unquote(text) if text else None


def _parameters(parts: SplitResult) -> dict[str, str]:
    return dict(parse_qsl(parts.query, keep_blank_values=True))
