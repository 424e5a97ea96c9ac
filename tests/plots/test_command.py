"""`cepheid plot`, as it is typed."""

import os
from pathlib import Path

import pytest

from cepheid.history import History
from tests.plots import jobs
from tests.plots.looking import plot


def names(printed: str) -> list[str]:
    return [Path(line).name for line in printed.splitlines()]


def test_of_one_job_there_is_a_time_line_and_its_path_is_printed(
    history: Path, tmp_path: Path
) -> None:
    done = plot(history, jobs.uid(1)[:6], "-o", tmp_path / "new" / "folder")
    assert (done.returncode, done.stderr) == (0, "")
    assert names(done.stdout) == [f"timeline-train.py-{jobs.uid(1)[:8]}.html"]
    assert all(Path(line).is_file() for line in done.stdout.splitlines())
    assert [path.name for path in (tmp_path / "new" / "folder").iterdir()] == names(done.stdout)


def test_of_several_there_is_all_that_compares_them(history: Path, tmp_path: Path) -> None:
    ids = ",".join([jobs.uid(1), jobs.uid(3)])
    done = plot(history, "nightly.py", f"--job-ids={ids}", "-o", tmp_path, "--prefix=mine-")
    one, two, three = (jobs.uid(number)[:8] for number in (10, 1, 3))
    assert names(done.stdout) == [
        f"mine-timeline-nightly.py-{one}.html",
        f"mine-waterfall-nightly.py-{one}.html",
        f"mine-timeline-train.py-{two}.html",
        f"mine-timeline-train.py-{three}.html",
        "mine-overlay.html",
        "mine-summary.html",
    ]


def test_a_job_that_is_named_twice_is_drawn_once(history: Path, tmp_path: Path) -> None:
    done = plot(history, jobs.uid(1), jobs.uid(1)[:8], "-o", tmp_path)
    assert len(done.stdout.splitlines()) == 1


def test_without_an_id_it_is_the_latest_job(history: Path, tmp_path: Path) -> None:
    with History.open(history) as kept:
        (latest,) = kept.find(limit=1)
    done = plot(history, "-o", tmp_path)
    assert latest.job.uid[:8] in done.stdout


def test_a_name_that_is_a_path_stays_in_the_folder(tmp_path: Path) -> None:
    evil = jobs.process(1, "../../../etc/passwd")
    with History.open(tmp_path / "h.db") as kept:
        kept.keep([evil])
    done = plot(tmp_path / "h.db", evil.job.uid, "-o", tmp_path / "out")
    (path,) = (Path(line) for line in done.stdout.splitlines())
    assert path.resolve().parent == (tmp_path / "out").resolve()
    assert path.name == f"timeline-etc-passwd-{jobs.uid(1)[:8]}.html"


@pytest.mark.parametrize(
    ("arguments", "code", "words", "hint"),
    [
        (["nonsense"], 1, "nonsense", "hint: "),
        (["--kind=pie", "train.py"], 2, "pie", "hint: "),
        (["--prefix=../up", "train.py"], 2, "prefix is '../up'", "-o names a folder"),
        (["--kind=waterfall", jobs.uid(2)], 1, "none of these jobs had tasks", "--kind timeline"),
        (["--kind=overlay", "nightly.py"], 1, "time series", "--granularity time-series"),
        (["-o", "/proc/nowhere", jobs.uid(1)], 1, "/proc/nowhere", "hint: name another folder"),
    ],
)
def test_what_cannot_be_drawn_is_said_with_a_hint(
    history: Path, tmp_path: Path, arguments: list[str], code: int, words: str, hint: str
) -> None:
    done = (
        plot(history, *arguments)
        if "-o" in arguments
        else plot(history, *arguments, "-o", tmp_path)
    )
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith("error: ")
    assert words in done.stderr
    assert hint in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_an_empty_history_says_what_to_do_first(tmp_path: Path) -> None:
    done = plot(tmp_path / "h.db")
    assert done.returncode == 1
    assert "cepheid run" in done.stderr


def test_a_page_replaces_the_one_of_before_and_others_may_read_it(
    history: Path, tmp_path: Path
) -> None:
    first = Path(plot(history, jobs.uid(1), "-o", tmp_path).stdout.strip())
    first.write_text("of before")
    again = Path(plot(history, jobs.uid(1), "-o", tmp_path).stdout.strip())
    assert again == first
    assert again.read_text().startswith("<!doctype html>")
    mask = os.umask(0)
    os.umask(mask)
    assert again.stat().st_mode & 0o777 == 0o666 & ~mask
    assert [path.name for path in tmp_path.iterdir()] == [again.name]
