"""What do the nodes have, now and over the next minutes?

A row a node, a column a GPU: a question about a thousand nodes is a few operations on arrays. What
is not known is NaN. Only annotations count that the agent applied, by the API server's own record
of who set which field, and only until they expire.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import repeat

import numpy as np

from cepheid.annotations import codec
from cepheid.annotations.facts import GpuFacts, NodeFacts
from cepheid.annotations.writer import MANAGER
from cepheid.jobs import fields
from cepheid.jobs.fields import Raw
from cepheid.jobs.gpu_names import is_gpu
from cepheid.jobs.placed import type_label
from cepheid.jobs.pods import applied_keys
from cepheid.units import quantity
from cepheid_operator.extender.views import Table, View

TYPE_LABELS = ("nvidia.com/gpu.product", "amd.com/gpu.product-name")
MOST_GPUS = 64
"""Of a node, slices included; what is beyond is not looked at."""


class Ignored(StrEnum):
    """Why something that stands in the cluster was not believed."""

    MISSING = "missing"
    """A node with GPUs and without annotations of ours."""
    EXPIRED = "expired"
    FORGED = "forged"
    """Keys of our domain that our field manager did not apply."""
    MALFORMED = "malformed"
    """Not in the contract: of another version, or damaged."""


@dataclass(frozen=True, slots=True)
class Gpu:
    total_gb: float = np.nan
    peak_gb: float = np.nan
    """The most memory that those who hold it are foretold to need, or need now."""
    busy: float = np.nan
    """Share of the time in which it is foretold to compute."""
    empty: bool = False
    ill: bool = False
    """Lost, or with an XID."""


@dataclass(frozen=True, slots=True)
class Node:
    name: str
    gpu_type: str = ""
    """As its label says; empty where it has none."""
    allocatable: int = 0
    """GPUs that Kubernetes may hand out; more than there are where they are shared in turns."""
    gpus: tuple[Gpu, ...] = ()
    divided: bool = False
    """Into MIG slices, of which nobody tells which pod gets which."""
    horizon_seconds: float = np.nan
    cpu_busy: float = np.nan
    """Of its cores, what their load is foretold to stay below in 95 % of cases."""
    valid_until: float = -np.inf
    """Seconds since the epoch."""
    ignored: tuple[Ignored, ...] = ()


def node_of(thing: Raw) -> Node | None:
    """None for what is no node, and for one without GPUs."""
    name = fields.name(thing, "metadata", "name")
    allocatable = sum(
        int(amount)
        for resource, given in fields.pairs(thing, "status", "allocatable")
        if is_gpu(resource) and isinstance(given, str) and (amount := quantity(given)) is not None
    )
    labels = fields.part(thing, "metadata", "labels")
    kinds = [kind for label in TYPE_LABELS if (kind := fields.name(labels, label))]
    if name is None or not (allocatable or kinds):
        return None
    annotations = fields.part(thing, "metadata", "annotations")
    applied = applied_keys(thing, MANAGER)
    ours = {key: text for key, text in annotations.items() if codec.is_ours(key)}
    decoded = codec.decode_node({key: text for key, text in ours.items() if key in applied})
    ignored = [
        reason
        for reason, holds in (
            (Ignored.FORGED, any(key not in applied for key in ours)),
            (Ignored.MALFORMED, bool(decoded.ignored)),
            (Ignored.MISSING, not applied & ours.keys()),
        )
        if holds
    ]
    return _of_facts(
        Node(
            name=name,
            gpu_type=type_label(kinds[0]) if kinds else "",
            allocatable=min(allocatable, MOST_GPUS * MOST_GPUS),
            ignored=tuple(ignored),
        ),
        decoded.facts,
    )


def _of_facts(bare: Node, facts: NodeFacts) -> Node:
    whole = facts.static.mem_gb if facts.static is not None else None
    gpus = facts.gpus[:MOST_GPUS]
    cpu = facts.cpu_forecast
    # Of empty GPUs nothing is foretold, of the cores beside them it is.
    told = [forecast for forecast in (cpu, *(gpu.forecast for gpu in gpus)) if forecast is not None]
    divided = any(gpu.mig is not None for gpu in gpus)
    described = [_gpu(gpu, whole if gpu.mig is None else None) for gpu in gpus]
    if facts.static is not None and not divided:
        # Of what is said of one of them nothing may have been believed: it is there all the same.
        unknown = Gpu(total_gb=np.nan if whole is None else whole)
        described += [unknown] * (min(facts.static.count, MOST_GPUS) - len(described))
    return Node(
        name=bare.name,
        gpu_type=bare.gpu_type,
        allocatable=bare.allocatable,
        gpus=tuple(described),
        divided=divided,
        horizon_seconds=min((one.horizon_seconds for one in told), default=np.nan),
        cpu_busy=_share(None if cpu is None else cpu.util_p95_percent),
        valid_until=-np.inf if facts.valid_until is None else facts.valid_until.timestamp(),
        ignored=bare.ignored,
    )


def _gpu(facts: GpuFacts, whole_gb: float | None) -> Gpu:
    used, free, forecast = facts.mem_used_gb, facts.mem_free_gb, facts.forecast
    total = used + free if used is not None and free is not None else whole_gb
    foretold = None if forecast is None else forecast.mem_peak_gb
    peaks = [gb for gb in (used, foretold) if gb is not None]
    health = facts.health
    lost = health is not None and health.lost
    return Gpu(
        total_gb=total or np.nan,  # none at all: it is not known
        peak_gb=max(peaks, default=np.nan),
        busy=_share(None if forecast is None else forecast.util_mean_percent),
        # Of a lost one nobody knows who holds it; Kubernetes may hand it out.
        empty=facts.pods == 0 or lost,
        ill=lost or (health is not None and health.xid is not None),
    )


def _share(percent: float | None) -> float:
    return np.nan if percent is None else percent / 100


NODE = np.dtype(
    [
        ("kind", np.intp),  # the index of its type in `Supply.types`; -1 where it is not known
        ("allocatable", np.int64),
        ("held", np.int64),  # GPUs that pods on the node asked for
        ("count", np.int64),  # GPUs, or slices, that are described
        ("divided", np.bool_),
        ("horizon_seconds", np.float64),
        ("cpu_busy", np.float64),
        ("valid_until", np.float64),
        ("spared", np.float64),  # share of the time in which no job draws on it for input
    ]
)
GPU = np.dtype(
    [
        ("total_gb", np.float64),
        ("peak_gb", np.float64),
        ("busy", np.float64),
        ("empty", np.bool_),
        ("ill", np.bool_),
    ]
)
_BARE_NODE = np.array((-1, 0, 0, 0, False, np.nan, np.nan, -np.inf, 1.0), NODE)
_NO_GPU = np.array((np.nan, np.nan, np.nan, False, False), GPU)


class Supply:
    """All nodes with GPUs. Not for several threads at once: who shares it locks it."""

    def __init__(self) -> None:
        self.types: list[str] = []
        """Of GPUs."""
        self._nodes: Table = np.full(64, _BARE_NODE, NODE)
        self._gpus: Table = np.full((64, 1), _NO_GPU, GPU)
        """As many columns as any node has GPUs: all of it is copied whenever something changed."""
        self._row: dict[str, int] = {}
        self._spare: list[int] = []
        self._ignored: dict[str, tuple[Ignored, ...]] = {}
        self._seen: tuple[list[str], View] | None = None
        """The nodes that were asked about last, as they are still."""

    def put(self, node: Node) -> None:
        row = self._row.get(node.name)
        if row is None:
            row = self._row[node.name] = self._new_row()
        count = len(node.gpus)
        self._widen(count)
        before, gpus_before = self._nodes[row].copy(), self._gpus[row].copy()
        self._nodes[row] = (
            self._type(node.gpu_type),
            node.allocatable,
            before["held"],
            count,
            node.divided,
            node.horizon_seconds,
            node.cpu_busy,
            node.valid_until,
            before["spared"],
        )
        self._forget_type(int(before["kind"]))
        self._gpus[row] = _NO_GPU
        self._gpus[row, :count] = [
            (gpu.total_gb, gpu.peak_gb, gpu.busy, gpu.empty, gpu.ill) for gpu in node.gpus
        ]
        self._ignored[node.name] = node.ignored
        # Most of what a node has to say is that its kubelet lives: bytes, since NaN is no NaN.
        if _bytes(before, gpus_before) != _bytes(self._nodes[row], self._gpus[row]):
            self._seen = None

    def drop(self, name: str) -> None:
        row = self._row.pop(name, None)
        self._ignored.pop(name, None)
        if row is not None:
            self._seen = None
            kind = int(self._nodes[row]["kind"])
            self._nodes[row], self._gpus[row] = _BARE_NODE, _NO_GPU
            self._spare.append(row)
            self._forget_type(kind)

    def hold(self, name: str, gpus: int, spared: float) -> None:
        """That pods on a node hold so many of its GPUs, and how much of the time none of them
        draws on it for input."""
        row = self._row.get(name)
        if row is None or tuple(self._nodes[row][["held", "spared"]]) == (gpus, spared):
            return
        self._seen = None
        self._nodes["held"][row], self._nodes["spared"][row] = gpus, spared

    def view(self, names: list[str], now: float) -> View:
        """Most questions are about the same nodes as the one before."""
        if self._seen is None or self._seen[0] != names or not self._seen[1].holds(now):
            self._seen = names, View.of(*self.take(names), now)
        return self._seen[1]

    def take(self, names: Sequence[str]) -> tuple[Table, Table]:
        """Nodes and their GPUs, in the order of the names; one that is not known is a bare one."""
        rows = np.fromiter(map(self._row.get, names, repeat(-1)), np.intp, len(names))
        # Indexing copies one field after the other, `take` whole rows: measured, 8 times as fast.
        nodes = self._nodes.take(rows)
        gpus = self._gpus.take(rows, axis=0)
        nodes[rows < 0], gpus[rows < 0] = _BARE_NODE, _NO_GPU
        return nodes, gpus

    def ignored(self, now: float) -> dict[Ignored, int]:
        """How many nodes there are of which something was not believed, and why."""
        found = dict.fromkeys(Ignored, 0)
        for reasons in self._ignored.values():
            for reason in reasons:
                found[reason] += 1
        until = self._nodes["valid_until"]
        found[Ignored.EXPIRED] = int(((until <= now) & np.isfinite(until)).sum())
        return found

    def __contains__(self, name: str) -> bool:
        return name in self._row

    def __len__(self) -> int:
        return len(self._row)

    def _new_row(self) -> int:
        if self._spare:
            return self._spare.pop()
        if len(self._row) == len(self._nodes):
            more = len(self._nodes)
            self._nodes = np.concatenate([self._nodes, np.full(more, _BARE_NODE, NODE)])
            empty = np.full((more, self._gpus.shape[1]), _NO_GPU, GPU)
            self._gpus = np.concatenate([self._gpus, empty])
        return len(self._row)

    def _widen(self, count: int) -> None:
        rows, columns = self._gpus.shape
        if count > columns:
            more = np.full((rows, count - columns), _NO_GPU, GPU)
            self._gpus = np.concatenate([self._gpus, more], axis=1)

    def _type(self, kind: str) -> int:
        if not kind:
            return -1
        if kind not in self.types:
            self.types.append(kind)
        return self.types.index(kind)

    def _forget_type(self, kind: int) -> None:
        """Once no node has it: nothing is fast that is not there."""
        kinds = self._nodes["kind"]
        if kind >= 0 and not (kinds == kind).any():
            self._seen = None
            del self.types[kind]
            kinds[kinds > kind] -= 1


def _bytes(*of: Table | np.void) -> list[bytes]:
    return [one.tobytes() for one in of]
