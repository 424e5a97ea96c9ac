"""The README's commands, typed one after the other as it shows them."""

import os
import re
import subprocess
from collections.abc import Iterator

import pytest

from tests import REPOSITORY
from tests.cluster import lifecycle
from tests.cluster.layout import DEFAULT_NAME

pytestmark = pytest.mark.machine

README = (REPOSITORY / "README.md").read_text()
NAME = "readme"  # beside a demo that somebody may be looking at


@pytest.fixture
def clean() -> Iterator[None]:
    lifecycle.down(NAME)
    yield
    lifecycle.down(NAME)


def commands() -> list[str]:
    """Every line that follows a prompt, in order."""
    return re.findall(r"^\$ (.+)$", README, flags=re.MULTILINE)


def renamed(command: str) -> str:
    command = re.sub(r"^make (demo|down)$", rf"make \1 NAME={NAME}", command)
    return command.replace(f"/{DEFAULT_NAME}/", f"/{NAME}/").replace(
        f"--name={DEFAULT_NAME}", f"--name={NAME}"
    )


def type_in(lines: list[str]) -> str:
    """What a shell prints that is given these lines; it ends at the first that fails."""
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail"],
        input="\n".join(lines),
        cwd=REPOSITORY,
        # As from a prompt: under `make test` the make in it would take itself for a part of that.
        env={name: value for name, value in os.environ.items() if not name.startswith("MAKE")},
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert done.returncode == 0, f"{lines}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.mark.usefixtures("clean")
def test_every_command_of_the_readme_and_of_the_demo_works_in_its_order() -> None:
    demo, *rest = [renamed(command) for command in commands()]
    assert demo == f"make demo NAME={NAME}"
    said = type_in([demo])
    for address in ("API server   https://", "Prometheus   http://", "kubeconfig   /"):
        assert address in said
    *next_ones, last = said.partition("Type next:")[2].split("\n  ")[1:]
    assert last.strip() == rest[-1] == f"make down NAME={NAME}"
    assert '"status":"success"' in type_in(next_ones)
    assert NAME in lifecycle.all_names()
    type_in(rest)
    assert NAME not in lifecycle.all_names()
