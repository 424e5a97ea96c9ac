"""A file, asked as a history is: the same answers, and SQLAlchemy only where it is needed."""

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from msgspec.structs import replace
from sqlalchemy import update

from cepheid.cli.places import Jobs
from cepheid.errors import HistoryBrokenError, HistoryVersionError
from cepheid.history import History, Kept, Query
from cepheid.history.glance import VERSION
from cepheid.history.in_file import InFile
from cepheid.history.schema import version
from cepheid.jobprofile import Worker, to_document
from tests import REPOSITORY
from tests.unit.history.strategies import profile
from tests.unit.history.test_glance import QUERIES

MANY = tuple(Worker(name=f"pod-{number}") for number in range(20))


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("in_file") / "history.db"
    with History.open(place) as history:
        history.keep(
            (profile(number, user=["ann", "ben", None][number % 3]) for number in range(30)),
            {profile(7).job.uid: MANY},
        )
    return place


@given(QUERIES)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_is_asked_each_job_comes_as_from_the_history(path: Path, query: Query) -> None:
    with InFile(path) as kept, History.open(path) as history:
        assert list(kept.each(query)) == list(history.each(query))
        assert kept.find(query, limit=5) == history.find(query, limit=5)


def test_all_workers_of_a_large_job_come_with_it(path: Path) -> None:
    with InFile(path) as kept:
        found = {one.profile.job.uid: one.workers for one in kept.each()}
    assert found[profile(7).job.uid] == MANY


def test_without_its_workers_a_job_is_the_same_but_for_them(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    whole = replace(profile(1), workers=MANY[:8], worker_count=len(MANY))
    with History.open(path) as history:
        history.keep([whole], {whole.job.uid: MANY})
        kept: tuple[Jobs, ...] = (history, InFile(path))
        for place in kept:
            (one,) = place.each(with_workers=False)
            assert to_document(one.profile) == to_document(replace(whole, workers=()))
            assert one.workers == ()


def test_what_one_pass_cannot_tell_is_asked_of_the_history(path: Path) -> None:
    with InFile(path) as kept, History.open(path) as history:
        job = history.get(profile(7).job.uid)
        assert kept.get(job.job.uid) == job
        assert kept.workers(job.job.uid) == MANY
        assert kept.series(job.job.uid) == []
        assert kept.earlier_runs(job) == history.earlier_runs(job)


def test_one_pass_does_not_wait_for_sqlalchemy(path: Path) -> None:
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from cepheid.history.in_file import InFile\n"
        f"with InFile(Path({str(path)!r})) as kept:\n"
        "    print(sum(1 for _ in kept.each()), 'sqlalchemy' in sys.modules)\n"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=REPOSITORY)
    assert done.stdout == "30 False\n"


def test_an_older_file_is_brought_up_to_date_and_read(tmp_path: Path) -> None:
    path = tmp_path / "older.db"
    with History.open(path) as history:
        history.keep([profile(1)])
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP TABLE cepheid_acts")
        connection.execute("UPDATE cepheid_version SET version = 3")
        connection.commit()
    with InFile(path) as kept:
        assert [one.profile for one in kept.each()] == [profile(1)]


def test_a_newer_file_is_refused_in_words(tmp_path: Path) -> None:
    path = tmp_path / "newer.db"
    with History.open(path) as history:
        history.keep([profile(1)])
        with history._database.writing() as connection:  # noqa: SLF001 - as a newer Cepheid would
            connection.execute(update(version).values(version=VERSION + 1))
    with InFile(path) as kept, pytest.raises(HistoryVersionError):
        list(kept.each())


def test_a_file_that_is_broken_further_on_is_told_when_that_is_reached(tmp_path: Path) -> None:
    """Its newest jobs can be read: the pages of the oldest were overwritten."""
    path = tmp_path / "broken.db"
    with History.open(path) as history:
        history.keep(profile(number) for number in range(2000))
    size = path.stat().st_size
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    seen: list[Kept] = []
    with path.open("r+b") as file:
        file.seek(size // 4 // 4096 * 4096)
        file.write(os.urandom(size // 4))
    with InFile(path) as kept, pytest.raises(HistoryBrokenError) as told:
        seen.extend(kept.each())
    assert str(path) in told.value.message
    assert told.value.hint is not None
    assert 0 < len(seen) < 2000
