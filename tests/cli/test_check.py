"""check: what a user sees, what CI gets."""

import csv
import io
import json
from pathlib import Path

import pytest
import yaml
from msgspec.structs import replace

from cepheid.history import History
from cepheid.jobprofile import ProcessSeen
from cepheid.reports.plain import width
from tests.cli import sizing
from tests.cli.conftest import Ran, Run
from tests.unit.history.strategies import ATTACKS
from tests.unit.reports.runs import process
from tests.unit.reports.sizes import batch


@pytest.fixture
def check(cepheid: Run, tmp_path: Path) -> Run:
    path = sizing.history(tmp_path)

    def run(*arguments: str, **environment: str) -> Ran:
        return cepheid("check", *arguments, "--history", path, **environment)

    return run


def test_only_violations_are_shown_and_counted(check: Run) -> None:
    result = check("--run", "oom")
    title, *rows = result.stdout.splitlines()
    titles = ["JOB", "WORKER", "RESOURCE", "ASKED", "PEAK", "DIFFERENCE", "VERDICT"]
    assert title.split() == titles
    assert rows[0].split()[:7] == ["oom-0", "etl-0-x", "memory", "16", "GiB", "15.9", "GiB"]
    assert rows[0].endswith("killed at the limit")
    assert len(rows) == 1
    assert result.stderr == "1 finding in 3 jobs. hint: cepheid rightsize --run oom\n"
    assert result.returncode == 0


def test_all_shows_what_fits_too(check: Run) -> None:
    assert check("--run", "honest").stdout == ""
    result = check("--run", "honest", "--all")
    assert len(result.stdout.splitlines()) == 1 + 3 * 3
    assert "fits" in result.stdout
    assert result.stderr == "no finding in 3 jobs\n"


def test_every_job_gets_its_own_verdict_and_the_honest_ones_none(check: Run) -> None:
    rows = json.loads(check("--output", "json").stdout)
    found = {(row["job"].rpartition("-")[0], row["resource"], row["verdict"]) for row in rows}
    assert found == {
        ("bert-nightly", "memory", "too much"),
        ("bert-nightly", "CPU", "too much"),
        ("oom", "memory", "killed at the limit"),
        ("idle", "GPU", "not used"),
    }


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--fail-on", "violations"], 1),
        (["--fail-on", "violations", "--run", "honest"], 0),
        (["--fail-on", "violations", "--run", "honest", "--all"], 0),
        (["--fail-on", "odd"], 2),
        ([], 0),
    ],
)
def test_the_exit_code_is_for_ci(check: Run, arguments: list[str], code: int) -> None:
    assert check(*arguments).returncode == code


@pytest.mark.parametrize(
    ("arguments", "count"),
    [
        (["--job", "idle-1"], 1),
        (["--job", "idle", "--job", "honest"], 6),
        (["--job", "*nightly*"], 4),
        (["--job", "nobody"], 0),
        (["--name", "idle-*"], 3),
        (["--kind", "MPIJob"], 4),
        (["--run", "oom000001"], 1),
        (["--run", "idle-2"], 1),
    ],
)
def test_jobs_are_chosen(check: Run, arguments: list[str], count: int) -> None:
    said = check(*arguments).stderr
    assert (said == "no job fits\n") if not count else f"in {count} job" in said


def test_a_run_is_checked_with_its_tasks(cepheid: Run, tmp_path: Path) -> None:
    whole = process(0, name="sweep", uid="feed" * 8)
    seen = whole.process
    assert isinstance(seen, ProcessSeen)
    task = process(1, name="task", process=replace(seen, parent=whole.job.uid))
    with History.open(tmp_path / "a.db") as history:
        history.keep([whole, task, process(2)])
    result = cepheid("check", "--run", "feedfeed", "--history", tmp_path / "a.db")
    assert result.stderr == "no finding in 2 jobs\n"


def test_every_form_holds_the_same(check: Run) -> None:
    first = json.loads(check("--output", "json").stdout)
    assert yaml.safe_load(check("--output", "yaml").stdout) == first
    rows = list(csv.DictReader(io.StringIO(check("--output", "csv").stdout)))
    assert [row["job"] for row in rows] == [row["job"] for row in first]
    assert list(rows[0]) == list(first[0])


def test_at_80_columns_without_colour(check: Run) -> None:
    result = check("--all", FORCE_COLOR="1", TERM="xterm-256color")
    assert "\x1b" not in result.stdout
    assert max(width(line) for line in result.stdout.splitlines()) <= 80


def test_names_of_users_are_not_obeyed(cepheid: Run, tmp_path: Path) -> None:
    with History.open(tmp_path / "a.db") as history:
        history.keep(
            sizing.of_series(f"{place}{name}"[:200], batch(gib=1.0), place)
            for place, name in enumerate(ATTACKS)
        )
    for form in ("table", "json", "csv", "yaml"):
        result = cepheid("check", "--output", form, "--history", tmp_path / "a.db")
        assert result.returncode == 0
        assert all(line.isprintable() for line in result.stdout.split("\n"))


def test_an_unknown_run_and_an_empty_history_say_what_to_do(check: Run, cepheid: Run) -> None:
    assert "hint: " in check("--run", "nobody").stderr
    assert check("--run", "nobody").returncode == 1
    assert "cepheid run" in cepheid("check").stderr
