"""`cepheid hogs`: what a user sees, and what a program gets."""

import csv
import io
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml
from msgspec.structs import replace

from cepheid.history import History
from cepheid.jobprofile import JobProfile
from cepheid.reports.contention.hogs import EXEMPT
from cepheid.reports.plain import width
from tests.cli.conftest import Run
from tests.unit.history.strategies import ATTACKS
from tests.unit.reports.contended import idle, ran, waits

SINCE = ("--since", "2026-03-01")


def jobs() -> list[JobProfile]:
    """lin's GPUs are idle while ben waits, mei's are busy and nobody wants them."""
    return [
        idle(ran("lin", 8, 14, gpus=8, name="notebook-7"), percent=4.0),
        ran("ben", 14, 15, gpus=4, made=10),
        ran("mei", 8, 14, gpus=4, node="gpu-b", name="render"),
    ]


@pytest.fixture
def busy(cepheid: Run, tmp_path: Path) -> Run:
    keep(tmp_path, jobs())
    return cepheid


def keep(folder: Path, profiles: list[JobProfile]) -> None:
    History.open(folder / ".local/share/cepheid/history.db").keep(profiles)


def test_a_hog_is_named_with_what_it_holds_while_who_waited_and_what_to_do(busy: Run) -> None:
    result = busy("hogs", *SINCE)
    assert result.returncode == 0
    title, row, gap, *told = result.stdout.splitlines()
    assert title.split() == ["USER", "HOLDS", "USED", "FOR", "WAITED", "WHY"]
    assert row.split("  ")[0] == "lin"
    for words in ("8 x A100-80", "4 %", "6h", "1 job of 1 user, 4h", "idle GPUs"):
        assert words in row
    assert gap == ""
    assert " ".join(told).startswith("lin: notebook-7 holds 8 GPUs and used 4 % of them.")
    assert result.stderr == ("1 hog. 1 heavy user was left out: nobody waited for what it used.\n")
    assert max(width(line) for line in result.stdout.splitlines()) <= 80


def test_without_contention_the_same_jobs_are_no_hogs(cepheid: Run, tmp_path: Path) -> None:
    keep(tmp_path, [job for job in jobs() if job.user != "ben"])
    result = cepheid("hogs", *SINCE, "--fail-on", "hogs")
    assert (result.returncode, result.stdout) == (0, "")
    assert result.stderr == (
        "0 hogs. 2 heavy users were left out: nobody waited for what they used.\n"
    )


def test_it_fails_on_hogs_only_where_asked_to(busy: Run) -> None:
    assert busy("hogs", *SINCE, "--fail-on", "hogs").returncode == 1
    assert busy("hogs", *SINCE).returncode == 0
    assert busy("hogs", *SINCE, "--fail-on", "hogs", "--least", "5h").returncode == 0


def test_every_form_holds_every_field(busy: Run) -> None:
    first = json.loads(busy("hogs", *SINCE, "-o", "json").stdout)
    assert [(row["who"], row["verdict"], row["waiting_jobs"]) for row in first] == [
        ("lin", "hog", 1)
    ]
    assert yaml.safe_load(busy("hogs", *SINCE, "-o", "yaml").stdout) == first
    (row,) = csv.DictReader(io.StringIO(busy("hogs", *SINCE, "-o", "csv").stdout))
    assert list(row) == list(first[0])
    assert float(row["excess_hours"]) == first[0]["excess_hours"] == 32.0


def test_all_shows_who_is_exempt_and_whom_nobody_waited_for(cepheid: Run, tmp_path: Path) -> None:
    first, *others = jobs()
    keep(tmp_path, [replace(first, labels=dict([EXEMPT])), *others])
    assert json.loads(cepheid("hogs", *SINCE, "-o", "json").stdout) == []
    result = cepheid("hogs", *SINCE, "--all", "-o", "json")
    rows = json.loads(result.stdout)
    assert {row["who"]: row["verdict"] for row in rows} == {"lin": "exempt", "mei": "nobody waited"}
    assert "1 other exempt" in result.stderr
    assert "nobody" in cepheid("hogs", *SINCE, "--all").stdout


@pytest.mark.parametrize(("label", "count"), [("team=infra", 0), ("team=other", 1)])
def test_labels_of_ones_own_exempt_too(
    cepheid: Run, tmp_path: Path, label: str, count: int
) -> None:
    first, *others = jobs()
    keep(tmp_path, [replace(first, labels={"team": "infra"}), *others])
    result = cepheid("hogs", *SINCE, "--exempt", "a=b", "--exempt", label, "-o", "json")
    assert len(json.loads(result.stdout)) == count


@pytest.mark.parametrize(
    ("by", "who"), [("user", "lin"), ("namespace", "lab"), ("job", "lab/notebook-7")]
)
def test_who_is_held_to_account_is_chosen(cepheid: Run, tmp_path: Path, by: str, who: str) -> None:
    first, waiter, *_ = jobs()
    keep(tmp_path, [first, replace(waiter, job=replace(waiter.job, namespace="other"))])
    result = cepheid("hogs", *SINCE, "--by", by, "-o", "json")
    assert [row["who"] for row in json.loads(result.stdout)] == [who]
    assert cepheid("hogs", *SINCE, "--by", by).stdout.startswith(by.upper())


def test_what_still_runs_is_seen_however_long_ago_it_began(cepheid: Run, tmp_path: Path) -> None:
    now = datetime.now(UTC)
    began = now - timedelta(days=3)
    holder = idle(ran("lin", 8, None, gpus=8))
    waiter = waits("ben", 8, gpus=4)
    keep(
        tmp_path,
        [replace(holder, created=began, started=began), replace(waiter, created=began)],
    )
    (row,) = json.loads(cepheid("hogs", "-o", "json").stdout)
    assert row["who"] == "lin"
    assert row["waited_seconds"] == pytest.approx(86_400, abs=60)


def test_an_empty_time_and_an_empty_history_say_what_to_do(cepheid: Run, tmp_path: Path) -> None:
    first = cepheid("hogs")
    assert (first.stdout, "cepheid run" in first.stderr) == ("", True)
    keep(tmp_path, jobs())
    later = cepheid("hogs", "--since", "2026-04-01")
    assert (later.returncode, later.stdout) == (0, "")
    assert later.stderr.splitlines()[1].startswith("hint: ")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--since", "soon"], "--since is 'soon'"),
        (["--since", "2999-01-01"], "is not in the past"),
        (["--least", "long"], "--least is 'long'"),
        (["--exempt", "team"], "--exempt is 'team'"),
        (["--by", "colour"], "'--by'"),
        (["--fail-on", "all"], "'--fail-on'"),
    ],
)
def test_wrong_use_exits_2_with_a_hint(busy: Run, given: list[str], said: str) -> None:
    result = busy("hogs", *given)
    assert (result.returncode, result.stdout) == (2, "")
    error, hint = result.stderr.splitlines()
    assert said in error
    assert hint.startswith("hint: ")


@pytest.mark.parametrize("attack", ATTACKS)
def test_names_do_nothing_to_a_terminal(cepheid: Run, tmp_path: Path, attack: str) -> None:
    first, *others = jobs()
    job = replace(first.job, name=attack, namespace=attack)
    keep(tmp_path, [replace(first, job=job, user=attack, series=attack), *others])
    for by in ("user", "namespace", "job"):
        result = cepheid("hogs", *SINCE, "--by", by)
        assert result.returncode == 0
        assert all(line.isprintable() for line in result.stdout.splitlines())
        assert len(json.loads(cepheid("hogs", *SINCE, "--by", by, "-o", "json").stdout)) >= 1
