"""The control group that the tree is in: its limits, what it used, whose container it is.

Version 1 has a folder a controller, version 2 one for all; on some machines both are there. A limit
of any group above counts too. In a container only its own part of the tree of groups is to be seen.
"""

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from cepheid.sources.local import catalog
from cepheid.sources.local.container import container_of
from cepheid.sources.local.facts import Container, Limits
from cepheid.sources.local.files import Roots, number_of, read_bytes, text_of
from cepheid.sources.local.seldom import Seldom

_UNLIMITED = 2.0**60
"""Version 1 says "no limit" as the largest number of pages, in bytes."""
_FIRST_NAMESPACE = "cgroup:[4026531835]"
"""Of the machine itself, PROC_CGROUP_INIT_INO of linux/proc_ns.h: there the top is the machine."""
_DEEPEST = 64


@dataclass(frozen=True, slots=True)
class Group:
    """One controller's folder of a group, and those above it as far as they are to be seen."""

    version: int
    folders: tuple[str, ...]
    """The group's own first."""
    machine: bool
    """It is the top of all: what it counts is the machine's."""

    @property
    def folder(self) -> str:
        return self.folders[0]


@dataclass(frozen=True, slots=True)
class Groups:
    cpu: Group | None = None
    cpu_accounts: Group | None = None
    memory: Group | None = None
    container: Container | None = None


def groups_of(pid: int | None, roots: Roots) -> Groups:
    """OSError where there are no control groups."""
    who = "self" if pid is None else str(pid)
    try:
        listed = read_bytes(f"{roots.proc}/{who}/cgroup").decode(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        who = "self"
        listed = read_bytes(f"{roots.proc}/self/cgroup").decode(errors="replace")
    mounts = read_bytes(f"{roots.proc}/self/mountinfo").decode(errors="replace")
    paths = dict(_paths(listed))
    mounted = dict(_mounted(mounts))
    try:
        first = os.readlink(f"{roots.proc}/self/ns/cgroup") == _FIRST_NAMESPACE  # noqa: PTH115
    except OSError:
        first = False

    def group(controller: str) -> Group | None:
        # Where both versions are mounted a controller is in one of them.
        for version, key in ((1, controller), (2, "")):
            if key in paths and key in mounted:
                return _group(version, paths[key], *mounted[key], roots=roots, first=first)
        return None

    cpu, accounts, memory = group("cpu"), group("cpuacct"), group("memory")
    return Groups(cpu, accounts, memory, container_of(paths.values(), mounts, top=roots.top))


def limits_of(groups: Groups) -> Limits:
    cores = [limit for folder in _folders(groups.cpu) if (limit := _cpu_limit(folder)) is not None]
    memory = [
        limit
        for folder in _folders(groups.memory)
        for name in ("memory.max", "memory.limit_in_bytes")
        if (limit := number_of(f"{folder}/{name}")) is not None and limit < _UNLIMITED
    ]
    return Limits(cpu_cores=min(cores, default=None), memory_bytes=min(memory, default=None))


@dataclass(slots=True, eq=False)
class GroupUsage:
    """None of its columns where the group is the machine itself, or does not count it."""

    groups: Groups
    seldom: Seldom = field(default_factory=Seldom)
    columns: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        found = self._values() | self._costly()
        self.columns = tuple(name for name in catalog.of("cgroup") if name in found)

    def read(self) -> Sequence[float]:
        found = self._values()
        if self.seldom.due():
            found |= self._costly()
            self.seldom.done()
        return [found.get(name, math.nan) for name in self.columns]

    def _values(self) -> dict[str, float]:
        found: dict[str, float] = {}
        accounts, cpu, memory = self.groups.cpu_accounts, self.groups.cpu, self.groups.memory
        if accounts is not None and accounts.version == 1 and not accounts.machine:
            _put(found, "cgroup_cpu_seconds", number_of(f"{accounts.folder}/cpuacct.usage"), 1e-9)
        if cpu is not None and not cpu.machine:
            counted = flat_keyed(text_of(f"{cpu.folder}/cpu.stat") or "")
            _put(found, "cgroup_cpu_seconds", counted.get("usage_usec"), 1e-6)
            _put(found, "cgroup_periods", counted.get("nr_periods"))
            _put(found, "cgroup_throttled_periods", counted.get("nr_throttled"))
        if memory is not None and not memory.machine:
            names = {
                1: ("memory.usage_in_bytes", "memory.max_usage_in_bytes"),
                2: ("memory.current", "memory.peak"),
            }[memory.version]
            _put(found, "cgroup_memory_bytes", number_of(f"{memory.folder}/{names[0]}"))
            _put(found, "cgroup_memory_peak_bytes", number_of(f"{memory.folder}/{names[1]}"))
        return found

    def _costly(self) -> dict[str, float]:
        """The kernel adds up all CPUs' counts of all groups below for it."""
        memory = self.groups.memory
        if memory is None or memory.machine:
            return {}
        found: dict[str, float] = {}
        counted = flat_keyed(text_of(f"{memory.folder}/memory.stat") or "")
        inactive = counted.get("total_inactive_file", counted.get("inactive_file"))
        _put(found, "cgroup_inactive_file_bytes", inactive)
        return found


def flat_keyed(text: str) -> dict[str, float]:
    """`name number` a line; what is none is left out."""
    found = {}
    for line in text.splitlines():
        name, _, value = line.partition(" ")
        if value.isdecimal():
            found[name] = float(value)
    return found


def _put(found: dict[str, float], name: str, value: float | None, scale: float = 1.0) -> None:
    if value is not None:
        found[name] = value * scale


def _folders(group: Group | None) -> tuple[str, ...]:
    return () if group is None else group.folders


def _cpu_limit(folder: str) -> float | None:
    """In cores; None where there is none."""
    words = (text_of(f"{folder}/cpu.max") or "").split()
    if len(words) == 2:  # noqa: PLR2004
        quota, period = (float(word) if word.isdecimal() else None for word in words)
    else:
        quota = number_of(f"{folder}/cpu.cfs_quota_us")
        period = number_of(f"{folder}/cpu.cfs_period_us")
    if quota is None or period is None or quota <= 0 or period <= 0:
        return None
    return quota / period


def _paths(listed: str) -> Iterator[tuple[str, str]]:
    """By controller, version 2's under ""."""
    for line in listed.splitlines():
        _, _, rest = line.partition(":")
        controllers, colon, path = rest.partition(":")
        if colon:
            for controller in controllers.split(","):
                yield controller, path


def _mounted(mounts: str) -> Iterator[tuple[str, tuple[str, str]]]:
    """By controller: which group is mounted where."""
    for line in mounts.splitlines():
        before, dash, after = line.partition(" - ")
        place, kind = before.split(" "), after.split(" ")
        if not dash or len(place) < 5 or len(kind) < 3:  # noqa: PLR2004
            continue
        where = (place[3], place[4])
        if kind[0] == "cgroup2":
            yield "", where
        elif kind[0] == "cgroup":
            for option in kind[2].split(","):
                yield option, where


def _group(
    version: int, path: str, mounted: str, where: str, *, roots: Roots, first: bool
) -> Group:
    top = roots.sys + where.removeprefix("/sys") if where.startswith("/sys/") else roots.top + where
    if mounted != "/" and (path == mounted or path.startswith(mounted + "/")):
        path = path[len(mounted) :]
    elif mounted != "/" or path.startswith("/.."):
        path = "/"  # outside of what is to be seen from here
    parts = [part for part in path.split("/") if part][:_DEEPEST]
    folders = ["/".join((top, *parts[:depth])) for depth in range(len(parts), -1, -1)]
    there = [folder for folder in folders if os.path.isdir(folder)]  # noqa: PTH112
    machine = first and mounted == "/" and not parts
    return Group(version, tuple(there or [top]), machine)
