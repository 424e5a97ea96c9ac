"""All trials in one unit: only then one can be said to be faster than another.

A PromQL or a log gives the figure itself. Otherwise iterations are counted, by the pulse where a
trial shows one. The work of the tensor pipes is beside it: one and the same job does the same work
in an iteration wherever it runs. So work tells
    - whether an iteration is that of the whole job or of each GPU: with more GPUs it stays the
      same, or grows with them;
    - which pulses to believe: half or twice the period is half or twice the work;
    - how many iterations a trial did whose pulse cannot be seen.
Where no pulse can be believed, trials are compared by their work.
"""

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeGuard

import msgspec

from cepheid.placementtrial import (
    Iteration,
    Measure,
    Optimise,
    Placement,
    Reading,
    Ruler,
    State,
    Throughput,
    Trial,
)

SAME_WORK = 1.6
"""Two iterations differ by less than this factor: peaks of types are not reached alike, and half
or twice a period is a factor of 2."""
OTHER_TYPE_ERROR_RATIO = 0.15
"""Of iterations from work, where only GPUs of another type showed both."""
LEAST, MOST = 1e-12, 1e15
"""Of whatever is measured: the status was perhaps written by hand."""
ITERATIONS, OF_A_GPU, TERAFLOPS = "iterations", "iterations of a GPU", "teraflops"


class Figure(NamedTuple):
    per_second: float
    error_ratio: float
    by: Ruler
    unit: str


Figures = dict[int, Figure]
"""By the trial's place in the list."""


def compare(trials: Sequence[Trial], measure: Measure, optimise: Optimise) -> tuple[Trial, ...]:
    """The same trials in the same order, with throughput, cost and energy of a unit of work."""
    seen = {
        at: (trial.placement, trial.reading)
        for at, trial in enumerate(trials)
        if trial.reading is not None and trial.state in (State.RUNNING, State.MEASURED)
    }
    figures = _figures(seen, measure)
    return tuple(_filled(trial, figures.get(at), optimise) for at, trial in enumerate(trials))


def iteration_of(trials: Iterable[Trial], measure: Measure) -> tuple[Iteration, bool]:
    """Whole or per-gpu, and whether the user or the measurements said so: else it is whole."""
    seen = {
        at: (trial.placement, trial.reading)
        for at, trial in enumerate(trials)
        if trial.reading is not None
    }
    told = _told(_iterations(seen, measure.by), _work(seen), seen, measure)
    return told or Iteration.WHOLE, told is not None


Seen = Mapping[int, tuple[Placement, Reading]]


def _figures(seen: Seen, measure: Measure) -> Figures:
    work = _work(seen)
    if measure.by is Ruler.WORK:
        return work
    counted = _iterations(seen, measure.by)
    told = _told(counted, work, seen, measure)
    if told is Iteration.PER_GPU:
        counted = {at: _of_a_gpu(one, seen[at][0].gpus) for at, one in counted.items()}
    if measure.by is not Ruler.AUTO:
        return counted
    believed = _believed(counted, work)
    return _completed(believed, work, seen)


def _work(seen: Seen) -> Figures:
    return {
        at: Figure(one.teraflops, _ratio(one.teraflops_error_percent), Ruler.WORK, TERAFLOPS)
        for at, (_, one) in seen.items()
        if _is_possible(one.teraflops)
    }


def _iterations(seen: Seen, by: Ruler) -> Figures:
    """A second; or what else the log counts, and of several units the one that most have."""
    if by in (Ruler.PROMQL, Ruler.LOG):
        rates = {
            at: Figure(
                one.rate_per_second, _ratio(one.rate_error_percent), by, one.rate_unit or ITERATIONS
            )
            for at, (_, one) in seen.items()
            if _is_possible(one.rate_per_second)
        }
        units = Counter(one.unit for one in rates.values())
        usual = max(units, key=lambda unit: (units[unit], unit), default=None)
        return {at: one for at, one in rates.items() if one.unit == usual}
    return {
        at: Figure(
            1 / one.period_seconds, _ratio(one.period_error_percent), Ruler.PULSE, ITERATIONS
        )
        for at, (_, one) in seen.items()
        if _is_possible(one.period_seconds)
    }


def _of_a_gpu(one: Figure, gpus: int) -> Figure:
    if one.unit != ITERATIONS:
        return one
    return one._replace(per_second=one.per_second * gpus, unit=OF_A_GPU)


def _told(counted: Figures, work: Figures, seen: Seen, measure: Measure) -> Iteration | None:
    """By trials on GPUs of one type: the peaks of two are not equally far away."""
    if measure.iteration is not Iteration.AUTO:
        return measure.iteration
    by_type: dict[str, list[tuple[float, float]]] = {}
    for at in counted.keys() & work.keys():
        if counted[at].unit == ITERATIONS:
            placement = seen[at][0]
            each = math.log(work[at].per_second / counted[at].per_second)
            by_type.setdefault(placement.gpu_type, []).append((math.log(placement.gpus), each))
    several = [some for some in by_type.values() if len({gpus for gpus, _ in some}) > 1]
    if not several:
        return None
    whole = sum(_scatter(each for _, each in some) for some in several)
    of_a_gpu = sum(_scatter(each - gpus for gpus, each in some) for some in several)
    return Iteration.PER_GPU if of_a_gpu < whole else Iteration.WHOLE


def _scatter(values: Iterable[float]) -> float:
    some = list(values)
    return statistics.pvariance(some) * len(some)


def _believed(counted: Figures, work: Figures) -> Figures:
    """Those whose iteration is as much work as that of most; none of those that contradict."""
    both = sorted(counted.keys() & work.keys())
    each = {at: work[at].per_second / counted[at].per_second for at in both}
    groups = ([other for other in both if 1 <= each[other] / each[at] < SAME_WORK] for at in both)
    most = max(groups, key=len, default=[])
    if 2 * len(most) <= len(both):
        return {at: one for at, one in counted.items() if at not in each}
    return {at: one for at, one in counted.items() if at not in each or at in most}


def _completed(counted: Figures, work: Figures, seen: Seen) -> Figures:
    lacking = work.keys() - counted.keys()
    both = counted.keys() & work.keys()
    if not lacking:
        return counted
    if not both:
        return counted if len(counted) > len(work) else work
    converted = {at: _converted(at, counted, work, seen) for at in lacking}
    return counted | converted


def _converted(at: int, counted: Figures, work: Figures, seen: Seen) -> Figure:
    """Iterations from work, by those that have both; of the same type if there are any."""
    both = counted.keys() & work.keys()
    gpu_type = seen[at][0].gpu_type
    alike = [other for other in both if seen[other][0].gpu_type == gpu_type]
    by = alike or sorted(both)
    logs = [math.log(counted[other].per_second / work[other].per_second) for other in by]
    errors = [_together(counted[other].error_ratio, work[other].error_ratio) for other in by]
    error = _together(
        work[at].error_ratio,
        math.sqrt(statistics.fmean(one * one for one in errors) / len(by)),
        math.sqrt(statistics.pvariance(logs) / len(by)),
        0.0 if alike else OTHER_TYPE_ERROR_RATIO,
    )
    unit = counted[by[0]].unit
    return Figure(work[at].per_second * math.exp(statistics.fmean(logs)), error, Ruler.WORK, unit)


def _together(*error_ratios: float) -> float:
    """Of a product or quotient of figures that do not know of each other."""
    return math.hypot(*error_ratios)


def _filled(trial: Trial, figure: Figure | None, optimise: Optimise) -> Trial:
    throughput, cost, joules = None, None, None
    if figure is not None:
        throughput = Throughput(
            per_second=figure.per_second,
            error_percent=100 * figure.error_ratio,
            by=figure.by,
            unit=figure.unit,
        )
        price = optimise.prices.get(trial.placement.gpu_type)
        if price is not None:
            cost = price * trial.placement.gpus / 3600 / figure.per_second
        watts = None if trial.reading is None else trial.reading.watts
        joules = None if watts is None else watts / figure.per_second
    return msgspec.structs.replace(
        trial, throughput=throughput, cost_per_unit=cost, joules_per_unit=joules
    )


def _is_possible(figure: float | None) -> TypeGuard[float]:
    return figure is not None and LEAST <= figure <= MOST


def _ratio(percent: float | None) -> float:
    """Without one it is not known: then as large as the figure."""
    return 1.0 if percent is None else min(percent / 100, MOST)
