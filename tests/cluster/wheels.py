"""The wheels that a lock file pins, for builds that must not, or cannot, ask PyPI."""

import sys
from pathlib import Path

from tests.cluster.cache import cached
from tests.cluster.progress import run, step

# Of the images: x86-64, and the Python of the base, which need not be the one that runs this.
PLATFORM = ("--platform=manylinux_2_28_x86_64", "--platform=manylinux2014_x86_64")
PYTHON = ("--implementation=cp", "--python-version=3.11")


def wheels(lock: Path) -> Path:
    """A folder with every wheel, checked against the lock's hashes: cached, or loaded now."""

    def make(target: Path) -> None:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--require-hashes", "--no-deps"]
        with step(f"loading the wheels of the {lock.parent.name}'s image"):
            run(
                [*pip, "--only-binary=:all:", *PLATFORM, *PYTHON]
                + [f"--requirement={lock}", f"--dest={target}"]
            )

    return cached(f"wheels-{lock.parent.name}", [lock], make)  # of each kind one is kept
