"""How is a history reached: transactions on SQLite and PostgreSQL alike, and what fails in them.

Nothing is connected to before it is needed. A server that was away is simply reached again by the
next transaction: connections are tried before they are used. The tables are made or brought up to
date before the first transaction.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from cepheid.errors import (
    HistoryAwayError,
    HistoryBrokenError,
    HistoryError,
    HistoryRefusedError,
)
from cepheid.history import migrations
from cepheid.history.place import File, Server

BUSY_SECONDS = 30
"""So long a writer waits for another one."""
WAL_BYTES = 64 * 2**20
"""What the file beside the database is cut to, after it was larger."""

# Of libpq, unless the address has others: a host that is gone is noticed within half a minute.
CONNECTION = {
    "application_name": "cepheid",
    "connect_timeout": "10",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "30000",
    "options": f"-c lock_timeout={BUSY_SECONDS}s",
}
_WRITES = "cepheid_writes"


class Database:
    def __init__(self, place: File | Server) -> None:
        self.place = place
        self._engine = _sqlite(place) if isinstance(place, File) else _postgresql(place)
        self._ready = False

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """One view of the data from beginning to end, whoever writes meanwhile."""
        with self._told():
            self._prepare()
            with self._engine.connect() as connection, connection.begin():
                yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """All of it is there when this is left, or nothing."""
        with self._told():
            self._prepare()
            with self._write() as connection:
                yield connection

    def give_back_pages(self) -> None:
        """What was deleted makes a file smaller. PostgreSQL cleans up by itself."""
        if isinstance(self.place, File):
            with self._told(), self._engine.connect() as connection:
                driver: Any = connection.connection.driver_connection
                # A script, since only that goes through all pages: each is a row, though empty.
                # While others hold the file nothing is given back; the next time will.
                with suppress(sqlite3.OperationalError):
                    driver.executescript("PRAGMA incremental_vacuum")

    def close(self) -> None:
        self._engine.dispose()

    @contextmanager
    def _write(self) -> Iterator[Connection]:
        with self._engine.connect() as plain:
            connection = plain.execution_options(**{_WRITES: True})
            with connection.begin():
                yield connection

    def _prepare(self) -> None:
        if self._ready:
            return
        if isinstance(self.place, File):
            _make_file(self.place)
        with self._engine.connect() as connection, connection.begin():
            current = migrations.is_current(connection)
        if not current:
            with self._write() as connection:
                migrations.migrate(connection)
        self._ready = True

    @contextmanager
    def _told(self) -> Iterator[None]:
        """What the database says, in the words of `cepheid.errors`."""
        try:
            yield
        except PoolTimeoutError as problem:
            raise HistoryAwayError(
                f"the history {self.place} is busy: all connections to it are in use",
                hint="try again later",
            ) from problem
        except DBAPIError as problem:
            is_lost = isinstance(problem, OperationalError | InterfaceError)
            raise in_words(problem.orig, self.place, is_lost=is_lost) from problem


def _make_file(place: File) -> None:
    """Whose jobs these are is nobody else's business."""
    if place.is_read_only:
        return
    try:
        place.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        place.path.touch(mode=0o600)
    except OSError as problem:
        raise HistoryRefusedError(
            f"the history {place} cannot be made: {problem.strerror}",
            hint="is the folder yours to write to? name another file",
        ) from problem


def _sqlite(place: File) -> Engine:
    read_only = place.is_read_only
    url = URL.create("sqlite", database=str(place.path))
    if read_only:
        url = URL.create("sqlite", database=place.uri, query={**place.reading, "uri": "true"})
    engine = create_engine(url, connect_args={"timeout": BUSY_SECONDS}, hide_parameters=True)

    @event.listens_for(engine, "connect")
    def set_up(connection: Any, _: object) -> None:
        # Python's driver would begin transactions where it likes, and none before a CREATE.
        connection.isolation_level = None
        if read_only:
            return
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")  # only of a new file
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")  # kept is kept, without power too
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute(f"PRAGMA journal_size_limit = {WAL_BYTES}")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        # One who reads first and writes then is turned away at once if another wrote in between;
        # one who says at the beginning that it will write waits for its turn.
        writes = connection.get_execution_options().get(_WRITES, False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _postgresql(place: Server) -> Engine:
    url = URL.create(
        "postgresql+psycopg",
        username=place.user,
        password=place.password,
        host=place.host,
        port=place.port,
        database=place.database,
        query=dict(place.parameters),
    )
    ours = {name: value for name, value in CONNECTION.items() if name not in place.parameters}
    try:
        return create_engine(
            url,
            connect_args=ours,
            hide_parameters=True,
            pool_pre_ping=True,
        )
    except ModuleNotFoundError as problem:
        raise HistoryRefusedError(
            "psycopg is not installed, and PostgreSQL is reached by it",
            hint="pip install 'cepheid[postgres]'",
        ) from problem


# Errors of SQLite by name and of PostgreSQL by SQLSTATE, as they begin; the first that fits.
_SQLITE = (
    (
        HistoryAwayError,
        ("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_FULL", "SQLITE_IOERR"),
        "is the disk full, or does another process hold the file? try again later",
    ),
    (
        HistoryRefusedError,
        ("SQLITE_CANTOPEN", "SQLITE_READONLY", "SQLITE_PERM", "SQLITE_AUTH"),
        "are the file and its folder yours to write to? name another file",
    ),
    (
        HistoryBrokenError,
        ("SQLITE_NOTADB", "SQLITE_CORRUPT"),
        "name another file, or move this one away",
    ),
)
_POSTGRESQL = (
    (
        HistoryAwayError,
        # No connection, conflict of transactions, read only as a stand-by is, no room, waited too
        # long for a lock, shut down, its own disk.
        ("08", "40", "25006", "53", "55P03", "57P", "57014", "58"),
        "is the server up, and reached from here? try again later",
    ),
    (
        HistoryRefusedError,
        ("28", "3D", "42501", "42P01", "3F"),  # password, database, rights, tables taken away
        "look at user, password and database of the address, and at the user's rights there",
    ),
)


def in_words(
    cause: BaseException | None, place: File | Server, *, is_lost: bool = False
) -> HistoryError:
    """What a driver said, as an error of ours. `is_lost`: with the connection, unless it says."""
    code = _code(cause, is_lost=is_lost)
    words = next(iter(str(cause).strip().splitlines()), type(cause).__name__)
    for kind, codes, hint in _SQLITE if isinstance(place, File) else _POSTGRESQL:
        if code.startswith(codes):
            return kind(f"the history {place} did not do what was asked: {words}", hint=hint)
    # Not a bug of ours alone: people add triggers, drop columns, choose another encoding.
    return HistoryRefusedError(
        f"the history {place} did not do what was asked: {code}: {words}",
        hint="were its tables changed, or is its encoding not UTF-8? its own log may say more",
    )


def _code(cause: BaseException | None, *, is_lost: bool) -> str:
    if isinstance(cause, sqlite3.Error):
        return getattr(cause, "sqlite_errorname", "")
    return getattr(cause, "sqlstate", None) or ("08" if is_lost else "")
