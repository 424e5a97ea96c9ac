"""The product's images: what they are pinned to, and that their collector leaves nothing behind."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from cepheid import __version__
from tests import REPOSITORY
from tests.unit.house.test_lock import EXTRAS, PYPROJECT, closure

IMAGES = REPOSITORY / "images"
DOCKERFILE = (IMAGES / "Dockerfile").read_text()
PROCESSES = pytest.mark.parametrize("process", ["agent", "operator"])


def blocks(lock: Path) -> dict[str, set[str]]:
    """A pin, with its marker, to its hashes."""
    found = {}
    for block in re.split(r"\n(?=\S)", lock.read_text()):
        if not block.startswith("#"):
            pin = Requirement(block.split("\\")[0].strip())
            name = f"{canonicalize_name(pin.name)}{pin.specifier}"
            found[name] = set(re.findall(r"--hash=(sha256:[0-9a-f]{64})", block))
    return found


@PROCESSES
def test_an_image_has_the_versions_and_hashes_that_the_tests_run(process: str) -> None:
    everything = blocks(REPOSITORY / "requirements.lock")
    own = blocks(IMAGES / process / "requirements.lock")
    assert own
    assert {name: everything.get(name) for name in own} == own, "hint: `make lock`"


@PROCESSES
def test_an_image_has_all_that_its_process_needs_and_nothing_of_others(process: str) -> None:
    needed = set(closure([*PYPROJECT["project"]["dependencies"], *EXTRAS[process]]))
    pinned = {name.split("==")[0] for name in blocks(IMAGES / process / "requirements.lock")}
    assert needed - {"cepheid"} <= pinned, "hint: `make lock`"
    # Beyond that only what other platforms would need.
    elsewhere = {"colorama", "httpx2-jsfetch", "tzdata"}
    assert pinned - needed <= elsewhere, "hint: `make lock`"


def test_the_base_is_pinned_and_nothing_of_it_stays_but_what_is_collected() -> None:
    (default,) = re.findall(r"(?m)^ARG BASE=(\S+)$", DOCKERFILE)
    assert re.fullmatch(r"docker\.io/library/python:3\.11\.\d+-slim-bookworm", default)
    assert re.findall(r"(?m)^FROM (\S+)", DOCKERFILE) == ["${BASE}", "build", "scratch"]


def test_the_image_runs_as_a_number_that_is_not_root() -> None:
    """A name would do for Docker; the kubelet needs a number to know."""
    assert re.findall(r"(?m)^USER (\S+)$", DOCKERFILE) == ["65532:65532"]


@PROCESSES
@pytest.mark.parametrize("path", ["images/Dockerfile", "images/README.md"])
def test_the_commands_name_this_version(path: str, process: str) -> None:
    text = (REPOSITORY / path).read_text()
    assert set(re.findall(rf"localhost/cepheid/{process}:([\w.]+)", text)) == {__version__}


def test_the_collector_takes_what_runs_and_leaves_shells_and_tests(tmp_path: Path) -> None:
    packages, target = tmp_path / "packages", tmp_path / "image"
    for name in ("cepheid/__init__.py", "cepheid/cli/__init__.py", "other/tests/test_it.py"):
        path = packages / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("def main():\n    return 0\n")
    # The interpreter itself: a virtual environment has no standard library of its own.
    python = Path(sys.executable).resolve()
    subprocess.run([python, "-I", IMAGES / "collect.py", packages, target], check=True)
    files = {str(path.relative_to(target)) for path in target.rglob("*") if path.is_file()}
    assert {"usr/bin/cepheid", "etc/passwd", "opt/cepheid/cepheid/cli/__init__.py"} <= files
    assert str(python.relative_to("/")) in files
    assert any(re.search(r"/ld-linux[^/]*$", name) for name in files)
    assert any(name.endswith("/libc.so.6") for name in files)
    assert not {name for name in files if "/tests/" in name or re.search(r"/(ba|da)?sh$", name)}
    compiled = {name for name in files if name.startswith("opt/cepheid") and name.endswith(".pyc")}
    assert len(compiled) == 2
