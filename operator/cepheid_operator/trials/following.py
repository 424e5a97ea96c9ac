"""What becomes of a trial's job? Pure: the job and its pods as they stand in, its course out."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from cepheid.jobprofile import Reason
from cepheid.jobs import failures, fields
from cepheid.jobs.ending import Ending, ending_of
from cepheid.jobs.fields import Raw
from cepheid.jobs.kinds import kind_of
from cepheid.jobs.pods import Phase, PodState, pod_state
from cepheid_operator.trials.copying.builders import JOB_LABEL

DRIVEN_AWAY = frozenset({Reason.NODE_LOST, Reason.EVICTED, Reason.PREEMPTED})
"""Not the job's doing, nor the placement's."""
# What CUDA, HIP and the frameworks on top of them say; there is no exit code for it.
_NO_GPU_MEMORY = re.compile(
    r"(?i)\b(?:cuda|hip|gpu|device|xla)\b.{0,40}out of memory|OutOfMemoryError|"
    r"CUDA_ERROR_OUT_OF_MEMORY|CUDNN_STATUS_ALLOC_FAILED|RESOURCE_EXHAUSTED: Out of memory"
)
_LAST_CHARACTERS = 4096
"""Of a container's last words: the kubelet keeps as many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """A trial's job that is there."""

    name: str
    uid: str
    pods: tuple[PodState, ...]
    began: datetime | None
    """When the last of its pods began to run, once all of them did."""
    ending: Ending
    lacks_gpu_memory: bool
    waits_for: str | None
    """Why a pod does not run, where its scheduler or kubelet says so."""
    is_going: bool
    """Somebody has deleted it."""

    @property
    def driven_away(self) -> str | None:
        """By whom, in words. A job is not over before the pods on its lost node are."""
        if self.ending.is_over:
            ends = [(self.ending.reason, self.ending.message)]
        else:
            ends = [(pod.failure.reason, pod.failure.message) for pod in self.pods if pod.failure]
        return next((_told(*one) for one in ends if one[0] in DRIVEN_AWAY), None)

    def first_held(self) -> datetime | None:
        """Since when GPUs are held for it."""
        held = [pod.scheduled for pod in self.pods if pod.gpu_count and pod.scheduled is not None]
        return min(held, default=None)

    @property
    def may_hold(self) -> bool:
        """GPUs, now or later: a pod of it is not over, or it is to have more."""
        return not self.ending.is_over or any(pod.finished is None for pod in self.pods)

    def gpu_seconds(self, until: datetime) -> float:
        """So long its pods hold GPUs, times their number, if those that do are ended then."""
        total = 0.0
        for pod in self.pods:
            if pod.gpu_count and pod.scheduled is not None:
                end = min(until, pod.finished or until)
                total += pod.gpu_count * max(0.0, (end - pod.scheduled).total_seconds())
        return total


def course_of(job: Raw, pods: Iterable[Raw]) -> Course | None:
    """None for what is no job; `pods` may be those of other trials too."""
    kind = kind_of(job)
    name, uid = (fields.name(job, "metadata", key) for key in ("name", "uid"))
    if kind is None or name is None or uid is None:
        return None
    own = [pod for pod in pods if fields.name(pod, "metadata", "labels", JOB_LABEL) == name]
    states = tuple(state for pod in own if (state := pod_state(pod)) is not None)
    wanted = sum(template.replicas for template in kind.templates(job))
    running = [pod for pod in states if pod.phase is not Phase.PENDING and pod.started is not None]
    starts = [pod.started for pod in running if pod.started is not None]
    return Course(
        name=name,
        uid=uid,
        pods=states,
        began=max(starts) if starts and len(running) >= wanted else None,
        ending=ending_of(job, states),
        lacks_gpu_memory=any(_NO_GPU_MEMORY.search(text) for pod in own for text in _said(pod)),
        waits_for=next((words for pod in states if (words := _why(pod)) is not None), None),
        is_going=failures.deletion_asked(job) is not None,
    )


def _told(reason: Reason | None, message: str | None) -> str:
    return f"{reason}: {message}" if message else str(reason)


def _said(pod: Raw) -> Iterator[str]:
    for status in failures.statuses(pod):
        ended = fields.part(status, "state", "terminated")
        text = ended.get("message")
        if isinstance(text, str) and fields.integer(ended, "exitCode"):
            yield text[-_LAST_CHARACTERS:]


def _why(pod: PodState) -> str | None:
    failure = pod.failure
    if pod.phase is not Phase.PENDING or failure is None:
        return None
    return failure.message or str(failure.reason)
