"""What the README types on a laptop, typed by a shell in a folder of its own."""

import os
import re
import shutil
import subprocess
import sysconfig
from pathlib import Path

from tests import REPOSITORY

README = (REPOSITORY / "README.md").read_text()
LAPTOP = README.partition("### Without a cluster\n")[2].partition("\n### ")[0]
SAMPLE = REPOSITORY / "tests/samples/train.py"


def typed(command: str, folder: Path) -> tuple[str, str]:
    """What it prints, and what it says."""
    path = f"{sysconfig.get_path('scripts')}{os.pathsep}{os.environ['PATH']}"
    own = {"XDG_DATA_HOME": str(folder / "data"), "XDG_STATE_HOME": str(folder / "state")}
    done = subprocess.run(
        ["bash", "-e", "-c", command],
        cwd=folder,
        env={**os.environ, "PATH": path, **own},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout, done.stderr


def test_the_commands_for_a_laptop_do_what_the_readme_shows(tmp_path: Path) -> None:
    shutil.copy(SAMPLE, tmp_path)
    run, jobs, job, plot = re.findall(r"^\$ (cepheid .+)$", LAPTOP, flags=re.MULTILINE)
    printed, said = typed(run, tmp_path)
    assert printed.startswith("step 1 of 10, 160 MiB\n")
    took, *_ = said.splitlines()
    found = re.fullmatch(r"cepheid: train\.py took .+ cores, .+ MiB at most \(job (\w+)\)", took)
    assert found is not None, said
    table, _ = typed(jobs, tmp_path)
    assert re.search(rf"(?m)^{found[1]} .* success ", table)
    story, _ = typed(job, tmp_path)
    assert story.startswith("train.py succeeded in ")
    page, _ = typed(plot, tmp_path)
    assert page == f"pages/timeline-train.py-{found[1]}.html\n"
    assert (tmp_path / page.strip()).stat().st_size > 10**6
