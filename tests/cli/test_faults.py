"""What no history should hold and some do: every report lives through it, and says what it can.

Each fault stands beside an honest job, of which everything is said as if it stood alone.
"""

import json
import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from cepheid.history import History
from cepheid.jobprofile import Asked, JobProfile, Usage
from cepheid.reports.plain import width
from tests.cli.conftest import Ran, Run
from tests.unit.reports.runs import pod_job

NOW = datetime.now(UTC)
HONEST, FAULTY = "honest", "faulty"
RUNS = 3
FIFTY = tuple(
    Asked(
        container=f"c{number}",
        role="Worker",
        pods=4,
        requests={"cpu": "1", "memory": "2Gi"},
        limits={"cpu": "1", "memory": "2Gi"},
    )
    for number in range(50)
)
Change = Callable[[JobProfile], JobProfile]


def _later(profile: JobProfile, by: timedelta) -> JobProfile:
    assert profile.started is not None
    assert profile.ended is not None
    return replace(
        profile,
        created=profile.created + by,
        started=profile.started + by,
        ended=profile.ended + by,
    )


def _at_once(profile: JobProfile) -> JobProfile:
    ended = profile.ended
    assert ended is not None
    return replace(profile, created=ended, started=ended, waited_seconds=0.0, duration_seconds=0.0)


def _older(profile: JobProfile) -> JobProfile:
    """Of a version that kept little more than when it ran."""
    return JobProfile(
        job=profile.job,
        series=profile.series,
        user=profile.user,
        created=profile.created,
        started=profile.started,
        ended=profile.ended,
        outcome=profile.outcome,
        usage=Usage(),
    )


FAULTS: dict[str, Change] = {
    "no requests": lambda profile: replace(
        profile, asked=(replace(profile.asked[0], requests={}, limits={"nvidia.com/gpu": "1"}),)
    ),
    "no containers": lambda profile: replace(profile, asked=()),
    "no duration": _at_once,
    "a clock in the future": lambda profile: _later(profile, timedelta(days=400)),
    "50 containers": lambda profile: replace(profile, asked=FIFTY),
    "an older version": _older,
}
REPORTS: dict[str, tuple[list[str], str]] = {
    "check": (["check", "--all"], "job"),
    "rightsize": (["rightsize"], "job"),
    "hogs": (["hogs", "--since", "30d"], "who"),
    "usage": (["usage", "--by", "user"], "group"),
    "stats": (["stats", "--by", "user"], "group"),
}
"""With the field that names the job, or its user."""


def run(name: str, number: int) -> JobProfile:
    """An hour, and a day for each number, ago."""
    made = pod_job(number, used_bytes=(30 + number) * 2.0**30, user=name, series=name)
    uid = f"{sum(name.encode()):08d}-0000-4000-8000-{number:012d}"
    made = replace(made, job=replace(made.job, name=name, uid=uid))
    assert made.ended is not None
    return _later(made, NOW - timedelta(hours=1, days=number) - made.ended)


def keep(folder: Path, *profiles: JobProfile) -> Path:
    path = folder / "kept.db"
    path.unlink(missing_ok=True)
    with History.open(path) as history:
        history.keep(profiles)
    return path


def honest() -> list[JobProfile]:
    return [run(HONEST, number) for number in range(RUNS)]


def faulty(change: Change) -> list[JobProfile]:
    return [change(run(FAULTY, number)) for number in range(RUNS)]


def rows(said: Ran, field: str, name: str) -> list[dict[str, Any]]:
    assert said.returncode == 0, said.stderr
    return [row for row in json.loads(said.stdout) if row[field] == name]


@pytest.mark.parametrize("report", REPORTS)
@pytest.mark.parametrize("fault", FAULTS)
def test_beside_a_faulty_job_the_honest_one_is_told_as_if_alone(
    cepheid: Run, tmp_path: Path, fault: str, report: str
) -> None:
    command, field = REPORTS[report]
    asked = (*command, "--output", "json", "--history")
    alone = cepheid(*asked, keep(tmp_path, *honest()))
    both = cepheid(*asked, keep(tmp_path, *honest(), *faulty(FAULTS[fault])))
    assert rows(both, field, HONEST) == rows(alone, field, HONEST)
    table = cepheid(*command, "--history", tmp_path / "kept.db")
    assert table.returncode == 0
    assert "Traceback" not in table.stderr
    assert max((width(line) for line in table.stdout.splitlines()), default=0) <= 80


@pytest.mark.parametrize("fault", FAULTS)
def test_scale_and_the_page_have_an_answer_for_a_faulty_job(
    cepheid: Run, tmp_path: Path, fault: str
) -> None:
    kept = keep(tmp_path, *honest(), *faulty(FAULTS[fault]))
    said = cepheid("scale", FAULTY, "--history", kept)
    assert said.returncode == 0, said.stderr
    assert FAULTY in said.stdout.splitlines()[0] + said.stderr
    page = tmp_path / "fleet.html"
    made = cepheid("report", "-o", page, "--since", "30d", "--history", kept)
    assert (made.returncode, made.stdout) == (0, f"{page}\n"), made.stderr
    assert HONEST in page.read_text()


def told(cepheid: Run, folder: Path, fault: str, report: str) -> list[dict[str, Any]]:
    command, field = REPORTS[report]
    kept = keep(folder, *faulty(FAULTS[fault]))
    return rows(cepheid(*command, "--output", "json", "--history", kept), field, FAULTY)


def test_who_asked_for_nothing_is_told_what_to_ask_for(cepheid: Run, tmp_path: Path) -> None:
    checked = told(cepheid, tmp_path, "no requests", "check")
    assert {row["verdict"] for row in checked if row["resource"] == "memory"} == {"nothing asked"}
    assert not any(row["verdict"].startswith("too") for row in checked)
    advised = told(cepheid, tmp_path, "no requests", "rightsize")
    asked = {row["field"]: (row["action"], row["advised_written"]) for row in advised}
    assert asked["requests.memory"] == ("add", "37Gi")
    assert asked["requests.cpu"][0] == "add"


def test_a_job_without_duration_holds_nothing(cepheid: Run, tmp_path: Path) -> None:
    (used,) = told(cepheid, tmp_path, "no duration", "usage")
    assert (used["jobs"], used["gpu_hours_held"]) == (RUNS, 0)


def test_a_clock_in_the_future_is_left_out_of_use_and_said(cepheid: Run, tmp_path: Path) -> None:
    kept = keep(tmp_path, *honest(), *faulty(FAULTS["a clock in the future"]))
    said = cepheid("usage", "--history", kept)
    assert "left out for a clock in the future, or ten years back: 3 jobs" in said.stderr
    assert FAULTY not in said.stdout
    listed = cepheid("jobs", "--history", kept, "--output", "json")
    assert sum(row["name"] == FAULTY for row in json.loads(listed.stdout)) == RUNS


def test_fifty_containers_are_checked_as_the_pod_that_they_are(
    cepheid: Run, tmp_path: Path
) -> None:
    checked = told(cepheid, tmp_path, "50 containers", "check")
    memory = [row for row in checked if row["resource"] == "memory"]
    assert {row["asked"] for row in memory} == {100 * 2.0**30}
    # 30 of them used, of 2 each: none of the fifty is told to ask for all of that.
    advised = told(cepheid, tmp_path, "50 containers", "rightsize")
    assert [row["field"] for row in advised if "memory" in row["field"]] == []


NAMES = {
    "Chinese": "训练-大模型",
    "Arabic": "تدريب-نموذج",
    "Hebrew": "אימון-מודל",
    "emoji": "\N{ROCKET}-launch-\N{HEAVY BLACK HEART}\N{VARIATION SELECTOR-16}",
    "accents": "Ame\u0301lie-e\u0301tude",
    "Hindi": "ट्रेन-मॉडल",
    "Korean": "한국어-작업",
}
LEFT = {"check": "RESOURCE", "rightsize": "FIELD", "jobs": "STATUS"}
RIGHT = {"usage": "JOBS", "stats": "JOBS"}
"""A column behind that of the names, and at which of its edges its cells stand."""


@pytest.mark.parametrize("report", [*LEFT, *RIGHT])
def test_names_of_all_scripts_leave_the_columns_where_they_are(
    cepheid: Run, tmp_path: Path, report: str
) -> None:
    runs = [run(name, number) for name in (HONEST, *NAMES.values()) for number in range(RUNS)]
    said = cepheid(report, "--history", keep(tmp_path, *runs))
    assert said.returncode == 0, said.stderr
    title, *lines = said.stdout.splitlines()
    assert {name for name in NAMES.values() if name in said.stdout} == {*NAMES.values()}
    column = LEFT.get(report) or RIGHT[report]
    begin = width(title[: title.index(f"  {column}")]) + 2
    end = width(title[: title.index(column)]) + len(column)
    for line in lines:
        cells = columns_of(line)
        assert width(line) <= 80
        if report in LEFT:
            assert (cells[begin - 2 : begin], cells[begin] == " ") == ([" ", " "], False), line
        else:
            assert (cells[end - 1] == " ", cells[end : end + 2]) == (False, [" ", " "]), line


def columns_of(line: str) -> list[str]:
    """What stands in each column of a screen: of a wide one in both, marks with what they mark."""
    cells: list[str] = []
    for one in line:
        cells += [one] * width(one)
    return cells


@pytest.mark.parametrize("report", [*REPORTS, "jobs", "report", "scale"])
def test_a_history_that_was_emptied_says_what_to_do_first(
    cepheid: Run, tmp_path: Path, report: str
) -> None:
    kept = keep(tmp_path, *honest())
    with sqlite3.connect(kept) as database:
        database.execute("DELETE FROM cepheid_jobs")
    page = ["-o", str(tmp_path / "fleet.html")] if report == "report" else []
    said = cepheid(report, *page, "--history", kept)
    assert "no job is kept yet" in said.stderr
    assert "hint: cepheid run -- COMMAND keeps the first one" in said.stderr


@pytest.mark.parametrize("report", [*REPORTS])
def test_where_jobs_are_kept_and_none_fits_that_is_said(
    cepheid: Run, tmp_path: Path, report: str
) -> None:
    kept = keep(tmp_path, *honest())
    said = cepheid(report, "--namespace", "nobody", "--history", kept)
    assert (said.returncode, said.stdout) == (0, "")
    assert said.stderr.startswith("no job fits")
