"""What was each pod of a job given, and what did it use of that?

Given is by container, measured is by pod: what the containers of a pod were given is added up. A
pod's role is told by its name, where a job has several. Of CPU the most that a worker used is one
sample of many; how much of that it used for long, the whole job tells:

    sustained = the worker's most * (95th percentile of the job / most of the job)

Of a job with one worker that is the worker's own 95th percentile. A figure that nobody believes is
not known.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from cepheid.jobprofile import Asked, JobProfile, Outcome, Reason, Spread, Worker
from cepheid.units import quantity

MOST = 1e15
"""More of anything than a job has: nothing is said of it."""
MOST_PODS = 10**6
SERVICES = frozenset({"Deployment", "StatefulSet", "DaemonSet"})
"""Not meant to end: while they run they show what they need."""
THROTTLED = "cpu-throttled"


class Used(NamedTuple):
    """The most that one worker used; of a worker without a name, all of them together."""

    worker: str | None
    amount: float


@dataclass(frozen=True, slots=True)
class Given:
    """What each pod of one role was given."""

    role: str | None
    pods: int
    containers: tuple[Asked, ...]
    """Each once, as most pods have it."""
    gpus: int = 0
    workers: tuple[Worker, ...] = ()
    """All of the job's where it has one role; else those whose name tells this one alone."""

    def request(self, resource: str) -> float | None:
        """Without a request the limit counts, as for the scheduler; None where one is silent."""
        return _sum([reserved(one, resource) for one in self.containers])

    def limit(self, resource: str) -> float | None:
        return _sum([amount(one.limits, resource) for one in self.containers])


def givens(profile: JobProfile, workers: Sequence[Worker] | None = None) -> tuple[Given, ...]:
    """By role, in the order in which they stand in the record; `workers`, where more are known."""
    roles: dict[str | None, dict[str, Asked]] = {}
    for one in profile.asked:
        containers = roles.setdefault(one.role, {})
        if one.container not in containers or one.pods > containers[one.container].pods:
            containers[one.container] = one
    everyone = tuple(profile.workers if workers is None else workers)
    of_role = _by_role(everyone, profile.job.name, tuple(roles))
    return tuple(
        _given(role, tuple(containers.values()), of_role[role])
        for role, containers in roles.items()
    )


def _by_role(
    workers: tuple[Worker, ...], job: str, roles: tuple[str | None, ...]
) -> dict[str | None, tuple[Worker, ...]]:
    """`bert-worker-0` of the job bert is a Worker."""
    if len(roles) <= 1:
        return dict.fromkeys(roles, workers)
    marks = {role: f"-{role.lower()}-" for role in roles if role}
    found: dict[str | None, list[Worker]] = {role: [] for role in roles}
    for worker in workers:
        name = f"-{worker.name.removeprefix(job)}-".lower()
        named = [role for role, mark in marks.items() if mark in name]
        if len(named) == 1:
            found[named[0]].append(worker)
    return {role: tuple(own) for role, own in found.items()}


def most_used(workers: Sequence[Worker], figure: str) -> list[Used]:
    """Of every worker that it was measured of, the most first."""
    found = [
        Used(worker.name, value)
        for worker in workers
        if (value := believed(getattr(worker, figure))) is not None
    ]
    return sorted(found, key=lambda one: -one.amount)


def alone(profile: JobProfile, given: Sequence[Given], figure: str) -> list[Used]:
    """Of a job that is one pod, and no worker of it is known: what the whole job used."""
    spread = None if profile.usage is None else getattr(profile.usage, figure)
    most = None if spread is None else believed(spread.max)
    is_one = sum(one.pods for one in given) == 1
    return [] if most is None or not is_one else [Used(None, most)]


def steadiness(spread: Spread | None) -> float:
    """The 95th percentile as a part of the most; 1 where it is not known."""
    if spread is None or spread.p95 is None or not believed(spread.max):
        return 1.0
    return min(1.0, spread.p95 / spread.max) if spread.max else 1.0


def is_throttled(profile: JobProfile) -> bool:
    return profile.held_back_by is not None and profile.held_back_by.kind == THROTTLED


def is_killed(profile: JobProfile) -> bool:
    return profile.reason is Reason.OOM_KILLED


def shows_need(profile: JobProfile) -> bool:
    """Whether it went through all that it does: one that died early may have needed more."""
    if profile.outcome is Outcome.SUCCESS:
        return True
    return profile.outcome is Outcome.RUNNING and profile.job.kind in SERVICES


def reserved(one: Asked, resource: str) -> float | None:
    found = amount(one.requests, resource)
    return amount(one.limits, resource) if found is None else found


@lru_cache(maxsize=1024)
def is_gpu(resource: str) -> bool:
    """As in cepheid.jobs.pods, which takes a Kubernetes client to load; a test compares them."""
    domain, _, name = resource.partition("/")
    return bool(domain) and (name == "gpu" or name.startswith(("gpu.", "mig-")))


def amount(given: dict[str, str], resource: str) -> float | None:
    """None where nothing is given, or nothing that can be believed."""
    return believed(_quantity(given.get(resource, ""))) or None


def believed(value: float | None) -> float | None:
    return value if value is not None and 0 <= value < MOST else None


def change_percent(asked: float | None, used: float | None) -> float | None:
    """How much more than asked for was used; less is negative."""
    if not asked or used is None:
        return None
    percent = 100 * (used - asked) / asked
    return percent if math.isfinite(percent) else None


def _given(role: str | None, containers: tuple[Asked, ...], workers: tuple[Worker, ...]) -> Given:
    pods = min(MOST_PODS, max(one.pods for one in containers))
    names = {name for one in containers for name in (*one.limits, *one.requests) if is_gpu(name)}
    count = sum(reserved(one, name) or 0.0 for one in containers for name in names)
    return Given(role, pods, containers, int(count) if count < MOST else 0, workers)


# The same few texts stand in thousands of jobs.
_quantity = lru_cache(maxsize=4096)(quantity)


def _sum(amounts: Sequence[float | None]) -> float | None:
    known = [one for one in amounts if one is not None]
    return sum(known) if known and len(known) == len(amounts) else None
