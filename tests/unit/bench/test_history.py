"""What the benchmark of the history prints; what it measures is for people to read."""

import subprocess
import sys

from tests import REPOSITORY
from tests.bench.history import figures
from tests.bench.history.jobs import profile, profiles
from tests.bench.history.measure import Measured


def test_targets_stand_beside_what_was_reached() -> None:
    one = Measured("SQLite", 100_000, 20.0, 30.0, 12.0, 3.25, 4.0, 2_345.0, 1.5)
    text = figures.against_targets([one])
    for row in (
        "| insertion, jobs a second | >= 2,000 | 5,000 |",
        "| CPU of it, a job | - | 0.30 ms |",
        "| CPU of listing the last 50 of a user | <= 50 ms | 3.2 ms |",
        "| a record, with its share of the indexes | <= 5 KB | 2.35 KB |",
        "| a sample of a time series | - | 1.50 bytes |",
    ):
        assert row in text


def test_jobs_are_the_same_in_every_run_and_no_two_alike() -> None:
    assert list(profiles(20)) == [profile(number) for number in range(20)]
    assert len({one.job.uid for one in profiles(500)}) == 500


def test_too_few_jobs_are_an_error_with_a_hint() -> None:
    command = [sys.executable, "-m", "tests.bench.history", "--jobs=10"]
    run = subprocess.run(command, capture_output=True, text=True, cwd=REPOSITORY, check=False)
    assert run.returncode == 2
    assert "hint:" in run.stderr
    assert not run.stdout
