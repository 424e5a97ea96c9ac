"""The control groups of a cluster: what limits its pods and what finds its processes again.

Every process of a cluster is born in `/cepheid-<cluster>/...`. So `down` needs no pid file
to know what it may end: the members of these groups, and nothing else.
"""

import errno
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

from tests.cluster.progress import ClusterError

MOUNTS = Path("/sys/fs/cgroup")


def unified() -> bool:
    """cgroup v2: one hierarchy for all controllers."""
    return (MOUNTS / "cgroup.controllers").exists()


def hierarchies() -> list[Path]:
    """The root of every hierarchy: one with cgroup v2, one a controller with v1."""
    if unified():
        return [MOUNTS]
    # Links such as cpu,cpuacct -> cpu lead to the same hierarchy twice.
    roots = [d for d in MOUNTS.iterdir() if (d / "cgroup.procs").exists()]
    return sorted(d for d in roots if not d.is_symlink())


def group_of(cluster: str) -> str:
    return f"cepheid-{cluster}"


def make(group: str) -> None:
    """Makes a group with every controller; a kubelet refuses to run without them."""
    for root in hierarchies():
        directory = root
        for part in Path(group).parts:
            parent, directory = directory, directory / part
            if unified():
                _pass_on_controllers(parent)
            directory.mkdir(exist_ok=True)
            if not unified():
                _inherit_cpuset(parent, directory)


def _pass_on_controllers(parent: Path) -> None:
    """With cgroup v2 a child has the controllers that its parent passes on."""
    has = (parent / "cgroup.controllers").read_text().split()
    try:
        (parent / "cgroup.subtree_control").write_text(" ".join(f"+{name}" for name in has))
    except OSError as problem:
        raise ClusterError(
            f"cgroup {parent} does not pass its controllers on: {problem}",
            hint="inside a container it needs a cgroup namespace whose root has no processes",
        ) from problem


def _inherit_cpuset(parent: Path, directory: Path) -> None:
    """A new cpuset of cgroup v1 is empty, and a process cannot join an empty one."""
    for name in ("cpuset.cpus", "cpuset.mems"):
        own = directory / name
        if own.exists() and not own.read_text().strip():
            own.write_text((parent / name).read_text())


def count_disk_bytes(group: str, disk_of: Path) -> None:
    """Has the kernel count what the group reads and writes: container_fs_*_bytes_total.

    Since Linux 6.10 cgroup v1 does so only once a limit is set on the disk: here one that no
    disk reaches. With v2 it always counts.
    """
    if unified():
        return
    number = disk_of.stat().st_dev
    device = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}").resolve()
    disk = device.parent if (device / "partition").exists() else device
    if not (disk / "dev").exists():
        return  # no single disk, as below btrfs or ZFS: then there are no such series
    limit = f"{(disk / 'dev').read_text().strip()} {2**60}"
    (MOUNTS / "blkio" / group / "blkio.throttle.write_bps_device").write_text(limit)


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
        except OSError as problem:
            # A container that ended meanwhile took its group along, before or while we read.
            if problem.errno not in (errno.ENOENT, errno.ENODEV):
                raise
    return pids - {0}


def remove(group: str, timeout_seconds: float = 30) -> None:
    """Ends every member and removes the group."""
    deadline = time.monotonic() + timeout_seconds
    while True:
        pids = members(group)
        for pid in pids:
            _kill_member(pid, group)
        if not pids and _removed(group):
            return
        if time.monotonic() > deadline:
            raise ClusterError(
                f"cgroup {group} is still in use after {timeout_seconds:.0f} s, by {sorted(pids)}",
                hint="run `down` once more; a process in state D ends when its I/O does",
            )
        time.sleep(0.05)


def _kill_member(pid: int, group: str) -> None:
    """By a handle, so that a pid which meanwhile belongs to another process is not hit."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        if f"/{group}/" in Path(f"/proc/{pid}/cgroup").read_text():
            signal.pidfd_send_signal(handle, signal.SIGKILL)
    except (FileNotFoundError, ProcessLookupError):
        return  # it ended by itself
    finally:
        os.close(handle)


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
