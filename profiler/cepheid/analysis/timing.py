"""How long is a period exactly, and how exactly is that known?

All signals of a job rise and fall together, so one period is fitted to all of them: the one at
which a wave and its harmonics leave the least unexplained (nonlinear least squares: Quinn and
Hannan, "The Estimation and Tracking of Frequency", 2001). Then each cycle is asked how much too
early or late it came. Iterations do not all take the same time, and what one loses the next does
not make up for: lateness is a random walk, with some noise of the measurement on top. The steps
of the walk are what the standard error is made of.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from cepheid.model import FloatArray

MOST_HARMONICS = 4
MOST_SAMPLES = 4096
LEAST_SPREAD = 1e-9
"""Of the largest value: below, it is the rounding of a constant."""
_REACH, _MOST_REACH = 0.45, 0.08
"""How far from the given period it may be: of a period in all cycles together, and of a period."""
_POINTS = 31
_USUAL_JITTER, _USUAL_WEIGHT = 0.03, 2.0
"""Of an iteration's time, and as how many observed ones that counts: three cycles alone would
show none, or far too much."""
_OF_A_WALK = 1.6
"""The slope of a line through a random walk has 6/5 of the variance of its steps, divided by their
number; a third more, since the walk is seen through samples. Chosen so that twice the standard
error holds in more than 90 % of simulated jobs: `python -m tests.bench.pace`."""


class Timing(NamedTuple):
    period_steps: float
    error_steps: float
    """Standard error."""


def time_cycles(series: Sequence[FloatArray], period_steps: float) -> Timing | None:
    """From signals of equal length on one grid, NaN where nothing was measured.

    `period_steps` is about right. None where less than two cycles are there to compare.
    """
    signals = _together(series)
    if not signals:
        return None
    cycles = max(one.times.size for one in signals) / period_steps
    reach = min(_MOST_REACH, _REACH / cycles)
    candidates = period_steps * np.linspace(1 - reach, 1 + reach, _POINTS)
    # As many as the sampling can show, and the same at all candidates: more would explain more.
    harmonics = max(1, min(MOST_HARMONICS, int(0.48 * period_steps)))
    left = np.array([_unexplained(signals, period, harmonics) for period in candidates])
    period = _lowest(candidates, left)
    late = _lateness(signals, period, harmonics)
    if late is None:
        return None
    cycle, lateness = late
    return Timing(period, _error(cycle, lateness, period))


class _Signals(NamedTuple):
    times: FloatArray
    """In steps, at which all of them were measured."""
    values: FloatArray
    """A column a signal, of mean 0 and variance 1."""


def _together(series: Sequence[FloatArray]) -> list[_Signals]:
    """Those with the same gaps, most often all: they are fitted at once."""
    found: dict[bytes, list[FloatArray]] = {}
    for values in series:
        known = np.flatnonzero(np.isfinite(values[-MOST_SAMPLES:]))
        kept = _standardised(values[-MOST_SAMPLES:][known])
        if kept is not None:
            found.setdefault(known.tobytes(), []).append(kept)
    return [
        _Signals(np.frombuffer(times, np.intp).astype(np.float64), np.column_stack(some))
        for times, some in found.items()
    ]


def _standardised(values: FloatArray) -> FloatArray | None:
    largest = float(np.abs(values).max(initial=0.0))
    if largest == 0.0:
        return None
    kept = values / largest  # the squares of 1e300 would overflow
    kept = kept - kept.mean()
    spread = float(np.sqrt(np.mean(kept * kept)))
    return kept / spread if spread >= LEAST_SPREAD else None


def _fitted(signals: _Signals, period: float, harmonics: int) -> tuple[FloatArray, FloatArray]:
    """What a level, a slope and waves leave of each, and the derivative of the waves."""
    rates = 2 * np.pi / period * np.arange(1, harmonics + 1)
    angles = np.outer(signals.times, rates)
    sine, cosine = np.sin(angles), np.cos(angles)
    ramp = (signals.times - signals.times.mean()) / signals.times.size
    waves = np.column_stack((np.ones_like(ramp), ramp, cosine, sine))
    weights = np.linalg.lstsq(waves, signals.values, rcond=None)[0]
    slopes = np.hstack((-sine * rates, cosine * rates)) @ weights[2:]
    return signals.values - waves @ weights, slopes


def _unexplained(signals: Sequence[_Signals], period: float, harmonics: int) -> float:
    rests = [_fitted(some, period, harmonics)[0] for some in signals]
    return sum(float(np.square(rest).mean(axis=0).sum()) for rest in rests)


def _lowest(periods: FloatArray, left: FloatArray) -> float:
    """The bottom of the parabola through the three lowest neighbours."""
    best = min(max(int(left.argmin()), 1), left.size - 2)
    before, here, after = left[best - 1 : best + 2].tolist()
    bend = before - 2 * here + after
    shift = 0.5 * (before - after) / bend if bend > 0 else 0.0
    return float(periods[best] + min(max(shift, -1.0), 1.0) * (periods[1] - periods[0]))


def _lateness(
    signals: Sequence[_Signals], period: float, harmonics: int
) -> tuple[FloatArray, FloatArray] | None:
    """Of each cycle, in steps: by how much the fitted waves have to be moved to meet it."""
    cycles = int(max(some.times[-1] for some in signals) / period) + 1
    pull, weight, count = np.zeros(cycles), np.zeros(cycles), np.zeros(cycles)
    for some in signals:
        rest, slope = _fitted(some, period, harmonics)
        noise = np.maximum(np.square(rest).mean(axis=0), 1e-6)
        number = (some.times / period).astype(np.intp)
        pull -= np.bincount(number, (rest * slope / noise).sum(axis=1), cycles)
        weight += np.bincount(number, (slope * slope / noise).sum(axis=1), cycles)
        count = np.maximum(count, np.bincount(number, minlength=cycles))
    good = (count >= 0.5 * period) & (weight > 0.2 * weight.max())
    if np.count_nonzero(good) < 2:  # noqa: PLR2004
        return None
    return np.flatnonzero(good).astype(np.float64), pull[good] / weight[good]


def _error(cycle: FloatArray, lateness: FloatArray, period: float) -> float:
    steps = np.diff(lateness) / np.sqrt(np.diff(cycle))
    steps = steps - steps.mean()
    usual = _USUAL_WEIGHT * (_USUAL_JITTER * period) ** 2
    variance = (float(steps @ steps) + usual) / (steps.size - 1 + _USUAL_WEIGHT)
    return float(np.sqrt(_OF_A_WALK * variance / cycle.size))
