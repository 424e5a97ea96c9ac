"""`cepheid scale`: what a user sees, and what a program gets."""

import csv
import io
import json
from pathlib import Path

import pytest
import yaml
from msgspec.structs import replace

from cepheid.history import History
from cepheid.reports.plain import width
from tests.cli.conftest import Run
from tests.unit.jobs.test_scaling import history, run


@pytest.fixture
def scaled(cepheid: Run, tmp_path: Path) -> Run:
    """Runs of a job on 1, 2 and 4 GPUs, and one of another job, without any."""
    kept = History.open(tmp_path / ".local/share/cepheid/history.db")
    alone = run(0, 1000.0, day=9)
    kept.keep(history("compute", (1, 2, 4), 0.01))
    kept.keep([replace(alone, series="other", job=replace(alone.job, name="other", uid="other-1"))])
    return cepheid


def test_the_answer_comes_first_then_the_curve_then_what_was_not_seen(scaled: Run) -> None:
    result = scaled("scale", "j")
    assert (result.returncode, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert lines[0].startswith("Yes, twice the GPUs would help j.")
    at = lines.index("")
    assert lines[at + 1].split() == ["GPUS", "WORK", "TIMES", "90", "%", "EACH", "MEASURED"]
    assert [line.split()[0] for line in lines[at + 2 : at + 6]] == ["1", "2", "4", "8"]
    assert [line.split()[1] == "*" for line in lines[at + 2 : at + 6]] == [
        False,
        False,
        True,
        False,
    ]
    assert ["●" in line for line in lines[at + 2 : at + 6]] == [True, True, True, False]
    assert "not seen: it was never run on 8 GPUs: that is foretold" in lines
    assert max(width(line) for line in lines) <= 80


def test_programs_get_the_verdict_and_the_curve(scaled: Run) -> None:
    first = json.loads(scaled("scale", "j", "-o", "json").stdout)
    assert (first["job"], first["helps"], first["gpus"], first["counts"]) == (
        "j",
        "yes",
        4,
        [1, 2, 4],
    )
    assert [point["gpus"] for point in first["curve"]] == [1, 2, 4, 8]
    assert yaml.safe_load(scaled("scale", "j", "-o", "yaml").stdout) == first
    rows = list(csv.DictReader(io.StringIO(scaled("scale", "j", "-o", "csv").stdout)))
    assert [float(row["speedup"]) for row in rows] == [point["speedup"] for point in first["curve"]]


def test_without_a_name_it_is_the_latest_job(scaled: Run) -> None:
    result = scaled("scale")
    assert result.stdout.startswith("It is not known whether more GPUs would help other.")
    assert scaled("scale", "-o", "csv").stdout.count("\n") == 1


def test_it_fails_where_more_gpus_do_not_help(cepheid: Run, tmp_path: Path) -> None:
    kept = History.open(tmp_path / ".local/share/cepheid/history.db")
    kept.keep(history("communication", (4, 8, 16), 0.01))
    assert cepheid("scale", "j", "--fail-on", "no").returncode == 1
    assert cepheid("scale", "j").returncode == 0


def test_what_helps_does_not_fail(scaled: Run) -> None:
    assert scaled("scale", "j", "--fail-on", "no").returncode == 0


def test_unknown_jobs_and_an_empty_history_have_a_hint(scaled: Run, tmp_path: Path) -> None:
    result = scaled("scale", "nothing")
    assert (result.returncode, result.stdout) == (1, "")
    assert "hint: " in result.stderr
    empty = scaled("scale", HOME=str(tmp_path / "nobody"))
    assert "cepheid run" in empty.stderr
