"""What did many jobs do, use and cost?

Profiles go by one at a time: of a hundred thousand of them only the sums are held, and how long
each took.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from cepheid.jobprofile import JobProfile, Outcome
from cepheid.reports.listing import cpu_seconds, energy_joules, gpu_count
from cepheid.reports.prices import Prices, cost, gpu_hour

SECONDS_PER_HOUR = 3600.0
P95 = 0.95
UNKNOWN = "(none)"
TOTAL = "(all)"
LABEL = "label:"


@dataclass(frozen=True, slots=True, kw_only=True)
class StatsRow:
    group: str
    jobs: int
    running: int
    success_percent: float | None
    """Of those that are over."""
    duration_mean_seconds: float | None
    duration_p95_seconds: float | None
    cpu_hours: float | None
    gpu_hours: float | None
    """As many as were held, used or not."""
    gpu_util_percent_mean: float | None
    """Over those hours."""
    energy_kwh: float | None
    cost: float | None
    jobs_without_cost: int


@dataclass(slots=True)
class _Sums:
    jobs: int = 0
    running: int = 0
    successes: int = 0
    durations: list[float] = field(default_factory=list)
    cpu_seconds: list[float] = field(default_factory=list)
    gpu_seconds: list[float] = field(default_factory=list)
    util: list[tuple[float, float]] = field(default_factory=list)
    joules: list[float] = field(default_factory=list)
    costs: list[float] = field(default_factory=list)
    unpriced: int = 0


@dataclass(frozen=True, slots=True)
class Stats:
    rows: tuple[StatsRow, ...]
    """The group with the most jobs first."""
    total: StatsRow
    unpriced: tuple[str, ...]
    """Models of GPUs that have no price."""


def key_of(by: str) -> Callable[[JobProfile], str]:
    """What jobs are grouped by; `label:team` by a label, or a tag."""
    if by.startswith(LABEL):
        label = by.removeprefix(LABEL)
        return lambda profile: profile.labels.get(label, UNKNOWN)
    return GROUPS[by]


def stats(
    profiles: Iterable[JobProfile],
    by: Callable[[JobProfile], str],
    prices: Prices | None = None,
) -> Stats:
    groups: dict[str, _Sums] = {}
    total = _Sums()
    unpriced: dict[str, None] = {}
    for profile in profiles:
        price = None if prices is None else cost(profile, prices)
        if prices is not None:
            unpriced |= dict.fromkeys(_without_price(profile, prices))
        for sums in (groups.setdefault(by(profile), _Sums()), total):
            _add(sums, profile, price, is_priced=prices is not None)
    rows = [_row(group, sums) for group, sums in groups.items()]
    rows.sort(key=lambda row: (-row.jobs, row.group))
    return Stats(tuple(rows), _row(TOTAL, total), tuple(unpriced))


def _add(sums: _Sums, profile: JobProfile, price: float | None, *, is_priced: bool) -> None:
    sums.jobs += 1
    sums.running += profile.outcome is Outcome.RUNNING
    sums.successes += profile.outcome is Outcome.SUCCESS
    seconds = profile.duration_seconds
    if seconds is not None and profile.outcome is not Outcome.RUNNING:
        sums.durations.append(seconds)
    if (cpu := cpu_seconds(profile)) is not None:
        sums.cpu_seconds.append(cpu)
    if gpu_count(profile) and seconds is not None:
        held = gpu_count(profile) * seconds
        sums.gpu_seconds.append(held)
        util = None if profile.usage is None else profile.usage.gpu_util_percent
        if util is not None and util.mean is not None:
            sums.util.append((held, util.mean))
    if (joules := energy_joules(profile)) is not None:
        sums.joules.append(joules)
    if price is not None:
        sums.costs.append(price)
    elif is_priced:
        sums.unpriced += 1


def _row(group: str, sums: _Sums) -> StatsRow:
    over = sums.jobs - sums.running
    return StatsRow(
        group=group,
        jobs=sums.jobs,
        running=sums.running,
        success_percent=100 * sums.successes / over if over else None,
        duration_mean_seconds=_mean(sums.durations),
        duration_p95_seconds=quantile(sums.durations, P95),
        cpu_hours=_hours(sums.cpu_seconds),
        gpu_hours=_hours(sums.gpu_seconds),
        gpu_util_percent_mean=_weighted(sums.util),
        energy_kwh=sum(sums.joules) / 3.6e6 if sums.joules else None,
        cost=sum(sums.costs) if sums.costs else None,
        jobs_without_cost=sums.unpriced,
    )


def quantile(values: Iterable[float], share: float) -> float | None:
    """Between neighbours, as numpy.quantile has it."""
    ordered = sorted(values)
    if not ordered:
        return None
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


def _mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _hours(seconds: list[float]) -> float | None:
    return sum(seconds) / SECONDS_PER_HOUR if seconds else None


def _weighted(pairs: list[tuple[float, float]]) -> float | None:
    weight = sum(one for one, _ in pairs)
    return sum(one * value for one, value in pairs) / weight if weight > 0 else None


def _without_price(profile: JobProfile, prices: Prices) -> list[str]:
    return [gpu.model for gpu in profile.gpus if gpu.model and gpu_hour(gpu.model, prices) is None]


def _moment(profile: JobProfile) -> datetime:
    moment = profile.ended or profile.started or profile.created
    try:
        return moment.astimezone(UTC)
    except OverflowError:  # in the first or last hours of all years
        return moment


def _gpus(profile: JobProfile) -> str:
    models = sorted({gpu.model for gpu in profile.gpus if gpu.model})
    return " + ".join(models) if models else "no GPU" if not gpu_count(profile) else UNKNOWN


GROUPS: Mapping[str, Callable[[JobProfile], str]] = {
    "name": lambda profile: profile.series,
    "user": lambda profile: profile.user or profile.service_account or UNKNOWN,
    "status": lambda profile: profile.outcome.value,
    "reason": lambda profile: profile.reason.value if profile.reason else UNKNOWN,
    "kind": lambda profile: profile.job.kind,
    "namespace": lambda profile: profile.job.namespace,
    "type": lambda profile: profile.job_type or UNKNOWN,
    "gpu": _gpus,
    "host": lambda profile: (
        (profile.process and profile.process.host)
        or (profile.nodes[0] if profile.nodes else UNKNOWN)
    ),
    "day": lambda profile: f"{_moment(profile):%Y-%m-%d}",
    "month": lambda profile: f"{_moment(profile):%Y-%m}",
}
"""What jobs can be grouped by. Of names those of a series are one."""
