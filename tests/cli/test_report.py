"""`cepheid report`, from the command line to its file."""

from pathlib import Path

import pytest

from tests.cli.conftest import Run


def test_a_page_is_written_and_its_path_printed(full: Run, tmp_path: Path) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text("{currency: EUR, A100-80: 3.2, gpuHour: 0.5}")
    path = tmp_path / "pages/fleet.html"
    made = full("report", "-o", path, "--since", "2020-01-01", "--prices", prices)
    assert (made.returncode, made.stdout, made.stderr) == (0, f"{path}\n", "")
    text = path.read_text()
    assert "GPUs from 2020-01-01" in text
    assert "EUR" in text


def test_an_empty_history_is_said_on_the_page(cepheid: Run, kept: object, tmp_path: Path) -> None:
    assert kept
    path = tmp_path / "fleet.html"
    assert cepheid("report", "-o", path, "--since", "1min").returncode == 0
    assert "No job ran in this time." in path.read_text()


@pytest.mark.parametrize(
    "arguments",
    [["-o", "fleet.pdf"], ["--since", "2999-01-01"], ["--since", "soon"]],
    ids=" ".join,
)
def test_wrong_use_exits_2_with_a_hint_and_writes_nothing(
    full: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    wrong = full("report", *arguments)
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "hint: " in wrong.stderr
    assert not list(tmp_path.glob("fleet.*"))


def test_a_folder_that_cannot_be_written_is_said(full: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    wrong = full("report", "-o", tmp_path / "file/fleet.html")
    assert wrong.returncode == 1
    assert "no page can be written to" in wrong.stderr
