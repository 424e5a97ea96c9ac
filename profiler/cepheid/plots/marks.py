"""Where does each cycle begin?

The period is known; what is drawn also needs a place to begin, and no period is so exact, and no
step so even, that counting from one of them would still hit the hundredth. So the mean of a few
cycles in the middle is laid on the line where the next one is due, and moved by an eighth of a
period to both sides until it fits best, and so on to both ends. A cycle begins where that mean
rises most.
"""

import numpy as np

from cepheid.analysis.grid import Grid
from cepheid.model import FloatArray

FEWEST_STEPS = 4
"""In a period: with fewer there is no shape to lay on."""
FOLDED = 8
"""Cycles that the mean is made of: over more an inexact period would blur it."""
BINS = 48
ALIKE = 0.97
"""Of the highest rise: what is less is another."""
REACH = 0.125
"""Of a period, to both sides."""
TRIALS = 9
FITS = 0.3
"""Correlation below which a stretch does not look like a cycle: it is passed over as counted."""


def cycle_starts(grid: Grid, period_seconds: float) -> FloatArray:
    """In the grid's own seconds; none where the period is too short or too long to be seen."""
    step, size = grid.step_seconds, grid.values.size
    period = period_seconds / step
    known = np.flatnonzero(np.isfinite(grid.values))
    if not FEWEST_STEPS <= period <= size / 2 or known.size < 2 * FEWEST_STEPS:
        return np.empty(0)
    values = np.interp(np.arange(size), known, grid.values[known])
    few = min(size, round(FOLDED * period))
    middle = (size - few) // 2
    mean = _mean_cycle(values[middle : middle + few], period)
    anchor = middle + _steepest(mean) * period
    starts = [anchor]
    while (due := starts[-1] + period) < size:
        starts.append(_moved(values, mean, due, period))
    before = anchor
    while (due := before - period) >= 0:
        before = _moved(values, mean, due, period)
        starts.insert(0, before)
    return grid.start_seconds + step * np.array(starts)


def _mean_cycle(values: FloatArray, period: float) -> FloatArray:
    phase = (np.arange(values.size) / period) % 1.0
    bins = min(BINS, int(period))
    place = np.minimum((phase * bins).astype(np.intp), bins - 1)
    count = np.bincount(place, minlength=bins)
    total = np.bincount(place, values, minlength=bins)
    return np.asarray(total / np.maximum(count, 1))


def _steepest(mean: FloatArray) -> float:
    """The phase, 0 to 1, around which it rises most within an eighth of a period."""
    ahead = max(1, mean.size // 8)
    rise = np.roll(mean, -ahead) - mean
    top = int(np.argmax(rise))
    # Every window that holds a sudden rise holds all of it: it is in the middle of them.
    nearby = np.arange(-ahead, ahead + 1)
    around = rise[(top + nearby) % mean.size]
    middle = float(nearby[around >= ALIKE * rise[top]].mean())
    return ((top + middle + ahead / 2) / mean.size) % 1.0


def _moved(values: FloatArray, mean: FloatArray, due: float, period: float) -> float:
    """The moment near `due` from which one period fits best."""
    phases = (np.arange(mean.size) + 0.5) / mean.size
    begin = _steepest(mean)
    inside = np.arange(values.size)
    best, found = FITS, due
    for moved in np.linspace(-REACH, REACH, TRIALS) * period:
        at = due + moved + phases * period
        if at[0] < 0 or at[-1] >= values.size:
            continue
        there = np.interp(at, inside, values)
        shape = np.interp((phases + begin) % 1.0, phases, mean, period=1.0)
        fit = _correlation(there, shape)
        if fit > best:
            best, found = fit, due + moved
    return float(found)


def _correlation(one: FloatArray, other: FloatArray) -> float:
    one, other = one - one.mean(), other - other.mean()
    size = float(np.sqrt((one @ one) * (other @ other)))
    return float(one @ other) / size if size > 0 else 0.0
