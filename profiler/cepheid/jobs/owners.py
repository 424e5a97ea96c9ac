"""Which job does a pod belong to?

Followed are references with `controller: true`, from one object to the next, and nothing else: a
label or a name may say anything. The job is the highest object on the way up that is of a known
kind; a CronJob is no job but the series that its runs belong to.

    pod -> MPIJob                       pod -> Job x-launcher -> MPIJob
    pod -> Job -> JobSet -> TrainJob    pod -> RayCluster -> RayJob
    pod -> Job, of the series CronJob   a pod of nobody is its own job

What is none of ours is left alone, with a reason that can be counted.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Final, TypeAlias

from cepheid.jobs import fields
from cepheid.jobs.fields import Raw
from cepheid.jobs.kinds import JOB, POD, group_of, kind_of

MOST_OWNERS = 8
"""On the way up; the longest that is known, of a TrainJob, has three."""

CRON_JOB: Final = ("batch", "CronJob")
# Made by a kind that we know, and no job itself.
BETWEEN: Final = frozenset({("ray.io", "RayCluster")})
SERVICES: Final = frozenset(
    {
        ("apps", "ReplicaSet"),
        ("apps", "StatefulSet"),
        ("apps", "DaemonSet"),
        ("apps", "Deployment"),
        ("", "ReplicationController"),
        ("", "Node"),  # a static pod
    }
)


class Unknown(Enum):
    FORBIDDEN = "forbidden"
    """There may be such an object, and we may not read it."""


@dataclass(frozen=True, slots=True)
class Reference:
    """One object, by what an owner reference says of it."""

    api_version: str
    kind: str
    name: str
    uid: str

    @property
    def group(self) -> str:
        return self.api_version.rpartition("/")[0]


Lookup: TypeAlias = Callable[[Reference, str], Raw | Unknown | None]
"""The object of a reference in a namespace; None where there is none."""


class Why(StrEnum):
    SERVICE = "service"
    """Of a Deployment, StatefulSet, DaemonSet: no job, and not meant to end."""
    UNKNOWN_KIND = "unknown-kind"
    FORBIDDEN = "forbidden"
    GONE = "gone"
    """An owner that might have had an owner itself is no more."""
    ENDLESS = "endless"
    """The owners own each other, or are too many."""
    BROKEN = "broken"
    """The object lacks what every object has."""


@dataclass(frozen=True, slots=True)
class LeftAlone:
    why: Why
    kind: str
    """With its group, of the object at which the way ended: for a metric."""


@dataclass(frozen=True, slots=True)
class Owned:
    job: Reference
    namespace: str
    series: Reference | None = None
    """The CronJob that a run belongs to."""
    found: Raw | None = None
    """The job as it was looked up; None where it is gone, or is the pod itself."""


def reference_to(thing: Raw) -> Reference | None:
    """None for what lacks a kind, a name or a uid."""
    return _reference(
        fields.name(thing, "apiVersion"),
        fields.name(thing, "kind"),
        fields.name(thing, "metadata", "name"),
        fields.name(thing, "metadata", "uid"),
    )


def controller_of(thing: Raw) -> Reference | None:
    """Its one owner that manages it."""
    for owner in fields.items(thing, "metadata", "ownerReferences"):
        if fields.is_true(owner, "controller"):
            return _reference(*(fields.name(owner, key) for key in _KEYS))
    return None


_KEYS = ("apiVersion", "kind", "name", "uid")


def _reference(*parts: str | None) -> Reference | None:
    known = [part for part in parts if part is not None]
    return Reference(*known) if len(known) == len(_KEYS) else None


def job_of(pod: Raw, lookup: Lookup) -> Owned | LeftAlone:
    """The job that a raw pod belongs to; the lookup is asked once for each owner on the way."""
    namespace = fields.name(pod, "metadata", "namespace")
    # A watch leaves apiVersion and kind out of the items of a list.
    itself = reference_to({**pod, "apiVersion": "v1", "kind": POD.name})
    if namespace is None or itself is None:
        return LeftAlone(Why.BROKEN, POD.name)
    if (owner := controller_of(pod)) is None:
        return Owned(itself, namespace)
    return _climb(owner, namespace, lookup)


def top_of(job: Raw, lookup: Lookup) -> Owned | LeftAlone:
    """The same for an object that is a job itself, such as the Job of an MPIJob's launcher."""
    namespace = fields.name(job, "metadata", "namespace")
    itself = reference_to(job)
    if namespace is None or itself is None:
        return LeftAlone(Why.BROKEN, _named(group_of(job), fields.name(job, "kind") or "-"))
    return _climb(itself, namespace, lambda ref, ns: job if ref == itself else lookup(ref, ns))


def _climb(owner: Reference, namespace: str, lookup: Lookup) -> Owned | LeftAlone:
    best: Owned | None = None
    seen: set[str] = set()
    step: Reference | None = owner
    while step is not None:
        key = (step.group, step.kind)
        if best is not None and key == CRON_JOB and best.job.kind == JOB.name:
            return Owned(best.job, namespace, series=step, found=best.found)
        kind = kind_of({"apiVersion": step.api_version, "kind": step.kind})
        if kind is None and key not in BETWEEN:
            # Whatever made a job that we know, a workflow or a tuner, the job is a job.
            why = Why.SERVICE if key in SERVICES else Why.UNKNOWN_KIND
            return best or _left(why, step)
        if step.uid in seen or len(seen) == MOST_OWNERS:
            return _left(Why.ENDLESS, step)
        seen.add(step.uid)
        found = lookup(step, namespace)
        if found is Unknown.FORBIDDEN:
            return _left(Why.FORBIDDEN, step)
        if found is None or fields.value(found, "metadata", "uid") != step.uid:
            # Of a kind that nothing owns, the reference says all there is to say.
            certain = kind is not None and not kind.may_be_owned
            return Owned(step, namespace) if certain else _left(Why.GONE, step)
        if kind is not None:
            best = Owned(step, namespace, found=found)
        step = controller_of(found)
    return best or _left(Why.UNKNOWN_KIND, owner)


def _left(why: Why, at: Reference) -> LeftAlone:
    return LeftAlone(why, _named(at.group, at.kind))


def _named(group: str, kind: str) -> str:
    return f"{kind}.{group}" if group else kind
