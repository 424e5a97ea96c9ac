"""What was done to jobs, as it was written down: when, to which, and why in words."""

from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, delete, select

from cepheid.history.rows import EPOCH, microseconds, searchable
from cepheid.history.schema import acts
from cepheid.history.statements import inserting


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    at: datetime
    what: str
    """One word, that of the Event which says the same."""
    namespace: str
    kind: str
    name: str
    uid: str
    words: str
    occasion: str = ""
    """Tells it from another of the same kind: the same one is kept once, however often told."""


def keep(connection: Connection, act: Act) -> None:
    row = {key: searchable(text) for key, text in asdict(act).items() if key != "at"}
    insert = inserting(connection)(acts).values({**row, "at_us": microseconds(act.at)})
    connection.execute(insert.on_conflict_do_nothing())


def find(
    connection: Connection,
    *,
    since: datetime | None,
    namespace: str | None,
    uid: str | None,
    limit: int,
) -> list[Act]:
    """The newest first."""
    wanted: list[ColumnElement[bool]] = []
    if since is not None:
        wanted.append(acts.c.at_us >= microseconds(since))
    if namespace is not None:
        wanted.append(acts.c.namespace == searchable(namespace))
    if uid is not None:
        wanted.append(acts.c.uid == searchable(uid))
    newest = (
        select(*acts.c)
        .where(*wanted)
        .order_by(acts.c.at_us.desc(), acts.c.uid, acts.c.what)
        .limit(limit)
    )
    return [_of(dict(row)) for row in connection.execute(newest).mappings()]


def drop_before(connection: Connection, at_us: int) -> None:
    connection.execute(delete(acts).where(acts.c.at_us < at_us))


def _of(row: dict[str, Any]) -> Act:
    return Act(at=EPOCH + timedelta(microseconds=row.pop("at_us")), **row)
