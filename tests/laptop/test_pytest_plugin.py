"""`pytest --cepheid`, in a pytest of its own."""

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

TESTS = """
import time
kept = []

def test_quick():
    pass

def test_slow():
    time.sleep(0.3)

def test_busy():
    end = time.process_time() + 0.5
    while time.process_time() < end:
        pass

def test_hungry():
    block = bytearray(64 << 20)
    for at in range(0, len(block), 4096):
        block[at] = 1
    kept.append(block)

def test_failing():
    time.sleep(0.1)
    assert False
"""


def pytest_run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_some.py").write_text(textwrap.dedent(TESTS))
    return subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            *arguments,
            "test_some.py",
        ],
        cwd=folder,
        check=False,
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize("more", [[], ["--numprocesses=2"]], ids=["alone", "xdist"])
def test_the_slowest_and_the_hungriest_are_shown(tmp_path: Path, more: list[str]) -> None:
    ran = pytest_run(tmp_path, "--cepheid", *more)
    assert ran.returncode == 1
    lines = ran.stdout.splitlines()
    (slowest,) = (at for at, line in enumerate(lines) if line.startswith("slowest"))
    named = [line.rpartition("::")[2] for line in lines[slowest + 2 :]]
    assert {"test_busy", "test_slow", "test_failing"} <= set(named)
    (hungriest,) = (at for at, line in enumerate(lines) if line.startswith("hungriest"))
    assert lines[hungriest + 1].endswith("test_hungry")
    assert float(lines[hungriest + 1].split()[0]) == pytest.approx(64, abs=8)
    assert "of 5 tests" in lines[slowest]


def test_as_many_as_were_asked_for(tmp_path: Path) -> None:
    assert "slowest 1 of 5 tests" in pytest_run(tmp_path, "--cepheid", "--cepheid-top=1").stdout


def test_without_the_option_nothing_is_said_and_nothing_heavy_loaded(tmp_path: Path) -> None:
    assert "slowest" not in pytest_run(tmp_path).stdout
    show = "import sys, cepheid.laptop.pytest_plugin; print('numpy' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", show], check=True, capture_output=True, text=True)
    assert ran.stdout == "False\n"
