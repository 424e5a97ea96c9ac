"""What Linux' /proc tells of one process, and who is whose child.

Read by hand: for a tree of 20 processes psutil takes 8 ms a sample, this about 1.
"""

import math
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from cepheid.sources.local.files import read_bytes
from cepheid.sources.local.kept import KeptOpen

_TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
_KIB = 1024.0
_FORKED_NO_EXEC = 0x40
"""PF_FORKNOEXEC of linux/sched.h."""
_DEAD = b"ZXx"
_FEW_THREADS = 100
"""So many files of children are read without a thought; beyond it a scan may be cheaper."""
_SCANS = 8
"""Names in /proc are about so much cheaper than files of children."""

GONE = (FileNotFoundError, ProcessLookupError, PermissionError)
"""What reading a process fails with that has ended, or that is not ours to look at."""


class Reading(NamedTuple):
    pid: int
    start: float
    """When it began, on a clock of its own: tells it from another of the same number."""
    parent: int
    alive: bool
    """Not a zombie, of which only the CPU time is left."""
    unborn: bool
    """Forked, and still the image of its parent: its memory may be its parent's."""
    cpu_seconds: float
    reaped_cpu_seconds: float
    """Of its children that have ended and that it waited for, and of theirs."""
    rss_bytes: float
    peak_rss_bytes: float
    """NaN where it is not told."""
    vms_bytes: float
    threads: int


class ThreadReading(NamedTuple):
    tid: int
    name: str
    cpu_seconds: float


class Processes(Protocol):
    """Where processes are read from."""

    def begin(self, threads: int) -> None:
        """A new sample; that many threads the tree had in the last."""

    def read(self, pid: int, *, closely: bool = True) -> Reading | None:
        """None where it is gone. Less closely it costs half, and its peak is not told."""

    def children(self, pid: int, threads: int) -> list[int]: ...

    def disk_bytes(self, pid: int) -> tuple[float, float] | None:
        """Read and written, those of children that it waited for included; None where it may not
        be told."""

    def private_bytes(self, pid: int) -> float | None:
        """None where it is gone, NaN where it may not be told."""

    def threads(self, pid: int) -> Iterator[ThreadReading]: ...

    def close(self) -> None:
        """What is open; more than once does no harm."""


@dataclass(slots=True)
class ProcFs:
    root: str = "/proc"
    live: bool = True
    """This machine's own: then CPU time is taken from its clocks, in ns instead of 10 ms."""
    scan: bool | None = None
    """How children are found: by the kernel's lists of them, or in all of /proc by their parents.
    None: whichever is cheaper. Recorded trees and old kernels have no lists."""
    keep_open: bool = False
    """Files stay open between samples: not in a process that is somebody else's program."""
    _kept: KeptOpen = field(init=False)
    _parents: dict[int, int] = field(default_factory=dict)
    _children: dict[int, list[int]] | None = None
    _can_list: bool = False

    def __post_init__(self) -> None:
        self._kept = KeptOpen(self.root) if self.keep_open else KeptOpen(self.root, most=0)
        this = os.getpid()
        self._can_list = self.scan is not True and os.path.exists(  # noqa: PTH110
            f"{self.root}/{this}/task/{this}/children"
        )

    def begin(self, threads: int) -> None:
        if self._can_list and (
            self.scan is False or threads <= _FEW_THREADS + len(self._parents) // _SCANS
        ):
            self._children = None
        else:
            self._children = self._scanned()

    def read(self, pid: int, *, closely: bool = True) -> Reading | None:
        try:
            # Before the file: if the file is of the same process afterwards, so was the clock.
            clock = time.clock_gettime((~pid) << 3 | 2) if self.live else None
        except OSError:
            self._kept.forget(pid)
            return None
        try:
            data = self._kept.read(pid, "stat")
            fields = data[data.rindex(b")") + 2 :].split()
            alive = fields[0] not in _DEAD
            status = self._kept.read(pid, "status") if alive and closely else b""
        except GONE:
            self._kept.forget(pid)
            return None
        if not alive:
            self._kept.forget(pid)  # nothing of it changes any more
        cpu = clock if clock is not None else (int(fields[11]) + int(fields[12])) / _TICKS
        rss = _kib(status, b"\nVmRSS:") if closely else float(int(fields[21]) * _PAGE)
        return Reading(
            pid,
            float(fields[19]),
            int(fields[1]),
            alive,
            bool(int(fields[6]) & _FORKED_NO_EXEC),
            cpu,
            (int(fields[13]) + int(fields[14])) / _TICKS,
            # A zombie and a thread of the kernel have no memory of their own: that is known.
            rss if rss == rss else 0.0,  # noqa: PLR0124
            _kib(status, b"\nVmHWM:"),
            float(fields[20]),
            int(fields[17]),
        )

    def children(self, pid: int, threads: int) -> list[int]:
        if self._children is not None:
            return self._children.get(pid, [])
        folder = f"{self.root}/{pid}/task"
        try:
            if threads == 1:
                listed = self._kept.read(pid, f"task/{pid}/children")
                return [int(child) for child in listed.split()]
            tasks = os.listdir(folder)  # noqa: PTH208
        except GONE:
            return []
        found: list[int] = []
        for task in tasks:
            try:
                found += [int(child) for child in read_bytes(f"{folder}/{task}/children").split()]
            except GONE:
                continue
        return found

    def disk_bytes(self, pid: int) -> tuple[float, float] | None:
        try:
            return _disk_bytes(self._kept.read(pid, "io"))
        except GONE:
            return None

    def private_bytes(self, pid: int) -> float | None:
        try:
            data = read_bytes(f"{self.root}/{pid}/smaps_rollup")
        except PermissionError:
            return math.nan
        except GONE:
            return None
        parts = [_kib(data, name) for name in (b"\nPrivate_Clean:", b"\nPrivate_Dirty:")]
        hugetlb = _kib(data, b"\nPrivate_Hugetlb:")
        total = sum(parts) + (0.0 if math.isnan(hugetlb) else hugetlb)
        return None if math.isnan(total) else total

    def threads(self, pid: int) -> Iterator[ThreadReading]:
        folder = f"{self.root}/{pid}/task"
        try:
            tasks = os.listdir(folder)  # noqa: PTH208
        except GONE:
            return
        for task in tasks:
            try:
                data = read_bytes(f"{folder}/{task}/stat")
            except GONE:
                continue
            end = data.rindex(b")")
            fields = data[end + 2 :].split()
            name = data[data.index(b"(") + 1 : end].decode(errors="replace")
            yield ThreadReading(int(task), name, (int(fields[11]) + int(fields[12])) / _TICKS)

    def close(self) -> None:
        self._kept.close()

    def _scanned(self) -> dict[int, list[int]]:
        """Of a process seen before its parent is remembered, not read again: it changes only when
        the parent ends, and who is of the tree already stays in it."""
        here = {int(name) for name in os.listdir(self.root) if name.isdecimal()}  # noqa: PTH208
        parents = {pid: parent for pid, parent in self._parents.items() if pid in here}
        for pid in here - parents.keys():
            try:
                data = read_bytes(f"{self.root}/{pid}/stat")
                parents[pid] = int(data[data.rindex(b")") + 2 :].split(None, 2)[1])
            except GONE:
                continue
        self._parents = parents
        children: dict[int, list[int]] = {}
        for pid, parent in parents.items():
            children.setdefault(parent, []).append(pid)
        return children


def disk_bytes(path: str) -> tuple[float, float] | None:
    """Of a process or of one of its threads."""
    try:
        return _disk_bytes(read_bytes(path))
    except GONE:
        return None


def _disk_bytes(data: bytes) -> tuple[float, float]:
    fields = data.split()
    # rchar wchar syscr syscw read_bytes write_bytes cancelled_write_bytes, each after its name
    return float(fields[9]), float(fields[11])


def _kib(status: bytes, name: bytes) -> float:
    """In bytes. The kernel escapes a newline in a process' name, so that no name can feign it."""
    at = status.find(name)
    if at < 0:
        return math.nan
    at += len(name)
    return int(status[at : at + 24].split(None, 1)[0]) * _KIB
