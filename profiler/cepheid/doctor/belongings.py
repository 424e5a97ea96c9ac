"""What of a cluster is Cepheid's, and in which order does it go?

By our label and by name, both: the label alone others put on their own namespaces too, so that a
NetworkPolicy of ours lets them in, and such a namespace is not ours to delete. By name alone the
roles that doctor told an administrator to create: kubectl gives those no label.

First go the workloads, which would write again, then the annotations, then the rest. Definitions
take the JobProfiles and PlacementTrials with them; a namespace goes last, and stays where somebody
else's pods run in it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from lightkube import Client
from lightkube.resources.admissionregistration_v1 import (
    ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding,
)
from lightkube.resources.apiextensions_v1 import CustomResourceDefinition
from lightkube.resources.apps_v1 import DaemonSet, Deployment
from lightkube.resources.batch_v1 import Job
from lightkube.resources.coordination_v1 import Lease
from lightkube.resources.core_v1 import ConfigMap, Namespace, Pod, Secret, Service, ServiceAccount
from lightkube.resources.networking_v1 import NetworkPolicy
from lightkube.resources.policy_v1 import PodDisruptionBudget
from lightkube.resources.rbac_authorization_v1 import (
    ClusterRole,
    ClusterRoleBinding,
    Role,
    RoleBinding,
)
from lightkube.resources.scheduling_v1 import PriorityClass

from cepheid.annotations.api import ApiServer
from cepheid.doctor.rights import ROLE
from cepheid.errors import CepheidError, GoneError

LABEL: dict[str, Any] = {"app.kubernetes.io/part-of": "cepheid"}
NAMESPACES = ("cepheid", "cepheid-monitoring", "cepheid-uninstall")
DOMAIN = "ai.centaurus.io"
PAGE = 250
NOT_LABELLED = "has not our label"
WORKLOADS = (DaemonSet, Deployment, Job)
NAMESPACED = (
    PodDisruptionBudget,
    NetworkPolicy,
    RoleBinding,
    Role,
    Service,
    ConfigMap,
    ServiceAccount,
)
NAMED = (
    (Lease, "cepheid-operator"),
    (Lease, "kube-scheduler"),
    (Secret, "cepheid-extender-tls"),
)
"""In our namespaces, made by who runs there or by a command: not all have our label, and to list
Secrets takes a right that is not needed."""
GLOBAL = (
    # What a policy forbids is forbidden until nobody of ours is left.
    ClusterRoleBinding,
    ClusterRole,
    PriorityClass,
    ValidatingAdmissionPolicyBinding,
    ValidatingAdmissionPolicy,
    CustomResourceDefinition,
)

GRANTED = (ClusterRoleBinding, ClusterRole)


@dataclass(frozen=True, slots=True)
class Belonging:
    """An object that goes."""

    kind: Any
    """lightkube's class of it."""
    name: str
    namespace: str | None
    note: str = ""

    def __str__(self) -> str:
        within = "" if self.namespace is None else f"{self.namespace}/"
        return f"{self.kind.__name__} {within}{self.name}"


@dataclass(frozen=True, slots=True)
class Plan:
    workloads: tuple[Belonging, ...]
    rest: tuple[Belonging, ...]
    kept: tuple[str, ...]
    """What is ours and stays, and why."""
    unseen: tuple[str, ...]
    """What could not be looked at."""


def plan(server: ApiServer) -> Plan:
    """Looks at what is there, and changes nothing."""
    unseen: list[str] = []

    def listed(doing: str, question: Callable[[Client], list[Belonging]]) -> list[Belonging]:
        try:
            return server.ask(doing, question)
        except GoneError:
            return []
        except CepheidError as problem:
            unseen.append(problem.message)
            return []

    spaces = [
        one for name in NAMESPACES for one in listed(f"reading Namespace {name}", _namespace(name))
    ]
    workloads = [
        one
        for kind in WORKLOADS
        for space in spaces
        for one in listed(f"listing {kind.__name__}s", _within(kind, space.name))
    ]
    rest = [
        one
        for kind in NAMESPACED
        for space in spaces
        for one in listed(f"listing {kind.__name__}s", _within(kind, space.name))
    ]
    rest += [
        found
        for kind, name in NAMED
        for space in spaces
        for found in listed(f"reading {kind.__name__} {name}", _one(kind, name, space.name))
    ]
    for kind in GLOBAL:
        rest += listed(f"listing {kind.__name__}s", _global(kind))
    kept = []
    for space in spaces:
        others = listed("listing pods", _others(space.name))
        if others:
            kept.append(f"{space}: {others[0]} and perhaps others in it are not Cepheid's")
        elif space.note == NOT_LABELLED:
            kept.append(f"{space}: it {space.note}")
        else:
            rest.append(space)
    return Plan(tuple(workloads), tuple(rest), tuple(kept), tuple(dict.fromkeys(unseen)))


def _namespace(name: str) -> Callable[[Client], list[Belonging]]:
    """By its name: what is in it may be ours though somebody took its label."""

    def ask(client: Client) -> list[Belonging]:
        found = client.get(Namespace, name)
        note = "with all that is in it" if _is_labelled(found) else NOT_LABELLED
        return [Belonging(one.kind, one.name, None, note) for one in _ours(Namespace, [found])]

    return ask


def _within(kind: Any, namespace: str) -> Callable[[Client], list[Belonging]]:
    return lambda client: list(
        _ours(kind, client.list(kind, namespace=namespace, labels=LABEL, chunk_size=PAGE))
    )


def _one(kind: Any, name: str, namespace: str) -> Callable[[Client], list[Belonging]]:
    return lambda client: list(_ours(kind, [client.get(kind, name, namespace=namespace)]))


def _global(kind: Any) -> Callable[[Client], list[Belonging]]:
    def ask(client: Client) -> list[Belonging]:
        labels = None if kind in GRANTED else LABEL
        found = client.list(kind, labels=labels, chunk_size=PAGE)
        ours = [one for one in found if _is_labelled(one) or _is_granted(one)]
        return [one for one in _ours(kind, ours) if is_ours(one)]

    return ask


def _is_granted(thing: Any) -> bool:
    return str(thing.metadata.name).startswith(f"{ROLE}-")


def is_ours(one: Belonging) -> bool:
    """Whose name it has: the label may be anybody's."""
    if one.kind is CustomResourceDefinition:
        return one.name.endswith(f".{DOMAIN}")
    return one.name.startswith("cepheid-")


def _others(namespace: str) -> Callable[[Client], list[Belonging]]:
    """Pods there that are not ours and not at their end."""

    def ask(client: Client) -> list[Belonging]:
        found = client.list(Pod, namespace=namespace, chunk_size=PAGE)
        return [
            belonging
            for pod, belonging in ((pod, _belonging(Pod, pod)) for pod in found)
            if not _is_labelled(pod)
        ]

    return ask


def _is_labelled(thing: Any) -> bool:
    labels = thing.metadata.labels or {}
    return all(labels.get(key) == value for key, value in LABEL.items())


def _ours(kind: Any, found: Any) -> Iterator[Belonging]:
    """But for what goes already."""
    return (_belonging(kind, one) for one in found if one.metadata.deletionTimestamp is None)


def _belonging(kind: Any, thing: Any) -> Belonging:
    metadata = thing.metadata
    note = "with all objects of its kind" if kind is CustomResourceDefinition else ""
    return Belonging(kind, metadata.name, metadata.namespace, note)
