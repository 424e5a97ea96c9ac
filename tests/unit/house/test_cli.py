"""How the command speaks: data on stdout, talk on stderr, an exit code that scripts can use."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
import typer

from cepheid import __version__
from cepheid.cli.app import run
from cepheid.errors import CepheidError

COMMAND = Path(sysconfig.get_path("scripts")) / "cepheid"


def cepheid(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The installed command, in a pipe."""
    return subprocess.run(
        [COMMAND, *arguments],
        env={**os.environ, **environment},
        check=False,
        capture_output=True,
        text=True,
    )


def test_version_is_the_package_version() -> None:
    result = cepheid("--version")
    assert (result.returncode, result.stdout, result.stderr) == (0, f"cepheid {__version__}\n", "")


def test_help_goes_to_stdout() -> None:
    result = cepheid("--help")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.startswith("Usage: cepheid ")
    assert "--version" in result.stdout


def test_without_arguments_help_is_shown() -> None:
    assert cepheid().stdout == cepheid("--help").stdout


@pytest.mark.parametrize("arguments", [["--help"], ["nonsense"]])
def test_in_a_pipe_there_is_no_colour_and_no_long_line(arguments: list[str]) -> None:
    """Not even where the terminal is wide and other programs were told to use colour."""
    result = cepheid(*arguments, COLUMNS="200", FORCE_COLOR="1", TERM="xterm-256color")
    text = result.stdout + result.stderr
    assert text
    assert "\x1b" not in text
    assert max(len(line) for line in text.splitlines()) <= 80


@pytest.mark.parametrize("arguments", [["nonsense"], ["--nonsense"], ["nonsense", "--help"]])
def test_wrong_use_exits_2_with_a_hint_on_stderr(arguments: list[str]) -> None:
    result = cepheid(*arguments)
    error, hint = result.stderr.splitlines()
    assert (result.returncode, result.stdout) == (2, "")
    assert error.startswith("error: No such ")
    assert "nonsense" in error
    assert hint.startswith("hint: ")


def failing(error: Exception) -> typer.Typer:
    commands = typer.Typer()

    @commands.command()
    def fail() -> None:
        raise error

    return commands


def test_a_failure_exits_1_with_its_message_and_hint(capsys: pytest.CaptureFixture[str]) -> None:
    error = CepheidError("12 GPUs asked for, 8 are there", hint="ask for 8 or less")
    assert run(failing(error), []) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err == "error: 12 GPUs asked for, 8 are there\nhint: ask for 8 or less\n"


def test_a_failure_without_a_hint_shows_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(failing(CepheidError("the disk is full")), []) == 1
    assert capsys.readouterr().err == "error: the disk is full\n"


def test_a_bug_keeps_its_traceback() -> None:
    with pytest.raises(ZeroDivisionError):
        run(failing(ZeroDivisionError()), [])


def test_a_chosen_exit_code_is_returned() -> None:
    assert run(failing(typer.Exit(3)), []) == 3


HEAVY = {"kopf", "kubernetes", "lightkube", "numpy", "pandas", "plotly", "pydantic", "requests"}


@pytest.mark.parametrize("program", ["import cepheid", "import cepheid.cli"])
def test_an_import_loads_no_heavy_library(program: str) -> None:
    assert not HEAVY & loaded_after(program)


def test_a_command_line_loads_no_heavy_library() -> None:
    program = "from cepheid.cli.app import app, run; run(app, ['--help']); run(app, ['--version'])"
    assert not (HEAVY | {"rich"}) & loaded_after(program)


def loaded_after(program: str) -> set[str]:
    shown = subprocess.run(
        [sys.executable, "-c", f"{program}\nimport sys; print('loaded', *sys.modules)"],
        check=True,
        capture_output=True,
        text=True,
    )
    loaded = shown.stdout.splitlines()[-1].split()
    assert loaded[0] == "loaded"
    return set(loaded)
