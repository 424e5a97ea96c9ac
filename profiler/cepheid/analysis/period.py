"""Which pattern comes back, and after how long?

`repetition` names the candidates. Here the right one among them is chosen: the shortest that
explains most of what repeats, unless it falls into equal parts; seen in most parts of the series,
not just in one; slow enough to be told from the sampling; and measured as exactly as the series
allows. Thresholds were set on synthetic series and checked on other seeds and on recordings: see
docs/analysis.md.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from cepheid.analysis.autocovariance import (
    Autocovariance,
    Signal,
    autocovariance,
    check_step,
    moving_sum,
    standardised,
)
from cepheid.analysis.repetition import (
    FEWEST_CYCLES,
    LEAST_WITHIN,
    Candidates,
    Lags,
    Repetition,
    find_candidates,
    lags_between,
    threshold,
)
from cepheid.model import Cycle, FloatArray

SHORTEST_STEPS = 2.9
"""Three: what is faster cannot be told from the sampling itself."""


def find_cycles(values: FloatArray, step_seconds: float) -> list[Cycle]:
    """The cycles of a series on a regular grid with NaN gaps.

    First the shortest that explains most of what repeats, then those that add to it. An empty
    list is the answer to noise, and to fewer than three periods.
    """
    check_step(step_seconds)
    signal = standardised(values)
    if signal is None:
        return []
    longest = int(len(signal.values) / FEWEST_CYCLES)
    covariance = autocovariance(signal, 2 * longest + 3)
    fine = Repetition.of(covariance, lags_between(2, longest))
    candidates = find_candidates(fine, covariance, signal.count)
    if not len(candidates.periods):
        return []
    primary = _shortest_of_the_strong(candidates)
    if not _most_blocks_repeat(signal, primary):
        return []
    period = primary.period / _divisor(primary.period, covariance)
    if period < SHORTEST_STEPS or _flickers(primary.period, covariance):
        return []
    period = _refined(period, covariance)
    longest_seen = signal.count / FEWEST_CYCLES
    if not SHORTEST_STEPS <= period <= longest_seen:
        return []
    found = [(period, primary.share)]
    for other in _others(candidates, period, fine, signal.count):
        steps = _refined(other.period, covariance)
        if SHORTEST_STEPS <= steps <= longest_seen and _most_blocks_repeat(signal, other):
            found.append((steps, other.share))
    return [
        Cycle(
            period_seconds=steps * step_seconds,
            strength=min(share, 1.0),
            cycles_seen=signal.count / steps,
        )
        for steps, share in found
    ]


@dataclass(frozen=True, slots=True)
class Repeating:
    """How much of a series comes back after a given period."""

    share: float
    """Of the variance on scales up to the period."""
    deviation: float
    """Standard deviation of the part that repeats, in the unit of the series."""
    significant: bool
    """Whether the share is more than chance would give."""


def repeating_part(values: FloatArray, period_steps: float) -> Repeating | None:
    """None where the series is too short or too empty to say."""
    signal = standardised(values)
    if signal is None or period_steps < SHORTEST_STEPS:
        return None
    longest = int(len(signal.values) / FEWEST_CYCLES)
    # A short period that is no whole number of steps: the first multiple that nearly is one.
    multiples = period_steps * np.arange(1, 9)
    multiples = multiples[multiples <= longest]
    if not len(multiples) or period_steps * FEWEST_CYCLES > signal.count:
        return None
    off = np.abs(multiples - np.rint(multiples)) > 0.03 * period_steps
    lag = round(float(multiples[off.argmin()]))
    covariance = autocovariance(signal, 2 * longest + 3)
    seen = Repetition.of(covariance, Lags.of(np.array([lag])))
    share = float(seen.repeating[0] / max(float(seen.within[0]), LEAST_WITHIN))
    return Repeating(
        share=min(max(share, 0.0), 1.0),
        deviation=max(float(seen.repeating[0]), 0.0) ** 0.5 * signal.deviation,
        significant=not _flickers(lag, covariance)
        and share > float(threshold(lag, signal.count, coarse=False)),
    )


class _Candidate(NamedTuple):
    period: float
    """In steps of the series."""
    share: float
    """Of the variance on scales up to the period: what repeats."""
    coarseness: int
    """Steps of the series in a step of the copy that showed it."""


def _shortest_of_the_strong(candidates: Candidates) -> _Candidate:
    """Multiples of a period repeat as well as the period does: the shortest is the one."""
    periods, shares, variances, coarseness = candidates
    strong = variances >= 0.75 * variances.max()
    # Noise makes many of one broad peak; the best of them is nearest to its middle.
    near = (strong & (periods <= 1.3 * periods[strong].min())).nonzero()[0]
    best = near[shares[near].argmax()]
    return _Candidate(float(periods[best]), float(shares[best]), int(coarseness[best]))


def _most_blocks_repeat(signal: Signal, candidate: _Candidate) -> bool:
    """Whether it holds throughout: one burst that met another does not make a cycle."""
    values, present = signal.values, signal.present
    if (step := candidate.coarseness) > 1:
        rows = len(values) // step
        values = values[: rows * step].reshape(rows, step).sum(axis=1)
        if present is None:
            values /= step
        else:
            present = present[: rows * step].reshape(rows, step).sum(axis=1)
            values /= np.maximum(present, 1.0)
            present = np.minimum(present, 1.0)
    period = round(candidate.period / step)
    average = moving_sum(values, period)
    if present is None:
        average /= period
    else:
        average /= np.maximum(moving_sum(present, period), 1.0)
    here = slice(period // 2, period // 2 + len(average))
    rest = values[here] - average
    if present is not None:
        rest *= present[here]
    energies = rest * rest
    energies = energies[period:] + energies[:-period]
    if present is not None:
        energies *= present[here][period:] * present[here][:-period]
    products = rest[period:] * rest[:-period]
    blocks = max(2, min(_MOST_BLOCKS, len(values) // period - 2))
    starts = np.arange(blocks) * len(products) // blocks
    products, energies = np.add.reduceat(products, starts), np.add.reduceat(energies, starts)
    alive = energies > 0.02 * energies.mean()
    agree = products > 0.25 * candidate.share * energies
    return bool(np.count_nonzero(agree & alive) >= 0.6 * np.count_nonzero(alive) > 0)


_MOST_BLOCKS = 8


def _divisor(period: float, covariance: Autocovariance) -> int:
    """Into how many equal cycles the period falls: the comb test.

    A short cycle that is no whole number of steps meets itself only after several periods. Then
    the autocovariance is high at every tooth of the comb.
    """
    whole = round(period)
    most = min(_MOST_DIVISOR, int(period / 2))
    if most < 2:  # noqa: PLR2004
        return 1
    reach = whole // 2
    # Lags before 0 mirror those after it.
    at = np.concatenate((covariance.at[reach:0:-1], covariance.at[: whole + reach + 2]))
    heights = at[reach : reach + whole + 2] - moving_sum(at, 2 * reach + 1) / (2 * reach + 1)
    top = float(heights[whole])
    teeth = period * _TEETH[: most * (most - 1) // 2]
    below = teeth.astype(np.intp)
    left, right = heights[below], heights[below + 1]
    # A pulse narrower than a step falls half on one lag, half on the next.
    between = np.abs(teeth - below - 0.5) < 0.3  # noqa: PLR2004
    found = np.maximum(np.maximum(left, right), np.where(between, left + right, -np.inf))
    found = np.minimum(found, top)
    starts = _FIRST_TOOTH[: most - 1]
    mean = np.add.reduceat(found, starts) / np.arange(1, most)
    high = (mean >= 0.6 * top) & (np.minimum.reduceat(found, starts) >= 0.2 * top)
    return int(np.max(np.flatnonzero(high), initial=-1)) + 2 if high.any() else 1


_MOST_DIVISOR = 12
_TEETH = np.array([i / k for k in range(2, _MOST_DIVISOR + 1) for i in range(1, k)])
_FIRST_TOOTH = np.array([(k - 1) * (k - 2) // 2 for k in range(2, _MOST_DIVISOR + 1)])


def _flickers(period: float, covariance: Autocovariance) -> bool:
    """Whether what repeats is faster than the shortest period, and meets itself only by and by.

    Read every 15 s, an iteration of 29 s is up and down by turns, and the same again after
    435 s. Averaging two neighbours takes that away, and leaves half of even the sharpest pulse.
    """
    lag = round(period)
    before, there, after = covariance.above_average(lag - 1, lag + 1, 0, max(1, lag // 2 - 1))
    return bool(0.25 * (before + after) + 0.5 * there < _SLOWEST_FLICKER * there)


_SLOWEST_FLICKER = 0.5 + 0.5 * float(np.cos(2 * np.pi / SHORTEST_STEPS))


def _refined(period: float, covariance: Autocovariance) -> float:
    """Sharper by the distance over several periods, as far as they keep step."""
    reach, half, around = int(period / 16), int(period / 2), max(1, int(0.12 * period))
    start, lowest = period, 0.0
    for periods in (1, 2, 4, 8):
        centre = round(periods * period)
        first, last = centre - around - 1, centre + around + 1
        if last + half >= len(covariance.at) or centre > len(covariance.at) / 2:
            break  # so far apart too few pairs are left
        heights = covariance.above_average(first, last, reach, half)
        best = int(np.argmax(heights[1:-1])) + 1
        left, top, right = heights[best - 1 : best + 2].tolist()
        if top <= max(lowest, left, right):
            break  # jitter has blurred it, or it is no summit
        period = (first + best + 0.5 * (left - right) / (left - 2.0 * top + right)) / periods
        lowest = 0.5 * top
    return _sharpened(period, start, covariance) if reach else period


def _sharpened(period: float, start: float, covariance: Autocovariance) -> float:
    """To a quarter of a step, by how well several periods meet.

    A job that starts by the clock makes edges and spikes: a step off, and they are missed. Where
    nothing is sharp, noise chooses among neighbours that are equally good.
    """
    around = max(1, int(0.015 * period))
    nearby = np.arange(-4 * around, 4 * around + 1) / 4
    quarters = round(period) + nearby
    # Iterations within an epoch: averaged over some lags its summit has a hump to either side.
    if abs(round(start) - round(period)) > around:
        quarters = np.concatenate((round(start) + nearby, quarters))
    most = max(1, min(4, int((len(covariance.at) / 2 + 1) / (max(period, start) + around))))
    lags = np.rint(np.outer(np.arange(1, most + 1), quarters)).astype(np.intp)
    meeting = covariance.at[np.minimum(lags, len(covariance.at) - 1)].sum(axis=0)
    # Among equals the middle one: whole numbers of steps, as a clock makes them, lie there.
    best = np.flatnonzero(meeting >= meeting.max() - 1e-9)
    return float(quarters[best[len(best) // 2]])


_SHARP_STEPS = 16
"""From here on half a step is little of a period."""


def _others(
    candidates: Candidates, period: float, fine: Repetition, count: int
) -> Iterator[_Candidate]:
    """The best longer one that repeats in what is left over, and the best shorter one."""
    times = candidates.periods / period
    longer = candidates.where(times > 1.5)  # noqa: PLR2004
    if len(longer.periods):
        first, last = fine.periods[[0, -1]]
        lags = np.clip(np.rint(longer.periods), first, last).astype(np.intp) - first
        # A short cycle that is no whole number of steps repeats fully only after a few of them.
        few = 8 if period < _SHARP_STEPS else 1
        meeting = np.rint(period * np.arange(1, few + 1)).astype(np.intp) - first
        own = fine.repeating[meeting[meeting <= last - first]].max()
        gains = fine.repeating[lags] - own
        shares = gains / np.maximum(fine.within[lags] - own, LEAST_WITHIN)
        new = (gains > 0.1 * own) & (shares > threshold(longer.periods, count, coarse=True))
        if new.any():
            yield _shortest_of_the_strong(longer.where(new))
    # A pattern may look alike at a half or a third of its way without being another cycle.
    times = 1.0 / times
    off = np.abs(times - np.rint(times))
    new = (times > 1.5) & (off > np.minimum(0.05 * times, 0.15))  # noqa: PLR2004
    if new.any():
        yield _shortest_of_the_strong(candidates.where(new))
