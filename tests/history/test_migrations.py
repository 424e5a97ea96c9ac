"""A history that an older Cepheid made is brought up to date; that of a newer one is let be."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import Connection, inspect, text

from cepheid.errors import HistoryVersionError
from cepheid.history import History, Query, TimeSeries, migrations, schema
from cepheid.history.database import Database
from cepheid.history.place import place_of
from cepheid.jobprofile import Outcome
from tests.unit.history.strategies import profile

VERSIONS = Path(__file__).parent / "versions"
FIRST = profile(1, name="train-ü", verdict="it's fine")
SECOND = profile(2, user=None, outcome=Outcome.FAILED)


def run(url: str, script: str) -> None:
    if "://" in url:
        with psycopg.connect(url) as server:
            server.execute(script)
        return
    Path(url).parent.mkdir(parents=True, exist_ok=True)
    with sqlite3.connect(url) as file:
        file.executescript(script)
    file.close()


def make_version_1(url: str) -> None:
    dialect = "postgresql" if "://" in url else "sqlite"
    run(url, (VERSIONS / f"1.{dialect}.sql").read_text())


def test_a_history_of_version_1_is_brought_up_to_date_with_its_jobs(url: str) -> None:
    make_version_1(url)
    with History.open(url) as history:
        assert history.find() == [SECOND, FIRST]
        assert history.find(Query(name="train-ü")) == [FIRST]
        assert history.workers(FIRST.job.uid) == ()
        history.keep([FIRST, profile(3)])
        history.keep_series(FIRST.job.uid, [TimeSeries("cpu_cores", [1.0], [2.0])])
        assert history.count() == 3
        assert history.prune(most_bytes=10**6) == 0
        assert history.prune(most_bytes=0) == 3


def described(connection: Connection) -> dict[str, object]:
    seen = inspect(connection)
    return {
        table: (
            {
                (column["name"], str(column["type"]).split(" COLLATE")[0], column["nullable"])
                for column in seen.get_columns(table)
            },
            seen.get_pk_constraint(table)["constrained_columns"],
            {(index["name"], *index["column_names"]) for index in seen.get_indexes(table)},
            {tuple(unique["column_names"]) for unique in seen.get_unique_constraints(table)},
            [key["constrained_columns"] for key in seen.get_foreign_keys(table)],
        )
        for table in sorted(seen.get_table_names())
    }


@pytest.mark.parametrize("begin", ["new", "version 1"])
def test_all_ways_lead_to_the_tables_that_the_code_speaks_of(url: str, begin: str) -> None:
    if begin == "version 1":
        make_version_1(url)
    database = Database(place_of(url))
    try:
        with database.writing() as connection:
            migrated = described(connection)
            for table in reversed(schema.metadata.sorted_tables):
                connection.execute(text(f"DROP TABLE {table.name}"))
            schema.metadata.create_all(connection)
            spoken_of = described(connection)
    finally:
        database.close()
    assert migrated == spoken_of


def test_a_history_of_a_newer_version_is_refused_and_not_touched(url: str) -> None:
    newer = len(migrations.MIGRATIONS) + 1
    make_version_1(url)
    run(url, f"UPDATE cepheid_version SET version = {newer}")  # noqa: S608 - a number
    for _ in range(2):
        with History.open(url) as history, pytest.raises(HistoryVersionError) as refused:
            history.keep([profile(3)])
        assert f"version {newer}" in refused.value.message
        assert "update" in (refused.value.hint or "")
    run(url, "UPDATE cepheid_version SET version = 1")
    with History.open(url) as history:
        assert history.count() == 2


def test_a_migration_that_fails_leaves_all_as_it_was(url: str) -> None:
    make_version_1(url)
    run(url, "CREATE TABLE cepheid_series (somebody TEXT)")
    with History.open(url) as history, pytest.raises(Exception, match="cepheid_series"):
        history.count()
    run(url, "DROP TABLE cepheid_series")
    with History.open(url) as history:
        assert history.find() == [SECOND, FIRST]


def test_many_who_open_an_old_history_at_once_migrate_it_once(url: str) -> None:
    make_version_1(url)

    def count(_: int) -> int:
        with History.open(url) as history:
            return history.count()

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(count, range(8))) == [2] * 8
