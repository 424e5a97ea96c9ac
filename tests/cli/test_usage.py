"""`cepheid usage`, from the command line to its figures."""

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from cepheid.history import History
from cepheid.jobprofile import JobProfile, Outcome
from tests.cli.conftest import Run
from tests.unit.reports.runs import pod_job, process

HOUR = timedelta(hours=1)


def ran(number: int, begin: datetime, length: timedelta, **others: Any) -> JobProfile:
    made = pod_job(0, uid=f"{number:08x}-0000-4000-8000-{number:012d}")
    return replace(
        made,
        started=begin,
        ended=begin + length,
        duration_seconds=length.total_seconds(),
        **others,
    )


@pytest.fixture
def weeks(tmp_path: Path) -> Path:
    """Of 18 days: four GPUs always, and four more from nine to five."""
    path = tmp_path / "weeks.db"
    midnight = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    first = midnight - 18 * 24 * HOUR
    jobs = [ran(0, first, 19 * 24 * HOUR, user="ann")]
    for day in range(18):
        begin = first + (24 * day + 9) * HOUR
        jobs.append(ran(1 + day, begin, 8 * HOUR, user="ben", outcome=Outcome.FAILED))
    History.open(path).keep(jobs)
    return path


def test_each_user_has_what_was_held_used_and_wasted(full: Run) -> None:
    result = full("usage")
    assert (result.returncode, result.stderr) == (0, "")
    title, first, second, total = result.stdout.splitlines()
    assert title.split()[:7] == ["USER", "JOBS", "HELD", "h", "USED", "h", "WASTED"]
    assert first.split()[:5] == ["lin", "1", "8.93", "8.13", "0.8"]
    assert second.split()[0] == "ann"
    assert total.split()[:2] == ["(all)", "8"]
    assert all(len(line) <= 80 for line in result.stdout.splitlines())


@pytest.mark.parametrize("group", ["user", "namespace", "hour", "weekday", "node", "gpu-model"])
def test_every_group_adds_up_to_the_same(full: Run, group: str) -> None:
    rows = json.loads(full("usage", "--by", group, "--utc", "-o", "json").stdout)
    held = sum(row["gpu_hours_held"] or 0 for row in rows)
    seconds = 4 * 8040 + sum(700 + 7 * number for number in range(6))
    assert held == pytest.approx(seconds / 3600)
    assert full("usage", "--by", group, "-o", "csv").stdout.startswith("group,jobs,gpu_hours_held")


@pytest.fixture
def in_kolkata(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "Asia/Kolkata")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("in_kolkata")
def test_the_zone_is_said_and_decides(full: Run) -> None:
    """From 23:46 to 2:00 in UTC."""
    asked = ("usage", "--by", "hour", "--kind", "MPIJob")
    there = full(*asked)
    assert [line[:5] for line in there.stdout.splitlines()[1:-1]] == ["05:00", "06:00", "07:00"]
    assert "those of IST" in there.stderr
    utc = full(*asked, "--utc")
    assert [line[:5] for line in utc.stdout.splitlines()[1:-1]] == ["00:00", "01:00", "23:00"]
    assert "those of UTC" in utc.stderr


def test_money_takes_a_price_list(full: Run, tmp_path: Path) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text("{A100-80: 2, currency: EUR}")
    result = full("usage", "--prices", prices)
    assert "COST EUR" in result.stdout.splitlines()[0]
    assert "17.87" in result.stdout
    assert "no price for NVIDIA GeForce RTX 3090" in result.stderr


def test_since_cuts_a_job_off_there(full: Run) -> None:
    asked = ("usage", "-o", "json", "--kind", "MPIJob")
    (row,) = json.loads(full(*asked, "--since", "2026-03-01T01:00").stdout)
    assert row["gpu_hours_held"] == pytest.approx(4.0)
    (row,) = json.loads(
        full(*asked, "--since", "2026-03-01T01:00", "--until", "2026-03-01T01:30").stdout
    )
    assert row["gpu_hours_held"] == pytest.approx(2.0)


def test_a_running_job_counts_up_to_now_whenever_it_was_looked_at(
    cepheid: Run, tmp_path: Path
) -> None:
    now = datetime.now(UTC)
    running = process(
        0, started=now - 3 * HOUR, ended=None, outcome=Outcome.RUNNING, duration_seconds=60.0
    )
    future = process(1, started=now + 9 * HOUR, ended=now + 10 * HOUR)
    History.open(tmp_path / "h.db").keep([running, future])
    result = cepheid("usage", "--history", tmp_path / "h.db", "--since", "2h", "-o", "json")
    (row,) = json.loads(result.stdout)
    assert row["gpu_hours_held"] == pytest.approx(2.0, abs=0.01)
    assert "1 job of them still running" in result.stderr
    assert "clock in the future, or ten years back: 1 job" in result.stderr


def test_the_heat_map_is_a_picture_and_168_cells(cepheid: Run, weeks: Path) -> None:
    result = cepheid("usage", "--history", weeks, "--heatmap", "--utc")
    title, hours, monday, *_ = result.stdout.splitlines()
    assert title == "GPUs held on average"
    assert monday.split() == ["Mon"] + ["4"] * 9 + ["8"] * 8 + ["4"] * 7
    assert len(hours) <= 80
    found = json.loads(
        cepheid("usage", "--history", weeks, "--heatmap", "--utc", "-o", "json").stdout
    )
    assert (found["zone"], len(found["heatmap"])) == ("UTC", 168)
    assert found["heatmap"][10]["gpus_held_mean"] == pytest.approx(8.0)
    sheet = cepheid("usage", "--history", weeks, "--heatmap", "-o", "csv").stdout.splitlines()
    assert (len(sheet), sheet[0].split(",")[:2]) == (169, ["weekday", "hour"])


def test_the_forecast_says_when_gpus_run_out_and_what_it_is_worth(
    cepheid: Run, weeks: Path
) -> None:
    asked = ("usage", "--history", weeks, "--forecast", "3d", "--utc")
    result = cepheid(*asked)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("GPUs run out on ")
    assert "all 8 GPUs (the most that were ever held" in " ".join(result.stdout.split())
    assert "it was wrong by" in " ".join(result.stdout.split())
    enough = cepheid(*asked, "--gpus", "100").stdout
    assert enough.startswith("GPUs do not run out within 3 d")
    found = json.loads(cepheid(*asked, "--by", "user", "-o", "json", "--gpus", "100").stdout)
    assert [row["group"] for row in found["usage"]] == ["ann", "ben"]
    ahead = found["forecast"]
    assert (len(ahead["hours"]), ahead["gpus"], ahead["gpus_told_by"]) == (72, 100, "--gpus")
    assert ahead["runs_out_expected"] is None
    assert ahead["tested"]["cuts"] >= 3
    assert ahead["tested"]["mean_error_gpus"] < 0.5


def test_too_short_a_history_is_no_forecast_and_no_error(full: Run) -> None:
    result = full("usage", "--forecast", "7d", "--since", "1h")
    assert result.returncode == 0
    assert "There is no forecast: it takes 16 d of history, and there are none" in result.stdout
    document = json.loads(full("usage", "--forecast", "7d", "--since", "1h", "-o", "json").stdout)
    assert (document["forecast"]["method"], document["forecast"]["needed_hours"]) == (None, 384)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (("--forecast", "soon"), "from 1h to 4w"),
        (("--forecast", "9w"), "from 1h to 4w"),
        (("--gpus", "4"), "--forecast 7d"),
        (("--by", "user", "--heatmap", "-o", "csv"), "alone"),
        (("--by", "moon"), "cepheid --help"),
    ],
)
def test_wrong_use_exits_2_with_a_hint(full: Run, wrong: tuple[str, ...], words: str) -> None:
    result = full("usage", *wrong)
    assert (result.returncode, result.stdout) == (2, "")
    assert words in result.stderr


def test_without_jobs_it_says_so(full: Run, cepheid: Run, tmp_path: Path) -> None:
    result = full("usage", "--user", "nobody")
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "no job fits\n")
    empty = cepheid("usage", "--history", tmp_path / "none.db")
    assert (empty.returncode, "hint: " in empty.stderr) == (1, True)
