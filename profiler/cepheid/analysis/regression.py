"""Is this run worse than the earlier runs of the same job?"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from cepheid.analysis.drift import MAD_TO_DEVIATION
from cepheid.analysis.grid import as_series
from cepheid.model import FloatArray

LEAST_RUNS = 3

SPREAD_FLOOR = 0.015
"""Of the level: runs that agree better than that do so by chance."""


@dataclass(frozen=True, slots=True)
class Standing:
    """Where one value stands among others of its kind."""

    typical: float
    difference: float
    spreads: float
    """The difference in spreads of the others; infinite where they are all 0."""
    spreads_needed: float


@dataclass(frozen=True, slots=True)
class Regression:
    """A run against the median of the earlier ones."""

    verdict: Literal["worse", "better", "same"]
    typical: float
    """The median of the earlier runs, in their unit."""
    change_percent: float | None
    """Positive is higher, whatever that means; None where the earlier runs' median is 0."""
    spreads: float
    """How unusual: the change in spreads of the earlier runs; infinite where they are all 0."""
    spreads_needed: float
    earlier_runs: int
    reason: str


def standing(value: float, others: FloatArray) -> Standing:
    """By median and median absolute deviation, so that an odd one among the others is no matter.

    3.5 spreads are the usual bound (Iglewicz and Hoaglin 1993), but the spread of a few values
    is often far too small by chance: hence the more, the fewer there are. With normal values
    that vary by 5 %, 1.6 % are called unusually high among 3, 1.7 % among 5, 0.8 % among 10.
    """
    typical = float(np.median(others))
    deviation = MAD_TO_DEVIATION * float(np.median(np.abs(others - typical)))
    spread = max(deviation, SPREAD_FLOOR * abs(typical))
    difference = value - typical
    if spread > 0:
        spreads = difference / spread
    else:
        spreads = math.copysign(math.inf, difference) if difference else 0.0
    return Standing(typical, difference, spreads, 3.5 * (1 + 2 / (others.size - 1)))


def find_regression(
    earlier: FloatArray | Sequence[float],
    new: float,
    *,
    higher_is_worse: bool,
    least_change_percent: float = 5.0,
) -> Regression | None:
    """None with fewer than three earlier runs, or without a value for the new one.

    A change below `least_change_percent` is the same, however regular the earlier runs were.
    """
    runs = as_series(earlier, "earlier runs")
    runs = runs[np.isfinite(runs)]
    value = float(as_series([new], "new runs")[0])
    if runs.size < LEAST_RUNS or math.isnan(value):
        return None
    stands = standing(value, runs)
    typical = stands.typical
    percent = None
    if abs(typical) > abs(stands.difference) * 1e-9:
        percent = 100 * stands.difference / abs(typical)
    verdict: Literal["worse", "better", "same"] = "same"
    if abs(stands.spreads) > stands.spreads_needed and (
        percent is None or abs(percent) >= least_change_percent
    ):
        verdict = "worse" if (stands.difference > 0) == higher_is_worse else "better"
    change = f"{stands.difference:+.4g}" if percent is None else f"{percent:+.1f} %"
    return Regression(
        verdict=verdict,
        typical=typical,
        change_percent=percent,
        spreads=stands.spreads,
        spreads_needed=stands.spreads_needed,
        earlier_runs=runs.size,
        reason=(
            f"{value:.4g} after {typical:.4g} in {runs.size} earlier runs: {change},"
            f" {abs(stands.spreads):.1f} spreads where {stands.spreads_needed:.1f} are unusual"
        ),
    )
