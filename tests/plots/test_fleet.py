"""`cepheid report` in a browser: what a manager sees of the fleet."""

import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from cepheid.history import History
from cepheid.jobprofile import JobProfile, Outcome, Spread, Usage
from tests.plots.looking import COMMAND, Open
from tests.unit.reports.runs import pod_job

DAYS = 10
HOSTILE = "</script><script>alert(1)</script>"


def run(number: int, user: str, load: float | None, outcome: Outcome) -> JobProfile:
    """Four GPUs for three hours, one day after the other."""
    made = pod_job(0, uid=f"{number:08x}-0000-4000-8000-{number:012d}")
    ended = datetime.now(UTC) - timedelta(days=number % DAYS, hours=1)
    usage = None if load is None else Usage(gpu_util_percent=Spread(mean=load, max=load))
    job = replace(made.job, namespace=f"team-{user}"[:40], name=f"job-{number}")
    return replace(
        made,
        job=job,
        user=user,
        created=ended - timedelta(hours=3),
        started=ended - timedelta(hours=3),
        ended=ended,
        waited_seconds=0.0,
        duration_seconds=10_800.0,
        usage=usage,
        outcome=outcome,
    )


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fleet")
    jobs = [run(number, "ann", 90.0, Outcome.SUCCESS) for number in range(10)]
    jobs += [run(10 + number, "ben", 10.0, Outcome.FAILED) for number in range(10)]
    jobs += [run(20 + number, HOSTILE, None, Outcome.SUCCESS) for number in range(2)]
    path = folder / "history.db"
    with History.open(path) as history:
        history.keep(jobs)
    told = ["--utc", f"--history={path}", f"--output={folder / 'fleet.html'}"]
    command = [str(COMMAND), "report", *told]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stdout == f"{folder / 'fleet.html'}\n"
    return folder / "fleet.html"


@pytest.mark.parametrize("phone", [False, True], ids=["desktop", "phone, dark"])
def test_the_page_is_drawn_whole_and_silent(page: Path, opened: Open, phone: bool) -> None:
    with opened(page, phone=phone, dark=phone) as it:
        assert it.charts() == 5
        assert it.page.locator("div.chart .main-svg .cartesianlayer").count() == 5
        assert it.console == []
        assert [url for url in it.requests if not url.startswith("data:")] == [page.as_uri()]
        assert it.page.evaluate("document.documentElement.scrollWidth") <= (390 if phone else 1200)


def test_what_it_says_is_true(page: Path, opened: Open) -> None:
    with opened(page) as it:
        lead = it.page.locator("p.lead").inner_text()
        says = it.page.locator("ul.says").inner_text()
        tiles = it.page.locator("dl.tiles").inner_text().split("\n")
        rows = it.page.locator("tbody tr").all_inner_texts()
        chart = "document.getElementById('chart-1')"
        bars = it.page.evaluate(f"{chart}.data.map(t => [t.name, t.x.reduce((a, b) => a + b)])")
        names = it.page.evaluate(f"{chart}.layout.yaxis.ticktext")
        squares = it.page.evaluate("document.getElementById('chart-4').data[0].x.length")
    # 22 runs of 12 GPU hours; of those measured half were used to 90 %, half to 10 %.
    assert lead == "264 GPU hours were held, and 50 % of what was measured of them was not used."
    assert "team-ben left 108 GPU hours unused, 90 % of its own and 90 % of all" in says
    assert "120 GPU hours (45 %) went into jobs that failed." in says
    assert "Of 9 % of the hours nobody measured the load" in says
    assert {"22", "264", "120"} <= set(tiles)
    assert {name: round(hours) for name, hours in bars} == {
        "used": 120,
        "unused": 120,
        "not measured": 24,
    }
    assert len(rows) == 3
    assert any("script" in name and "<script" not in name for name in names)
    assert squares == 168
