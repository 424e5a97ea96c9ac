"""requirements.lock pins all that is installed, and an agent's install stays small."""

import importlib.metadata
import re
import tomllib
from collections.abc import Iterator

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests import REPOSITORY

LOCK = (REPOSITORY / "requirements.lock").read_text()
PYPROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())
EXTRAS = PYPROJECT["project"]["optional-dependencies"]


def locked() -> dict[str, list[tuple[Requirement, int]]]:
    """Name to its pins, more than one where they differ by Python version, and their hashes."""
    pins: dict[str, list[tuple[Requirement, int]]] = {}
    for block in re.split(r"\n(?=\S)", LOCK):
        if block.startswith("#"):
            continue
        requirement = Requirement(block.split("\\")[0].strip())
        hashes = len(re.findall(r"--hash=sha256:[0-9a-f]{64}\b", block))
        pins.setdefault(canonicalize_name(requirement.name), []).append((requirement, hashes))
    return pins


def direct() -> list[Requirement]:
    groups = [
        PYPROJECT["build-system"]["requires"],
        PYPROJECT["project"]["dependencies"],
        *EXTRAS.values(),
        *PYPROJECT["dependency-groups"].values(),
    ]
    named = [Requirement(text) for group in groups for text in group]
    return [one for one in named if one.name != "cepheid"]  # one extra takes in another


@pytest.mark.parametrize("name", sorted(locked()))
def test_a_locked_requirement_is_pinned_with_hashes(name: str) -> None:
    for requirement, hashes in locked()[name]:
        assert [specifier.operator for specifier in requirement.specifier] == ["=="]
        assert hashes > 0


@pytest.mark.parametrize("requirement", direct(), ids=str)
def test_a_direct_dependency_is_in_the_lock(requirement: Requirement) -> None:
    for pin, _ in locked()[canonicalize_name(requirement.name)]:
        (specifier,) = pin.specifier
        assert specifier.version in requirement.specifier


def test_the_lock_names_no_place_to_download_from() -> None:
    """Where packages come from is the business of the machine that installs them."""
    assert "://" not in LOCK
    assert "index-url" not in LOCK


def closure(requirements: list[str]) -> Iterator[str]:
    """Every distribution that these requirements bring along, by the installed metadata."""
    waiting = [Requirement(text) for text in requirements]
    seen = set()
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        wanted = (name, frozenset(requirement.extras))
        if wanted in seen:
            continue
        seen.add(wanted)
        yield name
        for text in importlib.metadata.requires(name) or ():
            needed = Requirement(text)
            extras = requirement.extras or {""}
            if needed.marker is None or any(needed.marker.evaluate({"extra": e}) for e in extras):
                waiting.append(needed)


HEAVY = {"kopf", "kubernetes", "matplotlib", "pandas", "plotly", "pydantic", "statsmodels"}


def test_an_agent_installs_no_heavy_library() -> None:
    installed = set(closure([*PYPROJECT["project"]["dependencies"], *EXTRAS["agent"]]))
    assert {"lightkube", "numpy", "prometheus-api-client", "requests", "typer"} <= installed
    assert not HEAVY & installed
