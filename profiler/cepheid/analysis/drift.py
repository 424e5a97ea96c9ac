"""Did the level change between the first and the second half of a series, beyond its noise?"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cepheid.analysis.grid import as_series
from cepheid.model import FloatArray

BLOCKS = 8
LEAST_SAMPLES = 2 * BLOCKS
"""In each half."""

BEYOND = 6.0
"""Standard errors. Of 4,000 series of 1,024 values without a change, 0.6 % go beyond where the
values are independent, 1.0 % where neighbours correlate by 0.95, 2.2 % by 0.98, 5 % by 0.99."""

MAD_TO_DEVIATION = 1.4826
"""The median absolute deviation times this is the standard deviation of a normal distribution."""


@dataclass(frozen=True, slots=True)
class Drift:
    """The second half against the first, in the unit of the values where nothing else is said."""

    before: float
    after: float
    shift: float
    shift_percent: float | None
    """Of the level before; None where that is 0."""
    effect_size: float
    """-1 to 1, Cliff's delta (Cliff 1993): how much likelier a value of the second half is to
    lie above one of the first than below it. Under 0.147 it is negligible (Romano 2006)."""
    noise: float
    """The shift that chance alone can bring about."""
    beyond_noise: bool
    reason: str


def find_drift(values: FloatArray | Sequence[float]) -> Drift | None:
    """None where a half holds fewer than 16 values.

    The level of a half is the median of the means of eight stretches: a mean, so that a GPU
    that is at 0 or at 100 % has a level between them, and a median, so that a spike counts
    once. How much the stretches differ among themselves is the noise, and autocorrelation is in
    it as long as it fades within a stretch. A cycle about as long as the series is a change too.
    """
    series = as_series(values)
    half = series.size // 2
    first, second = series[:half], series[series.size - half :]
    first, second = first[np.isfinite(first)], second[np.isfinite(second)]
    if min(first.size, second.size) < LEAST_SAMPLES:
        return None
    # What is left over falls away at both ends: the same halves from both directions of time.
    earlier = stretch_means(first[first.size % BLOCKS :])
    later = stretch_means(second)
    before, after = float(np.median(earlier)), float(np.median(later))
    shift = after - before
    residuals = np.abs(np.concatenate((earlier - before, later - after)))
    error = MAD_TO_DEVIATION * float(np.median(residuals)) * math.sqrt(2 / BLOCKS)
    # Means of equal values differ by rounding.
    noise = max(BEYOND * error, 1e-12 * max(abs(before), abs(after)))
    beyond = abs(shift) > noise
    percent = 100 * shift / abs(before) if abs(before) > abs(shift) * 1e-9 else None
    effect = _cliffs_delta(first, second)
    return Drift(
        before=before,
        after=after,
        shift=shift,
        shift_percent=percent,
        effect_size=effect,
        noise=noise,
        beyond_noise=beyond,
        reason=(
            f"from {before:.4g} to {after:.4g}; chance brings about up to {noise:.2g};"
            f" effect size {effect:.2f}"
        ),
    )


def stretch_means(present: FloatArray) -> FloatArray:
    """The means of eight equal stretches of a series without gaps, the rest left out."""
    length = present.size // BLOCKS
    means: FloatArray = present[: length * BLOCKS].reshape(BLOCKS, length).mean(axis=1)
    return means


def _cliffs_delta(first: FloatArray, second: FloatArray) -> float:
    ordered = np.sort(first)
    below = np.searchsorted(ordered, second, side="left")
    not_above = np.searchsorted(ordered, second, side="right")
    return float(below.mean() + not_above.mean()) / first.size - 1.0
