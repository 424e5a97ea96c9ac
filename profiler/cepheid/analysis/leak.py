"""Memory that is never given back: how fast it grows, how sure that is, and when it is full.

Looked at is the floor, the level that memory returns to: what a cache takes and gives back is no
leak, a floor that rises is. The series is cut into 16 blocks and the lowest tenth of each makes
one point, so the cost is one sort, and the slope over all pairs (Theil 1950, Sen 1968) stays
cheap however long the series.

The hard question is not noise but wandering: a random walk has no growth in it and yet most of
its stretches show a trend (Granger and Newbold 1974). So the confidence is measured against
random walks: it is the share of them that grow less steadily.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cepheid.analysis.grid import as_series
from cepheid.errors import CepheidError
from cepheid.model import FloatArray

BLOCKS = 16
LEAST_SAMPLES = 4 * BLOCKS
LEAST_BLOCKS = 10
"""Of the 16, how many must hold data."""

FLOOR = 0.1
"""The quantile that is the floor of a block. The minimum itself would follow the noise."""

JUMP = 6.0
"""Times the usual change between blocks: model load, restart. Of normal noise 1 in 20,000."""

CONFIDENT = 0.985

# How well a line fits the floors (R²), and the share of random walks in which it fits less well:
# 40,000 walks of 1,024 steps through this module. Floors of one block each, then of three.
SHARES = (0.0, 0.967, 0.983, 0.991, 0.996, 0.998, 1.0)
PLAIN_FIT = (0.0, 0.905, 0.934, 0.951, 0.966, 0.973, 1.0)
ROLLED_FIT = (0.0, 0.925, 0.946, 0.959, 0.969, 0.974, 1.0)


@dataclass(frozen=True, slots=True)
class Leak:
    """Steady growth that goes on to the end of the series."""

    growth_per_second: float
    confidence: float
    """0.985 to 1: the share of random walks that grow less steadily."""
    seconds_to_limit: float | None
    """Until the peaks reach the limit; None where none was given."""
    observed_seconds: float
    """How long it has grown like this: from the last jump, or the start of the series."""
    reason: str


def find_leak(
    values: FloatArray | Sequence[float], step_seconds: float, *, limit: float | None = None
) -> Leak | None:
    """None without steady growth up to the end, and with too little data to tell.

    The start-up and whatever came before the last jump are left out. Teeth of a cache that are
    longer than a sixth of the series cannot be told from growth: nearly always None, but of
    series with one to three teeth up to 4 % are called a leak.
    """
    if not 0 < step_seconds < math.inf:
        raise CepheidError(
            f"a step of {step_seconds:g} s cannot be", hint="give the grid's step_seconds"
        )
    series = as_series(values)
    present = np.flatnonzero(np.isfinite(series))
    if present.size < LEAST_SAMPLES:
        return None
    series = series[present[0] :]
    floors = _floors(series)
    after = _after_last_jump(floors, series.size)
    if after is None:
        return None
    if after:
        series = series[after:]
        if np.count_nonzero(np.isfinite(series)) < LEAST_SAMPLES:
            return None
        floors = _floors(series)
    found = _steady(floors, PLAIN_FIT) or _steady(_rolled(floors), ROLLED_FIT)
    if found is None:
        return None
    growth_per_block, confidence = found
    growth = growth_per_block / (series.size // BLOCKS * step_seconds)
    seconds_to_limit = None
    if limit is not None:
        # It is the peaks that hit the limit, not the floor.
        peak = float(np.nanmax(series[-2 * (series.size // BLOCKS) :]))
        seconds_to_limit = max(0.0, (limit - peak) / growth)
    observed = series.size * step_seconds
    return Leak(
        growth_per_second=growth,
        confidence=confidence,
        seconds_to_limit=seconds_to_limit,
        observed_seconds=observed,
        reason=(
            f"the floor rose by {growth * 3600:.3g} an hour for {observed / 3600:.3g} h,"
            f" steadier than {100 * confidence:.4g} % of random walks"
        ),
    )


def _floors(series: FloatArray) -> FloatArray:
    """The lowest tenth of each block; NaN where a fifth of the block or less is there."""
    length = series.size // BLOCKS
    blocks = np.sort(series[series.size - length * BLOCKS :].reshape(BLOCKS, length), axis=1)
    present = np.count_nonzero(np.isfinite(blocks), axis=1)  # NaN is sorted to the end
    lowest = (FLOOR * np.maximum(present - 1, 0)).astype(np.int64)
    floors: FloatArray = blocks[np.arange(BLOCKS), lowest]
    floors[present <= length / 5] = np.nan
    return floors


def _rolled(floors: FloatArray) -> FloatArray:
    """The floors of three blocks each, for teeth longer than a block; NaN where there are none.

    Without teeth this would only hide that the growth has stopped.
    """
    changes = np.diff(floors[np.isfinite(floors)])
    total = np.abs(changes).sum()
    if total - changes.sum() < total / 4:  # falls make up less than an eighth
        return np.full(BLOCKS - 2, np.nan)
    return np.fmin(np.fmin(floors[:-2], floors[1:-1]), floors[2:])


def _after_last_jump(floors: FloatArray, size: int) -> int | None:
    """The first sample after it, 0 without a jump; None where that leaves less than half.

    None too where a level once reached was left and is not reached again: what was given back
    once is a cache's tooth.
    """
    there = np.flatnonzero(np.isfinite(floors))
    if there.size < LEAST_BLOCKS:
        return None
    level = floors[there]
    changes = np.abs(np.diff(level))
    jumps = np.flatnonzero(changes > JUMP * np.median(changes))
    if jumps.size == 0:
        return 0
    length = size // BLOCKS
    # A jump within the first tenth of a block lifts the floor of that very block.
    start = size - length * BLOCKS + int(there[jumps[-1] + 1]) * length + int(FLOOR * length) + 1
    return None if start > size / 2 or level[-1] < level.max() else start


def _steady(floors: FloatArray, fits: tuple[float, ...]) -> tuple[float, float] | None:
    """Growth per block and confidence, where the floors grow steadily up to the last one."""
    there = np.flatnonzero(np.isfinite(floors))
    if there.size < LEAST_BLOCKS or there[-1] < floors.size - 2:
        return None
    level = floors[there] - floors[there].mean()
    when = there - there.mean()
    along = float(when @ level)
    spread = float(level @ level) * float(when @ when)
    if along <= 0 or spread <= 0:
        return None
    confidence = float(np.interp(along**2 / spread, fits, SHARES))
    if confidence < CONFIDENT:
        return None
    growth = _slope(there, level)
    # It must not have stopped: over the last quarter it goes on at 0.4 of its speed or more.
    recent = np.searchsorted(there, floors.size - 5)
    since = level[-1] - level[recent]
    if growth <= 0 or since < 0.4 * growth * (there[-1] - there[recent]):
        return None
    return growth, confidence


def _slope(when: np.ndarray, level: FloatArray) -> float:
    """Theil-Sen: the median over all pairs."""
    first, second = np.triu_indices(when.size, 1)
    return float(np.median((level[second] - level[first]) / (when[second] - when[first])))
