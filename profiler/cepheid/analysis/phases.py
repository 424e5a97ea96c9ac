"""Does a run begin or end in another way than it goes on: start-up, steady state, tail?

The load is cut into at most three stretches of one level each, so that least of its variance is
left within them (Fisher 1958); of a short run every cut is tried, of a long one those between 240
blocks. The middle one is the steady state and the longest. A cut counts only where the levels on
its sides differ by more than the load moves by itself; what repeats is averaged over its period
first, else every pause of a cycle would be a phase.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from cepheid.analysis.grid import as_series
from cepheid.model import FloatArray

FEWEST_SAMPLES = 12
MOST_BLOCKS = 240
SHORTEST = 3
"""Blocks: what is shorter is an edge, not a phase."""
LEAST_DIFFERENCE = 0.25
"""Of the highest level, between a phase and the steady state beside it."""
LEAST_DEVIATIONS = 1.5
"""And times the standard deviation within the two."""


@dataclass(frozen=True, slots=True)
class PhaseSpan:
    name: str
    """start-up, steady or tail."""
    begin: int
    end: int
    """Half-open, in samples."""


def find_phases(
    loads: Mapping[str, FloatArray], *, period_samples: float | None = None
) -> tuple[PhaseSpan, ...]:
    """Of one or several series on one grid; a single steady phase where nothing stands out.

    Empty where too little was measured to tell.
    """
    known = [as_series(values) for values in loads.values()]
    known = [values for values in known if np.isfinite(values).sum() >= FEWEST_SAMPLES]
    if not known:
        return ()
    size = known[0].size
    width = max(1, -(-size // MOST_BLOCKS))
    blocks = np.vstack(
        [_blocks(_scaled(_filled(values), period_samples), width) for values in known]
    )
    first, last = _cuts(blocks)
    begin, end = min(first * width, size), size if last == blocks.shape[1] else last * width
    spans = (
        PhaseSpan("start-up", 0, begin),
        PhaseSpan("steady", begin, end),
        PhaseSpan("tail", end, size),
    )
    return tuple(span for span in spans if span.end > span.begin)


def _filled(values: FloatArray) -> FloatArray:
    there = np.flatnonzero(np.isfinite(values))
    return np.interp(np.arange(values.size), there, values[there])


def _scaled(values: FloatArray, period_samples: float | None) -> FloatArray:
    if period_samples is not None:
        values = _averaged(values, round(period_samples))
    top = float(np.quantile(values, 0.95))
    return np.clip(values / top, 0.0, 2.0) if top > 0 else np.zeros_like(values)


def _averaged(values: FloatArray, window: int) -> FloatArray:
    """Over a whole window around each sample; at the ends beside it."""
    if window < 2 or window >= values.size:  # noqa: PLR2004
        return values
    sums = np.concatenate(([0.0], np.cumsum(values)))
    low = np.clip(np.arange(values.size) - window // 2, 0, values.size - window)
    return (sums[low + window] - sums[low]) / window


def _blocks(values: FloatArray, width: int) -> FloatArray:
    edges = np.arange(0, values.size, width)
    sizes = np.diff(np.append(edges, values.size))
    return np.add.reduceat(values, edges) / sizes


def _cuts(blocks: FloatArray) -> tuple[int, int]:
    """Where the steady state begins and ends."""
    size = blocks.shape[1]
    zeros = np.zeros((blocks.shape[0], 1))
    sums = np.hstack((zeros, np.cumsum(blocks, axis=1)))
    squares = np.hstack((zeros, np.cumsum(blocks**2, axis=1)))

    def spread(begin: np.ndarray, end: np.ndarray) -> FloatArray:
        """The squared deviations within a stretch, of all series."""
        count = np.maximum(end - begin, 1)
        total = sums[:, end] - sums[:, begin]
        within: FloatArray = (squares[:, end] - squares[:, begin] - total**2 / count).sum(axis=0)
        return np.where(end > begin, within, 0.0)

    places = np.array([0, *range(SHORTEST, size - SHORTEST + 1), size])
    first, last = (grid.ravel() for grid in np.meshgrid(places, places, indexing="ij"))
    # The steady state is longer than what comes before it, and than what comes after.
    fits = (last - first > first) & (last - first > size - last)
    first, last = first[fits], last[fits]
    begin, end = np.zeros_like(first), np.full_like(last, size)
    left = spread(begin, first) + spread(first, last) + spread(last, end)
    # Of equals the one with fewer cuts.
    left = left + 1e-9 * ((first > 0).astype(float) + (last < size))
    best = int(np.argmin(left))
    start, stop = int(first[best]), int(last[best])
    if not _differ(blocks[:, :start], blocks[:, start:stop]):
        start = 0
    if not _differ(blocks[:, stop:], blocks[:, start:stop]):
        stop = size
    return start, stop


def _differ(phase: FloatArray, steady: FloatArray) -> bool:
    """In any of the series."""
    if not phase.size:
        return False
    short, long = phase.shape[1], steady.shape[1]
    levels = np.abs(phase.mean(axis=1) - steady.mean(axis=1))
    highest = np.maximum(phase.mean(axis=1), steady.mean(axis=1))
    pooled = (short * phase.var(axis=1) + long * steady.var(axis=1)) / (short + long)
    # Of a few blocks chance alone can make a level: these have to stand out the more.
    enough = LEAST_DEVIATIONS * (1 + SHORTEST / short) * np.sqrt(pooled)
    return bool(((levels >= LEAST_DIFFERENCE * highest) & (levels > enough)).any())
