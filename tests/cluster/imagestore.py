"""containerd's folder with every image unpacked, so that a node starts with them at once.

Importing takes a node most of a minute. A containerd does it once, and every node gets the
result as hard links: what is unpacked is only ever read, for containers write to a layer of
their own. The few databases are copied.
"""

import fcntl
import shutil
import subprocess
from pathlib import Path

from tests.cluster import cgroups
from tests.cluster.cache import cached, discard
from tests.cluster.layout import cache_directory
from tests.cluster.machine import INIT, Machine, Service
from tests.cluster.progress import ClusterError, run, step

KIND = "image-store"
DATABASES = "*/*.db"
BUILDER = ".image-builder"  # no name that a cluster could have


def image_store(archive: Path, rootfs: Path, programs: Path) -> Path:
    def make(target: Path) -> None:
        machine = Machine("containerd", BUILDER, target.with_name("builder"))
        _clear(machine)  # what one that was killed has left
        with step("unpacking the images"):
            try:
                machine.boot(rootfs, programs, {"containerd": Service(["containerd"])})
                _import(machine, archive)
                machine.stop("containerd")
                cgroups.remove(cgroups.group_of(BUILDER))
                (machine.directory / "var/lib/containerd").rename(target)
            finally:
                _clear(machine)

    return cached(KIND, [archive.name, rootfs.name, INIT], make)


def _clear(machine: Machine) -> None:
    cgroups.remove(cgroups.group_of(machine.cluster))
    discard(machine.directory)


def clear_orphan() -> None:
    """Ends a builder whose caller was killed: nobody makes a store now, yet it runs."""
    directory = cache_directory() / KIND
    if not directory.exists():
        return
    with (directory / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return  # somebody does
        _clear(Machine("containerd", BUILDER, directory / "builder"))


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
    """A copy of its own for one node, in a second or two; owners and modes as in the images."""
    target.parent.mkdir(parents=True, exist_ok=True)
    same_disk = store.stat().st_dev == target.parent.stat().st_dev
    run(["cp", "--archive", *(["--link"] if same_disk else []), store, target])
    for database in store.glob(DATABASES):
        own = target / database.relative_to(store)
        own.unlink()
        shutil.copy2(database, own)
