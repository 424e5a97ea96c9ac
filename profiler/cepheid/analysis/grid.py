"""Raw samples to a regular time grid: NaN where nothing was measured, or nothing that can be true.

A slot reaches half a step to both sides of its centre, and the centres lie where the samples do
(a scrape's offset within the interval is fixed for each target), so that jitter moves no sample
into a neighbour's slot. The centres are eighths of a step counted from the epoch: new samples
leave the slots of the old ones where they are.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cepheid.errors import CepheidError
from cepheid.model import FloatArray

MAX_SLOTS = 1 << 18
"""2 MiB: a month at a step of 10 s."""

# dcgm_structs.h: DCGM_INT32_BLANK, DCGM_FP64_BLANK, DCGM_INT64_BLANK; not found, not supported
# and not permitted are the next values after each, with room for 16.
INT32_BLANK = 0x7FFFFFF0
FP64_BLANK = 2.0**47
INT64_BLANK = 2.0**63  # what 0x7ffffffffffffff0 becomes as a float

LATEST_SECONDS = 1e11
"""The year 5138. A time beyond is broken, or was given in milliseconds."""

RESOLUTION_SECONDS = 1e-3
"""Prometheus keeps times in milliseconds."""


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """`values[i]` was measured around `start_seconds + i * step_seconds`."""

    start_seconds: float
    step_seconds: float
    values: FloatArray
    samples_dropped: int = 0
    """Samples whose time lay absurdly far from that of all others."""


def as_series(values: FloatArray | Sequence[float], what: str = "values") -> FloatArray:
    """One-dimensional floats, a copy, with NaN for all that is not finite or a 64-bit blank."""
    series = np.array(values, dtype=np.float64)
    if series.ndim != 1:
        raise CepheidError(
            f"{what} have {series.ndim} dimensions instead of 1",
            hint="give one series at a time",
        )
    series[~(np.abs(series) < INT64_BLANK)] = np.nan
    return series


def plausible(
    values: FloatArray | Sequence[float], *, lowest: float = 0.0, highest: float = math.inf
) -> FloatArray:
    """The values, with NaN for DCGM's blanks and for what lies outside the metric's range."""
    series = as_series(values)
    bad = (series < lowest) | (series > highest)
    bad |= (series >= INT32_BLANK) & (series < INT32_BLANK + 16)
    bad |= (series >= FP64_BLANK) & (series < FP64_BLANK + 16)
    series[bad] = np.nan
    return series


def estimate_step(times: FloatArray | Sequence[float]) -> float | None:
    """The scrape interval; None with fewer than two different times.

    A scrape that is missing makes an interval longer and none shorter, so the shorter part of
    the intervals is what has to agree. Where it does not, but every second or third sample
    does, two or three replicas were scraped at times of their own (an HA pair).
    """
    series = np.sort(as_series(times, "times"))
    series = series[np.abs(series) <= LATEST_SECONDS][-4096:]  # enough, and what holds now
    series = series[np.diff(series, prepend=-math.inf) > RESOLUTION_SECONDS / 2]
    if series.size <= 1:
        return None
    for replicas, tolerance in ((1, 0.2), (2, 0.05), (3, 0.05)):
        # Over two or three intervals jitter averages out by itself: hence the tighter bound.
        if series.size > 2 * replicas:
            intervals = series[replicas:] - series[:-replicas]
            short, middle, long = np.quantile(intervals, (0.1, 0.5, 0.6))
            if long - short <= tolerance * middle:
                usual = np.abs(intervals - middle) <= 0.2 * middle
                return _rounded(float(intervals[usual].mean()))
    intervals = np.diff(series)
    shortest = np.quantile(intervals, 0.25)
    return _rounded(float(np.median(intervals / np.maximum(np.round(intervals / shortest), 1.0))))


def _rounded(step_seconds: float) -> float:
    """To a whole second, or as little finer as 2 % need: the same from one pass to the next."""
    for unit in (1.0, 0.1, 0.01):
        nearest = round(step_seconds / unit) * unit
        if abs(nearest - step_seconds) <= 0.02 * step_seconds:
            return round(nearest, 3)
    return max(round(step_seconds, 3), RESOLUTION_SECONDS)


def to_grid(
    times: FloatArray | Sequence[float],
    values: FloatArray | Sequence[float],
    *,
    step_seconds: float | None = None,
) -> Grid | None:
    """The mean of each slot's samples; None without a sample, or without a step.

    The mean and not the last: every sample counts, and the two of an HA pair count alike in
    whichever order they came.
    """
    placed = _place(times, as_series(values), step_seconds)
    if placed is None:
        return None
    start, step, slots, _, kept, dropped = placed
    count = np.bincount(slots)
    gridded = np.full(count.size, np.nan)
    np.divide(np.bincount(slots, weights=kept), count, out=gridded, where=count > 0)
    return Grid(start, step, gridded, dropped)


def counter_rate(
    times: FloatArray | Sequence[float],
    values: FloatArray | Sequence[float],
    *,
    step_seconds: float | None = None,
) -> Grid | None:
    """Growth per second of a counter: millijoules give milliwatts, the true mean of each step.

    A slot holds the mean from the last sample of the slot before to its own last one, over the
    time that really passed between the two. It is a gap where the counter fell (it began anew,
    and how far it had come before is not known) and where the slot before is empty: the mean
    over a longer time is true for all of it together and for none of its slots, and would
    flatten what `period` looks for. Totals are better taken from the counter itself.
    """
    placed = _place(times, plausible(values), step_seconds)
    if placed is None:
        return None
    start, step, slots, when, kept, dropped = placed
    last = np.flatnonzero(np.diff(slots, append=slots[-1] + 1))
    slots, when, kept = slots[last], when[last], kept[last]
    passed, growth = np.diff(when), np.diff(kept)
    # A quarter: over less, a counter that ticks now and then shows its tick and not its rate.
    good = (np.diff(slots) == 1) & (growth >= 0) & (passed >= step / 4)
    rates = np.full(int(slots[-1]) + 1, np.nan)
    rates[slots[1:][good]] = growth[good] / passed[good]
    return Grid(start, step, rates, dropped)


def align(grid: Grid, like: Grid) -> Grid:
    """The same values on the slots of another grid, each in the nearest: all move together."""
    if grid.step_seconds != like.step_seconds:
        raise CepheidError(
            f"steps of {grid.step_seconds:g} s and {like.step_seconds:g} s do not align",
            hint="make both grids with the same step_seconds",
        )
    shift = round((grid.start_seconds - like.start_seconds) / like.step_seconds)
    size = like.values.size
    moved = np.full(size, np.nan)
    part = grid.values[max(-shift, 0) : max(size - shift, 0)]
    moved[max(shift, 0) : max(shift, 0) + part.size] = part
    return Grid(like.start_seconds, like.step_seconds, moved, grid.samples_dropped)


def _place(
    times: FloatArray | Sequence[float], values: FloatArray, step_seconds: float | None
) -> tuple[float, float, np.ndarray, FloatArray, FloatArray, int] | None:
    """Start, step, and of the samples kept, in the order of time: slots, times, values."""
    when = as_series(times, "times")
    if when.size != values.size:
        raise CepheidError(
            f"{when.size} times for {values.size} values", hint="give one time for each value"
        )
    if step_seconds is not None and not RESOLUTION_SECONDS <= step_seconds < math.inf:
        raise CepheidError(
            f"a step of {step_seconds:g} s cannot make a grid",
            hint=f"give at least {RESOLUTION_SECONDS:g} s, or nothing to have it estimated",
        )
    step = estimate_step(when) if step_seconds is None else float(step_seconds)
    timed = np.abs(when) <= LATEST_SECONDS
    dropped = when.size - int(np.count_nonzero(timed))
    measured = timed & np.isfinite(values)
    when, values = when[measured], values[measured]
    if step is None or when.size == 0:
        return None
    if np.any(np.diff(when) < 0):
        order = np.argsort(when, kind="stable")
        when, values = when[order], values[order]
    # The mean direction on the circle of one step: a plain mean breaks where offsets wrap.
    # A thousand samples tell it.
    angle = np.mod(when[:: when.size // 1024 + 1], step) * (2 * math.pi / step)
    offset = math.atan2(float(np.sin(angle).sum()), float(np.cos(angle).sum())) / (2 * math.pi)
    centre = round(offset * 8) / 8 * step
    slots = np.floor((when - centre) / step + 0.5).astype(np.int64)
    if slots[-1] - slots[0] >= MAX_SLOTS:
        kept = _longest_run(slots, step)
        dropped += when.size - (kept.stop - kept.start)
        slots, when, values = slots[kept], when[kept], values[kept]
    first = int(slots[0])
    return centre + first * step, step, slots - first, when, values, dropped


def _longest_run(slots: np.ndarray, step: float) -> slice:
    """Without the strays: the most samples that no gap of a quarter of MAX_SLOTS parts."""
    cuts = np.flatnonzero(np.diff(slots) > MAX_SLOTS // 4) + 1
    ends = np.concatenate(([0], cuts, [slots.size]))
    run = int(np.argmax(np.diff(ends)))
    kept = slice(int(ends[run]), int(ends[run + 1]))
    length = int(slots[kept.stop - 1] - slots[kept.start]) + 1
    if length > MAX_SLOTS:
        raise CepheidError(
            f"the samples cover {length} steps of {step:g} s, at most {MAX_SLOTS} are possible",
            hint=f"ask for a shorter window, or for a step of {length / MAX_SLOTS * step:.3g} s",
        )
    return kept
