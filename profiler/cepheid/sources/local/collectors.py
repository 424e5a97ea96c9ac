"""All that one machine can tell, as one row of numbers a sample: `Collectors.read`.

Each collector has its columns and can be switched off. One that fails is named once, with the
reason, and left alone from then on; its columns are NaN.

Of a tree of 20 processes one sample takes 2.3 to 2.5 ms of CPU in the mean of 40, half a second
apart: 0.45 to 0.5 % of a core, on a virtual machine of 2 cores that others used as well. All of it
adds 3.5 MiB to a bare Python, and NVIDIA's binding 3 more where their driver is; what the driver's
own library takes was not measured.
"""

import errno
import math
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Protocol

from cepheid.errors import SourceError, UsageError
from cepheid.sources.local import catalog
from cepheid.sources.local.amd import amd_gpus
from cepheid.sources.local.cgroup import Groups, GroupUsage, groups_of, limits_of
from cepheid.sources.local.disk import DiskTraffic
from cepheid.sources.local.energy import cpu_energy
from cepheid.sources.local.facts import GpuFacts, Limits, MachineFacts
from cepheid.sources.local.files import Roots
from cepheid.sources.local.gpus import Gpus, Maker
from cepheid.sources.local.intel import intel_gpus
from cepheid.sources.local.machine import (
    SystemCpu,
    allowed_cores,
    core_count,
    host_name,
    memory_bytes,
)
from cepheid.sources.local.network import NetworkTraffic
from cepheid.sources.local.nvidia import nvidia_gpus
from cepheid.sources.local.private import PrivateMemory
from cepheid.sources.local.processes import Tree

FAILURES = (SourceError, OSError, ValueError, IndexError)
"""What a file of the kernel that is missing, forbidden or not as expected leads to."""
MOMENTARY = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN, errno.EINTR})
"""Nothing is wrong with who fails with that: the sample has a gap, the next one may have none."""
_GPUS: tuple[tuple[str, Callable[[Tree, Roots, int], Maker | None]], ...] = (
    ("nvidia", nvidia_gpus),
    ("amd", amd_gpus),
    ("intel", intel_gpus),
)


class Collector(Protocol):
    columns: tuple[str, ...]

    def read(self) -> Sequence[float]: ...


class OfTree:
    """The tree's own figures. It also is what finds the processes that others look at."""

    columns = catalog.of("process")

    def __init__(self, tree: Tree) -> None:
        self._tree = tree

    def read(self) -> Sequence[float]:
        return self._tree.read()


class Collectors:
    """To make it may take as long as NVIDIA's driver takes to wake; to read it is quick."""

    def __init__(
        self, tree: Tree, *, without: Collection[str] = (), roots: Roots | None = None
    ) -> None:
        unknown = sorted(set(without) - set(catalog.COLLECTORS))
        if unknown:
            raise UsageError(
                f"there is no collector {', '.join(unknown)}",
                hint=f"one of {', '.join(catalog.COLLECTORS)}",
            )
        self.tree = tree
        self.skipped: dict[str, str] = {}
        """Who failed, and why: a collector, one maker's GPUs (`gpu nvidia`) or a GPU (`gpu 0`)."""
        self._without = frozenset(without)
        self._collectors: dict[str, Collector] = {}
        self._makers: list[Gpus] = []
        roots = roots or Roots()
        pid = next(iter(tree.roots), None)
        groups = self._groups(pid, roots)
        self._begin("process", lambda: OfTree(tree))
        self._begin("uss", lambda: PrivateMemory(tree))
        self._begin("io", lambda: DiskTraffic(tree))
        self._begin("network", lambda: NetworkTraffic(pid, roots))
        self._begin("system", lambda: SystemCpu(roots))
        self._begin("cgroup", lambda: GroupUsage(groups))
        self._begin("energy", lambda: cpu_energy(roots))
        for maker, gpus_of in _GPUS:
            self._begin(f"gpu {maker}", partial(self._gpus, gpus_of, roots))
        self.columns: tuple[str, ...] = tuple(
            column for collector in self._collectors.values() for column in collector.columns
        )
        self.facts = _facts(groups, roots, self._gpus_found())

    def read(self) -> list[float]:
        """One value a column, NaN where it was not measured. Never fails."""
        if "process" not in self._collectors:
            # Others need to know who is of the tree.
            self._read("process", OfTree(self.tree))
        row: list[float] = []
        for name, collector in self._collectors.items():
            row += self._read(name, collector) or [math.nan] * len(collector.columns)
        for gpus in self._makers:
            self.skipped |= gpus.troubles
        return row

    def close(self) -> None:
        """More than once does no harm."""
        for gpus in self._makers:
            gpus.close()
        self._makers = []
        self.tree.close()

    def _begin(self, name: str, make: Callable[[], Collector | None]) -> None:
        if name.partition(" ")[0] in self._without:
            return
        try:
            collector = make()
        except FAILURES as error:
            self.skipped[name] = _words(error)
            return
        if collector is not None and collector.columns:
            self._collectors[name] = collector

    def _read(self, name: str, collector: Collector) -> Sequence[float] | None:
        if name in self.skipped:
            return None
        try:
            return collector.read()
        except FAILURES as error:
            if not (isinstance(error, OSError) and error.errno in MOMENTARY):
                self.skipped[name] = _words(error)
            return None

    def _groups(self, pid: int | None, roots: Roots) -> Groups:
        try:
            return groups_of(pid, roots)
        except FileNotFoundError:
            return Groups()  # no Linux, or one without control groups
        except FAILURES as error:
            self.skipped["cgroup"] = _words(error)
            return Groups()

    def _gpus(
        self, gpus_of: Callable[[Tree, Roots, int], Maker | None], roots: Roots
    ) -> Collector | None:
        maker = gpus_of(self.tree, roots, len(self._gpus_found()))
        if maker is None:
            return None
        gpus = Gpus(maker)
        self._makers.append(gpus)
        return gpus

    def _gpus_found(self) -> tuple[GpuFacts, ...]:
        return tuple(gpu for gpus in self._makers for gpu in gpus.maker.gpus)


def _facts(groups: Groups, roots: Roots, gpus: tuple[GpuFacts, ...]) -> MachineFacts:
    cores, memory, limits = core_count(), memory_bytes(roots), limits_of(groups)
    cpu = [limit for limit in (limits.cpu_cores, allowed_cores()) if limit is not None]
    least = min(cpu, default=cores)
    allowed = limits.memory_bytes
    if allowed is not None and memory is not None and allowed >= memory:
        allowed = None
    return MachineFacts(
        host=host_name(),
        cores=cores,
        memory_total_bytes=memory,
        limits=Limits(cpu_cores=least if least < cores else None, memory_bytes=allowed),
        container=groups.container,
        gpus=gpus,
    )


def _words(error: Exception) -> str:
    """On one line."""
    if isinstance(error, SourceError):
        return error.message if error.hint is None else f"{error.message} ({error.hint})"
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror.lower()}"
    return str(error) or type(error).__name__
