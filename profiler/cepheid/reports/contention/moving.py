"""Which systems does the fleet have, and to which of them could a job move?

A system is all nodes with GPUs of one model, or all without GPUs. They are told by the cluster's
nodes; from a history alone by the GPUs that its jobs held, as far as these show them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import chain

from cepheid.gpu_models import Peaks, peaks_of
from cepheid.jobprofile import GpuHeld, JobProfile
from cepheid.jobs.gpu_names import model_name
from cepheid.units import quantity

NO_GPUS = ""
"""The system of nodes without."""
UNKNOWN_GPUS = model_name("")
MEMORY_SPARE = 0.9
"""Of a smaller GPU's memory a job may have needed so much."""
TENSOR_SPARE = 0.8
"""Of its tensor pipes, likewise: kernels do not get better by being moved."""
GIB = 2.0**30
_NOTHING = (0, None, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeType:
    """What is known of one node."""

    name: str
    gpu_model: str | None = None
    gpu_count: int = 0
    cpu_cores: float | None = None
    memory_bytes: float | None = None

    @property
    def system(self) -> str:
        return system_of(self.gpu_model) if self.gpu_count or self.gpu_model else NO_GPUS


@lru_cache(maxsize=4096)
def system_of(model: str | None) -> str:
    """As people call it: a label and a driver write the same model in two ways."""
    return model_name(model or "")


class Inventory:
    """All nodes that are known."""

    def __init__(self, nodes: Iterable[NodeType], *, is_told: bool) -> None:
        self.is_told = is_told
        """By the cluster itself; else inferred, and then there may be more."""
        self._nodes: dict[str, NodeType] = {node.name: node for node in nodes}
        self._system_of = {name: node.system for name, node in self._nodes.items()}
        self._systems: dict[str, list[NodeType]] = {}
        for node in self._nodes.values():
            self._systems.setdefault(node.system, []).append(node)
        models = {
            system: next((node.gpu_model for node in of if node.gpu_model), None)
            for system, of in self._systems.items()
        }
        self._peaks = {
            system: found
            for system, model in models.items()
            if (found := peaks_of(model)) is not None
        }
        self._totals = {
            system: (
                sum(node.gpu_count for node in of),
                _total([node.cpu_cores for node in of]),
                _total([node.memory_bytes for node in of]),
            )
            for system, of in self._systems.items()
        }

    @property
    def systems(self) -> tuple[str, ...]:
        return tuple(self._systems)

    def system(self, node: str) -> str:
        """A node that nobody saw a GPU on has none, as far as is known."""
        return self._system_of.get(node, NO_GPUS)

    def of(self, system: str) -> Sequence[NodeType]:
        return self._systems.get(system, ())

    def gpu_count(self, system: str) -> int:
        return self._totals.get(system, _NOTHING)[0]

    def cpu_cores(self, system: str) -> float | None:
        return self._totals.get(system, _NOTHING)[1]

    def memory_bytes(self, system: str) -> float | None:
        return self._totals.get(system, _NOTHING)[2]

    def peaks(self, system: str) -> Peaks | None:
        return self._peaks.get(system)

    @cache  # noqa: B019 - as many as there are systems
    def smaller(self, system: str) -> tuple[str, ...]:
        """Those with less memory and no more speed, the smallest first; of known models only."""
        mine = self.peaks(system)
        if mine is None:
            return ()
        found = [
            (peaks.memory_gb, peaks.tensor_teraflops or 0.0, other)
            for other, peaks in self._peaks.items()
            if peaks.memory_gb < mine.memory_gb
            and (peaks.tensor_teraflops or 0.0) <= (mine.tensor_teraflops or 0.0)
        ]
        return tuple(other for *_, other in sorted(found))


def inventory_of(profiles: Iterable[JobProfile]) -> Inventory:
    """As the GPUs that jobs held show it."""
    # The same few nodes and GPUs, tens of thousands of times: each is looked at once.
    listed: Iterable[Iterable[str | GpuHeld]] = ((*one.nodes, *one.gpus) for one in profiles)
    held = dict.fromkeys(chain.from_iterable(listed))
    models: dict[str, str | None] = {}
    seen: dict[str, set[tuple[int, int | None]]] = {}
    for one in held:
        if isinstance(one, str):
            seen.setdefault(one, set())
        else:
            seen.setdefault(one.node, set()).add((one.index, one.mig))
            models[one.node] = models.get(one.node) or one.model
    return Inventory(
        (
            NodeType(name=name, gpu_model=models.get(name), gpu_count=len(gpus))
            for name, gpus in seen.items()
        ),
        is_told=False,
    )


def fits_on(profile: JobProfile, inventory: Inventory, system: str) -> str | None:
    """The smallest system that would do as well, by what the job used of its GPUs; None for none.

    What was not measured cannot be said to fit.
    """
    smaller, mine = inventory.smaller(system), inventory.peaks(system)
    if not smaller or mine is None:
        return None
    used_bytes, busy = gpu_memory_each_bytes(profile), _busy_percent(profile)
    if used_bytes is None or busy is None:
        return None
    for other in smaller:
        peaks = inventory.peaks(other)
        if peaks is None or used_bytes > MEMORY_SPARE * peaks.memory_gb * GIB:
            continue
        slower = (mine.tensor_teraflops or 0.0) / (peaks.tensor_teraflops or 1.0)
        if busy * slower <= 100 * TENSOR_SPARE:
            return other
    return None


def holds_memory_of(
    profile: JobProfile, inventory: Inventory, systems: Sequence[str]
) -> str | None:
    """The first of these whose memory holds what the job had in its GPUs."""
    used = gpu_memory_each_bytes(profile)
    for system in systems:
        peaks = inventory.peaks(system)
        if peaks is not None and used is not None and used <= MEMORY_SPARE * peaks.memory_gb * GIB:
            return system
    return None


def without_gpus(profile: JobProfile, inventory: Inventory) -> list[str]:
    """Nodes without GPUs on which a pod of it has room, the smallest first."""
    cores, memory = pod_asks(profile, "cpu"), pod_asks(profile, "memory")
    fitting = [
        node
        for node in inventory.of(NO_GPUS)
        if (node.cpu_cores is None or cores <= node.cpu_cores)
        and (node.memory_bytes is None or memory <= node.memory_bytes)
    ]
    fitting.sort(key=lambda node: (node.cpu_cores or 0.0, node.memory_bytes or 0.0, node.name))
    return [node.name for node in fitting]


def pod_asks(profile: JobProfile, resource: str) -> float:
    """Of the largest of its pods, all of its containers together."""
    roles: dict[str | None, float] = {}
    for one in profile.asked:
        amount = quantity(one.requests.get(resource, one.limits.get(resource, ""))) or 0.0
        roles[one.role] = roles.get(one.role, 0.0) + amount
    return max(roles.values(), default=0.0)


def gpu_memory_each_bytes(profile: JobProfile) -> float | None:
    """The most that was in use, of each of its GPUs if they shared it evenly."""
    spread = None if profile.usage is None else profile.usage.gpu_memory_bytes
    count = profile.gpu_count or len(profile.gpus)
    if spread is None or spread.max is None or not count:
        return None
    return spread.max / count


def _busy_percent(profile: JobProfile) -> float | None:
    """Of the tensor pipes; where they are not measured, of the time in which a kernel ran."""
    if profile.usage is None:
        return None
    for spread in (profile.usage.tensor_percent, profile.usage.gpu_util_percent):
        if spread is not None and spread.mean is not None:
            return spread.mean
    return None


def _total(amounts: list[float | None]) -> float | None:
    known = [amount for amount in amounts if amount is not None]
    return sum(known) if known and len(known) == len(amounts) else None
