"""One line over time: its gaps, several added up, and no more points than a screen can show."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cepheid.analysis.grid import Grid, align, estimate_step, to_grid
from cepheid.jobs.series import Combine
from cepheid.model import FloatArray

MOST_POINTS = 1500
"""Of a line: a wide screen has fewer columns for it, and a phone opens ten of them at once."""
KEPT = 3
"""Points of a column at most: the lowest, the highest, and a gap."""
GAP_STEPS = 3.0
"""Nothing measured for so many intervals is a gap, and no line is drawn across it."""


@dataclass(frozen=True, slots=True, eq=False)
class Course:
    """NaN where nothing was measured."""

    seconds: FloatArray
    """Since the job began, rising."""
    values: FloatArray

    @classmethod
    def of(
        cls, times: Sequence[float], values: Sequence[float | None], begin_seconds: float
    ) -> "Course":
        known = [np.nan if value is None else value for value in values]
        return cls(np.array(times, dtype=np.float64) - begin_seconds, np.array(known, np.float64))

    def times(self, factor: float) -> "Course":
        return Course(self.seconds, self.values * factor)

    @property
    def known(self) -> FloatArray:
        return self.values[np.isfinite(self.values)]

    @property
    def life(self) -> tuple[float, float] | None:
        """From the first to the last moment at which something was measured."""
        there = self.seconds[np.isfinite(self.values)]
        return (float(there[0]), float(there[-1])) if there.size else None


def regular(course: Course) -> Grid | None:
    """As the analysis takes it; None where there is too little to tell an interval."""
    return to_grid(course.seconds, course.values)


def together(courses: Sequence[Course], combine: Combine) -> Course | None:
    """Of several workers, which were not measured at the same moments."""
    if len(courses) == 1:
        return courses[0]
    steps = [step for one in courses if (step := estimate_step(one.seconds)) is not None]
    if not steps:
        return None
    step = float(np.median(steps))
    grids = [
        grid
        for one in courses
        if (grid := to_grid(one.seconds, one.values, step_seconds=step)) is not None
    ]
    if not grids:
        return None
    start = min(grid.start_seconds for grid in grids)
    end = max(grid.start_seconds + step * grid.values.size for grid in grids)
    frame = Grid(start, step, np.full(round((end - start) / step) + 1, np.nan))
    total = combine([align(grid, frame).values for grid in grids])
    if total is None:
        return None
    there = np.flatnonzero(np.isfinite(total))
    part = slice(int(there[0]), int(there[-1]) + 1) if there.size else slice(0)
    return Course(start + step * np.arange(total.size, dtype=np.float64)[part], total[part])


def lowest(arrays: Sequence[FloatArray]) -> FloatArray | None:
    return _of_known(arrays, np.fmin)


def highest(arrays: Sequence[FloatArray]) -> FloatArray | None:
    return _of_known(arrays, np.fmax)


def _of_known(arrays: Sequence[FloatArray], choose: np.ufunc) -> FloatArray | None:
    return np.asarray(choose.reduce(np.vstack(arrays), axis=0)) if arrays else None


def drawn(course: Course, most: int = MOST_POINTS) -> Course:
    """With a break in every gap; of more points the lowest and the highest of each column."""
    whole = _broken_at_gaps(_measured_seldom(course))
    size = whole.seconds.size
    if size <= most:
        return whole
    width = -(-size // (most // KEPT))
    padded = np.full(-(-size // width) * width, np.nan)
    padded[:size] = whole.values
    columns = padded.reshape(-1, width)
    missing = np.isnan(columns)
    missing.ravel()[size:] = False
    chosen = np.stack(
        [
            np.where(np.isfinite(columns), columns, np.inf).argmin(axis=1),
            np.where(np.isfinite(columns), columns, -np.inf).argmax(axis=1),
            # Where one is missing a line breaks; where none is, the first stands for it.
            missing.argmax(axis=1),
        ],
        axis=1,
    )
    kept = np.unique(chosen + width * np.arange(len(columns))[:, None])
    kept = kept[kept < size]
    return Course(whole.seconds[kept], whole.values[kept])


def _measured_seldom(course: Course) -> Course:
    """What costs much is measured now and then: between two such samples is no gap."""
    there = np.isfinite(course.values)
    if 0 < np.count_nonzero(there) < course.values.size / 2:
        return Course(course.seconds[there], course.values[there])
    return course


def _broken_at_gaps(course: Course) -> Course:
    passed = np.diff(course.seconds)
    if not passed.size:
        return course
    gaps = np.flatnonzero(passed > GAP_STEPS * np.median(passed))
    middle = course.seconds[gaps] + passed[gaps] / 2
    return Course(
        np.insert(course.seconds, gaps + 1, middle), np.insert(course.values, gaps + 1, np.nan)
    )
