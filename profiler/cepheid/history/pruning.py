"""What goes when it is old, or when there is too much of it?

A job that runs is let be, however many there are; only one that nobody has looked at for so long
that it is old goes with the old ones.
"""

from sqlalchemy import Connection, CursorResult, Select, delete, func, select

from cepheid.history.schema import jobs, series
from cepheid.jobprofile import Outcome

_NEWEST_FIRST = (jobs.c.until_us.desc(), jobs.c.uid.desc())
_FINISHED = jobs.c.outcome != Outcome.RUNNING.value


def drop_jobs_before(connection: Connection, until_us: int) -> int:
    return _count(connection.execute(delete(jobs).where(jobs.c.until_us < until_us)))


def drop_series_before(connection: Connection, until_us: int) -> int:
    """Of jobs that ended before it; their profiles stay."""
    old = select(jobs.c.id).where(jobs.c.until_us < until_us)
    return _count(connection.execute(delete(series).where(series.c.job_id.in_(old))))


def keep_newest_of_each_namespace(connection: Connection, most: int) -> int:
    place = func.row_number().over(partition_by=jobs.c.namespace, order_by=_NEWEST_FIRST)
    ranked = select(jobs.c.id, place.label("place")).where(_FINISHED).subquery()
    return _drop(connection, select(ranked.c.id).where(ranked.c.place > most))


def keep_newest_bytes(connection: Connection, most_bytes: int) -> int:
    """Documents, workers and time series; not what the database itself needs beside them."""
    sizes = (
        select(series.c.job_id, func.sum(func.length(series.c.packed)).label("bytes"))
        .group_by(series.c.job_id)
        .subquery()
    )
    beside = func.coalesce(func.length(jobs.c.workers), 0) + func.coalesce(sizes.c.bytes, 0)
    size = func.length(jobs.c.document) + beside
    total = func.sum(size).over(order_by=_NEWEST_FIRST)
    summed = (
        select(jobs.c.id, total.label("total"))
        .outerjoin(sizes, sizes.c.job_id == jobs.c.id)
        .where(_FINISHED)
        .subquery()
    )
    return _drop(connection, select(summed.c.id).where(summed.c.total > most_bytes))


def _drop(connection: Connection, chosen: Select[tuple[int]]) -> int:
    return _count(connection.execute(delete(jobs).where(jobs.c.id.in_(chosen))))


def _count(result: CursorResult[object]) -> int:
    return result.rowcount
