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
from collections.abc import Iterable
from dataclasses import dataclass, field

from msgspec.structs import replace

from cepheid.jobprofile import JobProfile, Outcome
from cepheid.reports.fleet_use.apportion import CLOCK, SHARING, By, Share, gpus_held, models_held
from cepheid.reports.fleet_use.hours import HOUR, Offset, Ran, in_utc, ran
from cepheid.reports.listing import cpu_seconds, energy_joules
from cepheid.reports.prices import JOULES_PER_KWH, Prices, cost, gpu_hour

TOTAL = "(all)"
_ALL_PERCENT = 100.0
_IN_VAIN = frozenset({Outcome.FAILED, Outcome.TIMEOUT, Outcome.ERROR})


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
    jobs: int = 0
    unpriced: int = 0
    amounts: dict[str, float] = field(default_factory=dict)
    """What was never added is not known, and not 0."""

    def add(self, name: str, amount: float) -> None:
        self.amounts[name] = self.amounts.get(name, 0.0) + amount

    def get(self, name: str, unit: float = 1.0) -> float | None:
        amount = self.amounts.get(name)
        return None if amount is None or not math.isfinite(amount) else amount / unit


@dataclass(frozen=True, slots=True)
class _Job:
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
    groups: dict[str, _Sums] = {}
    total = _Sums()
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
        _add(total, job, Share(TOTAL, 1.0))
        for share in SHARING[by](profile, run, offset):
            _add(groups.setdefault(share.group, _Sums()), job, share)
    rows = [_row(group, groups[group]) for group in CLOCK.get(by, ()) if group in groups]
    if by not in CLOCK:
        rows = [_row(group, sums) for group, sums in groups.items()]
        rows.sort(key=lambda row: (-(row.gpu_hours_held or 0), -(row.cpu_hours or 0), row.group))
    return UsageReport(tuple(rows), _row(TOTAL, total), running, not_believed, tuple(unpriced))


def load_of(profile: JobProfile) -> float | None:
    """Mean load of its GPUs, 0 to 1."""
    util = None if profile.usage is None else profile.usage.gpu_util_percent
    if util is None or util.mean is None:
        return None
    return min(util.mean, _ALL_PERCENT) / _ALL_PERCENT


def _job(profile: JobProfile, whole: Ran, run: Ran, prices: Prices | None) -> _Job:
    # The record of a running job tells up to the last look at it; it holds its GPUs since then too.
    gpus = gpus_held(profile)
    lasting = replace(profile, duration_seconds=whole.seconds, gpu_count=gpus)
    part = run.seconds / whole.seconds if whole.seconds > 0 else 1.0
    price = None if prices is None else _part_of(cost(lasting, prices), part)
    one_gpu: dict[str | None, float] = {}
    other = 0.0
    if prices is not None and price is not None:
        models = models_held(profile)
        hours = run.seconds / HOUR
        one_gpu = {model: (gpu_hour(model, prices) or 0.0) * hours for model in models}
        other = max(0.0, price - sum(one_gpu[model] * count for model, count in models.items()))
    return _Job(
        held=gpus * run.seconds if gpus else None,
        load=load_of(profile),
        is_in_vain=profile.outcome in _IN_VAIN,
        cpu=_part_of(cpu_seconds(lasting), part),
        joules=_part_of(energy_joules(profile), part),
        is_priced=prices is not None,
        cost=price,
        one_gpu=one_gpu,
        other_cost=other,
    )


def _add(sums: _Sums, job: _Job, share: Share) -> None:
    sums.jobs += 1
    if job.held is not None:
        held = job.held * share.part
        sums.add("held", held)
        if job.load is None:
            sums.add("unknown", held)
        else:
            sums.add("used", held * job.load)
            sums.add("wasted", held * (1 - job.load))
        if job.is_in_vain:
            sums.add("failed", held)
    if job.cpu is not None:
        sums.add("cpu", job.cpu * share.part)
    if job.joules is not None:
        sums.add("joules", job.joules * share.part)
    if job.cost is None:
        sums.unpriced += job.is_priced
        return
    money = _money(job, job.cost, share)
    sums.add("cost", money)
    if job.held is not None and job.load is not None:
        sums.add("cost_wasted", money * (1 - job.load))


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
        gpu_hours_held=sums.get("held", HOUR),
        gpu_hours_used=sums.get("used", HOUR),
        gpu_hours_wasted=sums.get("wasted", HOUR),
        gpu_hours_unknown=sums.get("unknown", HOUR),
        gpu_hours_failed=sums.get("failed", HOUR),
        cpu_hours=sums.get("cpu", HOUR),
        energy_kwh=sums.get("joules", JOULES_PER_KWH),
        cost=sums.get("cost"),
        cost_wasted=sums.get("cost_wasted"),
        jobs_without_cost=sums.unpriced,
    )


def _part_of(amount: float | None, part: float) -> float | None:
    if amount is None or not math.isfinite(amount):
        return None
    return amount * part


def _without_price(profile: JobProfile, prices: Prices) -> list[str]:
    return [gpu.model for gpu in profile.gpus if gpu.model and gpu_hour(gpu.model, prices) is None]
