"""How much did runs of the same job do a second, in one unit?

By the period of their load, where it is known what an iteration is; else by how long they took.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from cepheid.analysis.regression import SPREAD_FLOOR
from cepheid.jobprofile import JobProfile, Outcome
from cepheid.jobs.advice import TOLD_SECONDS
from cepheid.units import in_time

PERIOD_ERROR, DURATION_ERROR = 0.03, 0.08
"""Of one run, as a share: assumed until runs with the same number of GPUs have shown it."""
ASSUMED_RUNS = 2
"""So many runs the assumption counts as."""
LEAST_SECONDS, MOST_SECONDS = 0.001, 1e9
SLOPE_SLACK = 0.3
MOST_TOLD = 3


class Rates(NamedTuple):
    each: list[tuple[JobProfile, float]]
    """Work a second, in a unit of its own."""
    assumed_error: float
    seconds: Callable[[JobProfile], float | None]
    of_what: str

    @property
    def counts(self) -> tuple[int, ...]:
        return tuple(sorted({run.gpu_count for run, _ in self.each}))

    def error(self) -> float:
        """Of one run, as a share: how far runs with the same number of GPUs lie apart."""
        squares, spare = 0.0, 0
        for count in self.counts:
            logs = np.log([rate for run, rate in self.each if run.gpu_count == count])
            squares += float(((logs - logs.mean()) ** 2).sum())
            spare += logs.size - 1
        assumed = ASSUMED_RUNS * self.assumed_error**2
        return max(SPREAD_FLOOR, math.sqrt((assumed + squares) / (ASSUMED_RUNS + spare)))

    def words(self) -> str:
        """What it took, on the least and on the most GPUs at least."""
        counts = (
            self.counts if len(self.counts) <= MOST_TOLD else self.counts[:: len(self.counts) - 1]
        )
        said = []
        for count in counts:
            times = [
                self.seconds(run) or math.nan for run, _ in self.each if run.gpu_count == count
            ]
            said.append(f"{_time(float(np.median(times)))} on {count}")
        return f"{self.of_what} took {', '.join(said)}"


def rates_of(runs: Sequence[JobProfile]) -> Rates | None:
    """None where they do not show at least two numbers of GPUs."""
    periodic = [run for run in runs if _period(run) is not None]
    lasting = [run for run in runs if _duration(run) is not None]
    found = []
    per_gpu = is_per_gpu(periodic)
    if per_gpu is not None:
        each = [
            (run, (run.gpu_count if per_gpu else 1) / (_period(run) or math.nan))
            for run in periodic
        ]
        what = "an iteration, of a batch for each GPU," if per_gpu else "an iteration"
        found.append(Rates(each, PERIOD_ERROR, _period, what))
    each = [(run, 1 / (_duration(run) or math.nan)) for run in lasting]
    found.append(Rates(each, DURATION_ERROR, _duration, "a run"))
    best = max(found, key=lambda rates: len(rates.counts))  # of equals the first
    return best if len(best.counts) > 1 else None


def is_per_gpu(runs: Sequence[JobProfile]) -> bool | None:
    """Whether an iteration is a batch for each GPU, rather than one that they divide.

    Then its work grows with their number, and as many fewer iterations make a run.
    """
    for amount, per_gpu in ((_iteration_work, 1.0), (_iterations, -1.0)):
        known = [(run.gpu_count, found) for run in runs if (found := amount(run)) is not None]
        slope = _slope(known)
        if slope is not None and abs(slope) <= SLOPE_SLACK:
            return False
        if slope is not None and abs(slope - per_gpu) <= SLOPE_SLACK:
            return True
    return None


def _slope(known: Sequence[tuple[int, float]]) -> float | None:
    """Of the logarithm of an amount, by that of the number of GPUs."""
    if len({gpus for gpus, _ in known}) <= 1:
        return None
    x, y = np.log(np.array(known, dtype=float)).T
    x, y = x - x.mean(), y - y.mean()
    return float((x * y).sum() / (x * x).sum())


def _iteration_work(run: JobProfile) -> float | None:
    tensor = None if run.usage is None else run.usage.tensor_percent
    period = _period(run)
    if tensor is None or not tensor.mean or period is None:
        return None
    return tensor.mean * run.gpu_count * period


def _iterations(run: JobProfile) -> float | None:
    duration, period = _duration(run), _period(run)
    return None if duration is None or period is None else duration / period


def _period(run: JobProfile) -> float | None:
    cycle = run.cycle
    if cycle is None or cycle.confirmed is not True:
        return None
    return cycle.period_seconds if LEAST_SECONDS <= cycle.period_seconds <= MOST_SECONDS else None


def _duration(run: JobProfile) -> float | None:
    """Of one that did all that there was to do."""
    seconds = run.duration_seconds
    if run.outcome is not Outcome.SUCCESS or seconds is None:
        return None
    return seconds if TOLD_SECONDS <= seconds <= MOST_SECONDS else None


def _time(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds < TOLD_SECONDS else in_time(seconds)
