"""All that is known of a job, in one record of a few kilobytes.

Names may have 253 characters and a job a thousand pods on as many nodes: what is listed is cut
until the record fits, and the counts beside it tell of how many.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import msgspec

from cepheid.annotations.codec import HOG_EXEMPT
from cepheid.annotations.facts import MB
from cepheid.annotations.job_facts import JobFacts, JobUsageFacts
from cepheid.jobprofile import (
    Asked,
    CycleSeen,
    GpuHeld,
    JobIdentity,
    JobProfile,
    ProfileError,
    Spread,
    Usage,
    to_json,
)
from cepheid.jobs import fields
from cepheid.jobs.advice import judge
from cepheid.jobs.ending import Ending
from cepheid.jobs.fields import Raw
from cepheid.jobs.gpu_names import is_gpu
from cepheid.jobs.kinds import Kind, kind_of
from cepheid.jobs.lineage import series_of, template_of
from cepheid.jobs.measure import Measured
from cepheid.jobs.owners import Reference
from cepheid.jobs.pods import PodState, container_of
from cepheid.jobs.usage import most_at_once
from cepheid.jobs.workers import (
    MEGABIT_BYTES,
    MEGABYTE_BYTES,
    chosen,
    neat,
    workers_of,
)

MOST_BYTES = 4_400
"""Of the record here: what is worse than before, and the columns of its table, come on top."""
MOST_LABELS = 16


@dataclass(frozen=True, slots=True)
class Kept:
    """What of a job's labels and annotations is kept, by setting."""

    labels: tuple[str, ...] = ()
    users: tuple[str, ...] = ()
    """Labels or annotations that say who a job is for; the first that a job has."""


@dataclass(frozen=True, slots=True)
class Known:
    """What there is to know of one job."""

    job: Raw
    """With apiVersion and kind."""
    pods: Sequence[PodState] = ()
    """All that were ever seen of it, the last state of each."""
    cron_job: Reference | None = None
    facts: JobFacts | None = None
    """What stands on it, merged with what its pods say."""
    measured: Measured | None = None
    gpu_models: Mapping[str, str] = field(default_factory=dict)
    """By node."""
    gpus: Sequence[GpuHeld] = ()
    """By whatever else tells; they count where no agent said which they were."""


def profile_of(known: Known, ending: Ending, now: datetime, kept: Kept | None = None) -> JobProfile:
    """Raises ProfileError for what is no job: without a known kind, a name or a uid."""
    job, pods = known.job, known.pods
    kind, identity = _identity(job)
    created = fields.moment(job, "metadata", "creationTimestamp") or _first(
        [pod.created for pod in pods], now
    )
    started = min((pod.started for pod in pods if pod.started is not None), default=None)
    if started is None and not pods:
        started = kind.started_at(job)
    workers = workers_of(pods, known.facts, known.measured)
    nodes = _nodes(known)
    measured = known.measured
    account = _service_account(kind, known)
    profile = JobProfile(
        job=identity,
        series=series_of(job, known.cron_job),
        template=template_of(job),
        user=_user(job, kept or Kept()) or account,
        service_account=account,
        labels=_labels(job, kept or Kept()),
        created=created,
        started=started,
        ended=ending.ended if ending.is_over else None,
        waited_seconds=_between(created, started),
        duration_seconds=_between(started, ending.ended if ending.is_over else now),
        outcome=ending.outcome,
        suspended=not ending.is_over and kind.is_suspended(job),
        reason=ending.reason,
        message=ending.message,
        exit_code=ending.exit_code,
        restarts=sum(worker.restarts or 0 for worker in workers),
        nodes=nodes,
        node_count=len(nodes),
        gpus=tuple(_gpus(known)),
        gpu_count=_gpu_count(kind, known),
        asked=_asked(kind, known),
        samples=None if measured is None else measured.samples,
        interval_seconds=None if measured is None else measured.interval_seconds,
        usage=_usage(known),
        worker_count=len(workers),
        workers=chosen(workers),
        job_type=_job_type(known),
        cycle=_cycle(known),
        held_back_by=None if measured is None else measured.held_back_by,
        leak=None if measured is None else measured.leak,
        forecast_error_percent=None
        if measured is None or measured.forecast_error_percent is None
        else neat(measured.forecast_error_percent),
    )
    verdict, advice = judge(profile)
    return _fitted(msgspec.structs.replace(profile, verdict=verdict, advice=advice))


def _identity(job: Raw) -> tuple[Kind, JobIdentity]:
    kind = kind_of(job)
    parts = {
        "api_version": fields.name(job, "apiVersion"),
        "kind": fields.name(job, "kind"),
        "namespace": fields.name(job, "metadata", "namespace"),
        "name": fields.name(job, "metadata", "name"),
        "uid": fields.name(job, "metadata", "uid"),
    }
    missing = [name for name, found in parts.items() if found is None]
    if kind is None or missing:
        lacks = f"it lacks {', '.join(missing)}" if missing else "its kind is not known"
        raise ProfileError(f"this is no job: {lacks}", hint="was it read with its apiVersion?")
    return kind, JobIdentity(**parts)  # type: ignore[arg-type]


def _first(times: Sequence[datetime], otherwise: datetime) -> datetime:
    return min(times, default=otherwise)


def _between(begin: datetime | None, end: datetime | None) -> float | None:
    """Clocks of several machines: what ended before it began lasted no time."""
    if begin is None or end is None:
        return None
    return max(0.0, (end - begin).total_seconds())


def _user(job: Raw, kept: Kept) -> str | None:
    for key in kept.users:
        for where in ("labels", "annotations"):
            if (found := fields.name(job, "metadata", where, key)) is not None:
                return found
    return None


def _labels(job: Raw, kept: Kept) -> dict[str, str]:
    """Those to keep; and whether it is to be no hog, which may stand in an annotation too."""
    said = (fields.name(job, "metadata", where, HOG_EXEMPT) for where in ("labels", "annotations"))
    exempt = next((text for text in said if text is not None), None)
    found = {key: fields.name(job, "metadata", "labels", key) for key in kept.labels[:MOST_LABELS]}
    return {key: text for key, text in {HOG_EXEMPT: exempt, **found}.items() if text is not None}


def _service_account(kind: Kind, known: Known) -> str | None:
    accounts = [pod.service_account for pod in known.pods if pod.service_account is not None]
    accounts = accounts or [
        fields.name(template.spec, "serviceAccountName") or "default"
        for template in kind.templates(known.job)
        if template.spec
    ]
    namespace = fields.name(known.job, "metadata", "namespace")
    if not accounts:
        return None
    account = f"{namespace}:{Counter(accounts).most_common(1)[0][0]}"
    return account[: fields.NAME_CHARACTERS]


def _nodes(known: Known) -> tuple[str, ...]:
    """In the order in which they were used; those of workers long gone last."""
    pods = sorted(known.pods, key=lambda pod: (pod.created, pod.uid))
    nodes = dict.fromkeys(pod.node for pod in pods if pod.node is not None)
    workers = () if known.facts is None else known.facts.workers.values()
    nodes |= dict.fromkeys(worker.node for worker in workers if worker.node is not None)
    return tuple(nodes)


def _gpus(known: Known) -> Iterator[GpuHeld]:
    held: dict[tuple[str, int, int], GpuHeld] = {}
    for pod in known.pods:
        for gpu in pod.facts.gpus if pod.node is not None else ():
            node = pod.node or ""
            place = (node, gpu.index, -1 if gpu.mig is None else gpu.mig)
            model = fields.name(known.gpu_models, node)
            held[place] = GpuHeld(node=node, index=gpu.index, mig=gpu.mig, model=model)
    yield from (held[place] for place in sorted(held)) if held else known.gpus


def _gpu_count(kind: Kind, known: Known) -> int:
    if known.pods:
        amounts = {pod.uid: float(pod.gpu_count) for pod in known.pods}
        return round(most_at_once(known.pods, amounts))
    total = 0.0
    for asked in _asked(kind, known):
        given = {**asked.limits, **asked.requests}
        total += asked.pods * sum(int(text) for name, text in given.items() if _whole(name, text))
    return min(round(total), fields.MOST_COUNT)


def _whole(name: str, text: str) -> bool:
    return is_gpu(name) and text.isascii() and text.isdecimal()


def _asked(kind: Kind, known: Known) -> tuple[Asked, ...]:
    """Those that the most pods have come first."""
    counts: Counter[tuple[Any, ...]] = Counter()
    pods = {pod.name: pod for pod in known.pods}
    for pod in pods.values():
        counts.update((pod.role, *_given(container)) for container in pod.containers)
    if not pods:
        for template in kind.templates(known.job):
            for spec in fields.items(template.spec, "containers"):
                if (container := container_of(spec)) is not None:
                    counts[template.role, *_given(container)] += template.replicas
    return tuple(
        Asked(
            container=name,
            role=role,
            pods=min(count, fields.MOST_COUNT),
            requests=dict(requests),
            limits=dict(limits),
        )
        for (role, name, requests, limits), count in counts.most_common()
    )


def _given(container: Any) -> tuple[Any, ...]:
    return container.name, container.requests, container.limits


def _usage(known: Known) -> Usage | None:
    """As measured; else the highest that the workers' agents wrote down."""
    if known.measured is not None:
        return _neat_usage(known.measured.usage)
    noted = None if known.facts is None else known.facts.usage
    return None if noted is None else _noted(noted)


def _noted(facts: JobUsageFacts) -> Usage | None:
    figures = {
        "memory_bytes": (facts.cpu_mem_mb, MB),
        "gpu_util_percent": (facts.gpu_util_percent, 1.0),
        "gpu_memory_bytes": (facts.gpu_mem_mb, MB),
        "network_bytes_per_second": (facts.network_mbps, MEGABIT_BYTES),
        "disk_bytes_per_second": (facts.disk_io_mbps, MEGABYTE_BYTES),
    }
    spreads: dict[str, Any] = {
        name: Spread(max=neat(value * unit))
        for name, (value, unit) in figures.items()
        if value is not None
    }
    return Usage(**spreads) if spreads else None


def _neat_usage(usage: Usage) -> Usage:
    neatened: dict[str, Any] = {}
    for name, value in msgspec.structs.asdict(usage).items():
        if isinstance(value, Spread):
            each = msgspec.structs.asdict(value)
            known = {key: neat(figure) for key, figure in each.items() if figure is not None}
            neatened[name] = Spread(**known)
        elif value is not None:
            neatened[name] = neat(value)
    return Usage(**neatened)


def _job_type(known: Known) -> str | None:
    if known.measured is not None and known.measured.job_type is not None:
        return str(known.measured.job_type)
    noted = None if known.facts is None else known.facts.job_type
    return None if noted is None else str(noted)


def _cycle(known: Known) -> CycleSeen | None:
    if known.measured is not None and known.measured.cycle is not None:
        seen = known.measured.cycle
        return msgspec.structs.replace(
            seen, period_seconds=neat(seen.period_seconds), strength=round(seen.strength, 3)
        )
    noted = None if known.facts is None else known.facts.cycle
    if noted is None:
        return None
    return CycleSeen(
        period_seconds=noted.period_seconds,
        strength=noted.strength,
        metric=noted.metric,
        confirmed=noted.confirmed,
    )


def _fitted(profile: JobProfile) -> JobProfile:
    """The longest list loses its last quarter, again and again, until the record is small."""
    while len(to_json(profile)) > MOST_BYTES:
        longest = max(_LISTS, key=lambda name: _weight(profile, name))
        value = getattr(profile, longest)
        if not value:
            break
        most = len(value) - max(1, len(value) // 4)
        cut = dict(list(value.items())[:most]) if isinstance(value, dict) else value[:most]
        profile = msgspec.structs.replace(profile, **{longest: cut})
    return profile


def _weight(profile: JobProfile, name: str) -> float:
    return len(msgspec.json.encode(getattr(profile, name))) / _LISTS[name]


# What is listed, and how much dearer than others it is: so many times as long it may be.
_LISTS = {"gpus": 1.0, "nodes": 1.0, "labels": 1.0, "asked": 2.0, "advice": 4.0, "workers": 8.0}
