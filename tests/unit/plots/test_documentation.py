"""docs/plots.md knows every kind of page, every option and every picture."""

import re
import subprocess
import sysconfig
from pathlib import Path

from cepheid.plots.kinds import Kind
from tests import REPOSITORY

TEXT = (REPOSITORY / "docs/plots.md").read_text()


def test_every_kind_of_page_is_in_the_table() -> None:
    assert all(f"| `{kind}` |" in TEXT for kind in Kind)


def test_every_option_is_documented() -> None:
    command = Path(sysconfig.get_path("scripts")) / "cepheid"
    shown = subprocess.run([command, "plot", "--help"], check=True, capture_output=True, text=True)
    options = set(re.findall(r"--[a-z-]+", shown.stdout)) - {"--help"}
    assert options
    assert not {option for option in options if f"`{option}" not in TEXT}


def test_every_picture_is_there() -> None:
    pictures = re.findall(r"\]\(\.\./(images/[a-z-]+\.png)\)", TEXT)
    assert len(pictures) == 5
    assert all((REPOSITORY / picture).is_file() for picture in pictures)
