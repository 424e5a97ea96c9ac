"""What did the fleet ask for, use and waste, by whom, where and when?

    held      GPUs times the time that a job ran, used or not
    used      of that, the mean load of its GPUs
    wasted    the rest
    unknown   held, and nobody measured the load: neither used nor wasted

Each job's hours go to the hours of the clock, the nodes and the models that they belong to. What is
only known as a sum, CPU time and energy, is spread evenly over the time that the job ran, and over
the GPUs that it held.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from msgspec import Struct
from msgspec.structs import replace

from cepheid.jobprofile import JobProfile, Outcome
from cepheid.reports.fleet_use.apportion import CLOCK, SHARING, By, Share, gpus_held, models_held
from cepheid.reports.fleet_use.hours import HOUR, Offset, Ran, in_utc, ran
from cepheid.reports.listing import cpu_seconds, energy_joules
from cepheid.reports.prices import JOULES_PER_KWH, Prices, cost, gpu_hour

TOTAL = "(all)"
_ALL_PERCENT = 100.0
_IN_VAIN = (Outcome.FAILED, Outcome.TIMEOUT, Outcome.ERROR)


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageRow:
    group: str
    jobs: int
    """That ran in it; one that ran in several counts in each."""
    gpu_hours_held: float | None
    gpu_hours_used: float | None
    gpu_hours_wasted: float | None
    gpu_hours_unknown: float | None
    """Held, and nobody measured the load."""
    gpu_hours_failed: float | None
    """Held, used or not, by jobs that did not succeed: apart from what was wasted."""
    cpu_hours: float | None
    energy_kwh: float | None
    cost: float | None
    cost_wasted: float | None
    """The wasted share of each job's cost."""
    jobs_without_cost: int


@dataclass(frozen=True, slots=True)
class UsageReport:
    rows: tuple[UsageRow, ...]
    """The most GPU hours first; hours and weekdays as the clock has them."""
    total: UsageRow
    running: int
    """Counted up to now."""
    not_believed: int
    """Began in the future, or more than ten years ago: not counted."""
    unpriced: tuple[str, ...]
    """Models of GPUs that have no price."""


@dataclass(frozen=True, slots=True)
class Period:
    """Half-open, in seconds since 1970: what lies outside does not count."""

    now: float
    begin: float = -math.inf
    until: float = math.inf

    def within(self, run: Ran) -> Ran | None:
        return run.within(self.begin, min(self.until, math.nextafter(self.now, math.inf)))


@dataclass(slots=True)
class _Sums:
    """Seconds, joules, money. What was never added is not known, and not 0."""

    jobs: int = 0
    unpriced: int = 0
    held: float | None = None
    used: float | None = None
    wasted: float | None = None
    unknown: float | None = None
    failed: float | None = None
    cpu: float | None = None
    joules: float | None = None
    cost: float | None = None
    cost_wasted: float | None = None


# A Struct, as all that is made once a job: a frozen dataclass takes five times as long.
class _Job(Struct, frozen=True, kw_only=True, gc=False):
    """What there is to share out, all of it within the period: seconds, joules, money."""

    held: float | None
    load: float | None
    is_in_vain: bool
    cpu: float | None
    joules: float | None
    is_priced: bool
    cost: float | None
    one_gpu: dict[str | None, float]
    """Of the cost: a GPU of each model."""
    other_cost: float
    """What of the cost is not that of GPUs."""


def usage(
    profiles: Iterable[JobProfile],
    by: By,
    period: Period,
    *,
    prices: Prices | None = None,
    offset: Offset = in_utc,
) -> UsageReport:
    return usages(profiles, (by,), period, prices=prices, offset=offset)[by]


def usages(
    profiles: Iterable[JobProfile],
    wanted: Sequence[By],
    period: Period,
    *,
    prices: Prices | None = None,
    offset: Offset = in_utc,
) -> dict[By, UsageReport]:
    """Several of the same jobs: what each job held is worked out once."""
    groups: dict[By, dict[str, _Sums]] = {by: {} for by in wanted}
    total, everything = _Sums(), Share(TOTAL, 1.0)
    running = not_believed = 0
    unpriced: dict[str, None] = {}
    for profile in profiles:
        whole = ran(profile, period.now)
        if whole is None:
            not_believed += profile.started is not None
            continue
        run = period.within(whole)
        if run is None:
            continue
        running += profile.outcome is Outcome.RUNNING
        job = _job(profile, whole, run, prices)
        if prices is not None and job.cost is None:
            unpriced |= dict.fromkeys(_without_price(profile, prices))
        _add(total, job, everything)
        for by, sums in groups.items():
            for share in SHARING[by](profile, run, offset):
                if share.group not in sums:
                    sums[share.group] = _Sums()
                _add(sums[share.group], job, share)
    in_all = _row(TOTAL, total)
    return {
        by: UsageReport(_rows(by, sums), in_all, running, not_believed, tuple(unpriced))
        for by, sums in groups.items()
    }


def _rows(by: By, groups: Mapping[str, _Sums]) -> tuple[UsageRow, ...]:
    if by in CLOCK:
        return tuple(_row(group, groups[group]) for group in CLOCK[by] if group in groups)
    rows = [_row(group, sums) for group, sums in groups.items()]
    rows.sort(key=lambda row: (-(row.gpu_hours_held or 0), -(row.cpu_hours or 0), row.group))
    return tuple(rows)


def load_of(profile: JobProfile) -> float | None:
    """Mean load of its GPUs, 0 to 1."""
    util = None if profile.usage is None else profile.usage.gpu_util_percent
    if util is None or util.mean is None:
        return None
    return min(util.mean, _ALL_PERCENT) / _ALL_PERCENT


def _job(profile: JobProfile, whole: Ran, run: Ran, prices: Prices | None) -> _Job:
    # The record of a running job tells up to the last look at it; it holds its GPUs since then too.
    gpus, lasted, seconds = gpus_held(profile), whole.seconds, run.seconds
    part = seconds / lasted if lasted > 0 else 1.0
    price: float | None = None
    one_gpu: dict[str | None, float] = {}
    other = 0.0
    if prices is not None:
        lasting = replace(profile, duration_seconds=lasted, gpu_count=gpus)
        price = _part_of(cost(lasting, prices), part)
    if prices is not None and price is not None:
        models = models_held(profile)
        hours = seconds / HOUR
        one_gpu = {model: (gpu_hour(model, prices) or 0.0) * hours for model in models}
        other = max(0.0, price - sum(one_gpu[model] * count for model, count in models.items()))
    return _Job(
        held=gpus * seconds if gpus else None,
        load=load_of(profile),
        is_in_vain=profile.outcome in _IN_VAIN,
        cpu=_part_of(cpu_seconds(profile, lasted), part),
        joules=_part_of(energy_joules(profile), part),
        is_priced=prices is not None,
        cost=price,
        one_gpu=one_gpu,
        other_cost=other,
    )


def _add(sums: _Sums, job: _Job, share: Share) -> None:
    sums.jobs += 1
    part = share.part
    if job.held is not None:
        held = job.held * part
        sums.held = held + (sums.held or 0.0)
        if job.load is None:
            sums.unknown = held + (sums.unknown or 0.0)
        else:
            sums.used = held * job.load + (sums.used or 0.0)
            sums.wasted = held * (1 - job.load) + (sums.wasted or 0.0)
        if job.is_in_vain:
            sums.failed = held + (sums.failed or 0.0)
    if job.cpu is not None:
        sums.cpu = job.cpu * part + (sums.cpu or 0.0)
    if job.joules is not None:
        sums.joules = job.joules * part + (sums.joules or 0.0)
    if job.cost is None:
        sums.unpriced += job.is_priced
        return
    money = _money(job, job.cost, share)
    sums.cost = money + (sums.cost or 0.0)
    if job.held is not None and job.load is not None:
        sums.cost_wasted = money * (1 - job.load) + (sums.cost_wasted or 0.0)


def _money(job: _Job, cost: float, share: Share) -> float:
    """GPUs of two models in one job have two prices: each goes to its own."""
    if share.models is None:
        return cost * share.part
    gpus = sum(job.one_gpu[model] * count for model, count in share.models.items())
    return gpus + job.other_cost * share.part


def _row(group: str, sums: _Sums) -> UsageRow:
    return UsageRow(
        group=group,
        jobs=sums.jobs,
        gpu_hours_held=_in(sums.held, HOUR),
        gpu_hours_used=_in(sums.used, HOUR),
        gpu_hours_wasted=_in(sums.wasted, HOUR),
        gpu_hours_unknown=_in(sums.unknown, HOUR),
        gpu_hours_failed=_in(sums.failed, HOUR),
        cpu_hours=_in(sums.cpu, HOUR),
        energy_kwh=_in(sums.joules, JOULES_PER_KWH),
        cost=_in(sums.cost),
        cost_wasted=_in(sums.cost_wasted),
        jobs_without_cost=sums.unpriced,
    )


def _in(amount: float | None, unit: float = 1.0) -> float | None:
    return None if amount is None or not math.isfinite(amount) else amount / unit


def _part_of(amount: float | None, part: float) -> float | None:
    if amount is None or not math.isfinite(amount):
        return None
    return amount * part


def _without_price(profile: JobProfile, prices: Prices) -> list[str]:
    return [gpu.model for gpu in profile.gpus if gpu.model and gpu_hour(gpu.model, prices) is None]
