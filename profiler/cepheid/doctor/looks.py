"""One look at one thing of a cluster each, through the API server."""

from collections.abc import Callable, Iterable, Sequence
from email.utils import parsedate_to_datetime
from typing import Any

import httpx2
from lightkube import Client
from lightkube.config import client_adapter
from lightkube.generic_resource import create_global_resource
from lightkube.models.authorization_v1 import (
    ResourceAttributes,
    SelfSubjectAccessReviewSpec,
    SubjectAccessReviewSpec,
)
from lightkube.resources.admissionregistration_v1 import (
    ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding,
)
from lightkube.resources.apps_v1 import DaemonSet, Deployment
from lightkube.resources.authentication_v1 import SelfSubjectReview
from lightkube.resources.authorization_v1 import SelfSubjectAccessReview, SubjectAccessReview
from lightkube.resources.core_v1 import Node, Pod

from cepheid.annotations.api import TIMEOUT_SECONDS, ApiServer
from cepheid.annotations.codec import heartbeat
from cepheid.doctor.definitions import VERSION, paths, without_own
from cepheid.doctor.facts import (
    AgentPod,
    Definition,
    NodeSeen,
    Right,
    Seen,
    T,
    Unseen,
    Workload,
)
from cepheid.doctor.finding import NAMESPACE
from cepheid.doctor.rights import ACCOUNT, AGENT
from cepheid.errors import CepheidError, ForbiddenError, GoneError

DAEMON_SET, DEPLOYMENT = DaemonSet, Deployment
PAGE = 250
GPUS = ("nvidia.com/gpu", "amd.com/gpu")
EXPORTERS = ("app.kubernetes.io/name=dcgm-exporter", "app=nvidia-dcgm-exporter")
"""Of NVIDIA's own chart, and of its GPU operator: as in prometheus/prometheus.yaml."""
DEFINITION = create_global_resource(
    "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions"
)
"""As a plain document: a schema is walked, whatever stands in it."""


def seen(look: Callable[[], T]) -> Seen[T]:
    try:
        return look()
    except CepheidError as problem:
        return unseen(problem)


def unless(before: Any, look: Callable[[], T]) -> Seen[T]:
    """Where nothing answers, nobody waits for it again and again."""
    return before if isinstance(before, Unseen) else seen(look)


def unseen(problem: CepheidError) -> Unseen:
    return Unseen(problem.message, problem.hint or "", isinstance(problem, ForbiddenError))


def server_version(server: ApiServer, clock: Callable[[], float]) -> tuple[str, float | None]:
    """And by how much its clock is ahead of ours."""

    def ask(client: Client) -> tuple[str, float | None]:
        parameters = client_adapter.ConnectionParams(timeout=httpx2.Timeout(TIMEOUT_SECONDS))
        with client_adapter.Client(client.config, parameters) as connection:
            connection.get("/version")  # the first answer waits for the connection
            begun = clock()
            answer = connection.get("/version")
            ours = (begun + clock()) / 2
            answer.raise_for_status()
            said = answer.json()
        version = said.get("gitVersion") if isinstance(said, dict) else None
        return str(version or ""), _ahead(answer.headers.get("Date", ""), ours)

    return server.ask("asking for the version", ask)


def _ahead(date: str, ours: float) -> float | None:
    try:
        # Its fraction was cut off: half a second is what it lost on average.
        return parsedate_to_datetime(date).timestamp() + 0.5 - ours
    except (TypeError, ValueError, OverflowError):
        return None


def user(server: ApiServer) -> str:
    made = server.ask("asking who you are", lambda client: client.create(SelfSubjectReview()))
    status: Any = made.status
    return str(status.userInfo.username or "")


def missing(
    server: ApiServer, needed: Sequence[Right], account: str | None = None
) -> tuple[Right, ...]:
    """Those that you, or an account of ours, do not have."""

    def ask(client: Client) -> tuple[Right, ...]:
        return tuple(right for right in needed if not _may(client, right, account))

    return server.ask(f"asking what {account or 'you'} may do", ask)


def _may(client: Client, right: Right, account: str | None) -> bool:
    resource, _, sub = right.resource.partition("/")
    what = ResourceAttributes(
        verb=right.verb,
        group=right.group,
        resource=resource,
        subresource=sub or None,
        namespace=right.namespace or None,
        name=right.name or None,
    )
    review: Any
    if account is None:
        own = SelfSubjectAccessReviewSpec(resourceAttributes=what)
        review = client.create(SelfSubjectAccessReview(spec=own))
    else:
        of_account = SubjectAccessReviewSpec(
            user=f"{ACCOUNT}{NAMESPACE}:{account}",
            groups=[
                "system:serviceaccounts",
                f"system:serviceaccounts:{NAMESPACE}",
                "system:authenticated",
            ],
            resourceAttributes=what,
        )
        review = client.create(SubjectAccessReview(spec=of_account))
    return bool(review.status.allowed)


def workload(server: ApiServer, name: str, kind: Any) -> Workload | None:
    """The agents or the operator; None where they are not installed."""
    try:
        found: Any = server.ask(
            f"reading {kind.__name__} {name}",
            lambda client: client.get(kind, name, namespace=NAMESPACE),
        )
    except GoneError:
        return None
    return _workload(found)


def _workload(found: Any) -> Workload:
    status, containers = found.status, found.spec.template.spec.containers
    first = containers[0]
    wanted = getattr(status, "desiredNumberScheduled", None)
    ready = getattr(status, "numberReady", None)
    if wanted is None:
        wanted = getattr(found.spec, "replicas", None)
        ready = getattr(status, "readyReplicas", None)
    return Workload(
        namespace=found.metadata.namespace,
        name=found.metadata.name,
        image=first.image or "",
        wanted=wanted or 0,
        ready=ready or 0,
        container=first.name,
        settings={one.name: one.value for one in first.env or () if one.value is not None},
    )


def exporters(server: ApiServer) -> tuple[Workload, ...]:
    def ask(client: Client) -> tuple[Workload, ...]:
        return tuple(
            _workload(one)
            for label in EXPORTERS
            for one in client.list(DaemonSet, namespace="*", labels=_pair(label), chunk_size=PAGE)
        )

    return server.ask("listing exporters", ask)


def _pair(label: str) -> dict[str, Any]:
    key, _, value = label.partition("=")
    return {key: value}


def agent_pods(server: ApiServer) -> tuple[AgentPod, ...]:
    labels: dict[str, Any] = {"app.kubernetes.io/name": AGENT}

    def ask(client: Client) -> tuple[AgentPod, ...]:
        listed = client.list(Pod, namespace=NAMESPACE, labels=labels, chunk_size=PAGE)
        return tuple(_agent_pod(one) for one in listed)

    return server.ask("listing the agents' pods", ask)


def _agent_pod(pod: Any) -> AgentPod:
    conditions = {one.type: one for one in pod.status.conditions or ()}
    ready = conditions.get("Ready")
    waiting = [
        state.waiting.reason
        for one in pod.status.containerStatuses or ()
        if (state := one.state) is not None and state.waiting is not None
    ]
    scheduled = conditions.get("PodScheduled")
    refused = scheduled.message if scheduled is not None and scheduled.status == "False" else ""
    return AgentPod(
        name=pod.metadata.name,
        node=pod.spec.nodeName or "",
        is_ready=ready is not None and ready.status == "True",
        trouble=next(filter(None, (*waiting, refused)), ""),
    )


def nodes(server: ApiServer) -> tuple[NodeSeen, ...]:
    return server.ask(
        "listing nodes",
        lambda client: tuple(_node(one) for one in client.list(Node, chunk_size=PAGE)),
    )


def _node(node: Any) -> NodeSeen:
    status = node.status
    capacity = (status.capacity if status is not None else None) or {}
    addresses = (status.addresses if status is not None else None) or ()
    return NodeSeen(
        name=node.metadata.name,
        gpus=sum(_count(capacity.get(kind)) for kind in GPUS),
        addresses=tuple(one.address for one in addresses),
        valid_until=heartbeat(node.metadata.annotations or {}),
    )


def _count(quantity: Any) -> int:
    text = str(quantity or "")
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 6 else 0  # noqa: PLR2004


def gpu_pod(server: ApiServer) -> str | None:
    """The first that runs with a GPU: more than one need not be known."""

    def ask(client: Client) -> str | None:
        running = client.list(
            Pod, namespace="*", fields={"status.phase": "Running"}, chunk_size=PAGE
        )
        for pod in running:
            named: Any = pod
            if _holds_gpu(named.spec.containers):
                return f"{named.metadata.namespace}/{named.metadata.name}"
        return None

    return server.ask("listing pods", ask)


def _holds_gpu(containers: Iterable[Any]) -> bool:
    limits = [(one.resources.limits if one.resources else None) or {} for one in containers]
    return any(_count(limit.get(kind)) > 0 for limit in limits for kind in GPUS[:1])


def definition(server: ApiServer, name: str) -> Definition | None:
    try:
        found: Any = server.ask(
            f"reading the definition {name}",
            lambda client: client.get(DEFINITION, name),
        )
    except GoneError:
        return None
    versions = [one for one in found["spec"].get("versions") or () if one.get("served")]
    conditions = (found.get("status") or {}).get("conditions") or ()
    schemas = [
        (one.get("schema") or {}).get("openAPIV3Schema")
        for one in versions
        if one.get("name") == VERSION
    ]
    return Definition(
        served=tuple(str(one.get("name")) for one in versions),
        is_established=any(
            one.get("type") == "Established" and one.get("status") == "True" for one in conditions
        ),
        fields=without_own(paths(schemas[0] if schemas else None)),
    )


def policies(server: ApiServer) -> frozenset[str]:
    """Names of those that are bound so that they deny."""

    def ask(client: Client) -> frozenset[str]:
        there: list[Any] = list(client.list(ValidatingAdmissionPolicy, chunk_size=PAGE))
        bindings: list[Any] = list(client.list(ValidatingAdmissionPolicyBinding, chunk_size=PAGE))
        bound = {
            one.spec.policyName for one in bindings if "Deny" in (one.spec.validationActions or ())
        }
        return frozenset(one.metadata.name for one in there if one.metadata.name in bound)

    return server.ask("listing admission policies", ask)
