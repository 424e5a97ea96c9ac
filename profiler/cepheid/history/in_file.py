"""The jobs of a file, asked as a history is, to read alone.

What is one pass over the rows is answered at a glance; all else, and whatever a glance does not
understand, by the `History` of the file, which is opened only then.
"""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Self

from cepheid.history.glance import each_row, newest
from cepheid.history.place import File
from cepheid.history.query import EVERY_JOB, Query
from cepheid.history.rows import Kept, from_row

if TYPE_CHECKING:
    from cepheid.history.samples import TimeSeries
    from cepheid.history.store import History
    from cepheid.jobprofile import JobProfile, Worker


class InFile:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._opened: History | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._opened is not None:
            self._opened.close()

    def find(self, query: Query = EVERY_JOB, *, limit: int = 50) -> "list[JobProfile]":
        """The newest first."""
        seen = newest(self._path, query, limit)
        return self._history.find(query, limit=limit) if seen is None else seen

    def each(self, query: Query = EVERY_JOB, *, with_workers: bool = True) -> Iterator[Kept]:
        """All of them as they are at this moment, the newest first, without holding them all."""
        is_begun = False
        try:
            for uid, document, workers in each_row(self._path, query):
                is_begun = True
                yield from_row(uid, document, workers, with_workers=with_workers)
        except (sqlite3.Error, OSError) as problem:
            if is_begun:
                from cepheid.history.database import in_words  # noqa: PLC0415 - loads SQLAlchemy

                raise in_words(problem, File(self._path)) from problem
            yield from self._history.each(query, with_workers=with_workers)

    def get(self, uid: str) -> "JobProfile":
        return self._history.get(uid)

    def earlier_runs(self, profile: "JobProfile", *, limit: int = 20) -> "list[JobProfile]":
        return self._history.earlier_runs(profile, limit=limit)

    def workers(self, uid: str) -> "tuple[Worker, ...]":
        return self._history.workers(uid)

    def series(self, uid: str) -> "list[TimeSeries]":
        return self._history.series(uid)

    @property
    def _history(self) -> "History":
        if self._opened is None:
            from cepheid.history.store import History  # noqa: PLC0415 - loads SQLAlchemy

            self._opened = History.open(self._path)
        return self._opened
