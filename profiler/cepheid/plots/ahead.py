"""What may come after the end, had it gone on?"""

from dataclasses import dataclass

import numpy as np

from cepheid.analysis.forecast import forecast
from cepheid.analysis.grid import Grid
from cepheid.jobprofile import CycleSeen
from cepheid.model import Cycle, FloatArray

LEVEL = 0.9
HORIZON_SECONDS = 600.0
HORIZON_SHARE = 0.15
"""Of what was measured: further ahead nobody should look."""
MOST_STEPS = 300
MOST_PAST = 2048
"""Samples that it is told from: what was before them is no guide to what comes."""


@dataclass(frozen=True, slots=True, eq=False)
class Ahead:
    seconds: FloatArray
    middle: FloatArray
    lower: FloatArray
    upper: FloatArray


def ahead(grid: Grid, *, most: float | None = None, cycle: CycleSeen | None = None) -> Ahead | None:
    """None where there is too little past to try it on."""
    past = grid.values[-MOST_PAST:]
    step = grid.step_seconds
    furthest = min(HORIZON_SECONDS / step, HORIZON_SHARE * grid.values.size, MOST_STEPS)
    if furthest < 1:
        return None
    told = forecast(
        past,
        step,
        int(furthest),
        cycles=None if cycle is None else [Cycle(cycle.period_seconds, cycle.strength, 0.0)],
        bounds=(0.0, np.finfo(np.float64).max if most is None else most),
        level=LEVEL,
    )
    if told is None:
        return None
    last = grid.start_seconds + step * (grid.values.size - 1)
    seconds = last + step * np.arange(1, told.mean.size + 1, dtype=np.float64)
    return Ahead(seconds, told.mean, told.lower, told.upper)
