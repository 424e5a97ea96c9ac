"""What was each pod of a job given, and what did it use of that?

Given is by container, measured is by pod: what the containers of a pod were given is added up. A
pod's role is told by its name, where a job has several. Of CPU the most that a worker used is one
sample of many; how much of that it used for long, the whole job tells:

    sustained = the worker's most * (95th percentile of the job / most of the job)

Of a job with one worker that is the worker's own 95th percentile. A figure that nobody believes is
not known.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType

from msgspec import Struct
from msgspec.structs import replace

from cepheid.jobprofile import Asked, JobProfile, Outcome, Reason, Spread, Worker
from cepheid.jobs.gpu_names import is_gpu
from cepheid.units import quantity

MOST = 1e15
"""More of anything than a job has: nothing is said of it."""
MOST_PODS = 10**6
GB = 2.0**30
"""What 80GB in the name of a model means: its driver counts in MiB."""
_OF_A_SLICE = re.compile(r"mig-[1-7]g\.(\d{1,3})gb", re.ASCII)
SERVICES = frozenset({"Deployment", "StatefulSet", "DaemonSet"})
"""Not meant to end: while they run they show what they need."""
THROTTLED = "cpu-throttled"


class Used(Struct, frozen=True, gc=False):
    """The most that one worker used; of a worker without a name, all of them together."""

    worker: str | None
    amount: float


class Given(Struct, frozen=True, gc=False):
    """What each pod of one role was given."""

    role: str | None
    pods: int
    containers: tuple[Asked, ...]
    """Each once, as most pods have it."""
    requests: Mapping[str, float] = MappingProxyType({})
    """Of all containers. Without a request the limit counts, as for the scheduler; what one of them
    is silent on is not there."""
    limits: Mapping[str, float] = MappingProxyType({})
    gpus: int = 0
    slice_bytes: float = 0.0
    """Memory of those of its GPUs that are slices, as their names tell."""
    workers: tuple[Worker, ...] = ()
    """All of the job's where it has one role; else those whose name tells this one alone."""

    def request(self, resource: str) -> float | None:
        return self.requests.get(resource)

    def limit(self, resource: str) -> float | None:
        return self.limits.get(resource)


def givens(profile: JobProfile, workers: Sequence[Worker] | None = None) -> tuple[Given, ...]:
    """By role, in the order in which they stand in the record; `workers`, where more are known."""
    found = _without_workers(
        tuple(
            [
                (one.container, one.role, one.pods, *map(_items, (one.requests, one.limits)))
                for one in profile.asked
            ]
        )
    )
    everyone = tuple(profile.workers if workers is None else workers)
    if len(found) == 1:
        return (replace(found[0], workers=everyone),)
    of_role = _by_role(everyone, profile.job.name, tuple([one.role for one in found]))
    return tuple([replace(one, workers=tuple(of_role[one.role])) for one in found])


def _by_role(
    workers: Sequence[Worker], job: str, roles: tuple[str | None, ...]
) -> dict[str | None, list[Worker]]:
    """`bert-worker-0` of the job bert is a Worker."""
    found: dict[str | None, list[Worker]] = {role: [] for role in roles}
    for worker in workers:
        role = _role(worker.name.removeprefix(job), roles)
        if role is not None:
            found[role].append(worker)
    return found


# The workers of thousands of jobs are called alike, but for the job.
@lru_cache(maxsize=4096)
def _role(called: str, roles: tuple[str | None, ...]) -> str | None:
    """The only one that it names."""
    named = [role for role in roles if role and f"-{role.lower()}-" in f"-{called}-".lower()]
    return named[0] if len(named) == 1 else None


def all_used(workers: Sequence[Worker], figure: str) -> list[Used]:
    """Of every worker that it was measured of, the most first."""
    found = [
        Used(worker.name, value)
        for worker in workers
        if (value := getattr(worker, figure)) is not None and 0 <= value < MOST
    ]
    return sorted(found, key=lambda one: -one.amount)


def most_used(workers: Sequence[Worker], figure: str) -> Used | None:
    """The first of them, which is mostly all that is asked for."""
    whose, most = None, -1.0
    for worker in workers:
        value = getattr(worker, figure)
        if value is not None and most < value < MOST and value >= 0:
            whose, most = worker, value
    return None if whose is None else Used(whose.name, most)


def alone(profile: JobProfile, given: Sequence[Given], figure: str) -> Used | None:
    """Of a job that is one pod, and no worker of it is known: what the whole job used."""
    if len(given) != 1 or given[0].pods != 1:
        return None
    spread = None if profile.usage is None else getattr(profile.usage, figure)
    most = None if spread is None else believed(spread.max)
    return None if most is None else Used(None, most)


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


def amount(given: dict[str, str], resource: str) -> float | None:
    """None where nothing is given, or nothing that can be believed."""
    return _amount(given.get(resource, ""))


def believed(value: float | None) -> float | None:
    return value if value is not None and 0 <= value < MOST else None


def change_percent(asked: float | None, used: float | None) -> float | None:
    """How much more than asked for was used; less is negative."""
    if not asked or used is None:
        return None
    percent = 100 * (used - asked) / asked
    return percent if math.isfinite(percent) else None


_Items = tuple[tuple[str, str], ...]
_AsKey = tuple[str, str | None, int, _Items, _Items]
"""A container as something that can be looked up."""


def _items(given: dict[str, str]) -> _Items:
    return tuple(given.items())


# Thousands of jobs ask for the same: runs of one job, and all that come from one template.
@lru_cache(maxsize=4096)
def _without_workers(keys: tuple[_AsKey, ...]) -> tuple[Given, ...]:
    roles: dict[str | None, dict[str, Asked]] = {}
    for container, role, pods, requests, limits in keys:
        containers = roles.setdefault(role, {})
        if container not in containers or pods > containers[container].pods:
            containers[container] = Asked(
                container=container,
                role=role,
                pods=pods,
                requests=dict(requests),
                limits=dict(limits),
            )
    return tuple(_given(role, tuple(each.values())) for role, each in roles.items())


def _given(role: str | None, containers: tuple[Asked, ...]) -> Given:
    names = {name for one in containers for name in (*one.limits, *one.requests)}
    gpus = [name for name in names if is_gpu(name)]
    count = sum(reserved(one, name) or 0.0 for one in containers for name in gpus)
    return Given(
        role,
        min(MOST_PODS, max(one.pods for one in containers)),
        containers,
        _totals(names, containers, reserved),
        _totals(names, containers, lambda one, name: amount(one.limits, name)),
        int(count) if count < MOST else 0,
        sum(_slice_bytes(one, name) for one in containers for name in names),
    )


def _slice_bytes(one: Asked, resource: str) -> float:
    found = _OF_A_SLICE.search(resource)
    return 0.0 if found is None else float(found[1]) * GB * (reserved(one, resource) or 0.0)


def _totals(
    names: Iterable[str],
    containers: Sequence[Asked],
    each: Callable[[Asked, str], float | None],
) -> Mapping[str, float]:
    amounts = {name: [each(one, name) for one in containers] for name in names}
    return {
        name: sum(known)
        for name, every in amounts.items()
        if len(known := [one for one in every if one is not None]) == len(every)
    }


# The same few texts stand in thousands of jobs.
@lru_cache(maxsize=4096)
def _amount(text: str) -> float | None:
    return believed(quantity(text)) or None
