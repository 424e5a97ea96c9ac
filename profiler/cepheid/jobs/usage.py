"""The most that a job and each of its workers ever used.

What stands on the job already, and what its pods say now, make what is to stand there: of every
figure the higher one. So nothing is lost when a pod is deleted, restarted, or made anew on another
node under its old name, nor when the operator was away; and it does not matter in which order, or
how often, the same is merged.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields as fields_of
from dataclasses import replace
from datetime import UTC, datetime
from typing import TypeVar

from cepheid.analysis.jobrules import JobKind
from cepheid.analysis.stragglers import find_stragglers
from cepheid.annotations.facts import CycleFacts
from cepheid.annotations.job_codec import worker_key
from cepheid.annotations.job_facts import FIGURES, Figures, JobFacts, JobUsageFacts, WorkerFacts
from cepheid.jobs.pods import PodState

MOST_WORKERS = 64
"""With a key each on their job; of more, the extremes and the stragglers have one."""
ADDED = ("cpu_mem_mb", "gpu_mem_mb", "network_mbps", "disk_io_mbps")
SHARES = ("cpu_util_percent", "gpu_util_percent")

# In which figures a worker of many is worth naming, and how far it must be from the others.
_LAGS = (("gpu_util_percent", False, 5.0), ("cpu_mem_mb", True, 256.0))
_EVER = datetime.max.replace(tzinfo=UTC)

F = TypeVar("F", bound=Figures)


def merge(previous: JobFacts, pods: Iterable[PodState]) -> JobFacts:
    """`previous` is what the job's own annotations say; `pods` are its pods, dead or alive."""
    known = sorted(pods, key=lambda pod: (pod.created, pod.uid))
    workers = dict(previous.workers)
    for pod in known:
        now = used_by(pod)
        if now is not None:
            key = worker_key(pod.name)
            workers[key] = _higher(workers[key], now) if key in workers else now
    usage = _together(known)
    if usage is not None and previous.usage is not None:
        usage = _higher(previous.usage, usage)
    return replace(
        previous,
        workers=workers,
        usage=usage or previous.usage,
        job_type=_commonest(known) or previous.job_type,
        cycle=_clearest(known) or previous.cycle,
    )


def used_by(pod: PodState) -> WorkerFacts | None:
    """None while its agent has said nothing of it."""
    facts = pod.facts
    utils = [gpu.util_percent for gpu in facts.gpus if gpu.util_percent is not None]
    memories = [gpu.mem_mb for gpu in facts.gpus if gpu.mem_mb is not None]
    found = WorkerFacts(
        cpu_util_percent=facts.cpu_util_percent,
        cpu_mem_mb=facts.cpu_mem_mb,
        gpu_util_percent=max(utils, default=None),
        gpu_mem_mb=sum(memories) if memories else None,
        network_mbps=facts.network_mbps,
        disk_io_mbps=facts.disk_io_mbps,
        shared=any(gpu.shared for gpu in facts.gpus),
        node=pod.node,
    )
    return found if any(getattr(found, name) is not None for name in FIGURES) else None


def shown(facts: JobFacts) -> JobFacts:
    """With a key for each worker, or of very many for those that stand out."""
    if len(facts.workers) <= MOST_WORKERS:
        return facts
    names = {*extremes(facts.workers), *_lagging(facts.workers)}
    chosen = {name: worker for name, worker in facts.workers.items() if name in names}
    return replace(facts, workers=chosen)


def extremes(workers: Mapping[str, Figures]) -> Iterator[str]:
    """For each figure the highest and the lowest; the first of equals."""
    for figure in FIGURES:
        values = {name: getattr(worker, figure) for name, worker in sorted(workers.items())}
        known = {name: value for name, value in values.items() if value is not None}
        if known:
            yield max(known, key=lambda name: known[name])
            yield min(known, key=lambda name: known[name])


def most_at_once(pods: Iterable[PodState], amounts: Mapping[str, float]) -> float:
    """The highest sum, by uid, over the pods that were there at the same moment."""
    changes: list[tuple[datetime, int, float]] = []
    for pod in pods:
        size = amounts.get(pod.uid, 0.0)
        begin = pod.started or pod.scheduled or pod.created
        end = pod.finished or _EVER
        # One that ends makes room for one that begins in the same second; one that lasted no
        # second at all was there for a moment.
        lasted = begin < end
        changes += [(begin, 1, size), (end if lasted else begin, 0 if lasted else 2, -size)]
    highest = level = 0.0
    for *_, change in sorted(changes):
        level += change
        highest = max(highest, level)
    return highest


def _together(pods: list[PodState]) -> JobUsageFacts | None:
    used = {pod.uid: found for pod in pods if (found := used_by(pod)) is not None}
    if not used:
        return None
    there = [pod for pod in pods if pod.uid in used]
    figures: dict[str, float | None] = {}
    for name in ADDED:
        each = _own_gpu_memory(there) if name == "gpu_mem_mb" else _each(used, name)
        figures[name] = most_at_once(there, each) if each else None
    for name in SHARES:
        figures[name] = max(_each(used, name).values(), default=None)
    return JobUsageFacts(
        **figures,
        shared=any(found.shared for found in used.values()),
        workers=round(most_at_once(there, dict.fromkeys(used, 1.0))),
    )


def _each(used: Mapping[str, Figures], name: str) -> dict[str, float]:
    values = {uid: getattr(found, name) for uid, found in used.items()}
    return {uid: value for uid, value in values.items() if value is not None}


def _own_gpu_memory(pods: list[PodState]) -> dict[str, float]:
    """By pod. What a GPU holds that several of them share stands once, with the first of them."""
    each: dict[str, float] = {}
    seen: set[tuple[str | None, int, int | None]] = set()
    for pod in pods:
        for gpu in pod.facts.gpus:
            place = (pod.node, gpu.index, gpu.mig)
            if gpu.mem_mb is None or (gpu.shared and place in seen):
                continue
            seen.add(place)
            each[pod.uid] = each.get(pod.uid, 0.0) + gpu.mem_mb
    return each


def _higher(one: F, two: F) -> F:
    """Figure by figure; the node is that of the second."""
    values = {}
    for field in fields_of(one):
        first, second = getattr(one, field.name), getattr(two, field.name)
        if isinstance(first, str) or isinstance(second, str):
            values[field.name] = second or first
        elif first is None or second is None:
            values[field.name] = second if first is None else first
        else:
            values[field.name] = max(first, second)
    return type(one)(**values)


def _lagging(workers: Mapping[str, WorkerFacts]) -> Iterator[str]:
    for figure, higher_is_worse, least in _LAGS:
        values = {name: getattr(worker, figure) for name, worker in workers.items()}
        known = {name: value for name, value in values.items() if value is not None}
        found = find_stragglers(known, higher_is_worse=higher_is_worse, least_difference=least)
        if found is not None:
            yield from (straggler.worker for straggler in found.workers)


def _commonest(pods: list[PodState]) -> JobKind | None:
    """What most workers are doing; those that nobody could tell are not asked."""
    kinds = [pod.facts.job_type for pod in pods]
    told = [kind for kind in JobKind if kind in kinds and kind not in _SAY_NOTHING]
    return max(told, key=kinds.count, default=None)


_SAY_NOTHING = (JobKind.UNKNOWN, JobKind.EMPTY)


def _clearest(pods: list[PodState]) -> CycleFacts | None:
    cycles = [pod.facts.cycle for pod in pods if pod.facts.cycle is not None]
    return max(cycles, key=lambda cycle: (cycle.confirmed is True, cycle.strength), default=None)
