"""A line over time: gaps are gaps, peaks are kept, workers are added up."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cepheid.jobs.series import added, averaged
from cepheid.plots.course import MOST_POINTS, Course, drawn, highest, lowest, together


def course(values: list[float], *, step: float = 1.0, begin: float = 0.0) -> Course:
    seconds = begin + step * np.arange(len(values), dtype=np.float64)
    return Course(seconds, np.array(values, dtype=np.float64))


def test_no_line_is_drawn_across_a_time_without_samples() -> None:
    slept = Course(np.array([0.0, 1, 2, 3, 600, 601, 602]), np.ones(7))
    shown = drawn(slept)
    (gap,) = np.flatnonzero(np.isnan(shown.values))
    assert shown.seconds[gap - 1] == 3
    assert shown.seconds[gap + 1] == 600


def test_what_is_measured_now_and_then_is_one_line() -> None:
    seldom = np.full(100, np.nan)
    seldom[::10] = 7.0
    shown = drawn(course(seldom.tolist()))
    assert list(shown.values) == [7.0] * 10


def test_one_late_sample_is_no_gap() -> None:
    assert not np.isnan(drawn(Course(np.array([0.0, 1, 2, 4, 5]), np.ones(5))).values).any()


@given(
    st.integers(MOST_POINTS + 1, 20_000),
    st.floats(0, 1),
    st.floats(0, 1),
)
@settings(max_examples=40)
def test_of_too_many_points_the_highest_and_the_lowest_stay(
    size: int, high: float, low: float
) -> None:
    values = np.full(size, 5.0)
    values[round(high * (size - 1))] = 9.0
    values[round(low * (size - 1))] = 1.0
    shown = drawn(Course(np.arange(size, dtype=np.float64), values))
    assert shown.seconds.size <= MOST_POINTS
    assert shown.values.max() == values.max()
    assert shown.values.min() == values.min()
    assert (np.diff(shown.seconds) > 0).all()


def test_a_gap_is_seen_in_a_line_of_a_hundred_thousand_points_too() -> None:
    seconds = np.concatenate((np.arange(50_000.0), 90_000 + np.arange(50_000.0)))
    shown = drawn(Course(seconds, np.ones(seconds.size)))
    apart = np.diff(shown.seconds[np.isfinite(shown.values)])
    assert np.isnan(shown.values).sum() == 1
    assert apart.max() > 39_000


def test_workers_that_were_measured_at_other_moments_are_added_up() -> None:
    one, two = course([1.0] * 10), course([2.0] * 10, begin=0.4)
    total = together([one, two], added)
    assert total is not None
    assert set(total.known) == {3.0}


def test_a_worker_that_came_late_adds_nothing_before() -> None:
    total = together([course([1.0] * 10), course([2.0] * 5, begin=5.0)], added)
    assert total is not None
    assert list(total.values) == [1.0] * 5 + [3.0] * 5


def test_shares_are_averaged_and_the_range_is_that_of_all() -> None:
    both = [course([10.0, 20.0, 30.0]), course([30.0, np.nan, 50.0])]
    middle, low, high = (together(both, how) for how in (averaged, lowest, highest))
    assert middle is not None
    assert low is not None
    assert high is not None
    assert list(middle.values) == [20.0, 20.0, 40.0]
    assert list(low.values) == [10.0, 20.0, 30.0]
    assert list(high.values) == [30.0, 20.0, 50.0]


def test_of_nothing_measured_there_is_no_life() -> None:
    assert course([np.nan, np.nan]).life is None
    assert course([np.nan, 1.0, 2.0, np.nan]).life == (1.0, 2.0)
    assert together([course([np.nan] * 3), course([np.nan] * 3)], added) is None
