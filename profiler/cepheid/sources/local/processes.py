"""The tree of a command's processes, and what those of it that are gone had used.

A process is of the tree that descends from one of the roots, and stays in it when its parents end:
told by its number and its start, for numbers are used again. A process that has ended leaves its
CPU time to whoever waits for it. Where nobody does (its parent ignores SIGCHLD, or it was a daemon)
what was last seen of it is kept: of the two the larger, each being a lower bound of the truth.
"""

import math
import os
import resource
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from cepheid.sources.local.procfs import Processes, ProcFs, Reading

MANY = 128
"""Of so many processes each is looked at closely in every sample; of more, by turns."""
MOST_NAMES = 1000
"""Of threads; a program may make up a new one each time."""
OTHERS = "(others)"
_MAXRSS_BYTES = 1.0 if sys.platform == "darwin" else 1024.0


class TreeReading(NamedTuple):
    cpu_seconds: float
    rss_bytes: float
    peak_rss_bytes: float
    vms_bytes: float
    threads: float
    processes: float


@dataclass(slots=True, eq=False)
class Member:
    """A process of the tree, as it was last seen."""

    reading: Reading
    peak_rss_bytes: float = 0.0
    heirloom_seconds: float = 0.0
    """CPU time of children, as far as it is known: what they had when they were last seen, on top
    of what it had inherited before it was."""
    born: bool = True

    @property
    def cpu_seconds(self) -> float:
        reading = self.reading
        return reading.cpu_seconds + max(reading.reaped_cpu_seconds, self.heirloom_seconds)


@dataclass(frozen=True, slots=True, eq=False)
class Departed:
    member: Member
    heir: Member | None
    """The nearest of its ancestors that lives in the tree; None: whoever is outside of it."""


@dataclass(slots=True, eq=False)
class _Waiting:
    """What this process was told of the children that it waited for, since it began to look."""

    cpu_before: float = 0.0
    peak_before: float = 0.0

    def __post_init__(self) -> None:
        self.cpu_before, self.peak_before = self.cpu_seconds(), self._peak()

    def cpu_seconds(self) -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime - self.cpu_before

    def peak_rss_bytes(self) -> float:
        """0 where it cannot be told. What is forked starts with the memory of its parent, and
        keeps that as its own peak: only more than ours is surely theirs."""
        peak = self._peak()
        if peak <= self.peak_before:
            return 0.0
        own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _MAXRSS_BYTES
        return peak if peak > own else 0.0

    def _peak(self) -> float:
        return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * _MAXRSS_BYTES


def default_processes(*, keep_open: bool) -> Processes:
    """/proc where there is one: it is the cheapest."""
    if os.path.exists("/proc/self/stat"):  # noqa: PTH110
        return ProcFs(keep_open=keep_open)
    from cepheid.sources.local.portable import Psutil  # noqa: PLC0415 (8 MiB, seldom needed)

    return Psutil()


@dataclass(slots=True, eq=False)
class Tree:
    """All live descendants of the roots, and the roots."""

    roots: Iterable[int] = ()
    reaper: int | None = None
    """Our own process, where it adopts the orphans of the tree (PR_SET_CHILD_SUBREAPER) and waits
    for them: all its children are of the tree, it is not."""
    per_thread: bool = False
    source: Processes | None = None
    """Where they are read from: /proc if not told otherwise, psutil where that is not."""
    processes: Processes = field(init=False)
    departed: list[Departed] = field(default_factory=list)
    """Who ended between the last two samples."""
    _members: dict[int, Member] = field(default_factory=dict)
    _waiting: _Waiting = field(default_factory=_Waiting)
    _estate_seconds: float = 0.0
    """CPU time of the departed that have no heir in the tree."""
    _turn: int = 0
    _cpu_seconds: float = 0.0
    _peak_rss_bytes: float = 0.0
    _threads: dict[tuple[int, float, int], tuple[str, float]] = field(default_factory=dict)
    _ended_threads: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.roots = tuple(self.roots)
        self.processes = self.source or default_processes(keep_open=self.reaper is not None)
        for pid in self.roots:
            if (reading := self._read(pid)) is not None:
                # A command that we started has no past; anybody else's peak may be older than us.
                self._members[pid] = _member(reading, known=self.reaper is None)

    @property
    def pids(self) -> tuple[int, ...]:
        """Those that lived at the last sample."""
        return tuple(pid for pid, member in self._members.items() if member.reading.alive)

    @property
    def members(self) -> tuple[Member, ...]:
        return tuple(self._members.values())

    def read(self) -> TreeReading:
        self._walk()
        cpu = rss = vms = spike = 0.0
        threads = processes = 0
        for member in self._members.values():
            reading = member.reading
            cpu += member.cpu_seconds
            if not reading.alive:
                continue
            processes += 1
            threads += reading.threads
            if not member.born:
                continue
            rss += reading.rss_bytes
            vms += reading.vms_bytes
            # A peak that is higher than at the last sample happened since.
            if reading.peak_rss_bytes > member.peak_rss_bytes:
                spike = max(spike, reading.peak_rss_bytes - reading.rss_bytes)
            if not math.isnan(reading.peak_rss_bytes):
                member.peak_rss_bytes = reading.peak_rss_bytes
        cpu += self._outside()
        self._cpu_seconds = max(self._cpu_seconds, cpu)
        self._peak_rss_bytes = max(self._peak_rss_bytes, rss + spike, self._waiting_peak())
        if self.per_thread:
            self._look_at_threads()
        return TreeReading(
            self._cpu_seconds, rss, self._peak_rss_bytes, vms, float(threads), float(processes)
        )

    def thread_cpu_seconds(self) -> dict[str, float]:
        """By the threads' names, those that have ended included: where it was asked for."""
        total = dict(self._ended_threads)
        for name, seconds in self._threads.values():
            _add(total, name, seconds)
        return total

    def close(self) -> None:
        """More than once does no harm."""
        self.processes.close()

    def _walk(self) -> None:
        last, found = self._members, dict[int, Member]()
        total = sum(member.reading.threads for member in last.values())
        self.processes.begin(total)
        # Those of the last sample come first: they are of the tree, whoever their parent is now.
        turns = 1 + len(last) // MANY
        self._turn += 1
        for place, (pid, member) in enumerate(last.items()):
            closely = (place + self._turn) % turns == 0
            reading = self._read(pid, closely=closely)
            if reading is None or reading.start != member.reading.start:
                continue
            if reading.peak_rss_bytes < member.peak_rss_bytes:
                member.peak_rss_bytes = 0.0  # another program now, which begins anew
            member.born = True
            member.reading = reading
            found[pid] = member
        todo = list(found.values())
        if self.reaper is not None:
            threads = 2  # or more: each of them can have children
            todo += self._adopt(self.reaper, threads, found)
        while todo:
            reading = todo.pop().reading
            if reading.alive:
                todo += self._adopt(reading.pid, reading.threads, found)
        self._members = found
        self._settle(last, found)

    def _adopt(self, parent: int, threads: int, found: dict[int, Member]) -> list[Member]:
        new = []
        for pid in self.processes.children(parent, threads):
            if pid in found:
                continue
            reading = self._read(pid)
            # Between the list and this its number may have passed to somebody else's process.
            if reading is None or reading.parent != parent:
                continue
            found[pid] = member = _member(reading, known=False)
            new.append(member)
        return new

    def _settle(self, last: dict[int, Member], found: dict[int, Member]) -> None:
        """Who has ended leaves what he had to his nearest ancestor that lives."""
        self.departed = []
        for pid, member in last.items():
            if found.get(pid) is member:
                continue
            heir = member
            seen = set[int]()
            while (parent := heir.reading.parent) not in seen and parent in last:
                seen.add(parent)
                heir = last[parent]
                if found.get(parent) is heir:
                    break
            else:
                heir = member
            if heir is member:
                self._estate_seconds += member.cpu_seconds
                self.departed.append(Departed(member, None))
            else:
                heir.heirloom_seconds += member.cpu_seconds
                self.departed.append(Departed(member, heir))

    def _outside(self) -> float:
        if self.reaper != os.getpid():
            return self._estate_seconds
        return max(self._estate_seconds, self._waiting.cpu_seconds())

    def _waiting_peak(self) -> float:
        this = os.getpid()
        return self._waiting.peak_rss_bytes() if this in (self.reaper, *self.roots) else 0.0

    def _read(self, pid: int, *, closely: bool = True) -> Reading | None:
        reading = self.processes.read(pid, closely=closely)
        if reading is not None and pid == os.getpid() and pid != self.reaper:
            # Of our own children we are told in microseconds, not in ticks of 10 ms.
            waited = self._waiting.cpu_seconds() + self._waiting.cpu_before
            return reading._replace(reaped_cpu_seconds=waited)
        return reading

    def _look_at_threads(self) -> None:
        now: dict[tuple[int, float, int], tuple[str, float]] = {}
        for pid, member in self._members.items():
            if member.reading.alive:
                for tid, name, seconds in self.processes.threads(pid):
                    now[pid, member.reading.start, tid] = (name, seconds)
        for key in self._threads.keys() - now.keys():
            _add(self._ended_threads, *self._threads[key])
        self._threads = now


def _add(total: dict[str, float], name: str, seconds: float) -> None:
    if name not in total and len(total) >= MOST_NAMES:
        name = OTHERS
    total[name] = total.get(name, 0.0) + seconds


def _member(reading: Reading, *, known: bool) -> Member:
    """`known`: it ran before we looked, and the peak that it has may be older than that."""
    return Member(
        reading,
        peak_rss_bytes=reading.peak_rss_bytes if known else 0.0,
        heirloom_seconds=reading.reaped_cpu_seconds,
        born=known or not reading.unborn,
    )
