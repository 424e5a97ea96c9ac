"""The history of jobs: kept, found, compared, pruned."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby, islice
from pathlib import Path
from typing import Any, Self

from sqlalchemy import Select, func, select

from cepheid.history import acts, pruning
from cepheid.history.acts import Act
from cepheid.history.database import Database
from cepheid.history.place import place_of
from cepheid.history.query import EVERY_JOB, Query
from cepheid.history.rows import Kept, from_row, microseconds, searchable, to_row
from cepheid.history.samples import TimeSeries, chunks, joined
from cepheid.history.schema import jobs, series
from cepheid.history.statements import (
    conditions,
    is_before,
    is_same_job,
    keep_better,
    keep_latest_chunk,
    newest_first,
    one,
)
from cepheid.jobprofile import JobProfile, Outcome, Worker

BATCH_JOBS = 500
"""In one transaction: enough that the disk is not what is waited for, and few megabytes."""


class History:
    """May be used from several threads, and the same place by several processes."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @classmethod
    def open(cls, url_or_path: str | Path) -> Self:
        """Nothing is connected to yet: a server that is away fails what is asked of it, not this.

        The first use makes the file and the tables, or brings them up to date.
        """
        return cls(Database(place_of(url_or_path)))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<History in {self._database.place}>"

    def close(self) -> None:
        self._database.close()

    def keep(
        self, profiles: Iterable[JobProfile], workers: Mapping[str, Sequence[Worker]] | None = None
    ) -> None:
        """When this returns they are on the disk; keeping them again changes nothing.

        There is one record a uid: a finished one is not replaced by a running one, nor is any by
        one that knows less of the run. `workers`, by uid, are all those of a job that has more
        than its record holds. When this raises, some of the profiles may have been kept.
        """
        beside = workers or {}
        remaining = iter(profiles)
        while batch := list(islice(remaining, BATCH_JOBS)):
            rows = [to_row(profile, beside.get(profile.job.uid, ())) for profile in batch]
            # Two who keep the same jobs never wait for each other in a circle.
            rows.sort(key=lambda row: row["uid"])
            with self._database.writing() as connection:
                connection.execute(keep_better(connection), rows)

    def find(
        self, query: Query = EVERY_JOB, *, limit: int = 50, after: JobProfile | None = None
    ) -> list[JobProfile]:
        """The newest first. `after` the last one of the page before."""
        statement = newest_first(query).limit(limit)
        if after is not None:
            statement = statement.where(is_before(after))
        return self._profiles(statement)

    def earlier_runs(self, profile: JobProfile, *, limit: int = 20) -> list[JobProfile]:
        """Of the same job, that succeeded before this one was over; the newest first.

        The same is what has its name, or its template under another name.
        """
        alike = Query(
            namespace=profile.job.namespace, kind=profile.job.kind, outcome=Outcome.SUCCESS
        )
        statement = newest_first(alike).where(
            is_before(profile),
            jobs.c.uid != searchable(profile.job.uid),
            is_same_job(profile),
        )
        return self._profiles(statement.limit(limit))

    def get(self, uid: str) -> JobProfile:
        """By its uid, or the beginning of it if no other job's begins so."""
        with self._database.reading() as connection:
            found, document = one(connection, uid, jobs.c.document)
        return from_row(found, document).profile

    def workers(self, uid: str) -> tuple[Worker, ...]:
        """All of them, of a large job too."""
        with self._database.reading() as connection:
            found, document, packed = one(connection, uid, jobs.c.document, jobs.c.workers)
        kept = from_row(found, document, packed)
        return kept.workers or kept.profile.workers

    def each(self, query: Query = EVERY_JOB, *, with_workers: bool = True) -> Iterator[Kept]:
        """All of them as they are at this moment, the newest first, without holding them all.

        Who holds them all needs less memory and time without their workers.
        """
        columns = (jobs.c.uid, jobs.c.document, jobs.c.workers)
        with self._database.reading() as connection:
            streamed = connection.execution_options(yield_per=BATCH_JOBS)
            for uid, document, packed in streamed.execute(newest_first(query, *columns)):
                yield from_row(uid, document, packed, with_workers=with_workers)

    def count(self, query: Query = EVERY_JOB) -> int:
        statement = select(func.count()).select_from(jobs).where(*conditions(query))
        with self._database.reading() as connection:
            return connection.execute(statement).scalar_one()

    def keep_series(
        self, uid: str, kept: Iterable[TimeSeries], *, interval_seconds: float | None = None
    ) -> None:
        """Time series of a job whose profile is kept already, thinned to one sample an interval.

        What begins at the same moment as something kept earlier takes its place; else it is added.
        """
        packed = [
            {
                "metric": searchable(part.metric),
                "worker": searchable(part.worker or ""),
                "begin_ms": begin_ms,
                "packed": chunk,
            }
            for part in kept
            for begin_ms, chunk in chunks(part, interval_seconds)
        ]
        with self._database.writing() as connection:
            _, job_id = one(connection, uid, jobs.c.id, whole=True)
            if packed:
                rows = [{"job_id": job_id, **row} for row in packed]
                connection.execute(keep_latest_chunk(connection), rows)

    def series(self, uid: str) -> list[TimeSeries]:
        """What was kept of it, by metric and worker."""
        columns = (series.c.metric, series.c.worker, series.c.packed)
        with self._database.reading() as connection:
            _, job_id = one(connection, uid, jobs.c.id)
            statement = select(*columns).where(series.c.job_id == job_id)
            rows = connection.execute(statement.order_by(*series.primary_key)).all()
        return [
            joined(metric, worker or None, [packed for _, _, packed in group])
            for (metric, worker), group in groupby(rows, key=lambda row: (row[0], row[1]))
        ]

    def note(self, act: Act) -> None:
        """Once, however often it is told."""
        with self._database.writing() as connection:
            acts.keep(connection, act)

    def acts(
        self,
        *,
        since: datetime | None = None,
        namespace: str | None = None,
        uid: str | None = None,
        limit: int = 50,
    ) -> list[Act]:
        """What was done to jobs, the newest first."""
        with self._database.reading() as connection:
            return acts.find(connection, since=since, namespace=namespace, uid=uid, limit=limit)

    def prune(
        self,
        *,
        ended_before: datetime | None = None,
        series_ended_before: datetime | None = None,
        most_each_namespace: int | None = None,
        most_bytes: int | None = None,
        dry_run: bool = False,
    ) -> int:
        """How many jobs went. Time series go with their job, or by an age of their own.

        With `dry_run` all of it is taken back again: how many would go?
        """
        gone = 0
        with self._database.writing() as connection:
            if series_ended_before is not None:
                pruning.drop_series_before(connection, microseconds(series_ended_before))
            if ended_before is not None:
                gone += pruning.drop_jobs_before(connection, microseconds(ended_before))
                acts.drop_before(connection, microseconds(ended_before))
            if most_each_namespace is not None:
                gone += pruning.keep_newest_of_each_namespace(connection, most_each_namespace)
            if most_bytes is not None:
                gone += pruning.keep_newest_bytes(connection, most_bytes)
            if dry_run:
                connection.rollback()
        if not dry_run:
            self._database.give_back_pages()
        return gone

    def _profiles(self, statement: Select[Any]) -> list[JobProfile]:
        with self._database.reading() as connection:
            rows = connection.execute(statement).all()
        return [from_row(uid, document).profile for uid, document in rows]
