"""What went wrong with one pod, and when: the pod's own record of it.

The most telling comes first: whoever drove the pod away says so in a condition or in the pod's
reason; else its containers tell how they ended, or what they wait for.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from cepheid.jobprofile import Reason
from cepheid.jobs import fields
from cepheid.jobs.fields import Raw

# Of the condition DisruptionTarget (core/v1 constants, and those of its controllers).
DISRUPTIONS = {
    "PreemptionByScheduler": Reason.PREEMPTED,
    "EvictionByEvictionAPI": Reason.EVICTED,
    "TerminationByKubelet": Reason.EVICTED,
    "DeletionByTaintManager": Reason.NODE_LOST,
    "DeletionByPodGC": Reason.NODE_LOST,
}
# Of status.reason.
POD_REASONS = {
    "Evicted": Reason.EVICTED,
    "Preempting": Reason.PREEMPTED,
    "Preempted": Reason.PREEMPTED,
    "NodeLost": Reason.NODE_LOST,
    "NodeShutdown": Reason.NODE_LOST,
    "Terminated": Reason.NODE_LOST,  # by a node that shuts down
    "Shutdown": Reason.NODE_LOST,
    "DeadlineExceeded": Reason.DEADLINE,
    "NodeAffinity": Reason.UNSCHEDULABLE,
    "UnexpectedAdmissionError": Reason.UNSCHEDULABLE,
}
# Of a container that ended.
ENDS = {
    "OOMKilled": Reason.OOM_KILLED,
    "ContainerCannotRun": Reason.CONFIG,
    "StartError": Reason.CONFIG,
    "ContainerStatusUnknown": Reason.NODE_LOST,
    "DeadlineExceeded": Reason.DEADLINE,
}
# Of a container that waits.
WAITS = {
    "ErrImagePull": Reason.IMAGE,
    "ImagePullBackOff": Reason.IMAGE,
    "ImageInspectError": Reason.IMAGE,
    "ErrImageNeverPull": Reason.IMAGE,
    "InvalidImageName": Reason.IMAGE,
    "RegistryUnavailable": Reason.IMAGE,
    "SignatureValidationFailed": Reason.IMAGE,
    "CreateContainerConfigError": Reason.CONFIG,
    "CreateContainerError": Reason.CONFIG,
    "RunContainerError": Reason.CONFIG,
}


@dataclass(frozen=True, slots=True)
class Failure:
    reason: Reason
    at: datetime | None = None
    exit_code: int | None = None
    message: str | None = None


def failure_of(pod: Raw) -> Failure | None:
    driven_away = _driven_away(pod)
    if driven_away is not None:
        return driven_away
    if (asked := deletion_asked(pod)) is not None:
        ended = max(ends(pod), default=asked)
        if ended >= asked and not _killed_for_memory(pod):
            return Failure(Reason.DELETED, asked)  # its exit code is that of the signal
    if fields.value(pod, "status", "phase") == "Succeeded":
        return None  # whatever a sidecar's end looks like
    return _container_ended(pod) or _waits(pod)


def deletion_asked(thing: Raw) -> datetime | None:
    """When somebody deleted it; the API server notes when it must be gone at the latest."""
    gone = fields.moment(thing, "metadata", "deletionTimestamp")
    if gone is None:
        return None
    grace = fields.count(thing, "metadata", "deletionGracePeriodSeconds") or 0
    return gone - timedelta(seconds=grace)


def _killed_for_memory(pod: Raw) -> bool:
    failure = _container_ended(pod)
    return failure is not None and failure.reason is Reason.OOM_KILLED


def statuses(pod: Raw) -> Iterator[Raw]:
    for kind in ("initContainerStatuses", "containerStatuses"):
        yield from fields.items(pod, "status", kind)


def starts(pod: Raw) -> Iterator[datetime]:
    """Of its containers, those before a restart included; an init container is none of its work."""
    for status in fields.items(pod, "status", "containerStatuses"):
        for where in _STATES:
            if (found := fields.moment(status, *where, "startedAt")) is not None:
                yield found


def ends(pod: Raw) -> Iterator[datetime]:
    for status in statuses(pod):
        if (found := fields.moment(status, "state", "terminated", "finishedAt")) is not None:
            yield found


_STATES = (("state", "running"), ("state", "terminated"), ("lastState", "terminated"))


def _driven_away(pod: Raw) -> Failure | None:
    message = fields.words(pod, "status", "message")
    disruption = fields.condition(pod, "DisruptionTarget")
    if disruption is not None:
        reason = DISRUPTIONS.get(fields.name(disruption, "reason") or "")
        if reason is not None:
            # When it began: the pod itself may take its time to end.
            at = fields.moment(disruption, "lastTransitionTime")
            return Failure(reason, at, message=fields.words(disruption, "message") or message)
    said = fields.name(pod, "status", "reason") or ""
    reason = POD_REASONS.get(said)
    if reason is None and said.startswith("OutOf"):
        reason = Reason.UNSCHEDULABLE  # the kubelet refused it: OutOfcpu, OutOfnvidia.com/gpu
    if reason is None:
        return None
    return Failure(reason, max(ends(pod), default=None), message=message)


def _container_ended(pod: Raw) -> Failure | None:
    """The first that ended badly; of one that runs again, how it ended the last time."""
    found = []
    for status in statuses(pod):
        now = fields.part(status, "state", "terminated")
        if failure := _ended(now or fields.part(status, "lastState", "terminated")):
            found.append(failure)
    return min(found, key=in_time, default=None)


def in_time(failure: Failure) -> tuple[bool, datetime]:
    """The first comes first; those of which it is not known come last."""
    return failure.at is None, failure.at or _EPOCH


_EPOCH = datetime.fromtimestamp(0, UTC)


def _ended(ended: Raw) -> Failure | None:
    code = fields.integer(ended, "exitCode")
    reason = ENDS.get(fields.name(ended, "reason") or "")
    if reason is None and code:
        reason = Reason.EXIT_CODE
    if reason is None:
        return None
    at = fields.moment(ended, "finishedAt")
    return Failure(reason, at, code, fields.words(ended, "message"))


def _waits(pod: Raw) -> Failure | None:
    for status in statuses(pod):
        waiting = fields.part(status, "state", "waiting")
        reason = WAITS.get(fields.name(waiting, "reason") or "")
        if reason is not None:
            return Failure(reason, message=fields.words(waiting, "message"))
    for condition in fields.items(pod, "status", "conditions"):
        if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
            message = fields.words(condition, "message")
            at = fields.moment(condition, "lastTransitionTime")
            return Failure(Reason.UNSCHEDULABLE, at, message=message)
    return None
