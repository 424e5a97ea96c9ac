"""What is asked of the database, and which of two records of one run stays?"""

from collections.abc import Iterator
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, and_, func, literal, or_, select, tuple_
from sqlalchemy.dialects import postgresql, sqlite

from cepheid.errors import NoSuchJobError
from cepheid.history.query import Query
from cepheid.history.rows import microseconds, searchable, until_us
from cepheid.history.schema import jobs, series
from cepheid.jobprofile import JobProfile, Outcome

RUNNING = Outcome.RUNNING.value
LAST_CHARACTER = "\U0010ffff"


def keep_better(connection: Connection) -> Any:
    """A finished record before a running one, and among equals the one that knows more."""
    insert = inserting(connection)(jobs)
    new = insert.excluded
    columns = (column for column in jobs.c if column.name not in {"id", "uid", "workers"})
    is_better = or_(
        and_(new.outcome != RUNNING, jobs.c.outcome == RUNNING),
        and_(
            (new.outcome == RUNNING) == (jobs.c.outcome == RUNNING),
            new.until_us >= jobs.c.until_us,
        ),
    )
    is_other = or_(new.document != jobs.c.document, new.workers.is_distinct_from(jobs.c.workers))
    return insert.on_conflict_do_update(
        index_elements=[jobs.c.uid],
        set_={
            **{column.name: new[column.name] for column in columns},
            "workers": func.coalesce(new.workers, jobs.c.workers),
        },
        where=and_(is_better, is_other),
    )


def keep_latest_chunk(connection: Connection) -> Any:
    insert = inserting(connection)(series)
    return insert.on_conflict_do_update(
        index_elements=list(series.primary_key), set_={"packed": insert.excluded.packed}
    )


def newest_first(query: Query, *columns: ColumnElement[Any]) -> Select[Any]:
    wanted = columns or (jobs.c.uid, jobs.c.document)
    return (
        select(*wanted)
        .where(*conditions(query))
        .order_by(jobs.c.until_us.desc(), jobs.c.uid.desc())
    )


def conditions(query: Query) -> Iterator[ColumnElement[bool]]:
    asked = {
        jobs.c.who: query.user,
        jobs.c.namespace: query.namespace,
        jobs.c.kind: query.kind,
        jobs.c.name: query.name,
        jobs.c.series: query.series,
        jobs.c.outcome: query.outcome,
    }
    for column, wanted in asked.items():
        if wanted is not None:
            yield column == searchable(wanted)
    if query.since is not None:
        yield jobs.c.until_us >= microseconds(query.since)
    if query.until is not None:
        yield jobs.c.until_us < microseconds(query.until)


def is_before(profile: JobProfile) -> ColumnElement[bool]:
    """In the order of `newest_first` it comes later."""
    return tuple_(jobs.c.until_us, jobs.c.uid) < tuple_(
        literal(until_us(profile)), literal(searchable(profile.job.uid))
    )


def is_same_job(profile: JobProfile) -> ColumnElement[bool]:
    same_name = jobs.c.series == searchable(profile.series)
    if profile.template is None:
        return same_name
    return or_(same_name, jobs.c.template == searchable(profile.template))


def one(connection: Connection, uid: str, *columns: ColumnElement[Any], whole: bool = False) -> Any:
    """By its uid, or unless that must be `whole` by the beginning of it."""
    wanted = searchable(uid)
    last = wanted if whole else wanted + LAST_CHARACTER
    statement = (
        select(jobs.c.uid, *columns)
        .where(jobs.c.uid.between(wanted, last))
        .order_by(jobs.c.uid)
        .limit(2)
    )
    found = connection.execute(statement).all()
    if not found:
        raise NoSuchJobError(
            f"no job in the history has the uid {wanted!r}", hint="list the jobs that there are"
        )
    # The whole uid sorts before all that begin with it.
    if len(found) > 1 and found[0].uid != wanted:
        raise NoSuchJobError(
            f"more than one job's uid begins with {wanted!r}", hint="give more of it"
        )
    return found[0]


def inserting(connection: Connection) -> Any:
    """Both can say what is to happen to a record that is there already; SQL itself cannot."""
    return {"sqlite": sqlite.insert, "postgresql": postgresql.insert}[connection.dialect.name]
