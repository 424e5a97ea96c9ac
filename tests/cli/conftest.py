"""A command line, run to its end, with a home of the test's own.

In this process: a hundred starts of Python would take longer than all that is tested here. How the
program itself starts is in test_program.
"""

import io
import os
import sys
import sysconfig
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from cepheid.cli.app import app, run
from cepheid.history import History
from tests.unit.reports.runs import pod_job, process, series

SCRIPTS = Path(sysconfig.get_path("scripts"))
INHERITED = ("PATH", "LANG", "TMPDIR", "PYTEST_CURRENT_TEST")
"""Of our own environment: no setting of the developer's gets in."""


@dataclass(frozen=True)
class Ran:
    returncode: int
    stdout: str
    stderr: str


Run = Callable[..., Ran]


@pytest.fixture
def cepheid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    def command(
        *arguments: str | Path, program: str = "cepheid", stdin: str = "", **environment: str
    ) -> Ran:
        with monkeypatch.context() as patch:
            for name in set(os.environ) - {*INHERITED}:
                patch.delenv(name)
            for name, value in {"HOME": str(tmp_path), "COLUMNS": "80", **environment}.items():
                patch.setenv(name, value)
            patch.setattr(sys, "argv", [program, *map(str, arguments)])
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
            capsys.readouterr()
            code = run(app, [str(argument) for argument in arguments])
            said = capsys.readouterr()
        return Ran(code, said.out, said.err)

    return command


@pytest.fixture
def kept(tmp_path: Path) -> History:
    """The laptop's own history, with six runs of train.py, one other, and a cluster's job."""
    history = History.open(tmp_path / ".local/share/cepheid/history.db")
    runs = [process(number, seconds=700.0 + 7 * number) for number in range(6)]
    history.keep([*runs, process(9, name="etl.sh", gpus=(), gpu_count=0), pod_job(10)])
    history.keep_series(runs[0].job.uid, series())
    return history


@pytest.fixture
def full(cepheid: Run, kept: History) -> Run:
    """The command, on a machine that has that history."""
    assert kept.count()
    return cepheid
