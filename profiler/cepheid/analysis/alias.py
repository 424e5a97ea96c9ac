"""Is a cycle real, or did sampling make it?

A gauge read every 30 s shows an iteration of 31 s as a slow cycle of 15 minutes. A signal that
is the mean over the time between two readings cannot: the energy counter's difference, the
PROF_* averages. Averaging over a step D leaves sinc(D / P) of the swing of a true cycle of
period P, but of a fast one that only looks like P no more than sinc(1 - D / P), about D / P. So
the averaged signal of the same GPU has to swing too, and by enough.

A share from 0 to 1 tells even without a gauge. Its mean bounds its swing: of mean m it has at most
an amplitude of 2 sin(pi m) / pi at any one frequency. What swings by more than that, less what the
averaging takes of a fast one, is no alias.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from cepheid.analysis.autocovariance import check_step, one_series
from cepheid.analysis.period import Repeating, repeating_part
from cepheid.model import Cycle, FloatArray

_LESS_SWING = 0.7
"""What an averaged signal may lack beyond that: power keeps its idle part when work stops."""

_SHORTEST_STEPS = 3.5
"""Below, a true cycle and a false one swing too nearly alike: 0.83 and 0.41 at three steps."""
_SLOWEST_OF_FAST = 0.3
"""Of the frequencies that a step can show: what is faster is no part of a slow cycle's shape, but
may be a fast iteration itself."""
_MOST_HARMONICS = 8
_MORE_THAN_ALIAS = 1.2
"""What noise and jitter may add to an alias."""
_STEPS_OF_A_PERIOD, _STEPS_OF_A_SERIES = 4, 120
"""Not fewer: fewer could not tell a cycle from chance."""


def confirm(
    cycles: Sequence[Cycle],
    gauge: FloatArray,
    averaged: Iterable[FloatArray],
    step_seconds: float,
) -> list[Cycle]:
    """The cycles of the gauge, each marked by whether one averaged signal shows it too.

    `confirmed` stays None where no averaged signal has enough data to say.
    """
    check_step(step_seconds)
    gauge = _of_its_largest(gauge)
    signals = [_of_its_largest(signal) for signal in averaged]
    return [replace(c, confirmed=_confirmed(c, gauge, signals, step_seconds)) for c in cycles]


def swings_beyond_alias(shares: FloatArray, period_steps: float) -> bool:
    """Whether an averaged signal, as a share of what it can be, shows more than any alias could.

    False where it is weak: then it may be one.
    """
    series = one_series(shares)
    times = np.flatnonzero(np.isfinite(series))
    harmonics = np.arange(1, max(1, min(_MOST_HARMONICS, int(_SLOWEST_OF_FAST * period_steps))) + 1)
    if times.size < 4 * harmonics.size + 2 or period_steps < _SHORTEST_STEPS:
        return False
    angles = np.outer(times, 2 * np.pi / period_steps * harmonics)
    waves = np.column_stack((np.ones(times.size), np.cos(angles), np.sin(angles)))
    weights = np.linalg.lstsq(waves, series[times], rcond=None)[0][1:].reshape(2, -1)
    mean = min(max(float(series[times].mean()), 0.0), 1.0)
    most = 2 / np.pi * np.sin(np.pi * mean) * np.sinc(1 - harmonics / period_steps)
    return bool((np.hypot(*weights) > _MORE_THAN_ALIAS * most).any())


def _confirmed(
    cycle: Cycle, gauge: FloatArray, averaged: Sequence[FloatArray], step_seconds: float
) -> bool | None:
    steps = cycle.period_seconds / step_seconds
    if steps < _SHORTEST_STEPS:
        return False
    least = _LESS_SWING * np.sqrt(np.sinc(1 / steps) * np.sinc(1 - 1 / steps))
    # What swings faster, and meets itself after this period too, must not stand in for it.
    width = max(1, min(int(steps / _STEPS_OF_A_PERIOD), len(gauge) // _STEPS_OF_A_SERIES))
    steps /= width
    gauge = _averaged_over(width, gauge)
    own = repeating_part(gauge, steps)
    if own is None:
        return None
    wanted = least * _relative_swing(gauge, own)
    answers = []
    for signal in (_averaged_over(width, signal) for signal in averaged):
        part = repeating_part(signal, steps)
        if part is not None:
            answers.append(part.significant and _relative_swing(signal, part) >= wanted)
        elif _is_flat(signal):
            answers.append(False)
    return any(answers) if answers else None


def _of_its_largest(values: FloatArray) -> FloatArray:
    """Swings are compared in shares of the level, and sums of 1e308 would overflow."""
    series = one_series(values)
    known = np.abs(series[np.isfinite(series)])
    largest = float(known.max()) if known.size else 0.0
    return series / largest if largest > 0 else series


def _averaged_over(width: int, values: FloatArray) -> FloatArray:
    if width == 1:
        return values
    rows = values[: len(values) // width * width].reshape(-1, width)
    known = np.isfinite(rows)
    count = np.count_nonzero(known, axis=1)
    total = np.where(known, rows, 0.0).sum(axis=1)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _relative_swing(values: FloatArray, part: Repeating) -> float:
    """Of the level: so that percent, watts and shares compare."""
    level = abs(float(np.mean(values[np.isfinite(values)])))
    return part.deviation / level if level > 0 else 0.0


def _is_flat(values: FloatArray) -> bool:
    """Measured, and it does not move: an answer, unlike no data."""
    known = values[np.isfinite(values)]
    return len(known) >= len(values) / 2 > 0 and float(known.min()) == float(known.max())
