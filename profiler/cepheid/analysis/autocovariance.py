"""How does a series go together with itself, some time later?

In comes a series on a regular grid with NaN gaps; out goes its autocovariance, over the pairs of
which both samples were measured, with the running sums from which `repetition` reads all periods
at once.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from cepheid.errors import CepheidError
from cepheid.model import FloatArray

FEWEST_SAMPLES = 12
IntArray: TypeAlias = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Signal:
    values: FloatArray
    """Without trend, of unit variance; 0 where nothing was measured."""
    present: FloatArray | None
    """1 where something was measured, else 0; None if everywhere."""
    count: int
    deviation: float
    """What its unit is worth in that of the series."""


def one_series(values: FloatArray) -> FloatArray:
    series = np.asarray(values, dtype=np.float64)
    if series.ndim != 1:
        raise CepheidError(
            f"an array of {series.ndim} dimensions is no series", hint="give one series at a time"
        )
    return series


def check_step(step_seconds: float) -> None:
    if not 0 < step_seconds < np.inf:
        raise CepheidError(
            f"a step of {step_seconds} s is no step", hint="give the seconds between two samples"
        )


def standardised(values: FloatArray) -> Signal | None:
    """None where there is too little, or nothing varies."""
    given = one_series(values)
    present = np.isfinite(given)
    count = int(np.count_nonzero(present))
    if count < FEWEST_SAMPLES:
        return None
    if count < len(given):
        # What begins within the window is as short as it is, not long and mostly missing.
        first, last = int(present.argmax()), len(present) - int(present[::-1].argmax())
        given, present = given[first:last], present[first:last]
    whole = count == len(given)
    known = given if whole else given[present]
    # Values such as 1e300 would overflow when squared, and 1e-300 vanish.
    largest = max(float(known.max()), -float(known.min()))
    if largest == 0.0:
        return None
    known = _without_freaks(known / largest)
    ramp = _ramp(len(given))
    if not whole:
        ramp = ramp[present]
        ramp = ramp - ramp.sum() / count
    known -= dot(ramp, known) / dot(ramp, ramp) * ramp
    variance = dot(known, known) / count
    if variance < 1e-20:  # noqa: PLR2004 # rounding of a constant or a ramp; the largest is 1
        return None
    known /= variance**0.5
    deviation = largest * variance**0.5
    if whole:
        return Signal(known, None, count, deviation)
    filled = np.zeros(len(given))
    filled[present] = known
    return Signal(filled, present.astype(np.float64), count, deviation)


def _without_freaks(values: FloatArray) -> FloatArray:
    """Centred; what stands out by more than half of the range of all others is cut there."""
    values = values - values.sum() / len(values)
    usual = _USUAL_DEVIATIONS * (dot(values, values) / len(values)) ** 0.5
    if values.max() < usual and values.min() > -usual:
        return values
    freaks = 1 + len(values) // 100
    last = len(values) - 1 - freaks
    ordered = np.partition(values, (freaks, last))
    low, high = ordered[freaks], ordered[last]
    if low < high:  # else all others are equal, and the few are all that there is
        values = np.clip(values, 1.5 * low - 0.5 * high, 1.5 * high - 0.5 * low)
        values -= values.sum() / len(values)
    return values


_USUAL_DEVIATIONS = 5


@lru_cache(maxsize=4)
def _ramp(length: int) -> FloatArray:
    return np.arange(length, dtype=np.float64) - 0.5 * (length - 1)


class Autocovariance:
    """At lags from 0, with the running sums that answer for all periods at once."""

    def __init__(self, at: FloatArray) -> None:
        self.at = at
        self.sums = np.zeros((*at.shape[:-1], at.shape[-1] + 1))
        np.cumsum(at, axis=-1, out=self.sums[..., 1:])
        self.double_sums = np.cumsum(self.sums, axis=-1)

    def above_average(self, first: int, last: int, reach: int, width: int) -> FloatArray:
        """From lag `first` to `last`: the mean over `reach` lags to both sides, minus `width`."""
        near, far = (
            (self.sums[first + r + 1 : last + r + 2] - self.sums[first - r : last - r + 1])
            / (2 * r + 1)
            for r in (reach, width)
        )
        return near - far


def autocovariance(signal: Signal, lags: int) -> Autocovariance:
    """Over the pairs of which both samples were measured."""
    n = len(signal.values)
    lags = min(lags, n)
    size = _fast_size(n + lags)
    spectrum = np.fft.rfft(signal.values, size)
    sums = np.fft.irfft(spectrum.real**2 + spectrum.imag**2, size)[:lags]
    if signal.present is None:
        return Autocovariance(sums / np.arange(n, n - lags, -1))
    spectrum = np.fft.rfft(signal.present, size)
    pairs = np.fft.irfft(spectrum.real**2 + spectrum.imag**2, size)[:lags]
    return Autocovariance(sums / np.maximum(pairs, 0.5))  # 0 / 0.5 where there is no pair


@lru_cache(maxsize=16)
def _fast_size(at_least: int) -> int:
    """The next product of small primes: a large one makes an FFT many times slower."""
    return min(
        odd << max(0, (-(-at_least // odd) - 1).bit_length())
        for odd in (1, 3, 5, 9, 15, 25, 27, 45, 75, 81, 125, 135)
    )


def dot(one: FloatArray, other: FloatArray) -> float:
    """Without BLAS: for long arrays that wakes a thread a core, and each burns CPU waiting."""
    return float(np.einsum("i,i->", one, other))


def moving_sum(values: FloatArray, width: int) -> FloatArray:
    sums = np.zeros(len(values) + 1)
    np.cumsum(values, out=sums[1:])
    return sums[width:] - sums[:-width]
