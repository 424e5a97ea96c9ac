"""Where cycles begin, in series whose cycles are known."""

import numpy as np
import pytest

from cepheid.analysis.grid import Grid
from cepheid.plots.marks import cycle_starts


def waves(begins: np.ndarray, seconds: float, step: float, noise: float) -> Grid:
    """High for the first three fifths of each cycle, and low for the rest."""
    times = np.arange(0.0, seconds, step)
    place = np.searchsorted(begins, times, "right") - 1
    length = np.append(np.diff(begins), begins[-1] - begins[-2])
    share = (times - begins[np.maximum(place, 0)]) / length[np.maximum(place, 0)]
    chance = np.random.default_rng(4)
    values = np.where((place >= 0) & (share < 0.6), 90.0, 5.0) + chance.normal(0, noise, times.size)
    return Grid(0.0, step, values)


@pytest.mark.parametrize("noise", [0.0, 10.0])
@pytest.mark.parametrize("error", [-0.01, 0.0, 0.01])
def test_every_cycle_is_marked_where_it_begins_though_the_period_is_not_exact(
    noise: float, error: float
) -> None:
    """A hundred cycles on, counting alone would be a whole cycle off."""
    chance = np.random.default_rng(1)
    begins = 7.0 + np.cumsum(np.append(0.0, 41.8 + chance.normal(0, 0.8, 99)))
    grid = waves(begins, begins[-1] + 41.8, 0.5, noise)
    found = cycle_starts(grid, 41.8 * (1 + error))
    for begin in begins[1:-1]:
        assert np.abs(found - begin).min() <= 0.07 * 41.8
    assert abs(len(found) - len(begins)) <= 1


def test_a_gap_is_passed_over_as_counted() -> None:
    begins = np.arange(0.0, 1000.0, 20.0)
    grid = waves(begins, 1000.0, 0.5, 1.0)
    grid.values[800:1000] = np.nan
    found = cycle_starts(grid, 20.0)
    assert np.abs(np.diff(found) - 20.0).max() <= 5.0
    assert len(found) == pytest.approx(50, abs=1)


@pytest.mark.parametrize("period", [0.1, 1.0, 600.0, 1e9])
def test_a_period_that_cannot_be_seen_has_no_marks(period: float) -> None:
    grid = waves(np.arange(0.0, 1000.0, 20.0), 1000.0, 0.5, 1.0)
    assert cycle_starts(grid, period).size == 0


def test_where_nothing_was_measured_there_are_no_marks() -> None:
    assert cycle_starts(Grid(0.0, 1.0, np.full(100, np.nan)), 10.0).size == 0
