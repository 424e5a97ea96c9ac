"""The command prints its tables; what it measures is for people to read."""

import subprocess
from pathlib import Path

from tests import REPOSITORY


def bench(*variables: str) -> subprocess.CompletedProcess[str]:
    command = ["make", "--silent", "bench", *variables]
    return subprocess.run(command, capture_output=True, text=True, cwd=REPOSITORY, check=False)


def test_one_command_prints_every_table() -> None:
    run = bench("ARGS=--each=1 --rivals=1 --seconds=0.1")
    assert run.returncode == 0, run.stderr
    for words in (
        "## Cycles, synthetic",
        "## Forecasts",
        "## Cost",
        "| thresholded acf of GPU profilers |",
        "| STL + ETS",
        "| irregular bursts |",
        "| n = 20,160 |",
        "| all of cepheid.analysis |",
    ):
        assert words in run.stdout
    assert "## Cycles, recorded" not in run.stdout


def test_a_wrong_folder_is_an_error_with_a_hint(tmp_path: Path) -> None:
    run = bench(f"DATA={tmp_path}")
    assert run.returncode == 2
    assert "hint:" in run.stderr
    assert not run.stdout
