"""What a cluster could leave behind on the machine."""

import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Self

from tests.cluster import cgroups
from tests.cluster.layout import interface_of, state_directory
from tests.cluster.progress import run

FOLDERS = [Path(path) for path in ("/etc", "/run", "/var/lib", "/var/log", tempfile.gettempdir())]
# In names of files that a part of a cluster could have made outside of its machine.
WORDS = ("cepheid", "cni", "containerd", "etcd", "kube", "kwok", "netns", "runc", "simgpu")


@dataclass(frozen=True)
class Traces:
    """Everything on the machine of the kinds that a cluster is made of.

    Without what belongs to the clusters in `without`: they live on meanwhile. Processes are those
    in process or network namespaces of their own: others come and go on any machine.
    """

    processes: frozenset[str]
    namespaces: frozenset[str]
    mounts: frozenset[str]
    interfaces: frozenset[str]
    groups: frozenset[str]
    files: frozenset[str]

    def assert_nothing_added(self, *, without: Callable[[], set[str]]) -> None:
        """The kernel takes namespaces away a moment after their last process.

        Others' clusters come and go meanwhile: which they are is asked each time.
        """
        deadline = time.monotonic() + 60
        while left := Traces.now(without=without()).added_since(self):
            assert time.monotonic() < deadline, left
            time.sleep(0.2)

    @classmethod
    def now(cls, *, without: set[str]) -> Self:
        running = list(_pids())  # first: what those clusters start from here on is not looked at
        others = set[int]()
        for name in without:
            others |= cgroups.members(cgroups.group_of(name))
        pids = [pid for pid in running if pid not in others]
        groups = [
            directory
            for root in cgroups.hierarchies()
            for directory in root.glob("*cepheid*")
            if directory.name not in map(cgroups.group_of, without)
        ]
        files = [p for f in FOLDERS for p in f.iterdir() if any(word in p.name for word in WORDS)]
        if state_directory().exists():
            states = list(state_directory().iterdir())
            files += [state for state in states if state.name not in without]
            if any(state.name in without for state in states):
                files = [path for path in files if path != state_directory()]  # that is theirs
        links = {link["ifname"] for link in json.loads(run(["ip", "-json", "link"]))}
        ours = set(_namespaces(os.getpid()))
        apart = {pid: found for pid in pids if (found := set(_namespaces(pid)) - ours)}
        return cls(
            processes=frozenset(filter(None, map(_name, apart))),
            namespaces=frozenset(namespace for found in apart.values() for namespace in found),
            mounts=frozenset(Path("/proc/self/mountinfo").read_text().splitlines()),
            interfaces=frozenset(links - set(map(interface_of, without))),
            groups=frozenset(map(str, groups)),
            files=frozenset(map(str, files)),
        )

    def added_since(self, before: "Traces") -> dict[str, set[str]]:
        """Each kind of which there is more than before, and what."""
        kinds = [field.name for field in fields(self)]
        more = {kind: set(getattr(self, kind) - getattr(before, kind)) for kind in kinds}
        return {kind: found for kind, found in more.items() if found}


def _pids() -> Iterator[int]:
    return (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())


def _name(pid: int) -> str | None:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None  # it ended while we looked
    name, _, rest = stat.partition(" (")[2].rpartition(") ")
    started = rest.split()[19]
    return f"{name} {pid} {started}"


def _namespaces(pid: int) -> Iterator[str]:
    for kind in ("net", "pid"):
        try:
            yield str(Path(f"/proc/{pid}/ns/{kind}").readlink())
        except (FileNotFoundError, ProcessLookupError):
            return
        except PermissionError:
            return  # some sandboxes guard their first process even from root
