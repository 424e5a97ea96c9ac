"""Ours, and what a user would pick instead: from a series to its period in steps, or None."""

from collections.abc import Callable

import numpy as np
import pandas as pd
from scipy.signal import periodogram
from statsmodels.tsa.stattools import acf

from cepheid.analysis.period import find_cycles
from cepheid.model import FloatArray

Detector = Callable[[FloatArray], float | None]


def cepheid(values: FloatArray) -> float | None:
    cycles = find_cycles(values, 1.0)
    return cycles[0].period_seconds if cycles else None


def bridged(values: FloatArray) -> FloatArray:
    """What people do about gaps before they call a library that knows none."""
    known = np.flatnonzero(np.isfinite(values))
    return np.interp(np.arange(len(values)), known, values[known])


def statsmodels_acf(values: FloatArray) -> float | None:
    """The highest peak of the autocorrelation that leaves Bartlett's band."""
    series = bridged(values)
    if np.ptp(series) == 0:
        return None
    correlation, band = acf(series, nlags=len(series) // 2, alpha=0.05, result_object=False)
    inner = correlation[1:-1]
    peaks = 1 + np.flatnonzero((inner > correlation[:-2]) & (inner > correlation[2:]))
    peaks = peaks[correlation[peaks] > (band[peaks, 1] - correlation[peaks])]
    return float(peaks[np.argmax(correlation[peaks])]) if len(peaks) else None


def strongest_line(values: FloatArray) -> float | None:
    """The highest line of the periodogram: it always has one."""
    series = bridged(values)
    if np.ptp(series) == 0:
        return None
    frequencies, powers = periodogram(series, detrend="linear")
    return float(1 / frequencies[1 + np.argmax(powers[1:])])


def thresholded_acf(values: FloatArray) -> float | None:
    """As GPU profilers did: lags whose correlation is above the 95 % line of all correlations.

    Three such lags make a cycle, and its period is the median distance between them.
    """
    series = pd.Series(bridged(values))
    if series.nunique() == 1:
        return None
    correlations = np.array([series.autocorr(lag) for lag in range(len(series) // 2)])
    line = correlations.mean() + 1.96 * correlations.std()
    above = np.flatnonzero(correlations > line)
    return float(np.median(np.diff(above))) if len(above) > 2 else None


DETECTORS: dict[str, Detector] = {
    "cepheid": cepheid,
    "statsmodels acf + Bartlett": statsmodels_acf,
    "periodogram, highest line": strongest_line,
    "thresholded acf of GPU profilers": thresholded_acf,
}
