"""How much of a series comes back after each period, and how much would by chance?

For every lag P at once: the autocorrelation at lag P of the series minus its own moving average
over P. A pattern of period P has a constant moving average, so what repeats stays whole, while
ramps, level shifts and red noise, which live on longer scales, are gone. What is left of noise
of any colour correlates by chance only, and the less so the more periods were seen: so one
threshold, falling with the number of periods, tells chance from pattern.

The same is done on coarser and coarser copies of the autocovariance, each that of the series
averaged over twice as many samples: there noise, and jitter from one iteration to the next,
weigh less.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cepheid.analysis.autocovariance import Autocovariance, IntArray
from cepheid.model import FloatArray

FEWEST_CYCLES = 2.9
"""Three, less what a window that is no whole number of periods may lack."""
LEAST_WITHIN = 0.01
"""Below this share of the series' variance the estimates' own error speaks."""


class Lags(NamedTuple):
    """Where the running sums are read for each period P."""

    p: IntArray
    twice_p: IntArray
    inverse: FloatArray
    # An even number of samples has no middle one: the mean of both ways to place the box.
    right_of_0: IntArray
    left_of_0: IntArray
    right_of_p: IntArray
    left_of_p: IntArray
    right_of_p_too: IntArray
    left_of_p_too: IntArray

    @classmethod
    def of(cls, p: IntArray) -> "Lags":
        more, less = p // 2, (p - 1) // 2
        return cls(
            *(p, 2 * p, 1.0 / p, more + 1, less + 1),
            *(p + more + 1, p - less, p + less + 1, p - more),
        )


@lru_cache(maxsize=4)
def lags_between(first: int, last: int) -> Lags:
    """Kept: a process looks at windows of few lengths, thousands of times."""
    return Lags.of(np.arange(first, last + 1))


class Repetition(NamedTuple):
    """Of the series minus its moving average over P, for periods P along the last axis."""

    periods: IntArray
    within: FloatArray
    """Variance."""
    repeating: FloatArray
    """Covariance at lag P."""

    @classmethod
    def of(cls, covariance: Autocovariance, lags: Lags) -> "Repetition":
        """Taking the average away convolves with 1 - 2 box(P) + triangle(P)."""
        at, sums, double_sums = covariance.at, covariance.sums, covariance.double_sums
        at_0 = at[..., :1]
        box_at_0 = sums.take(lags.right_of_0, -1) + sums.take(lags.left_of_0, -1) - at_0
        box_at_p = sums.take(lags.right_of_p, -1) - sums.take(lags.left_of_p, -1)
        box_at_p += sums.take(lags.right_of_p_too, -1) - sums.take(lags.left_of_p_too, -1)
        to_p = double_sums.take(lags.p, -1)
        triangle_at_0 = 2.0 * to_p - lags.p * at_0
        triangle_at_p = double_sums.take(lags.twice_p, -1) - 2.0 * to_p
        return cls(
            lags.p,
            at_0 - lags.inverse * (2.0 * box_at_0 - lags.inverse * triangle_at_0),
            at.take(lags.p, -1) - lags.inverse * (box_at_p - lags.inverse * triangle_at_p),
        )


class Candidates(NamedTuple):
    """Columns of a table."""

    periods: FloatArray
    """In steps of the series."""
    shares: FloatArray
    """Of the variance on scales up to the period: what repeats."""
    variances: FloatArray
    """What repeats, of the whole series' variance."""
    coarseness: FloatArray
    """Steps of the series in a step of the copy that showed it."""

    def where(self, chosen: NDArray[np.bool_]) -> "Candidates":
        return Candidates(*(column[chosen] for column in self))


_FLOOR, _SLOPE, _COARSE_SLOPE = 0.06, 1.10, 1.25
_EXTRA_STEPS = 12
"""The shorter the periods, the more of them compete, and the best of many is high by chance."""


_SURE, _SURE_CYCLES, _SURE_SAMPLES = 0.85, 3.4, 16
"""So much of it again and again is no chance, however few samples that are: a job that repeats
every minute, read every 15 s, need not wait for the threshold to come down."""


def threshold(periods: FloatArray | float, count: int, *, coarse: bool) -> FloatArray:
    """The share that chance seldom reaches."""
    slope = _COARSE_SLOPE if coarse else _SLOPE
    usual = _FLOOR + slope * np.sqrt((periods + _EXTRA_STEPS) / count)
    if count < _SURE_SAMPLES:
        return np.asarray(usual)
    return np.where(np.asarray(periods) * _SURE_CYCLES <= count, np.minimum(usual, _SURE), usual)


def find_candidates(fine: Repetition, covariance: Autocovariance, count: int) -> Candidates:
    """Peaks above the threshold: in the series itself and in ever coarser copies of it."""
    found = _peaks(fine, _ONE, count)
    steps, read_at = _coarse_grid(len(covariance.at))
    if not len(steps):
        return found
    # Averaging the series over a step convolves the autocovariance with a triangle.
    there = covariance.double_sums[read_at]
    copies = np.empty((len(steps), _COARSE_ROOM))
    copies[:, 0] = 2.0 * there[:, 1] - steps * covariance.at[0]
    copies[:, 1:] = there[:, 2:] - 2.0 * there[:, 1:-1] + there[:, :-2]
    copies /= (steps * steps)[:, None]
    coarse = Repetition.of(Autocovariance(copies), lags_between(*_COARSE_PERIODS))
    more = _peaks(coarse, steps, count)
    return Candidates(*(np.concatenate(columns) for columns in zip(found, more, strict=True)))


_ONE = np.ones(1)
_COARSE_PERIODS = (7, 17)
"""A coarse copy answers for 8 to 16 of its steps, the next one for twice that; peaks have sides."""
_COARSE_ROOM = 2 * _COARSE_PERIODS[1] + 1


@lru_cache(maxsize=4)
def _coarse_grid(lags: int) -> tuple[FloatArray, IntArray]:
    """The steps of the copies, and for each where the double sums are read."""
    copies = max(0, (lags // (2 * _COARSE_PERIODS[0] + 4)).bit_length() - 1)
    steps = 2 ** np.arange(1, copies + 1)
    read_at = np.minimum(np.outer(steps, np.arange(_COARSE_ROOM + 1)), lags)
    return steps.astype(np.float64), read_at


def _peaks(seen: Repetition, coarseness: FloatArray, count: int) -> Candidates:
    """In all copies at once: a row a coarseness."""
    repeating = np.atleast_2d(seen.repeating)
    shares = repeating / np.maximum(seen.within, LEAST_WITHIN)
    top = shares[:, 1:-1]
    row, column = ((top > _FLOOR) & (top >= shares[:, :-2]) & (top > shares[:, 2:])).nonzero()
    coarse = len(coarseness) > 1 or coarseness[0] > 1
    steps, column = coarseness[row], column + 1
    periods, peaks = seen.periods[column] * steps, shares[row, column]
    high = peaks > threshold(periods, count, coarse=coarse)
    high &= periods * FEWEST_CYCLES <= count
    row, column, steps = row[high], column[high], steps[high]
    periods, peaks = periods[high], peaks[high]
    if coarse and len(periods):
        # To the summit of the parabola through three heights; in the series itself that is later.
        left, right = shares[row, column - 1], shares[row, column + 1]
        periods += 0.5 * steps * (left - right) / (left - 2.0 * peaks + right)
    return Candidates(periods, peaks, repeating[row, column], steps)
