"""What was kept is there, once, whoever was killed in the middle of writing."""

import random
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from cepheid.history import History
from tests import REPOSITORY
from tests.history.writer import ADVICE, BATCH
from tests.stage.postgres import Postgres
from tests.unit.history.strategies import profile

PLENTY = 1_000_000
"""From one writer's first job to the next one's."""


@contextmanager
def writer(url: str, first: int) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "tests.history.writer", url, str(first)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=REPOSITORY) as process:
        try:
            yield process
        finally:
            process.kill()


def killed_after(url: str, first: int, seconds: float) -> list[int]:
    """The numbers of the jobs that it said were kept."""
    with writer(url, first) as process:
        assert process.stdout is not None
        said = process.stdout.readline()  # so that it is killed while it writes, not before
        time.sleep(seconds)
        process.kill()
        begun = [int(line) for line in (said + process.stdout.read()).splitlines()]
    return [number for begin in begun for number in range(begin, begin + BATCH)]


def assert_nothing_is_lost_or_doubled(url: str, kept: list[int]) -> None:
    with History.open(url) as history:
        found = [one.profile for one in history.each()]
        by_uid = {one.job.uid: one for one in found}
        assert len(by_uid) == len(found) == history.count()
        for number in kept:
            expected = profile(number, advice=ADVICE)
            assert by_uid.pop(expected.job.uid) == expected
        # At most the batch that each of the killed was at, and that whole.
        assert len(by_uid) % BATCH == 0
        # And it goes on.
        history.keep(found)
        history.keep([profile(9 * PLENTY)])
        assert history.count() == len(found) + 1


def test_a_kill_in_the_middle_of_writing_loses_no_job_and_doubles_none(url: str) -> None:
    kept: list[int] = []
    for turn in range(5):
        after_seconds = random.uniform(0, 0.3)  # noqa: S311
        kept += killed_after(url, turn * PLENTY, after_seconds)
        assert len(kept) >= BATCH
    if "://" not in url:
        with sqlite3.connect(url) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        connection.close()
    assert_nothing_is_lost_or_doubled(url, kept)


def test_two_writers_at_once_wait_for_each_other(url: str) -> None:
    with ThreadPoolExecutor() as pool:
        turns = [pool.submit(killed_after, url, turn * PLENTY, 1.0) for turn in range(2)]
        kept = [number for turn in turns for number in turn.result()]
    assert {number // PLENTY for number in kept} == {0, 1}
    assert_nothing_is_lost_or_doubled(url, kept)


def test_a_new_place_may_be_opened_by_many_at_once(url: str) -> None:
    with ThreadPoolExecutor(6) as pool:
        turns = [pool.submit(killed_after, url, turn * PLENTY, 0.0) for turn in range(6)]
        kept = [number for turn in turns for number in turn.result()]
    assert_nothing_is_lost_or_doubled(url, kept)


def test_the_same_jobs_from_two_sides_are_kept_once(url: str) -> None:
    jobs = [profile(number) for number in range(400)]
    with History.open(url) as history, ThreadPoolExecutor(4) as pool:
        shuffled = [random.sample(jobs, len(jobs)) for _ in range(8)]
        list(pool.map(history.keep, shuffled))
        assert history.find(limit=1000) == jobs[::-1]


def test_a_server_that_crashed_has_what_was_kept(postgres: Postgres) -> None:
    postgres.start()
    with postgres.database() as url:
        with writer(url, 0) as process:
            assert process.stdout is not None
            begun = [int(process.stdout.readline()) for _ in range(10)]
            postgres.crash()
            begun += [int(line) for line in process.stdout]
        postgres.start()
        kept = [number for begin in begun for number in range(begin, begin + BATCH)]
        assert_nothing_is_lost_or_doubled(url, kept)


def test_a_file_is_for_its_owners_eyes(tmp_path: Path) -> None:
    path = tmp_path / "new/folder/history.db"
    with History.open(path) as history:
        history.keep([profile()])
        for file in path.parent.iterdir():
            assert file.stat().st_mode & 0o077 == 0
    assert path.parent.stat().st_mode & 0o077 == 0
    assert [file.name for file in path.parent.iterdir()] == ["history.db"]


@pytest.mark.parametrize("by", ["age", "count"])
def test_what_was_pruned_makes_the_file_smaller(tmp_path: Path, by: str) -> None:
    path = tmp_path / "history.db"
    with History.open(path) as history:
        history.keep(profile(number, advice=ADVICE) for number in range(3000))
    full_bytes = path.stat().st_size
    with History.open(path) as history:
        if by == "age":
            history.prune(ended_before=profile(2900).ended)
        else:
            history.prune(most_each_namespace=100)
        assert history.count() == 100
    assert path.stat().st_size < full_bytes / 10
