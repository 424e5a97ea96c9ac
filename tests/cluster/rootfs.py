"""Debian file systems: what the machines of a cluster run on and what images start from."""

import tomllib
from pathlib import Path

from tests.cluster.cache import cached
from tests.cluster.progress import run, step

PINS = Path(__file__).parent / "versions/debian.toml"


def node_rootfs() -> Path:
    """The root file system of every machine; never written to."""
    return _debian("node", "directory", "1.5 min")


def base_archive() -> Path:
    """A tar file of the base image's only layer."""
    return _debian("base", "tar", "1 min")


def _debian(kind: str, form: str, usual: str) -> Path:
    pins = tomllib.loads(PINS.read_text())
    packages = ",".join(pins[kind])

    def make(target: Path) -> None:
        with step(f"making the {kind} file system (the first time takes about {usual})"):
            run(
                # In mounts of its own, which go with it when it is killed.
                ["unshare", "--mount", "mmdebstrap", "--mode=root", "--variant=minbase"]
                + [f"--format={form}", f"--include={packages}"]
                + ['--aptopt=APT::Install-Recommends "false"', pins["release"], target]
            )

    return cached(f"{kind}-rootfs", [pins["release"], packages], make)
