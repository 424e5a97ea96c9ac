"""How right the answers are: pure arithmetic on what detectors and predictors said."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from cepheid.model import FloatArray
from tests.bench.detectors import Detector
from tests.bench.families import Sample
from tests.bench.predictors import Predictor, seasonal_naive


def is_right(period: float, truths: Sequence[float]) -> bool:
    """Within 5 % or one sample of one of them."""
    return any(abs(period - truth) <= max(0.05 * truth, 1.0) for truth in truths)


@dataclass(slots=True)
class Found:
    """Counts of what a detector said."""

    right: int = 0
    wrong: int = 0
    missed: int = 0
    false_alarms: int = 0
    quiet: int = 0

    @property
    def cyclic(self) -> int:
        return self.right + self.wrong + self.missed

    @property
    def not_cyclic(self) -> int:
        return self.false_alarms + self.quiet

    def __add__(self, other: "Found") -> "Found":
        return Found(*(getattr(self, f) + getattr(other, f) for f in self.__slots__))


def detected(detect: Detector, samples: Iterable[Sample]) -> Found:
    found = Found()
    for sample in samples:
        period = detect(sample.values)
        if not sample.periods:
            found.quiet += period is None
            found.false_alarms += period is not None
        elif period is None:
            found.missed += 1
        elif is_right(period, sample.periods):
            found.right += 1
        else:
            found.wrong += 1
    return found


class Task(NamedTuple):
    """A series, of which the end was cut off to be foretold."""

    family: str
    past: FloatArray
    future: FloatArray
    period: float | None


def task(sample: Sample, length: int | None = None) -> Task:
    """Up to 40 steps ahead, an eighth of a short series."""
    values = sample.values if length is None else sample.values[:length]
    horizon = min(40, len(values) // 8)
    period = sample.periods[0] if sample.periods else None
    return Task(sample.family, values[:-horizon], values[-horizon:], period)


class Told(NamedTuple):
    """How one prediction compares with what came."""

    family: str
    ratio: float
    """Its mean absolute error over that of seasonal naive on the same steps."""
    covered: float | None
    """The share of what came that lay inside the band."""


def told(predict: Predictor, work: Task) -> Told | None:
    answer = predict(work.past, len(work.future), work.period)
    known = np.isfinite(work.future)
    if answer is None or not known.any():
        return None
    naive = seasonal_naive(work.past, len(work.future), work.period)
    # A thousandth of the deviation on both: a series without noise would divide by nothing.
    least = 1e-3 * float(np.nanstd(work.past)) or 1.0
    error, yardstick = (
        float(np.abs(middle - work.future)[known].mean()) + least
        for middle in (answer.middle, naive.middle)
    )
    covered = None
    if answer.lower is not None and answer.upper is not None:
        edge = 1e-6 * least
        inside = (work.future >= answer.lower - edge) & (work.future <= answer.upper + edge)
        covered = float(inside[known].mean())
    return Told(work.family, error / yardstick, covered)


def geometric_mean(ratios: Sequence[float]) -> float:
    return float(np.exp(np.mean(np.log(ratios))))
