"""The jobs of a file, the newest first, at a glance.

To load SQLAlchemy takes longer than to read a thousand jobs: who only wants to see them should not
wait for it. Here is the one question that is asked most often, with the standard library alone. It
never makes or changes a file, and whatever is not as expected is left to `History`, which knows
what to say of it.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlencode

from cepheid.history.place import File
from cepheid.history.query import Query
from cepheid.history.rows import from_row, microseconds, searchable
from cepheid.jobprofile import JobProfile

VERSION = 4
"""Of the tables that this knows: as many as there are migrations."""
BUSY_SECONDS = 5.0
NO_LIMIT = -1

Row = tuple[str, bytes, bytes | None]
"""A job's uid, its document, and all workers of a large one."""


def newest(path: Path, query: Query, limit: int) -> list[JobProfile] | None:
    """As `History.find` has them; None where `History` must be asked."""
    try:
        rows = list(each_row(path, query, limit))
    except (sqlite3.Error, OSError):
        return None
    return [from_row(uid, document).profile for uid, document, _ in rows]


def each_row(path: Path, query: Query, limit: int = NO_LIMIT) -> Iterator[Row]:
    """As `History.each` has them, of one moment. Raises sqlite3.Error where `History` must be
    asked: before the first of them, unless the file is broken further on."""
    told = list(_conditions(query))
    where = f" WHERE {' AND '.join(condition for condition, _ in told)}" if told else ""
    statement = (
        f"SELECT uid, document, workers FROM cepheid_jobs{where}"  # noqa: S608 - values are bound
        " ORDER BY until_us DESC, uid DESC LIMIT ?"
    )
    file = File(path)
    address = f"{file.uri}?{urlencode(file.reading)}"
    with closing(sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS)) as connection:
        if connection.execute("SELECT version FROM cepheid_version").fetchall() != [(VERSION,)]:
            raise sqlite3.NotSupportedError("tables of another version")
        yield from connection.execute(statement, [*(value for _, value in told), limit])


def _conditions(query: Query) -> Iterator[tuple[str, str | int]]:
    asked = {
        "who": query.user,
        "namespace": query.namespace,
        "kind": query.kind,
        "name": query.name,
        "series": query.series,
        "outcome": query.outcome,
    }
    for column, wanted in asked.items():
        if wanted is not None:
            yield f"{column} = ?", searchable(wanted)
    if query.since is not None:
        yield "until_us >= ?", microseconds(query.since)
    if query.until is not None:
        yield "until_us < ?", microseconds(query.until)
