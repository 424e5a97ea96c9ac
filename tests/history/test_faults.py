"""Databases that are away, full, locked, forbidden or nonsense; each in words that help."""

import logging
import os
import sqlite3
import subprocess
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest
from psycopg import sql

from cepheid.errors import (
    HistoryAwayError,
    HistoryBrokenError,
    HistoryError,
    HistoryRefusedError,
)
from cepheid.history import History, Query
from cepheid.history import database as database_module
from tests import REPOSITORY
from tests.stage.postgres import PASSWORD, Postgres
from tests.unit.history.strategies import profile

NOBODY = 65534


@pytest.fixture
def server(postgres: Postgres) -> Iterator[Postgres]:
    postgres.start()
    yield postgres
    postgres.start()


def test_a_server_that_was_away_is_written_to_again_without_opening_anew(
    server: Postgres, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with server.database() as url, History.open(url) as history:
        history.keep([profile(1)])
        said = ""
        for end in (server.stop, server.crash):
            end()
            for _ in range(3):
                with pytest.raises(HistoryAwayError) as away:
                    history.keep([profile(2)])
                said += "".join(traceback.format_exception(away.value))
            with pytest.raises(HistoryAwayError):
                history.find(Query(user="ann"))
            server.start()
            history.keep([profile(2)])
            assert history.find() == [profile(2), profile(1)]
    assert "hint: " in said
    assert PASSWORD not in said + caplog.text + repr(history)


def test_a_server_that_was_away_while_nobody_asked_is_not_missed(server: Postgres) -> None:
    with server.database() as url, History.open(url) as history:
        history.keep([profile(1)])
        server.restart()
        history.keep([profile(2)])
        assert history.count() == 2


def test_a_server_that_is_away_when_it_is_opened_is_waited_for(server: Postgres) -> None:
    with server.database() as url:
        server.stop()
        with History.open(url) as history:
            with pytest.raises(HistoryAwayError):
                history.keep([profile(1)])
            server.start()
            history.keep([profile(1)])
            assert history.count() == 1


def test_a_server_that_hangs_is_away_after_the_time_that_its_address_gives(
    server: Postgres,
) -> None:
    with server.database() as url:
        server.freeze()
        try:
            with History.open(f"{url}?connect_timeout=2") as history:
                with pytest.raises(HistoryAwayError, match="timeout"):
                    history.keep([profile(1)])
                server.thaw()
                history.keep([profile(1)])
        finally:
            server.thaw()


def test_a_server_that_takes_nothing_now_is_away(server: Postgres) -> None:
    """As a stand-by is, before it becomes the first."""
    with server.database() as url, History.open(url) as history:
        history.keep([profile(1)])
        name = url.rpartition("/")[2]
        setting = sql.SQL("ALTER DATABASE {} SET default_transaction_read_only = {}")
        server.run(setting.format(sql.Identifier(name), sql.Literal("on")))
        with History.open(url) as second:
            with pytest.raises(HistoryAwayError, match="read-only"):
                second.keep([profile(2)])
            assert second.find() == [profile(1)]


def test_wrong_password_database_and_rights_are_told(server: Postgres) -> None:
    server.run(sql.SQL("CREATE ROLE reader LOGIN PASSWORD 'reads'"))
    with server.database() as url, History.open(url) as history:
        history.keep([profile(1)])
        name = url.rpartition("/")[2]
        for wrong in (
            url.replace(PASSWORD, "another"),
            url.replace(name, "no-such-database"),
        ):
            with History.open(wrong) as other, pytest.raises(HistoryError) as told:
                other.count()
            assert told.value.hint is not None
            assert "another" not in "".join(traceback.format_exception(told.value))
        reader = url.replace(f"cepheid:{PASSWORD}", "reader:reads")
        with History.open(reader) as other:
            with pytest.raises(HistoryRefusedError, match="permission denied"):
                other.count()
            server.run(sql.SQL("GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader"), name)
            assert other.find() == [profile(1)]
            with pytest.raises(HistoryRefusedError, match="permission denied"):
                other.keep([profile(2)])
    server.run(sql.SQL("DROP ROLE reader"))


def test_tables_that_somebody_took_away_are_told(server: Postgres) -> None:
    with server.database() as url, History.open(url) as history:
        history.keep([profile(1)])
        server.run(sql.SQL("DROP TABLE cepheid_jobs CASCADE"), url.rpartition("/")[2])
        with pytest.raises(HistoryRefusedError, match="cepheid_jobs"):
            history.count()


def test_a_column_that_somebody_dropped_is_told_with_the_servers_own_code(server: Postgres) -> None:
    with server.database() as url, History.open(url) as history:
        history.keep([profile(1)])
        dropped = sql.SQL("ALTER TABLE cepheid_jobs DROP COLUMN kind")
        server.run(dropped, url.rpartition("/")[2])
        with pytest.raises(HistoryRefusedError, match="42703") as told:
            history.keep([profile(2)])
        assert told.value.hint is not None


def test_a_file_that_is_none_of_ours_is_told_and_let_be(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    path.write_text("a diary, not a database. " * 200)
    with History.open(path) as history, pytest.raises(HistoryBrokenError) as told:
        history.keep([profile()])
    assert str(path) in told.value.message
    assert told.value.hint is not None
    assert path.read_text().startswith("a diary")


def test_a_file_that_was_cut_is_told(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    with History.open(path) as history:
        history.keep(profile(number) for number in range(2000))
    os.truncate(path, path.stat().st_size // 2)
    with History.open(path) as history, pytest.raises(HistoryBrokenError):
        list(history.each())


def test_a_file_that_another_holds_for_too_long_is_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_module, "BUSY_SECONDS", 0.2)
    path = tmp_path / "history.db"
    with History.open(path) as history:
        history.keep([profile(1)])
        holder = sqlite3.connect(path, isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
        with pytest.raises(HistoryAwayError, match="locked"):
            history.keep([profile(2)])
        assert history.find() == [profile(1)]
        holder.close()
        history.keep([profile(2)])
        assert history.count() == 2


def test_a_full_disk_is_told_and_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    with History.open(path) as history:
        history.keep(profile(number) for number in range(100))
    with History.open(path) as history:
        with history._database.reading() as connection:  # noqa: SLF001 - there is but one
            connection.exec_driver_sql("PRAGMA max_page_count = 1")  # no more than it has
        with pytest.raises(HistoryAwayError, match="full"):
            history.keep(profile(number) for number in range(100, 1100))
        assert history.count() == 100


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes somebody else")
def test_a_folder_that_is_not_ours_is_told(tmp_path: Path) -> None:
    program = (
        "from cepheid.history import History\n"
        f"History.open({str(tmp_path / 'no' / 'history.db')!r}).count()"
    )
    command = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    done = subprocess.run(
        [*command, sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        cwd=REPOSITORY,
    )
    assert "HistoryRefusedError" in done.stderr
    assert "Permission denied" in done.stderr
    assert "hint: " in done.stderr
