"""The workers of a job: the most that each of them used, by whoever saw it."""

from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Any

import msgspec

from cepheid.annotations.facts import MB
from cepheid.annotations.job_codec import worker_key
from cepheid.annotations.job_facts import JobFacts, WorkerFacts
from cepheid.jobprofile import MOST_WORKERS, Worker
from cepheid.jobs.measure import Measured
from cepheid.jobs.pods import PodState

MEGABIT_BYTES = 1e6 / 8
MEGABYTE_BYTES = 1e6

# By which a worker of many stands out, the most telling first.
_FIGURES = ("memory_bytes", "gpu_util_percent", "gpu_memory_bytes", "cpu_cores")


def workers_of(
    pods: Sequence[PodState], facts: JobFacts | None, measured: Measured | None
) -> tuple[Worker, ...]:
    """All of them, by name: pods of one name, one after the other, are one worker."""
    by_name: dict[str, list[PodState]] = {}
    for pod in sorted(pods, key=lambda pod: (pod.created, pod.uid)):
        by_name.setdefault(pod.name, []).append(pod)
    names = {worker_key(name): name for name in by_name}
    noted = {names.get(key, key): worker for key, worker in (facts or JobFacts()).workers.items()}
    seen = {} if measured is None else measured.workers
    return tuple(
        _worker(name, by_name.get(name, []), noted.get(name), seen.get(name))
        for name in sorted({*by_name, *noted, *seen}, key=_numbered)
    )


def chosen(workers: Sequence[Worker]) -> tuple[Worker, ...]:
    """All of a few; of many those that lag, and the extremes."""
    if len(workers) <= MOST_WORKERS:
        return tuple(workers)
    names: dict[str, None] = {}
    for worker in _outstanding(workers):
        names.setdefault(worker.name)
        if len(names) == MOST_WORKERS:
            break
    return tuple(worker for worker in workers if worker.name in names)


def _outstanding(workers: Sequence[Worker]) -> Iterator[Worker]:
    yield from [worker for worker in workers if worker.straggles][: MOST_WORKERS // 2]
    for figure in _FIGURES:
        of = attrgetter(figure)
        known = [worker for worker in workers if of(worker) is not None]
        if known:
            yield max(known, key=of)
            yield min(known, key=of)
    yield from workers


def _worker(
    name: str, pods: Sequence[PodState], noted: WorkerFacts | None, seen: Worker | None
) -> Worker:
    figures = dict(_noted(noted, pods)) if noted is not None else {}
    for figure, value in _measured(seen):
        figures[figure] = max(value, figures.get(figure, 0.0))
    nodes = [pod.node for pod in pods if pod.node is not None]
    node = nodes[-1] if nodes else noted.node if noted is not None else None
    again = sum(pod.restarts for pod in pods) + max(0, len(pods) - 1)
    known: dict[str, Any] = {figure: neat(value) for figure, value in figures.items()}
    return Worker(
        name=name,
        node=node,
        restarts=again if pods else None,
        straggles=None if seen is None else seen.straggles,
        **known,
    )


def _noted(facts: WorkerFacts, pods: Sequence[PodState]) -> Iterator[tuple[str, float]]:
    limit = pods[-1].total("cpu", limit=True) if pods else None
    # Without a limit the share is one of the node, of which nothing is known here.
    cores = None if limit is None else limit / 100
    for figure, value, unit in (
        ("cpu_cores", facts.cpu_util_percent, cores),
        ("memory_bytes", facts.cpu_mem_mb, MB),
        ("gpu_util_percent", facts.gpu_util_percent, 1.0),
        ("gpu_memory_bytes", facts.gpu_mem_mb, MB),
        ("network_bytes_per_second", facts.network_mbps, MEGABIT_BYTES),
        ("disk_bytes_per_second", facts.disk_io_mbps, MEGABYTE_BYTES),
    ):
        if value is not None and unit is not None:
            yield figure, value * unit


def _measured(worker: Worker | None) -> Iterator[tuple[str, float]]:
    if worker is not None:
        for figure, value in msgspec.structs.asdict(worker).items():
            if isinstance(value, float):
                yield figure, value


def _numbered(name: str) -> tuple[str, int, str]:
    """worker-2 before worker-10."""
    digits = len(name) - len(name.rstrip("0123456789"))
    end = name[len(name) - digits :] if digits else ""
    return name[: len(name) - digits], int(end[:18] or -1), name


def neat(value: float) -> float:
    """Bytes whole, small figures to the thousandth: nobody measures more."""
    return float(round(value)) if value >= 1000 else round(value, 3)  # noqa: PLR2004
