"""The README's commands, as a person types them."""

import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests import REPOSITORY
from tests.cluster import lifecycle
from tests.cluster.layout import DEFAULT_NAME

README = (REPOSITORY / "README.md").read_text()
NAME = "readme"  # beside a demo that somebody may be looking at
SHELL = ["bash", "-e", "-o", "pipefail"]


def commands() -> list[str]:
    """Every line that follows a prompt, in order; those of the laptop are typed elsewhere."""
    typed = re.findall(r"^\$ (?!cepheid )(.+)$", README, flags=re.MULTILINE)
    return [renamed(line) for line in typed]


def renamed(command: str) -> str:
    command = re.sub(r"^make (demo|down)$", rf"make \1 NAME={NAME}", command)
    return command.replace(f"/{DEFAULT_NAME}/", f"/{NAME}/").replace(
        f"--name={DEFAULT_NAME}", f"--name={NAME}"
    )


def environment() -> dict[str, str]:
    """As from a prompt: under `make test` the make in it would take itself for a part of that."""
    return {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}


def type_in(lines: list[str]) -> str:
    """What a shell prints that is given these lines; it ends at the first that fails."""
    done = subprocess.run(
        SHELL,
        input="\n".join(lines),
        cwd=REPOSITORY,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert done.returncode == 0, f"{lines}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@dataclass(frozen=True)
class Running:
    """A command that takes minutes."""

    process: subprocess.Popen[str]
    output: Path
    talk: Path

    def said(self, timeout_seconds: float) -> str:
        code = self.process.wait(timeout_seconds)
        assert code == 0, f"{self.output.read_text()}\n{self.talk.read_text()}"
        return self.output.read_text()


@contextmanager
def demo(folder: Path) -> Iterator[Running]:
    """`make demo`, which goes on meanwhile; at the end nothing of it is left."""
    lifecycle.down(NAME)
    output, talk = folder / "output", folder / "talk"
    try:
        with (
            output.open("w") as stdout,
            talk.open("w") as stderr,
            subprocess.Popen(
                [*SHELL, "-c", commands()[0]],
                cwd=REPOSITORY,
                env=environment(),
                stdout=stdout,
                stderr=stderr,
                text=True,
            ) as process,
        ):
            try:
                yield Running(process, output, talk)
            finally:
                process.kill()
    finally:
        lifecycle.down(NAME)
