"""What comes, in the words of the contract: as far ahead as could be tried on the past.

What has been seen for a few minutes is foretold for a few minutes: a forecast says its horizon.
"""

from collections.abc import Sequence

import numpy as np

from cepheid.analysis.forecast import forecast
from cepheid.annotations.facts import GB, ForecastFacts
from cepheid.model import Cycle, FloatArray, Forecast

SHARES = (1.0, 0.5, 0.2)
"""Of the horizon, the furthest first. Few, since a reader is told of every change."""
MIB_PER_GB = GB / 2**20


def of_gpu(
    util_percent: FloatArray | None,
    memory_mib: FloatArray | None,
    total_mib: float | None,
    cycles: Sequence[Cycle],
    *,
    step_seconds: float,
    horizon_seconds: float,
) -> ForecastFacts | None:
    told = None
    for seconds in (share * horizon_seconds for share in SHARES):
        steps = _steps(seconds, step_seconds)
        util = memory = peak_gb = None
        if util_percent is not None:
            bounds = (0.0, 100.0)
            util = forecast(util_percent, step_seconds, steps, cycles=cycles, bounds=bounds)
        if memory_mib is not None:
            bounds = (0.0, np.inf if total_mib is None else total_mib)
            memory = forecast(memory_mib, step_seconds, steps, cycles=(), bounds=bounds)
            peak_gb = None if memory is None else float(memory.upper.max()) / MIB_PER_GB
        both = (util is None) == (util_percent is None) and (memory is None) == (memory_mib is None)
        if both or (told is None and (util is not None or memory is not None)):
            told = _facts(seconds, util, peak_gb)
        if both:
            break
    return told if told is not None and told != ForecastFacts(told.horizon_seconds) else None


def of_share(
    values: FloatArray | None,
    whole: float | None,
    *,
    step_seconds: float,
    horizon_seconds: float,
) -> ForecastFacts | None:
    """Of what the node has of something, in percent of the whole."""
    if values is None or not whole:
        return None
    for seconds in (share * horizon_seconds for share in SHARES):
        steps = _steps(seconds, step_seconds)
        told = forecast(100 * values / whole, step_seconds, steps, bounds=(0.0, 100.0))
        if told is not None:
            return _facts(seconds, told)
    return None


def _facts(
    seconds: float, util: Forecast | None, mem_peak_gb: float | None = None
) -> ForecastFacts:
    """The 95th percentile is the upper edge of a band of 90 %."""
    return ForecastFacts(
        horizon_seconds=seconds,
        util_mean_percent=None if util is None else util.average,
        util_p95_percent=None if util is None else float(util.upper.max()),
        mem_peak_gb=mem_peak_gb,
        mape_percent=None if util is None else util.mape,
    )


def _steps(horizon_seconds: float, step_seconds: float) -> int:
    return max(1, round(horizon_seconds / step_seconds))
