"""What is run: a program and its runs. Speeds are relative to a V100 that is fed as fast as it
computes."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, kw_only=True, eq=False)
class Program:
    number: int
    speeds: Mapping[str, float]
    """By type, of GPUs that are fed fast enough."""
    feed: float
    """How fast it can be fed when nobody else draws on its node."""
    draws: NDArray[np.bool_]
    """At which of some instants it draws on its node for input."""
    pulses: bool
    demand: float
    """Share of what a node can feed, while it draws."""
    occupancy: float
    """Share of the computing time in which a kernel runs."""
    gpus: int
    gpu_gb: float
    cpus: int
    memory_gb: int
    seconds: float
    """Of a usual run, on V100s and with nobody beside it."""
    told: bool
    """Its users say from the start where it fits."""
    grabs: bool
    """It takes nearly all memory of a GPU, whatever it needs."""

    @property
    def input_bound(self) -> bool:
        return self.feed < 1.5


@dataclass(frozen=True, slots=True, eq=False)
class Job:
    number: int
    submitted: float
    program: Program
    template: str
    work: float
    """Seconds at speed 1."""
    gpu_gb: float
