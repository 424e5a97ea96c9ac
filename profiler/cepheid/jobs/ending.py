"""How did a job end, and what ended it?

That it is over its controller says, or that it was deleted. Why, its pods know better: a
controller says "backoff limit" where the pod was killed for its memory. Of several pods that
failed the first in time counts, and the killer before those that fell over it: when a worker's
node is lost, all other ranks end with exit codes within seconds, and Kubernetes notices the node
minutes later. What a job survived did not end it, and what happened to pods afterwards is tidying.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from cepheid.jobprofile import Outcome, Reason
from cepheid.jobs.failures import Failure, in_time
from cepheid.jobs.fields import Raw
from cepheid.jobs.kinds import POD, Kind, kind_of
from cepheid.jobs.pods import PodState
from cepheid.jobs.verdict import Verdict, verdict_of

NOTICED = timedelta(seconds=360)
"""Of a lost node: 40 s without a heartbeat, then 300 s that pods tolerate it by default."""
TIDY = timedelta(seconds=5)
"""So much later than its controller says may a container's own clock say that it ended."""
KILLED = frozenset({137, 143})
"""By SIGKILL and SIGTERM: somebody else's doing."""

_OUTCOMES = {
    Reason.OOM_KILLED: Outcome.FAILED,
    Reason.EXIT_CODE: Outcome.FAILED,
    Reason.BACKOFF: Outcome.FAILED,
    Reason.UNKNOWN: Outcome.FAILED,
    Reason.DEADLINE: Outcome.TIMEOUT,
}
_KILLERS = frozenset(
    {Reason.OOM_KILLED, Reason.EVICTED, Reason.PREEMPTED, Reason.NODE_LOST, Reason.DEADLINE}
)
_WAITING = frozenset({Reason.IMAGE, Reason.CONFIG, Reason.UNSCHEDULABLE})
"""What keeps a pod from beginning."""

# Of the words of controllers, without whose pods nothing better is known.
_SAID = (
    ("DeadlineExceeded", Reason.DEADLINE),
    ("active longer than specified deadline", Reason.DEADLINE),
    ("Evicted", Reason.EVICTED),
    ("BackoffLimitExceeded", Reason.BACKOFF),
    ("specified backoff limit", Reason.BACKOFF),
    ("ReachedMaxRestarts", Reason.BACKOFF),
    ("AppFailed", Reason.EXIT_CODE),
)


@dataclass(frozen=True, slots=True)
class Ending:
    outcome: Outcome
    reason: Reason | None = None
    message: str | None = None
    exit_code: int | None = None
    ended: datetime | None = None

    @property
    def is_over(self) -> bool:
        return self.outcome is not Outcome.RUNNING


RUNNING = Ending(Outcome.RUNNING)


def ending_of(job: Raw, pods: Iterable[PodState], *, deleted: datetime | None = None) -> Ending:
    """`job` with apiVersion and kind; `pods` all that were ever seen of it, the last state of each.

    `deleted` is when the job itself was seen to be gone.
    """
    kind, known = kind_of(job), list(pods)
    verdict = None if kind is None else verdict_of(job, kind)
    if kind is POD and any(_driven(pod) for pod in known):
        # Its last state looks as if its program had failed, or even succeeded.
        verdict = None if verdict is None else Verdict(False, verdict.at, message=verdict.message)
    if kind is None or verdict is None:
        return RUNNING if deleted is None else _deleted(known, deleted)
    ended = verdict.at or max((p.finished for p in known if p.finished), default=deleted)
    if verdict.succeeded:
        return Ending(Outcome.SUCCESS, ended=ended)
    cause = _cause(job, kind, verdict, known, ended)
    message = cause.message or verdict.message
    outcome = _OUTCOMES.get(cause.reason, Outcome.ERROR)
    return Ending(outcome, cause.reason, message, cause.exit_code, ended)


def _driven(pod: PodState) -> bool:
    return pod.failure is not None and pod.failure.reason in (
        *(Reason.DELETED, Reason.EVICTED, Reason.PREEMPTED, Reason.NODE_LOST),
    )


def _deleted(pods: Sequence[PodState], at: datetime) -> Ending:
    """While it ran, or before it could begin."""
    kept = _kept_from_beginning(pods)
    driven = [pod.failure for pod in pods if pod.failure and pod.owner is None and _driven(pod)]
    cause = kept or min(driven, key=in_time, default=Failure(Reason.DELETED))
    return Ending(Outcome.ERROR, cause.reason, cause.message, ended=at)


def _cause(
    job: Raw, kind: Kind, verdict: Verdict, pods: Sequence[PodState], ended: datetime | None
) -> Failure:
    said = _said(verdict)
    if said is Reason.DEADLINE:
        return _kept_from_beginning(pods) or Failure(Reason.DEADLINE, message=verdict.message)
    cause = first_cause(pods, ended)
    collateral = cause is None or cause.reason is Reason.DELETED
    if collateral and _deadline_passed(job, kind, pods, ended):
        return Failure(Reason.DEADLINE, ended)
    if cause is not None:
        return cause
    if verdict.stopped:
        return Failure(Reason.STOPPED)
    return Failure(said or Reason.UNKNOWN)


def first_cause(pods: Sequence[PodState], ended: datetime | None) -> Failure | None:
    """What began it, of all that went wrong with the pods."""
    made_last = max((pod.created for pod in pods), default=None)
    found = [pod.failure for pod in pods if pod.failure is not None]
    found = [f for f in found if ended is None or f.at is None or f.at - TIDY <= ended]
    survived = [f for f in found if made_last and f.at is not None and f.at < made_last]
    counts = [f for f in found if f not in survived] or found
    counts = [f for f in counts if f.reason not in _WAITING] or counts
    if not counts:
        return None
    first = min(counts, key=_order)
    late = None if first.at is None else first.at + NOTICED
    killers = [
        f
        for f in counts
        if f.reason in _KILLERS and (late is None or (f.at is not None and f.at <= late))
    ]
    return min(killers, key=_order, default=first)


def _order(failure: Failure) -> tuple[tuple[bool, datetime], int]:
    """By time; of the same second the killer, then who ended by itself, then who was killed."""
    if failure.reason in _KILLERS:
        rank = 0
    elif failure.reason is Reason.EXIT_CODE:
        rank = 2 if failure.exit_code in KILLED else 1
    else:
        rank = 3
    return in_time(failure), rank


def _kept_from_beginning(pods: Sequence[PodState]) -> Failure | None:
    """Why not one of its containers ever ran, where that can be told."""
    if any(pod.started is not None for pod in pods):
        return None
    found = [p.failure for p in pods if p.failure is not None and p.failure.reason in _WAITING]
    return min(found, key=in_time, default=None)


def _said(verdict: Verdict) -> Reason | None:
    words = f"{verdict.reason} {verdict.message or ''}"
    return next((reason for part, reason in _SAID if part in words), None)


def _deadline_passed(
    job: Raw, kind: Kind, pods: Sequence[PodState], ended: datetime | None
) -> bool:
    """A JobSet does not say which limit of its Jobs was reached."""
    limit = kind.deadline_seconds(job)
    began = kind.started_at(job) or min((pod.created for pod in pods), default=None)
    if limit is None or ended is None or began is None:
        return False
    return (ended - began).total_seconds() >= limit
