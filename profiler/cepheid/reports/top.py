"""What do all nodes, GPUs and jobs of a cluster do now?

How busy a GPU is and what power it draws, Prometheus knows best; without it the pods' annotations
say how busy, and the course is what was seen since somebody began to look.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from cepheid.annotations.facts import GB, MB, ForecastFacts, GpuFacts
from cepheid.reports.fleet import Fleet, Holder, Place

MB_PER_GB = GB / MB
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Live:
    """What was measured of a GPU."""

    util_percent: tuple[float | None, ...] = ()
    """The latest last."""
    power_watts: float | None = None


NOTHING = Live()


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuRow:
    node: str
    gpu: str
    model: str | None
    util_percent: float | None
    course: tuple[float | None, ...]
    mem_used_gb: float | None
    mem_total_gb: float | None
    power_watts: float | None
    pods: int | None
    jobs: str | None
    job_type: str | None
    period_seconds: float | None
    forecast_util_percent: float | None
    forecast_mem_gb: float | None
    forecast_seconds: float | None
    trouble: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRow:
    node: str
    model: str | None
    gpus: int | None
    held: int | None
    util_percent: float | None
    course: tuple[float | None, ...]
    mem_used_gb: float | None
    mem_total_gb: float | None
    power_watts: float | None
    job_type: str | None
    """How many GPUs of each."""
    period_seconds: float | None
    free_gpu_score: int | None
    forecast_util_percent: float | None
    forecast_seconds: float | None
    forecast_cpu_percent: float | None
    trouble: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRow:
    namespace: str
    job: str
    pods: int
    gpus: int
    nodes: int
    util_percent: float | None
    course: tuple[float | None, ...]
    gpu_mem_gb: float | None
    mem_gb: float | None
    power_watts: float | None
    job_type: str | None
    period_seconds: float | None
    forecast_util_percent: float | None
    forecast_seconds: float | None
    trouble: str | None


def gpu_rows(fleet: Fleet, live: Mapping[Place, Live]) -> list[GpuRow]:
    return [
        _gpu_row(fleet, place, facts, NOTHING if place.node in fleet.stale else live.get(place))
        for place, facts in fleet.gpus.items()
    ]


def _gpu_row(fleet: Fleet, place: Place, facts: GpuFacts, seen: Live | None) -> GpuRow:
    static, forecast = fleet.nodes[place.node].static, facts.forecast
    holders = fleet.holders.get(place, ())
    jobs = dict.fromkeys("/".join(holder.job) for holder in holders)
    return GpuRow(
        node=place.node,
        gpu=place.gpu,
        model=None if static is None else static.model,
        util_percent=_util(seen, holders),
        course=() if seen is None else seen.util_percent,
        mem_used_gb=facts.mem_used_gb,
        mem_total_gb=_sum_of_all((facts.mem_used_gb, facts.mem_free_gb)),
        power_watts=None if seen is None else seen.power_watts,
        pods=facts.pods,
        jobs=", ".join(jobs) or None,
        job_type=facts.job_type,
        period_seconds=None if facts.cycle is None else facts.cycle.period_seconds,
        forecast_util_percent=None if forecast is None else forecast.util_mean_percent,
        forecast_mem_gb=None if forecast is None else forecast.mem_peak_gb,
        forecast_seconds=None if forecast is None else forecast.horizon_seconds,
        trouble=fleet.stale.get(place.node) or _trouble(facts),
    )


def node_rows(fleet: Fleet, live: Mapping[Place, Live]) -> list[NodeRow]:
    of_node: dict[str, list[GpuRow]] = {name: [] for name in fleet.nodes}
    for row in gpu_rows(fleet, live):
        of_node[row.node].append(row)
    return [_node_row(fleet, name, rows) for name, rows in of_node.items()]


def _node_row(fleet: Fleet, name: str, gpus: Sequence[GpuRow]) -> NodeRow:
    facts, stale = fleet.nodes[name], fleet.stale.get(name)
    known = [row.pods for row in gpus if row.pods is not None]
    wrong = "; ".join(f"GPU {row.gpu} {row.trouble}" for row in gpus if row.trouble)
    return NodeRow(
        node=name,
        model=None if facts.static is None else facts.static.model,
        gpus=len(gpus) or (None if facts.static is None else facts.static.count),
        held=sum(pods > 0 for pods in known) if known else None,
        util_percent=_mean(row.util_percent for row in gpus),
        course=_mean_course([row.course for row in gpus]),
        mem_used_gb=_sum(row.mem_used_gb for row in gpus),
        mem_total_gb=_sum(row.mem_total_gb for row in gpus),
        power_watts=_sum(row.power_watts for row in gpus),
        job_type=_counted(row.job_type for row in gpus),
        period_seconds=_most_frequent(row.period_seconds for row in gpus),
        free_gpu_score=facts.free_gpu_score,
        forecast_util_percent=_mean(row.forecast_util_percent for row in gpus),
        forecast_seconds=_least(row.forecast_seconds for row in gpus),
        forecast_cpu_percent=_util_mean(facts.cpu_forecast),
        trouble=stale or wrong or None,
    )


def job_rows(fleet: Fleet, live: Mapping[Place, Live]) -> list[JobRow]:
    """Those whose pods hold GPUs."""
    of_job: dict[tuple[str, str], list[tuple[Place, Holder]]] = {}
    for place, holders in fleet.holders.items():
        for holder in holders:
            of_job.setdefault(holder.job, []).append((place, holder))
    return [_job_row(fleet, job, held, live) for job, held in of_job.items()]


def _job_row(
    fleet: Fleet,
    job: tuple[str, str],
    held: Sequence[tuple[Place, Holder]],
    live: Mapping[Place, Live],
) -> JobRow:
    pods = {holder.pod.name: holder.facts for _, holder in held}
    places = {place: live.get(place) for place, _ in held}
    troubles = [(place, _trouble(fleet.gpus[place])) for place in places]
    forecasts = [facts.forecast for facts in pods.values()]
    return JobRow(
        namespace=job[0],
        job=job[1],
        pods=len(pods),
        gpus=len(places),
        nodes=len({place.node for place in places}),
        util_percent=_mean(_util(places[place], (holder,)) for place, holder in held),
        course=_mean_course([one.util_percent for one in places.values() if one is not None]),
        gpu_mem_gb=_in_gb(_sum(holder.gpu.mem_mb for _, holder in held)),
        mem_gb=_in_gb(_sum(facts.cpu_mem_mb for facts in pods.values())),
        power_watts=_sum(None if one is None else one.power_watts for one in places.values()),
        job_type=_most_frequent(facts.job_type for facts in pods.values()),
        period_seconds=_most_frequent(
            None if facts.cycle is None else facts.cycle.period_seconds for facts in pods.values()
        ),
        forecast_util_percent=_mean(map(_util_mean, forecasts)),
        forecast_seconds=_least(one.horizon_seconds for one in forecasts if one is not None),
        trouble="; ".join(f"{one.node} GPU {one.gpu} {why}" for one, why in troubles if why)
        or None,
    )


def _util(seen: Live | None, holders: Sequence[Holder]) -> float | None:
    latest = seen.util_percent[-1] if seen is not None and seen.util_percent else None
    if latest is not None:
        return latest
    return max(
        (one.gpu.util_percent for one in holders if one.gpu.util_percent is not None), default=None
    )


def _trouble(facts: GpuFacts) -> str | None:
    health = facts.health
    if health is None:
        return None
    if health.lost:
        return "lost"
    return f"XID {health.xid}" if health.xid is not None else f"slowed: {health.throttled}"


def _util_mean(forecast: ForecastFacts | None) -> float | None:
    return None if forecast is None else forecast.util_mean_percent


def _in_gb(megabytes: float | None) -> float | None:
    return None if megabytes is None else megabytes / MB_PER_GB


def _counted(kinds: Iterable[str | None]) -> str | None:
    """`6 training, 2 idle`; where all are the same, that."""
    counts = Counter(kind for kind in kinds if kind is not None)
    if len(counts) <= 1:
        return next(iter(counts), None)
    return ", ".join(f"{count} {kind}" for kind, count in counts.most_common())


def _known(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _mean(values: Iterable[float | None]) -> float | None:
    known = _known(values)
    return sum(known) / len(known) if known else None


def _sum(values: Iterable[float | None]) -> float | None:
    known = _known(values)
    return sum(known) if known else None


def _sum_of_all(values: Sequence[float | None]) -> float | None:
    """None where one of them is not known: a part would pass for the whole."""
    known = _known(values)
    return sum(known) if len(known) == len(values) else None


def _least(values: Iterable[float | None]) -> float | None:
    return min(_known(values), default=None)


def _most_frequent(values: Iterable[T | None]) -> T | None:
    counts = Counter(value for value in values if value is not None)
    return counts.most_common(1)[0][0] if counts else None


def _mean_course(courses: Sequence[tuple[float | None, ...]]) -> tuple[float | None, ...]:
    """Ends together: the latest is the latest of all."""
    length = max(map(len, courses), default=0)
    filled = [(None,) * (length - len(one)) + one for one in courses]
    return tuple(_mean(one[at] for one in filled) for at in range(length))
