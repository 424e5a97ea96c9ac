"""The control groups of a cluster: what limits its pods and what finds its processes again.

Every process of a cluster is born in `/cepheid-<cluster>/...`. So `down` needs no pid file
to know what it may end: the members of these groups, and nothing else.
"""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

from tests.cluster.progress import ClusterError

MOUNTS = Path("/sys/fs/cgroup")
UNIFIED_CONTROLLERS = ("cpu", "cpuset", "io", "memory", "pids")


def hierarchies() -> list[Path]:
    """The root of every hierarchy: one with cgroup v2, one a controller with v1."""
    if (MOUNTS / "cgroup.controllers").exists():
        return [MOUNTS]
    # Links such as cpu,cpuacct -> cpu lead to the same hierarchy twice.
    return sorted(
        d for d in MOUNTS.iterdir() if (d / "cgroup.procs").exists() and not d.is_symlink()
    )


def group_of(cluster: str) -> str:
    return f"cepheid-{cluster}"


def make(group: str) -> None:
    """Makes a group with every controller; a kubelet refuses to run without them."""
    for root in hierarchies():
        directory = root
        for part in Path(group).parts:
            parent, directory = directory, directory / part
            _delegate(parent)
            directory.mkdir(exist_ok=True)
            # A new v1 cpuset is empty, and a process cannot join an empty one.
            for name in ("cpuset.cpus", "cpuset.mems"):
                wanted, own = parent / name, directory / name
                if root != MOUNTS and wanted.exists() and not own.read_text().strip():
                    own.write_text(wanted.read_text())


def _delegate(parent: Path) -> None:
    """cgroup v2 gives a child only the controllers that its parent passes on."""
    switch = parent / "cgroup.subtree_control"
    if parent == MOUNTS or MOUNTS in parent.parents:
        if (MOUNTS / "cgroup.controllers").exists():
            has = (parent / "cgroup.controllers").read_text().split()
            wanted = [f"+{name}" for name in UNIFIED_CONTROLLERS if name in has]
            switch.write_text(" ".join(wanted))


def join_files(group: str) -> list[Path]:
    """The files into which a process writes its pid to become a member."""
    return [root / group / "cgroup.procs" for root in hierarchies()]


def directories(group: str) -> Iterator[Path]:
    """All directories of a group and below it, deepest first."""
    for root in hierarchies():
        for directory, _, _ in os.walk(root / group, topdown=False):
            yield Path(directory)


def members(group: str) -> set[int]:
    pids: set[int] = set()
    for directory in directories(group):
        try:
            pids.update(map(int, (directory / "cgroup.procs").read_text().split()))
        except FileNotFoundError:
            continue  # a container that ended meanwhile took its group along
    return pids - {0}


def remove(group: str, timeout_seconds: float = 30) -> None:
    """Ends every member and removes the group."""
    deadline = time.monotonic() + timeout_seconds
    while True:
        pids = members(group)
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        if not pids and _removed(group):
            return
        if time.monotonic() > deadline:
            raise ClusterError(
                f"cgroup {group} is still in use after {timeout_seconds:.0f} s, by {sorted(pids)}",
                hint="run `down` once more; a process in state D ends when its I/O does",
            )
        time.sleep(0.05)


def _removed(group: str) -> bool:
    gone = True
    for directory in directories(group):
        try:
            directory.rmdir()
        except FileNotFoundError:
            continue
        except OSError:
            gone = False  # EBUSY: a member is ending
    return gone
