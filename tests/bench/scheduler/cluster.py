"""Who holds what on which node, now."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tests.bench.scheduler.nodes import Machine
from tests.bench.scheduler.programs import Job

Ints = NDArray[np.int64]
CPU, MEMORY, GPU = range(3)
GRABBED = 0.9
"""Of a GPU that is not shared, by a program that takes whatever there is."""


class OversubscribedError(Exception):
    """What must never happen."""


@dataclass(eq=False, slots=True)
class Stay:
    """Of a job, on a node, from its placement to its end."""

    job: Job
    attempt: int
    node: int
    gpus: tuple[int, ...]
    began: float
    ended: float = np.inf
    killed: bool = False
    rate: float = 0.0
    """Of its work, now."""
    done: float = 0.0
    held: float = 0.0
    """GPU-seconds, of a GPU that is shared its part."""
    computed: float = 0.0
    """GPU-seconds in which a kernel ran."""
    reckoned: float = 0.0
    """Until then."""
    version: int = 0
    """Of its foretold end: it changes with who is beside it."""


@dataclass
class Cluster:
    machines: tuple[Machine, ...]
    stays: list[list[Stay]] = field(init=False)
    """By node, in the order of their beginning."""
    there: Ints = field(init=False)
    """CPUs, GB and GPUs of each node."""
    used: Ints = field(init=False)

    def __post_init__(self) -> None:
        self.stays = [[] for _ in self.machines]
        self.there = np.array([(m.cpus, m.memory_gb, m.allocatable) for m in self.machines])
        self.used = np.zeros_like(self.there)

    def fitting(self, job: Job, allowed: NDArray[np.bool_]) -> NDArray[np.intp]:
        """Nodes that have as much left as it asks for."""
        found: NDArray[np.intp] = np.flatnonzero(
            ((self.there - self.used >= asked(job)).all(axis=1)) & allowed
        )
        return found

    def most_left(self) -> int:
        """GPUs, on the node that has the most left."""
        return int((self.there - self.used)[:, GPU].max())

    def place(self, job: Job, attempt: int, node: int, now: float) -> Stay:
        """Raises OversubscribedError. Of GPUs that are shared it gets those that the fewest hold,
        as NVIDIA's device plugin hands them out."""
        self.used[node] += asked(job)
        if (self.used[node] > self.there[node]).any():
            raise OversubscribedError(f"node {node}: {self.used[node]} of {self.there[node]}")
        holders = self.holders(node)
        order = sorted(range(len(holders)), key=lambda gpu: (len(holders[gpu]), gpu))
        stay = Stay(job, attempt, node, tuple(sorted(order[: job.program.gpus])), now, reckoned=now)
        self.stays[node].append(stay)
        return stay

    def leave(self, stay: Stay) -> None:
        self.used[stay.node] -= asked(stay.job)
        self.stays[stay.node].remove(stay)

    def holders(self, node: int) -> list[list[Stay]]:
        """By GPU."""
        found: list[list[Stay]] = [[] for _ in range(self.machines[node].gpus)]
        for stay in self.stays[node]:
            for gpu in stay.gpus:
                found[gpu].append(stay)
        return found


def asked(job: Job) -> Ints:
    return np.array([job.program.cpus, job.program.memory_gb, job.program.gpus])


def gb_needed(stays: Sequence[Stay]) -> float:
    """On one GPU that those hold."""
    return sum(stay.job.gpu_gb for stay in stays)


def gb_seen(stay: Stay, machine: Machine) -> float:
    """What it takes of a GPU's memory at most: no more than there is."""
    taken = GRABBED * machine.gpu_gb if stay.job.program.grabs and machine.shares == 1 else 0.0
    return min(max(stay.job.gpu_gb, taken), machine.gpu_gb)
