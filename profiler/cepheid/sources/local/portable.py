"""The same of one process where there is no /proc, such as on macOS: from psutil."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import psutil

from cepheid.sources.local.procfs import Reading, ThreadReading

_GONE = (psutil.NoSuchProcess, psutil.AccessDenied, ProcessLookupError)


@dataclass(slots=True)
class Psutil:
    _children: dict[int, list[int]] = field(default_factory=dict)
    _processes: dict[int, psutil.Process] = field(default_factory=dict)

    def begin(self, threads: int) -> None:  # noqa: ARG002 (what a scan costs is the same)
        children: dict[int, list[int]] = {}
        processes: dict[int, psutil.Process] = {}
        for process in psutil.process_iter():
            try:
                children.setdefault(process.ppid(), []).append(process.pid)
            except _GONE:
                continue
            processes[process.pid] = process
        self._children, self._processes = children, processes

    def read(self, pid: int, *, closely: bool = True) -> Reading | None:  # noqa: ARG002
        try:
            process = self._process(pid)
            with process.oneshot():
                alive = process.status() not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
                start, parent = process.create_time(), process.ppid()
                times = process.cpu_times()
                memory = process.memory_info() if alive else None
                threads = process.num_threads() if alive else 1
        except _GONE:
            return None
        return Reading(
            pid,
            start,
            parent,
            alive,
            False,
            times.user + times.system,
            times.children_user + times.children_system,
            0.0 if memory is None else float(memory.rss),
            # Only Windows tells.
            math.nan if memory is None else float(getattr(memory, "peak_wset", math.nan)),
            0.0 if memory is None else float(memory.vms),
            threads,
        )

    def children(self, pid: int, threads: int) -> list[int]:  # noqa: ARG002
        return self._children.get(pid, [])

    def disk_bytes(self, pid: int) -> tuple[float, float] | None:
        try:
            counted = self._process(pid).io_counters()
        except (*_GONE, AttributeError):  # macOS has none
            return None
        return float(counted.read_bytes), float(counted.write_bytes)

    def private_bytes(self, pid: int) -> float | None:
        try:
            return float(self._process(pid).memory_full_info().uss)
        except psutil.AccessDenied:
            return math.nan
        except _GONE:
            return None

    def threads(self, pid: int) -> Iterator[ThreadReading]:
        try:
            process = self._process(pid)
            name, threads = process.name(), process.threads()
        except _GONE:
            return
        for thread in threads:
            yield ThreadReading(thread.id, name, thread.user_time + thread.system_time)

    def close(self) -> None:
        """psutil keeps nothing open."""

    def _process(self, pid: int) -> psutil.Process:
        """What was found at the beginning of the sample remembers who it is."""
        found = self._processes.get(pid)
        return psutil.Process(pid) if found is None else found
