"""Whose are a job's hours: which user's, which node's, which hour of the clock's?

The parts of a job add up to all of it. Its GPUs say how much of it belongs to a node or a model;
GPUs that nobody listed, and nodes of a large job that its record does not name, are nobody's.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from typing import TypeAlias

from msgspec import Struct

from cepheid.jobprofile import JobProfile
from cepheid.reports.fleet_use.hours import HOURS_A_DAY, WEEKDAYS, Offset, Ran, week_seconds
from cepheid.reports.listing import gpu_count

UNKNOWN = "(none)"
NO_GPU = "no GPU"
MOST_GPUS = 10**9
"""Of one job: who claims more is counted with these, so that figures stay figures."""

Models: TypeAlias = Mapping[str | None, int]
"""How many GPUs of each model; None is the model that nobody knows."""


class By(StrEnum):
    USER = "user"
    NAMESPACE = "namespace"
    HOUR = "hour"
    WEEKDAY = "weekday"
    NODE = "node"
    GPU_MODEL = "gpu-model"


class Share(Struct, frozen=True, gc=False):
    """What of a job belongs to a group."""

    group: str
    part: float
    models: Models | None = None
    """Which of its GPUs; None for all of them, for a part of the time."""


def gpus_held(profile: JobProfile) -> int:
    return min(gpu_count(profile), MOST_GPUS)


def models_held(profile: JobProfile) -> Models:
    """With those that nobody listed."""
    counts: dict[str | None, int] = {}
    for gpu in profile.gpus:
        counts[gpu.model] = counts.get(gpu.model, 0) + 1
    if unlisted := _unlisted(profile):
        counts[None] = counts.get(None, 0) + unlisted
    return counts


def _by_user(profile: JobProfile, _run: Ran, _offset: Offset) -> tuple[Share]:
    return (Share(profile.user or profile.service_account or UNKNOWN, 1.0),)


def _by_namespace(profile: JobProfile, _run: Ran, _offset: Offset) -> tuple[Share]:
    return (Share(profile.job.namespace, 1.0),)


def _by_hour(_: JobProfile, run: Ran, offset: Offset) -> Iterator[Share]:
    return _by_the_clock(run, offset, lambda cell: _HOURS[cell % HOURS_A_DAY])


def _by_weekday(_: JobProfile, run: Ran, offset: Offset) -> Iterator[Share]:
    return _by_the_clock(run, offset, lambda cell: WEEKDAYS[cell // HOURS_A_DAY])


def _by_the_clock(run: Ran, offset: Offset, named: Callable[[int], str]) -> Iterator[Share]:
    parts: dict[str, float] = {}
    for cell, seconds in week_seconds(run, offset).items():
        part = seconds / run.seconds if run.seconds > 0 else 1.0
        parts[named(cell)] = parts.get(named(cell), 0.0) + part
    return (Share(group, part) for group, part in parts.items())


def _by_model(profile: JobProfile, _run: Ran, _offset: Offset) -> Iterator[Share]:
    models = models_held(profile)
    if not models:
        yield Share(NO_GPU, 1.0)
    total = sum(models.values())
    for model, count in models.items():
        yield Share(model or UNKNOWN, count / total, {model: count})


def _by_node(profile: JobProfile, _run: Ran, _offset: Offset) -> Iterator[Share]:
    if not gpus_held(profile):
        yield from _by_workers(profile)
        return
    nodes: dict[str, dict[str | None, int]] = {}
    held = [(gpu.node, gpu.model, 1) for gpu in profile.gpus]
    if unlisted := _unlisted(profile):
        held.append((_only_node(profile), None, unlisted))
    for node, model, count in held:
        models = nodes.setdefault(node, {})
        models[model] = models.get(model, 0) + count
    total = sum(count for _, _, count in held)
    for node, models in nodes.items():
        yield Share(node, sum(models.values()) / total, models)


def _by_workers(profile: JobProfile) -> Iterator[Share]:
    """Of a job without GPUs: as many parts as it had pods, where the record names them all."""
    places = [worker.node for worker in profile.workers if worker.node is not None]
    if not places or len(places) < max(profile.worker_count, len(profile.workers)):
        unnamed = max(0, min(profile.node_count, MOST_GPUS) - len(profile.nodes))
        counts = Counter(profile.nodes) + Counter({UNKNOWN: unnamed})
    else:
        counts = Counter(places)
    if not counts:
        counts = Counter([_only_node(profile)])
    for node, count in counts.items():
        yield Share(node, count / counts.total())


def _unlisted(profile: JobProfile) -> int:
    return max(0, gpus_held(profile) - len(profile.gpus))


def _only_node(profile: JobProfile) -> str:
    if profile.process is not None and profile.process.host is not None:
        return profile.process.host
    return profile.nodes[0] if len(profile.nodes) == 1 and profile.node_count <= 1 else UNKNOWN


_HOURS = tuple(f"{hour:02}:00" for hour in range(HOURS_A_DAY))

SHARING: Mapping[By, Callable[[JobProfile, Ran, Offset], Iterable[Share]]] = {
    By.USER: _by_user,
    By.NAMESPACE: _by_namespace,
    By.HOUR: _by_hour,
    By.WEEKDAY: _by_weekday,
    By.NODE: _by_node,
    By.GPU_MODEL: _by_model,
}
CLOCK: Mapping[By, tuple[str, ...]] = {By.HOUR: _HOURS, By.WEEKDAY: WEEKDAYS}
"""Groups that have an order of their own."""
