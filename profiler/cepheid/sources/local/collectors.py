"""All that one machine can tell, as one row of numbers a sample: `Collectors.read`.

Each collector has its columns and can be switched off. One that fails is named once, with the
reason, and left alone from then on; its columns are NaN.
"""

import math
from collections.abc import Callable, Collection, Sequence
from typing import Protocol

from cepheid.errors import SourceError, UsageError
from cepheid.sources.local import catalog
from cepheid.sources.local.disk import DiskTraffic
from cepheid.sources.local.facts import Limits, MachineFacts
from cepheid.sources.local.files import Roots
from cepheid.sources.local.machine import (
    SystemCpu,
    allowed_cores,
    core_count,
    host_name,
    memory_bytes,
)
from cepheid.sources.local.network import NetworkTraffic
from cepheid.sources.local.private import PrivateMemory
from cepheid.sources.local.processes import Tree

FAILURES = (SourceError, OSError, ValueError, IndexError)
"""What a file of the kernel that is missing, forbidden or not as expected leads to."""


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
        self._roots = roots or Roots()
        self._without = frozenset(without)
        self._collectors: dict[str, Collector] = {}
        pid = next(iter(tree.roots), None)
        self._begin("process", lambda: OfTree(tree))
        self._begin("uss", lambda: PrivateMemory(tree))
        self._begin("io", lambda: DiskTraffic(tree))
        self._begin("network", lambda: NetworkTraffic(pid, self._roots))
        self._begin("system", lambda: SystemCpu(self._roots))
        self.facts = MachineFacts(
            host=host_name(),
            cores=core_count(),
            memory_total_bytes=memory_bytes(self._roots),
            limits=Limits(cpu_cores=allowed_cores()),
        )
        self.columns: tuple[str, ...] = tuple(
            column for collector in self._collectors.values() for column in collector.columns
        )

    def read(self) -> list[float]:
        """One value a column, NaN where it was not measured. Never fails."""
        if "process" not in self._collectors:
            self._walk_only()
        row: list[float] = []
        for name, collector in self._collectors.items():
            if name not in self.skipped:
                try:
                    row += collector.read()
                    continue
                except FAILURES as error:
                    self.skipped[name] = _words(error)
            row += [math.nan] * len(collector.columns)
        return row

    def close(self) -> None:
        """More than once does no harm."""

    def _begin(self, name: str, make: Callable[[], Collector | None]) -> None:
        if name in self._without:
            return
        try:
            collector = make()
        except FAILURES as error:
            self.skipped[name] = _words(error)
            return
        if collector is not None:
            self._collectors[name] = collector

    def _walk_only(self) -> None:
        """Without the tree's own figures others still need to know who is of it."""
        try:
            self.tree.read()
        except FAILURES as error:
            self.skipped.setdefault("process", _words(error))


def _words(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror.lower()}"
    return str(error) or type(error).__name__
