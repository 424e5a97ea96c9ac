"""Step 5, keep: what every job used, after its pods are gone.

In come profiles of jobs; out go the same profiles when somebody asks, from a file on a laptop or
from a server for a fleet, behind one interface. It never alters a profile that it keeps, and
shows nobody more than the place where it is kept would.

    with History.open("postgresql://cepheid@db/history") as history:
        history.keep(profiles)
        mine = history.find(Query(user="ann"), limit=50)

Read in this order:

    query      which jobs are asked for
    place      a file or a server, and how it is named without its password
    rows       a profile as a row: the columns that are searched, and the document
    samples    a job's time series in a few bytes
    schema     the tables; migrations: how they became what they are
    database   transactions, on SQLite and PostgreSQL alike
    statements what is asked of them, and which of two records stays
    pruning    what goes when it is old, or too much
    store      History itself; glance: its newest jobs, without waiting for SQLAlchemy
    in_file    a file, asked as a history is, by a glance wherever that is enough
    in_cluster the JobProfiles of a cluster, asked as a history is
    lines      a job as a line of JSON; sheet: as a row of a table; parquet: the same in columns
    exchange   export and import
"""

from typing import TYPE_CHECKING, Any

from cepheid.history.place import default_path
from cepheid.history.query import Query
from cepheid.history.rows import Kept
from cepheid.history.samples import TimeSeries

if TYPE_CHECKING:
    from cepheid.history.store import History as History

__all__ = ["History", "Kept", "Query", "TimeSeries", "default_path"]


def __getattr__(name: str) -> Any:
    """SQLAlchemy takes a quarter of a second to load: only who opens a history waits for it."""
    if name == "History":
        from cepheid.history.store import History  # noqa: PLC0415

        return History
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
