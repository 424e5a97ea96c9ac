"""One pod, as far as its job is concerned: small, since the operator keeps thousands of them.

Of the annotations only those count that the agent applied, by the API server's own record of who
set which field. Whoever may edit a pod can write the same keys; that does not make them true.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from sys import intern

from cepheid.annotations import codec
from cepheid.annotations.facts import PodFacts
from cepheid.annotations.writer import MANAGER
from cepheid.jobs import failures, fields
from cepheid.jobs.failures import Failure
from cepheid.jobs.fields import Raw
from cepheid.jobs.gpu_names import MOST_GPUS, is_gpu
from cepheid.jobs.owners import Reference, controller_of
from cepheid.units import quantity

# The first that a pod has tells which of its job's pods it is.
ROLE_LABELS = (
    "training.kubeflow.org/replica-type",
    "training.kubeflow.org/job-role",
    "jobset.sigs.k8s.io/replicatedjob-name",
    "ray.io/node-type",
    "volcano.sh/task-spec",
)
KUBEFLOW = "training.kubeflow.org/"
MOST_RESOURCES = 12
QUANTITY_CHARACTERS = 40
MOST_CONTAINERS = 16


class Phase(StrEnum):
    PENDING = "Pending"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    UNKNOWN = "Unknown"


_NOTHING = PodFacts()
Amounts = tuple[tuple[str, str], ...]
"""Resources with what was asked of each, as it was written."""


@dataclass(frozen=True, slots=True)
class Container:
    name: str
    requests: Amounts = ()
    limits: Amounts = ()

    def asks(self, resource: str) -> float | None:
        """Without a request the limit counts, as it does for the scheduler."""
        given = dict(self.requests).get(resource, dict(self.limits).get(resource))
        return None if given is None else quantity(given)

    def may_use(self, resource: str) -> float | None:
        given = dict(self.limits).get(resource)
        return None if given is None else quantity(given)


@dataclass(frozen=True, slots=True)
class PodState:
    uid: str
    name: str
    namespace: str
    created: datetime
    phase: Phase
    node: str | None = None
    role: str | None = None
    owner: Reference | None = None
    service_account: str | None = None
    scheduled: datetime | None = None
    started: datetime | None = None
    """When its first container ran."""
    finished: datetime | None = None
    """When its last one ended; None while one may still run."""
    containers: tuple[Container, ...] = ()
    gpu_count: int = 0
    restarts: int = 0
    failure: Failure | None = None
    """What went wrong with it, also if it may still come right."""
    facts: PodFacts = _NOTHING
    """What our agent says of it."""

    @property
    def is_over(self) -> bool:
        return self.phase in (Phase.SUCCEEDED, Phase.FAILED)

    def total(self, resource: str, *, limit: bool = False) -> float | None:
        """Of all containers; None where one of them says nothing."""
        each = [c.may_use(resource) if limit else c.asks(resource) for c in self.containers]
        known = [amount for amount in each if amount is not None]
        return sum(known) if known and len(known) == len(each) else None


def pod_state(pod: Raw) -> PodState | None:
    """None for what is no pod: it lacks a name, a namespace, a uid or the time it was made."""
    uid = fields.name(pod, "metadata", "uid")
    name = fields.name(pod, "metadata", "name")
    namespace = fields.name(pod, "metadata", "namespace")
    created = fields.moment(pod, "metadata", "creationTimestamp")
    if uid is None or name is None or namespace is None or created is None:
        return None
    phase = _phase(pod)
    containers = tuple(_containers(pod))
    owner = controller_of(pod)
    failure = failures.failure_of(pod)
    return PodState(
        uid=uid,
        name=name,
        namespace=intern(namespace),
        created=created,
        phase=phase,
        node=_shared(fields.name(pod, "spec", "nodeName")),
        role=_shared(_role(pod)),
        owner=None if owner is None else _same_reference(owner),
        service_account=_shared(fields.name(pod, "spec", "serviceAccountName")),
        scheduled=_scheduled(pod),
        started=min(failures.starts(pod), default=None),
        finished=_finished(pod, phase, failure),
        containers=containers,
        gpu_count=_gpu_count(containers),
        restarts=sum(
            fields.count(status, "restartCount") or 0 for status in failures.statuses(pod)
        ),
        failure=failure,
        facts=facts_of(pod),
    )


def gpu_count(pod: Raw) -> int:
    """How many GPUs it asks for."""
    return _gpu_count(_containers(pod))


def facts_of(pod: Raw) -> PodFacts:
    annotations = fields.part(pod, "metadata", "annotations")
    applied = applied_keys(pod, MANAGER)
    ours = {key: annotations[key] for key in applied if key in annotations}
    return codec.decode_pod(ours).facts if ours else _NOTHING


def applied_keys(thing: Raw, manager: str) -> frozenset[str]:
    """The annotations that this manager applied; an update by the same name is another's."""
    keys: set[str] = set()
    for entry in fields.items(thing, "metadata", "managedFields"):
        if entry.get("manager") != manager or entry.get("operation") != "Apply":
            continue
        if entry.get("subresource"):
            continue
        named = fields.pairs(entry, "fieldsV1", "f:metadata", "f:annotations")
        keys.update(name.removeprefix("f:") for name, _ in named if name != ".")
    return frozenset(keys)


def container_of(spec: Raw) -> Container | None:
    """From a pod's spec or from the template of one."""
    name = fields.name(spec, "name")
    if name is None:
        return None
    return _same_container(
        intern(name),
        _amounts(spec, "requests"),
        _amounts(spec, "limits"),
    )


def _amounts(spec: Raw, kind: str) -> Amounts:
    found = []
    for resource, given in fields.pairs(spec, "resources", kind):
        # The API server writes texts; who wrote the template may have written a number.
        number = fields.count({"": given}, "")
        text = given if number is None else str(number)
        if not isinstance(text, str) or len(text) > QUANTITY_CHARACTERS:
            continue
        if quantity(text) is not None and fields.name({"": resource}, ""):
            found.append((intern(resource), intern(text)))
    return tuple(sorted(found)[:MOST_RESOURCES])


# Pods of one job ask for the same: one object for all of them.
@lru_cache(maxsize=4096)
def _same_container(name: str, requests: Amounts, limits: Amounts) -> Container:
    return Container(name, requests, limits)


@lru_cache(maxsize=4096)
def _same_reference(reference: Reference) -> Reference:
    return reference


def _shared(text: str | None) -> str | None:
    return None if text is None else intern(text)


def _containers(pod: Raw) -> Iterator[Container]:
    for at, spec in enumerate(fields.items(pod, "spec", "containers")):
        container = container_of(spec)
        if container is not None and at < MOST_CONTAINERS:
            yield container


def _gpu_count(containers: Iterable[Container]) -> int:
    return min(MOST_GPUS, sum(_gpus(container) for container in containers))


def _gpus(container: Container) -> int:
    names = {name for name, _ in (*container.requests, *container.limits) if is_gpu(name)}
    return int(sum(min(float(MOST_GPUS), container.asks(name) or 0.0) for name in names))


def _phase(pod: Raw) -> Phase:
    try:
        return Phase(fields.name(pod, "status", "phase") or "")
    except ValueError:
        return Phase.UNKNOWN


def _role(pod: Raw) -> str | None:
    for label in ROLE_LABELS:
        found = fields.name(pod, "metadata", "labels", label)
        if found is not None:
            return found.capitalize() if label.startswith(KUBEFLOW) else found
    return None


def _scheduled(pod: Raw) -> datetime | None:
    condition = fields.condition(pod, "PodScheduled")
    return None if condition is None else fields.moment(condition, "lastTransitionTime")


def _finished(pod: Raw, phase: Phase, failure: Failure | None) -> datetime | None:
    """Of a pod on a lost node its containers' end is not known; that it was driven away is."""
    if phase not in (Phase.SUCCEEDED, Phase.FAILED):
        return None
    return max(failures.ends(pod), default=None if failure is None else failure.at)
