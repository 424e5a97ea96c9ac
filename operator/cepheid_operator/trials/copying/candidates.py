"""Which placements do the axes, the cluster's nodes and the namespace's quota allow?

What can never run is left out, with the reason; what only has to wait is not. A node that is not
ready may be back in a minute, so it counts; one that was taken out of service does not.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product

from cepheid.jobs import fields
from cepheid.jobs.fields import Raw
from cepheid.placementtrial import (
    MOST_CANDIDATES,
    Arrange,
    Placement,
    TryOn,
)
from cepheid.units import quantity
from cepheid_operator.trials.copying.selecting import meets, takes, tolerates
from cepheid_operator.trials.copying.sizing import PRIORITY_CLASS
from cepheid_operator.trials.copying.template import Template

_MIB = 2.0**20
_KEEPS_AWAY = ("NoSchedule", "NoExecute")
_OF_LOST_NODES = "node.kubernetes.io/"
"""Taints of this domain are put on by the cluster itself while something is wrong."""

_SCOPES = {
    "Terminating": True,  # which means: it has a deadline, and every trial has
    "NotTerminating": False,
    "BestEffort": False,  # it asks for GPUs
    "NotBestEffort": True,
    "PriorityClass": True,
    "CrossNamespacePodAffinity": False,
}
"""Of quotas: which of them select the pods of a trial."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSeen:
    name: str
    labels: Mapping[str, str]
    allocatable: Mapping[str, float]
    """By resource, GPUs among them."""
    taints: tuple[Raw, ...]
    """Those that keep pods away for good."""
    is_ready: bool
    is_schedulable: bool

    def gpus(self, resource: str) -> int:
        return int(self.allocatable.get(resource, 0))

    def gpu_memory_mib(self, resource: str) -> float | None:
        """Of one GPU, as the labels of NVIDIA's or AMD's feature discovery have it."""
        plain = self.labels.get(f"{resource}.memory", "")
        if plain.isascii() and plain.isdigit() and len(plain) < 12:  # noqa: PLR2004
            return float(plain) or None
        amount = quantity(self.labels.get(f"{resource}.vram", ""))
        return amount / _MIB if amount else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """Of GPUs, in the namespace; None is no limit."""

    hard: int | None = None
    free: int | None = None
    """Now: a placement that needs more waits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    placement: Placement
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    placements: tuple[Placement, ...]
    """In the order of types, GPUs a worker, workers, arrangement."""
    left_out: tuple[LeftOut, ...]
    memory_mib: Mapping[str, float]
    """Of a GPU of each type, where a label of its nodes says it: the least."""
    gpus: Mapping[str, int] = field(default_factory=dict)
    """Of each type, on all nodes that the job may go to."""


def node_seen(raw: Raw) -> NodeSeen | None:
    """None for what is no node."""
    name = fields.name(raw, "metadata", "name")
    if name is None:
        return None
    ready = fields.condition(raw, "Ready")
    return NodeSeen(
        name=name,
        labels={
            key: given
            for key, given in fields.pairs(raw, "metadata", "labels")
            if isinstance(given, str)
        },
        allocatable=dict(_amounts(raw, "status", "allocatable")),
        taints=tuple(
            taint
            for taint in fields.items(raw, "spec", "taints")
            if taint.get("effect") in _KEEPS_AWAY
            and not (fields.name(taint, "key") or "").startswith(_OF_LOST_NODES)
        ),
        is_ready=ready is not None,
        is_schedulable=not fields.is_true(raw, "spec", "unschedulable"),
    )


def quota_seen(quotas: Iterable[Raw], resource: str) -> Quota:
    """From the namespace's ResourceQuotas, of which the strictest counts."""
    key = f"requests.{resource}"
    hards: list[int] = []
    frees: list[int] = []
    for quota in quotas:
        if not _is_about_trials(fields.part(quota, "spec")):
            continue
        hard = dict(_amounts(quota, "spec", "hard")).get(key)
        if hard is not None:
            used = dict(_amounts(quota, "status", "used")).get(key, 0.0)
            hards.append(int(hard))
            frees.append(max(0, int(hard - used)))
    return Quota(hard=min(hards, default=None), free=min(frees, default=None))


def candidates(
    spec: TryOn, template: Template, nodes: Iterable[NodeSeen], quota: Quota
) -> Candidates:
    usable = _usable(spec, template, nodes)
    needs = _needs_but_gpus(template)
    kept: list[Placement] = []
    left: list[LeftOut] = []
    for placement in _grid(spec, template, usable):
        room = [
            _room(node, placement, template.gpu_resource, needs)
            for node in usable.get(placement.gpu_type, ())
        ]
        why = _why_not(spec, placement, room, quota, template.gpu_resource)
        if why is None and len(kept) == MOST_CANDIDATES:
            why = f"there are more than {MOST_CANDIDATES} placements"
        if why is None:
            kept.append(placement)
        else:
            left.append(LeftOut(placement=placement, why=why))
    memory = {
        kind: [node.gpu_memory_mib(template.gpu_resource) for node in there]
        for kind, there in usable.items()
    }
    return Candidates(
        placements=tuple(kept),
        left_out=tuple(left),
        memory_mib={
            kind: min(one for one in sizes if one is not None)
            for kind, sizes in memory.items()
            if any(sizes)
        },
        gpus={
            kind: sum(node.gpus(template.gpu_resource) for node in there)
            for kind, there in usable.items()
        },
    )


def fits_one_node(
    placement: Placement, spec: TryOn, template: Template, nodes: Iterable[NodeSeen]
) -> bool:
    """Whether one node can hold all workers."""
    there = _usable(spec, template, nodes).get(placement.gpu_type, ())
    needs = _needs_but_gpus(template)
    return any(
        _room(node, placement, template.gpu_resource, needs) >= placement.workers for node in there
    )


def _grid(spec: TryOn, template: Template, usable: Mapping[str, object]) -> Iterator[Placement]:
    types = spec.gpu_types or tuple(sorted(usable))
    counts = spec.gpus_per_worker or (template.gpus_per_worker,)
    workers = spec.workers or (template.workers,)
    arranges: tuple[Arrange | None, ...] = spec.arrange or (None,)
    seen = set()
    for kind, each, many, arrange in product(types, counts, workers, arranges):
        placement = Placement(
            gpu_type=kind,
            gpus_per_worker=each,
            workers=many,
            arrange=arrange if many > 1 else None,  # one worker is neither together nor apart
        )
        if placement not in seen:
            seen.add(placement)
            yield placement


def _why_not(
    spec: TryOn, placement: Placement, room: list[int], quota: Quota, resource: str
) -> str | None:
    """`room`: how many of its workers each node of the type can hold."""
    if not any(room):
        return f"no node of the type can hold a worker of {placement.gpus_per_worker} {resource}"
    hosts = sum(one > 0 for one in room)
    if placement.arrange is Arrange.SPREAD and hosts < placement.workers:
        return f"{hosts} nodes of the type can hold a worker, not {placement.workers}"
    if sum(room) < placement.workers:
        return f"the nodes of the type hold {sum(room)} such workers, not {placement.workers}"
    both = {Arrange.PACKED, Arrange.SPREAD} <= set(spec.arrange)
    if both and placement.arrange is Arrange.PACKED and max(room) == 1:
        return "the same as spread: no node can hold two of its workers"
    if quota.hard is not None and placement.gpus > quota.hard:
        return f"the namespace's quota is {quota.hard} {resource}, and this needs {placement.gpus}"
    return None


def _usable(
    spec: TryOn, template: Template, nodes: Iterable[NodeSeen]
) -> dict[str, list[NodeSeen]]:
    """By type: the nodes with such GPUs that the job's own pods may go to."""
    label = spec.type_label
    pods = [fields.part(role.pod, "spec") for role in template.worker_roles]
    found: dict[str, list[NodeSeen]] = {}
    for node in nodes:
        kind = fields.name(node.labels, label)
        if kind is None or not node.is_schedulable or not node.gpus(template.gpu_resource):
            continue
        if all(
            takes(pod, node.name, node.labels, ignoring=label)
            and all(tolerates(pod, taint) for taint in node.taints)
            for pod in pods
        ):
            found.setdefault(kind, []).append(node)
    return found


def _room(node: NodeSeen, placement: Placement, resource: str, needs: Mapping[str, float]) -> int:
    """How many workers an empty node of this kind can hold."""
    most = [node.gpus(resource) // placement.gpus_per_worker]
    most += [int(node.allocatable.get(one, 0) // amount) for one, amount in needs.items()]
    return min(most)


def _needs_but_gpus(template: Template) -> dict[str, float]:
    """What a worker asks for beside GPUs: the most, where Master and Worker differ."""
    needs: dict[str, float] = {}
    for role in template.worker_roles:
        one: dict[str, float] = {}
        for container in fields.items(role.pod, "spec", "containers"):
            asked = dict(_amounts(container, "resources", "limits"))
            asked |= dict(_amounts(container, "resources", "requests"))
            for resource, amount in asked.items():
                one[resource] = one.get(resource, 0) + amount
        for resource, amount in one.items():
            needs[resource] = max(amount, needs.get(resource, 0))
    needs.pop(template.gpu_resource, None)
    return {resource: amount for resource, amount in needs.items() if amount > 0}


def _amounts(thing: Raw, *path: str) -> Iterator[tuple[str, float]]:
    for resource, given in fields.pairs(thing, *path):
        amount = quantity(given) if isinstance(given, str) else fields.count({"": given}, "")
        if amount is not None:
            yield resource, float(amount)


def _is_about_trials(spec: Raw) -> bool:
    """A quota is about the pods that all of its scopes select."""
    scopes = spec.get("scopes")
    named = scopes if isinstance(scopes, list) else []
    if not all(isinstance(one, str) and _SCOPES.get(one, False) for one in named):
        return False
    return all(_selects(one) for one in fields.items(spec, "scopeSelector", "matchExpressions"))


def _selects(expression: Raw) -> bool:
    scope = fields.name(expression, "scopeName")
    if scope == "PriorityClass":
        return meets({**expression, "key": scope}, {scope: PRIORITY_CLASS})
    return scope is not None and _SCOPES.get(scope, False)
