"""What `pip install .` gives: both packages and the command."""

import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from tests import REPOSITORY

PACKAGES = {
    "cepheid": REPOSITORY / "profiler/cepheid",
    "cepheid_operator": REPOSITORY / "operator/cepheid_operator",
}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel"]
    subprocess.run([*command, "--directory", str(folder)], cwd=REPOSITORY, check=True)
    (built,) = folder.iterdir()
    return built


@pytest.fixture(scope="module")
def fresh_environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new environment with the wheel, which borrows the locked dependencies of this one.

    Borrowed by a .pth file, whose own .pth files are not followed: so the editable install of
    this environment stays out of it.
    """
    root = tmp_path_factory.mktemp("environment")
    venv.create(root, with_pip=False)
    (site_packages,) = root.glob("lib/python*/site-packages")
    (site_packages / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    pip = [sys.executable, "-m", "pip", "--python", str(root / "bin/python")]
    subprocess.run([*pip, "install", "--no-deps", "--no-index", str(wheel)], check=True)
    return root


def test_the_wheel_holds_every_file_of_both_packages_and_nothing_else(wheel: Path) -> None:
    files = {
        f"{name}/{path.relative_to(folder)}"
        for name, folder in PACKAGES.items()
        for path in folder.rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    packed = set(zipfile.ZipFile(wheel).namelist())
    assert {name for name in packed if ".dist-info/" not in name} == files
    assert {"cepheid/py.typed", "cepheid_operator/py.typed"} <= packed


def test_the_wheel_carries_the_license(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (license_file,) = (n for n in archive.namelist() if n.endswith("licenses/LICENSE"))
        assert archive.read(license_file) == (REPOSITORY / "LICENSE").read_bytes()


def test_an_install_of_the_wheel_has_both_packages(fresh_environment: Path) -> None:
    program = "import cepheid, cepheid_operator; print(cepheid.__file__, cepheid_operator.__file__)"
    python = fresh_environment / "bin/python"
    shown = subprocess.run(
        [python, "-I", "-c", program], cwd="/", check=True, capture_output=True, text=True
    )
    places = [Path(place) for place in shown.stdout.split()]
    assert all(fresh_environment in place.parents for place in places)


def test_an_install_of_the_wheel_has_the_command(fresh_environment: Path, wheel: Path) -> None:
    command = fresh_environment / "bin/cepheid"
    shown = subprocess.run(
        [command, "--version"], cwd="/", check=True, capture_output=True, text=True
    )
    version = wheel.name.split("-")[1]
    assert shown.stdout == f"cepheid {version}\n"
