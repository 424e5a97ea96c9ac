"""The folder operator/ must not stand in the way of the standard library's operator."""

import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests import REPOSITORY


@pytest.mark.parametrize("folder", ["operator", "profiler"])
def test_the_folder_is_not_a_package(folder: str) -> None:
    assert (REPOSITORY / folder).is_dir()
    assert not (REPOSITORY / folder / "__init__.py").exists()


@pytest.mark.parametrize("place", [REPOSITORY, Path("/")], ids=["repository", "elsewhere"])
def test_import_operator_is_the_standard_library(place: Path) -> None:
    """Imported anew: Python itself may have loaded it before our folders came onto the path."""
    program = """
import sys
sys.modules.pop("operator", None)
import cepheid, cepheid_operator, operator
print(operator.__file__)
"""
    shown = subprocess.run(
        [sys.executable, "-c", program], cwd=place, check=True, capture_output=True, text=True
    )
    assert Path(shown.stdout.strip()) == Path(sysconfig.get_path("stdlib")) / "operator.py"
