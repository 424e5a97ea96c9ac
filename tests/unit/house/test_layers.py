"""import-linter holds the layers of the design, and really fails where they are broken."""

import os
import shutil
import subprocess
import sysconfig
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests import REPOSITORY

CEPHEID = "profiler/cepheid"
OPERATOR = "operator/cepheid_operator"


@dataclass(frozen=True)
class House:
    """A copy of both packages, to break."""

    root: Path

    def write(self, module: str, line: str) -> None:
        file = self.root / module
        file.parent.mkdir(exist_ok=True)
        with file.open("a") as text:
            text.write(f"{line}\n")

    def lint(self) -> subprocess.CompletedProcess[str]:
        path = os.pathsep.join([str(self.root / "profiler"), str(self.root / "operator")])
        return subprocess.run(
            [Path(sysconfig.get_path("scripts")) / "lint-imports", "--no-cache"],
            cwd=self.root,
            env={**os.environ, "PYTHONPATH": path, "COLUMNS": "200"},
            check=False,
            capture_output=True,
            text=True,
        )


@pytest.fixture
def house(tmp_path: Path) -> House:
    shutil.copy(REPOSITORY / "pyproject.toml", tmp_path)
    for folder in (CEPHEID, OPERATOR):
        shutil.copytree(REPOSITORY / folder, tmp_path / folder)
    return House(tmp_path)


def test_the_house_as_it_stands_keeps_every_contract(house: House) -> None:
    result = house.lint()
    assert result.returncode == 0, result.stdout
    assert " 0 broken" in result.stdout


@pytest.mark.parametrize(
    ("module", "line", "contract"),
    [
        (f"{CEPHEID}/sources/__init__.py", "import cepheid.annotations", "cepheid: layers"),
        (f"{CEPHEID}/sources/__init__.py", "import cepheid.analysis", "cepheid: layers"),
        (f"{CEPHEID}/agent/__init__.py", "import cepheid.cli", "cepheid: layers"),
        (f"{CEPHEID}/errors.py", "import cepheid.cli", "cepheid: layers"),
        (f"{CEPHEID}/helpers/__init__.py", "", "cepheid: layers"),
        (f"{OPERATOR}/api.py", "import cepheid_operator.handlers", "cepheid_operator: layers"),
        (f"{OPERATOR}/helpers.py", "", "cepheid_operator: layers"),
        (
            f"{CEPHEID}/cli/app.py",
            "import cepheid_operator",
            "cepheid never imports cepheid_operator",
        ),
        (f"{CEPHEID}/agent/__init__.py", "import kopf", "only cepheid_operator.handlers"),
        (f"{OPERATOR}/api.py", "import kopf", "only cepheid_operator.handlers"),
        (f"{CEPHEID}/reports/__init__.py", "import plotly.graph_objects", "only cepheid.plots"),
        (f"{CEPHEID}/analysis/period.py", "import time", "cepheid.analysis"),
        (f"{CEPHEID}/analysis/period.py", "from pathlib import Path", "cepheid.analysis"),
        (f"{CEPHEID}/analysis/period.py", "import pandas", "cepheid.analysis"),
        (f"{CEPHEID}/agent/loop.py", "import kubernetes", "what runs on every node"),
        (f"{CEPHEID}/sources/dcgm.py", "def f(): import pandas", "what runs on every node"),
    ],
)
def test_an_import_against_the_design_is_reported(
    house: House, module: str, line: str, contract: str
) -> None:
    house.write(f"{OPERATOR}/handlers.py", "import kopf")  # what others can wrongly import
    house.write(module, line)
    result = house.lint()
    broken = [text for text in result.stdout.splitlines() if " BROKEN" in text]
    assert result.returncode == 1, result.stdout
    assert any(text.startswith(contract) for text in broken), result.stdout


@pytest.mark.parametrize(
    ("module", "line"),
    [
        (f"{OPERATOR}/handlers.py", "import kopf"),
        (f"{OPERATOR}/handlers.py", "import cepheid.errors"),
        (f"{CEPHEID}/plots/page.py", "import plotly"),
        (f"{CEPHEID}/cli/app.py", "import cepheid.agent"),
        (f"{CEPHEID}/analysis/period.py", "import numpy"),
    ],
)
def test_an_import_by_the_design_is_allowed(house: House, module: str, line: str) -> None:
    house.write(module, line)
    result = house.lint()
    assert result.returncode == 0, result.stdout
