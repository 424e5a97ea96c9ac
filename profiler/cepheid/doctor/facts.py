"""What was seen of a cluster and its Prometheus, before anybody says whether it is well.

What could not be looked at is `Unseen`, with the reason: no rule takes it for well or for broken.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeAlias, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Unseen:
    """Something that could not be looked at."""

    why: str
    hint: str = ""
    is_forbidden: bool = False


Seen: TypeAlias = T | Unseen


@dataclass(frozen=True, slots=True, order=True)
class Right:
    """Something that somebody may do, as RBAC has it."""

    verb: str
    group: str
    resource: str
    """With its subresource, as in `services/proxy`."""
    namespace: str = ""
    """Empty for all of them, or where there is none."""
    name: str = ""
    """Empty for all."""

    def __str__(self) -> str:
        where = f" in {self.namespace}" if self.namespace else ""
        return f"{self.verb} {self.of_group}{where}"

    @property
    def of_group(self) -> str:
        """As kubectl takes it: `mpijobs.kubeflow.org`, `services/proxy`."""
        resource, slash, sub = self.resource.partition("/")
        group = f".{self.group}" if self.group else ""
        return f"{resource}{group}{slash}{sub}"


@dataclass(frozen=True, slots=True)
class Workload:
    """A DaemonSet or a Deployment."""

    namespace: str
    name: str
    image: str = ""
    wanted: int = 0
    ready: int = 0
    container: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Variables with a plain value."""


@dataclass(frozen=True, slots=True)
class AgentPod:
    name: str
    node: str
    is_ready: bool
    trouble: str = ""
    """Why it does not run, as the kubelet or the scheduler says."""


@dataclass(frozen=True, slots=True)
class NodeSeen:
    name: str
    gpus: int = 0
    """Of NVIDIA and of AMD that it offers."""
    addresses: tuple[str, ...] = ()
    valid_until: datetime | None = None
    """None where it has no annotation of ours, or none that can be read."""


@dataclass(frozen=True, slots=True)
class Definition:
    """A CustomResourceDefinition."""

    served: tuple[str, ...]
    is_established: bool
    fields: frozenset[str]
    """Paths of all fields of our version, as in `usage.gpu[].utilPercent`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """Through the API server."""

    version: str
    ahead_seconds: float | None
    """By how much its clock is ahead of ours."""
    user: Seen[str]
    agent: Seen[Workload | None]
    operator: Seen[Workload | None]
    agent_pods: Seen[tuple[AgentPod, ...]]
    nodes: Seen[tuple[NodeSeen, ...]]
    definitions: Mapping[str, Seen[Definition | None]]
    """By name; None where it is not there."""
    policies: Seen[frozenset[str]]
    """Those that are there and bound."""
    missing: Mapping[str, Seen[tuple[Right, ...]]]
    """Rights that are needed and not there: yours, the agent's, the operator's."""
    exporters: Seen[tuple[Workload, ...]]
    """Those of NVIDIA."""
    gpu_pod: Seen[str | None]
    """One that runs with a GPU; None where none does."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How often something is measured."""

    scraped_seconds: float
    renewed_seconds: float | None = None
    """By the exporter; None where it could not be told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Metrics:
    """Of a Prometheus that answers."""

    version: str
    """Empty where it does not say."""
    ahead_seconds: float
    dcgm: frozenset[str]
    """Names of NVIDIA's metrics."""
    devices: tuple[Mapping[str, str], ...]
    """Labels of one metric of NVIDIA's: a GPU, or a holder of one, each."""
    blanks: Mapping[str, int]
    """Metrics with values that nothing can have, and of how many series."""
    gpu_age_seconds: float | None
    """Of the newest sample within the last hour, as of all others."""
    gpu_pace: Pace | None
    has_amd: bool
    cadvisor_age_seconds: float | None
    cadvisor_nodes: frozenset[str]
    """What its series name as a node, by any of the labels that may."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where Prometheus was looked for."""

    url: str
    told_by: str
    """Who names this address: an option, the agent, the operator, a default."""
    through: str = ""
    """The service that the API server passes questions on to; empty where it is asked directly."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    now: datetime
    own_version: str
    wanted_period_seconds: float
    """The shortest that should be seen."""
    cluster: Seen[Cluster]
    source: Source
    metrics: Seen[Metrics]
