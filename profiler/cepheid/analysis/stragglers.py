"""Which workers of a job lag behind the others?"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cepheid.analysis.drift import BLOCKS, stretch_means
from cepheid.analysis.grid import as_series
from cepheid.analysis.regression import standing
from cepheid.model import FloatArray

LEAST_WORKERS = 3

WORST_OF_MANY = 1.5
"""Times what is unusual for one value: here it is the worst of all that is looked at."""

MOST_SPREADS = 10.5
"""What is asked for at most, with three and four workers: 16 % where the others agree. In jobs
of equal workers that vary by 5 %, somebody is named in 0.3 % (3 workers) to 1.6 % (8)."""


@dataclass(frozen=True, slots=True)
class Straggler:
    """A worker that lags, in the unit of the values."""

    worker: str
    level: float
    others: float
    """The median of all other workers."""
    difference_percent: float | None
    """Of the others; None where they are at 0."""
    spreads: float
    """How far off, in spreads of the others; infinite where they are all at 0."""


@dataclass(frozen=True, slots=True)
class Stragglers:
    """The workers that lag, the worst first; often none."""

    workers: tuple[Straggler, ...]
    compared: int
    """Workers that had data."""
    two_groups: bool
    """More than a third lag: the job has two kinds of workers or of nodes, and none straggles."""
    reason: str


def find_stragglers(
    workers: Mapping[str, float | FloatArray | Sequence[float]],
    *,
    higher_is_worse: bool,
    least_share: float = 0.05,
    least_difference: float = 0.0,
) -> Stragglers | None:
    """None with data of fewer than three workers.

    Each worker is one value or a series, and is compared with all the others but itself. To be
    named it must differ by `least_share` of their median, by `least_difference` (the unit of
    the values: 2 % instead of 1 % of a GPU is not worth a word), and unusually so. Where more
    than a third would be named nobody is: parameter servers and workers, or two GPU types, are
    two groups by design.
    """
    named = [(name, _level(values, name)) for name, values in workers.items()]
    named = [(name, level) for name, level in named if not math.isnan(level)]
    if len(named) < LEAST_WORKERS:
        return None
    levels = np.array([level for _, level in named])
    worse = levels if higher_is_worse else -levels
    candidates = np.flatnonzero(worse > np.median(worse))
    found: list[Straggler] = []
    allowed = len(named) // 3
    for place in candidates[np.argsort(-worse[candidates], kind="stable")]:
        name, level = named[place]
        stands = standing(level, np.delete(levels, place))
        least = max(least_share * abs(stands.typical), least_difference)
        needed = min(WORST_OF_MANY * stands.spreads_needed, MOST_SPREADS)
        if abs(stands.spreads) <= needed or abs(stands.difference) <= least:
            break  # those after it are nearer to the others
        if len(found) == allowed:
            return Stragglers((), len(named), True, f"more than {allowed} of {len(named)} lag")
        percent = None
        if abs(stands.typical) > abs(stands.difference) * 1e-9:
            percent = 100 * stands.difference / abs(stands.typical)
        found.append(Straggler(name, level, stands.typical, percent, stands.spreads))
    return Stragglers(tuple(found), len(named), False, _reason(found, len(named)))


def _reason(found: list[Straggler], compared: int) -> str:
    if not found:
        return f"none of {compared} workers lags"
    worst = found[0]
    return (
        f"{len(found)} of {compared} workers lag; {worst.worker} is at {worst.level:.4g},"
        f" the others at {worst.others:.4g}"
    )


def _level(values: float | FloatArray | Sequence[float], worker: str) -> float:
    """The median of the means of eight stretches, as in `drift`; NaN without a value."""
    series = as_series(np.atleast_1d(np.asarray(values, dtype=np.float64)), f"values of {worker}")
    series = series[np.isfinite(series)]
    if series.size == 0:
        return math.nan
    return float(np.median(stretch_means(series) if series.size >= BLOCKS else series))
