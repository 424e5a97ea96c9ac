"""What is said of a job, before it is text and after: frozen, None where not known.

Every figure is a maximum: the highest that was ever seen of it, and it never goes down.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from cepheid.analysis.jobrules import JobKind
from cepheid.annotations.facts import CycleFacts

FIGURES = (
    "cpu_util_percent",
    "cpu_mem_mb",
    "gpu_util_percent",
    "gpu_mem_mb",
    "network_mbps",
    "disk_io_mbps",
)


@dataclass(frozen=True, slots=True)
class Figures:
    """Of a worker, or of all of them together."""

    cpu_util_percent: float | None = None
    """Of what a pod may use."""
    cpu_mem_mb: float | None = None
    gpu_util_percent: float | None = None
    """Of the busiest of its GPUs."""
    gpu_mem_mb: float | None = None
    """Of all of its GPUs, added up."""
    network_mbps: float | None = None
    disk_io_mbps: float | None = None
    shared: bool = False
    """Others use its GPUs as well, and their part is in the figures."""


@dataclass(frozen=True, slots=True)
class WorkerFacts(Figures):
    node: str | None = None
    """The last that it ran on."""


@dataclass(frozen=True, slots=True)
class JobUsageFacts(Figures):
    """What the workers used at the same time, added up; of shares that of the busiest worker."""

    workers: int | None = None
    """At most, at the same time."""


@dataclass(frozen=True, slots=True)
class BestPlacement:
    """Where it runs best, as a PlacementTrial found out."""

    gpu_type: str
    """The value of the nodes' label."""
    workers: int
    gpus_per_worker: int
    arrange: str | None = None
    """packed or spread; None where that was left to the scheduler."""
    gain: float | None = None
    """How many times better than the worst that was measured."""
    goal: str | None = None
    """Better in what: throughput, cost, ..."""
    trial: str | None = None
    """The name of the PlacementTrial, which tells the rest."""


@dataclass(frozen=True, slots=True)
class IdleFacts:
    """It holds GPUs and does not use them, in a namespace with an idle policy."""

    since: datetime
    gpus: int
    act: str
    """What happens to it then: suspend, dry-run, or none where it cannot be suspended."""
    at: datetime | None = None
    """When it does."""
    done: bool = False
    """It happened, or in a dry run would have."""


@dataclass(frozen=True, slots=True)
class JobFacts:
    workers: Mapping[str, WorkerFacts] = field(default_factory=dict)
    """By the worker's key: its name, or as much of it as a key can hold."""
    usage: JobUsageFacts | None = None
    job_type: JobKind | None = None
    cycle: CycleFacts | None = None
    advice: str | None = None
    best_placement: BestPlacement | None = None
    idle: IdleFacts | None = None
