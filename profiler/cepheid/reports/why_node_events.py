"""Which Event says what was considered for a pod, and if none does, why?

In come the pod and Events about it, as the API server sent them. Anybody who may create Events in
the pod's namespace can write one that looks like the extender's: where the pod itself tells, it is
believed and not the Event, and an Event that cannot be true is left out.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from cepheid.jobs import fields
from cepheid.jobs.fields import Raw
from cepheid.jobs.pods import gpu_count
from cepheid.reports.plain import clipped, plain
from cepheid.reports.words import age, counted
from cepheid.whynode import (
    COMPONENT,
    FORGOTTEN_SECONDS,
    KEY,
    REASON,
    SOURCE,
    Considered,
    WhyNodeError,
    from_text,
)

WAITS_SECONDS = 20.0
"""The extender tells of a pod without a node after 15 s, and then has to write it."""
NAME_COLUMNS = 32
DEFAULT_SCHEDULER, OWN_SCHEDULER = "default-scheduler", "cepheid"


@dataclass(frozen=True, slots=True, kw_only=True)
class PodSeen:
    """Of a Pod what matters here."""

    namespace: str
    name: str
    uid: str
    gpus: int = 0
    node: str | None = None
    phase: str = ""
    scheduler: str = DEFAULT_SCHEDULER
    is_gated: bool = False
    unschedulable: str | None = None
    """What the scheduler says, while it finds no node."""
    created: datetime | None = None
    scheduled: datetime | None = None

    @classmethod
    def of(cls, pod: Raw) -> "PodSeen":
        scheduled = fields.condition(pod, "PodScheduled")
        return cls(
            namespace=fields.name(pod, "metadata", "namespace") or "",
            name=fields.name(pod, "metadata", "name") or "",
            uid=fields.name(pod, "metadata", "uid") or "",
            gpus=gpu_count(pod),
            node=fields.name(pod, "spec", "nodeName"),
            phase=fields.name(pod, "status", "phase") or "",
            scheduler=fields.words(pod, "spec", "schedulerName") or DEFAULT_SCHEDULER,
            is_gated=any(fields.items(pod, "spec", "schedulingGates")),
            unschedulable=_unschedulable(pod),
            created=fields.moment(pod, "metadata", "creationTimestamp"),
            scheduled=fields.moment(scheduled, "lastTransitionTime"),
        )


def _unschedulable(pod: Raw) -> str | None:
    for found in fields.items(pod, "status", "conditions"):
        kind = found.get("type"), found.get("status"), found.get("reason")
        if kind == ("PodScheduled", "False", "Unschedulable"):
            return fields.words(found, "message")
    return None


@dataclass(frozen=True, slots=True)
class Told:
    considered: Considered
    created: datetime | None
    """By the API server's clock, not by what the Event claims."""


@dataclass(frozen=True, slots=True)
class Heard:
    """What the Events about a pod come to."""

    told: Told | None
    """The newest that can be true."""
    foreign: int = 0
    """So many are of somebody else, by their own account."""
    wrong: tuple[WhyNodeError, ...] = ()
    """So many cannot be read, or cannot be true."""


def heard(pod: PodSeen, events: Iterable[Raw]) -> Heard:
    foreign = 0
    told: list[Told] = []
    wrong: list[WhyNodeError] = []
    for event in events:
        text = fields.value(event, "metadata", "annotations", KEY)
        about = fields.value(event, "involvedObject", "uid"), fields.value(event, "reason")
        if not isinstance(text, str) or about != (pod.uid, REASON):
            continue
        named = (
            fields.value(event, "reportingComponent"),
            fields.value(event, "source", "component"),
        )
        if named != (COMPONENT, SOURCE):
            foreign += 1
            continue
        try:
            told.append(
                Told(_read(pod, text), fields.moment(event, "metadata", "creationTimestamp"))
            )
        except WhyNodeError as problem:
            wrong.append(problem)
    return Heard(max(told, key=_newness, default=None), foreign, tuple(wrong))


def _read(pod: PodSeen, text: str) -> Considered:
    found = from_text(text)
    if found.node is not None and found.node != pod.node:
        raise WhyNodeError(
            f"the Event says that it got {found.node}, and the pod that it"
            f" {'has no node' if pod.node is None else f'got {pod.node}'}",
            hint="the pod is right: who wrote that Event?",
        )
    return found


def _newness(told: Told) -> tuple[float, bool]:
    """Of two in one second that one which says the end of it."""
    created = 0.0 if told.created is None else told.created.timestamp()
    return created, told.considered.node is not None


def nothing_told(pod: PodSeen, foreign: int, now: datetime) -> tuple[str, str]:
    """Why no Event says anything, as far as the pod shows it; and what to do."""
    why, what_to_do = _why_nothing(pod, now)
    others = f" ({counted(foreign, 'Event')} of somebody else not believed)" if foreign else ""
    words = f"no Event says which nodes were considered for {pod.name}{others}: {why}"
    return plain(words), what_to_do


def _why_nothing(pod: PodSeen, now: datetime) -> tuple[str, str]:
    said = f"what the scheduler said: {describe(pod)}"
    if not pod.gpus:
        return "it asks for no GPUs, and such pods are placed without Cepheid", said
    if pod.node is not None and _seconds(pod.scheduled, now) > FORGOTTEN_SECONDS:
        return (
            f"it got its node {age(pod.scheduled, now)} ago, and Events are kept for an hour",
            "ask within an hour: a pod that has its node is told of once",
        )
    waits = None if pod.node is not None else _why_waiting(pod, now)
    if waits is not None:
        return waits, f"ask again after {WAITS_SECONDS:.0f} s; {said}"
    why = f"its scheduler {_scheduler(pod)} seems not to ask Cepheid's extender"
    if pod.scheduler == OWN_SCHEDULER:
        return why, f"does the extender run? kubectl get pods -n cepheid. Or {said}"
    own = f"is Cepheid's scheduler installed? Pods ask for it with schedulerName: {OWN_SCHEDULER}"
    return why, f"{own}; any other must have the extender in its configuration"


def _why_waiting(pod: PodSeen, now: datetime) -> str | None:
    """An extender is asked of nodes alone that the scheduler has found by itself."""
    if pod.is_gated:
        return "its schedulingGates are not open: no scheduler has looked at it"
    if 0 <= _seconds(pod.created, now) <= WAITS_SECONDS:
        return f"it has waited for {_seconds(pod.created, now):.0f} s"
    if pod.unschedulable is not None:
        found = f"finds no node with room for it ({pod.unschedulable})"
        return f"its scheduler {_scheduler(pod)} {found}, and asks the extender of such alone"
    return None


def _scheduler(pod: PodSeen) -> str:
    return repr(clipped(plain(pod.scheduler), NAME_COLUMNS))


def _seconds(since: datetime | None, now: datetime) -> float:
    """Less than nothing where that is not known."""
    return -1.0 if since is None else (now - since).total_seconds()


def describe(pod: PodSeen) -> str:
    return f"kubectl describe pod {pod.name} -n {pod.namespace}"
