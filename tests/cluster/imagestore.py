"""containerd's folder with every image unpacked, so that a node starts with them at once.

Importing takes a node most of a minute. A containerd does it once, and every node gets the
result as hard links: what is unpacked is only ever read, for containers write to a layer of
their own. The few databases are copied.
"""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from tests.cluster import cgroups
from tests.cluster.cache import cached, fingerprint
from tests.cluster.machine import Machine, Service
from tests.cluster.progress import ClusterError, step

DATABASE = ".db"
BUILDER = "image-builder"


def image_store(archive: Path, rootfs: Path, programs: Path) -> Path:
    def make(target: Path) -> None:
        with (
            step("unpacking the images"),
            tempfile.TemporaryDirectory(dir=target.parent) as scratch,
        ):
            machine = Machine("containerd", BUILDER, Path(scratch))
            cgroups.remove(cgroups.group_of(BUILDER))  # of one that was killed
            try:
                machine.boot(rootfs, programs, {"containerd": Service(["containerd"])})
                _import(machine, archive)
                machine.stop("containerd")
            finally:
                cgroups.remove(cgroups.group_of(BUILDER))
            (machine.directory / "var/lib/containerd").rename(target)

    return cached("image-store", [archive.name, rootfs.name, fingerprint([Path(__file__)])], make)


def _import(machine: Machine, archive: Path) -> None:
    # The archive is a file of the host; the machine reads it from its standard input.
    ctr = ["ctr", "--namespace=k8s.io", "--connect-timeout=30s", "images", "import", "-"]
    machine.run("sh", "-c", "until [ -S /run/containerd/containerd.sock ]; do sleep 0.1; done")
    with archive.open("rb") as stream:
        done = subprocess.run(
            machine.command(ctr), stdin=stream, capture_output=True, text=True, check=False
        )
    if done.returncode:
        raise ClusterError(f"containerd refused {archive}: {done.stderr.strip()}")


def copy_store(store: Path, target: Path) -> None:
    """A copy of its own for one node, in a second or two."""
    shutil.copytree(store, target, symlinks=True, copy_function=_link_or_copy)


def _link_or_copy(source: str, target: str) -> None:
    if not source.endswith(DATABASE):
        try:
            os.link(source, target, follow_symlinks=False)
        except OSError:  # the cache is on another file system
            pass
        else:
            return
    shutil.copy2(source, target, follow_symlinks=False)
