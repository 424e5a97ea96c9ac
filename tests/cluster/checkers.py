"""The tools that read manifests and complain: kube-score, checkov, kubernetes-validate.

Apart from `binaries`, so that a new version of one does not build Kubernetes anew.
"""

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.binaries import ENVIRONMENT, VERSIONS, install_go
from tests.cluster.cache import cached
from tests.cluster.progress import run, step

KUBE_SCORE = VERSIONS / "kube-score"
PACKAGES = VERSIONS / "checkers/requirements.txt"


@dataclass(frozen=True)
class Checkers:
    kube_score: Path
    packages: Path  # a folder for PYTHONPATH

    def python(self, module: str, *arguments: str | Path) -> tuple[list[str], dict[str, str]]:
        """The command line of a Python tool, and its environment: these packages and no others."""
        command = [sys.executable, "-S", "-m", module, *map(str, arguments)]
        return command, {**os.environ, "PYTHONPATH": str(self.packages)}


def checkers() -> Checkers:
    """Cached, or made now."""
    return Checkers(cached("kube-score", [KUBE_SCORE], _build), cached("checkers", _pins(), _load))


def _pins() -> list[Path | str]:
    return [PACKAGES, f"{sys.version_info.major}.{sys.version_info.minor}"]


def _build(target: Path) -> None:
    go = install_go()
    with step("building kube-score (the first time takes about a minute)"):
        flags = ["-trimpath", "-ldflags=-s -w"]
        env = {**os.environ, **ENVIRONMENT}
        run([go, "build", *flags, "-o", target, "tool"], cwd=KUBE_SCORE, env=env)


def _load(target: Path) -> None:
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--require-hashes", "--no-deps"]
    with step("installing checkov and kubernetes-validate (the first time takes about 2 min)"):
        run([*pip, "--only-binary=:all:", f"--target={target}", f"--requirement={PACKAGES}"])
