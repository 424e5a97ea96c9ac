"""A machine that lacks something is told what, and what to type."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests import REPOSITORY

BOOTSTRAP = REPOSITORY / "tests/cluster/bootstrap"
NOBODY = 65534


def bootstrap(mode: str, *, prefix: tuple[str, ...] = (), **environment: str) -> str:
    """What it says on a machine on which it cannot go on."""
    done = subprocess.run(
        [*prefix, "/bin/sh", "-eu", str(BOOTSTRAP), mode],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, **environment},
        check=False,
    )
    assert done.returncode == 1, done.stderr
    error, hint = done.stderr.splitlines()
    assert error.startswith("error: ")
    assert hint.startswith("hint: ")
    return done.stderr


def test_without_root_it_says_so_and_names_the_other_way() -> None:
    become = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
    said = bootstrap("cluster", prefix=become if os.geteuid() == 0 else ())
    assert "needs root" in said
    assert "sudo make" in said
    assert "make e2e KUBECONFIG=" in said


@pytest.mark.skipif(os.geteuid() != 0, reason="without root it ends before it looks for apt-get")
def test_without_apt_get_it_lists_the_packages(tmp_path: Path) -> None:
    for program in ("id", "dirname"):
        (tmp_path / program).symlink_to(shutil.which(program) or program)
    said = bootstrap("cluster", PATH=str(tmp_path))
    assert "no apt-get" in said
    assert "mmdebstrap" in said


def test_without_a_python_that_is_new_enough_it_says_how_to_get_one(tmp_path: Path) -> None:
    old = tmp_path / "python3"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    said = bootstrap("python", PYTHON=str(old))
    assert "no Python >= 3.11" in said
    assert "apt-get install python3 python3-venv" in said
