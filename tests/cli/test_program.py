"""The installed program: how it starts, what it loads, and what a shell asks it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cepheid.history import History
from tests.cli.conftest import SCRIPTS


def cepheid(home: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [SCRIPTS / "cepheid", *arguments],
        env={"PATH": os.environ["PATH"], "HOME": str(home), **environment},
        check=False,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )


def test_jobs_are_shown_in_a_pipe(kept: History, tmp_path: Path) -> None:
    shown = cepheid(tmp_path, "jobs", FORCE_COLOR="1", TERM="xterm-256color")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert len(shown.stdout.splitlines()) == 1 + kept.count()
    assert max(len(line) for line in shown.stdout.splitlines()) <= 80


def test_a_reader_that_leaves_early_breaks_nothing(kept: History) -> None:
    place = kept._database.place  # noqa: SLF001 - where the fixture put it
    shown = subprocess.run(
        ["sh", "-c", f"{SCRIPTS / 'cepheid'} jobs -o json --history {place} | head -c 1"],
        check=False,
        capture_output=True,
        text=True,
    )
    assert (shown.stdout, shown.stderr) == ("[", "")


@pytest.mark.usefixtures("kept")
def test_completion_offers_commands_and_jobs(tmp_path: Path) -> None:
    for typed, offered in (("cepheid jo", "job"), ("cepheid job tr", "train.py")):
        asked = {"COMP_WORDS": typed, "COMP_CWORD": str(typed.count(" "))}
        shown = cepheid(tmp_path, **asked, _CEPHEID_COMPLETE="complete_bash")
        assert offered in shown.stdout.splitlines()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_has_its_script(tmp_path: Path, shell: str) -> None:
    assert f"_CEPHEID_COMPLETE=complete_{shell}" in cepheid(tmp_path, "completion", shell).stdout


def test_a_list_of_jobs_loads_nothing_heavy(kept: History) -> None:
    place = kept._database.place  # noqa: SLF001
    program = (
        "import sys; from cepheid.cli.app import app, run;"
        f"run(app, ['jobs', '--history', {str(place)!r}]); print(*sys.modules)"
    )
    shown = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    loaded = set(shown.stdout.splitlines()[-1].split())
    assert not {"sqlalchemy", "numpy", "lightkube", "plotly", "rich"} & loaded


def test_what_was_run_here_is_listed_told_and_compared(tmp_path: Path) -> None:
    for _ in range(2):
        ran = cepheid(tmp_path, "run", "--granularity", "time-series", "--", "sleep", "1.5")
        assert ran.returncode == 0
    failed = cepheid(tmp_path, "run", "--", "sh", "-c", "exit 3")
    assert failed.returncode == 3
    listed = cepheid(tmp_path, "jobs", "--output", "csv").stdout.splitlines()
    assert [line.split(",")[1] for line in listed] == ["name", "sh", "sleep", "sleep"]
    told = cepheid(tmp_path, "job", "sleep").stdout
    assert told.startswith("sleep succeeded in 1.")
    assert "\N{LOWER ONE EIGHTH BLOCK}" in told
    assert cepheid(tmp_path, "job").stdout.startswith("sh failed with exit code 3")
    assert "FIGURE" in cepheid(tmp_path, "compare", "sleep").stdout
