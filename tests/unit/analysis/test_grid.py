"""From raw samples to slots: nothing lost, nothing doubled, nothing invented."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.analysis.grid import (
    MAX_SLOTS,
    Grid,
    align,
    as_series,
    counter_rate,
    estimate_step,
    plausible,
    to_grid,
)
from cepheid.errors import CepheidError
from cepheid.model import FloatArray

NAN = math.nan
NOW = 1.7e9 + 3.3
ANY_FLOAT = st.floats(allow_nan=True, allow_infinity=True, width=64)


def scrapes(count: int, step: float = 15.0, start: float = NOW) -> FloatArray:
    return start + step * np.arange(count, dtype=np.float64)


def gridded(grid: Grid | None) -> FloatArray:
    assert grid is not None
    return grid.values


def equal(found: FloatArray, expected: list[float]) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-6)


REPLICAS = [0.1, 3.0, 5.0, 6.5]


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ([], None),
        ([7.0], None),
        ([7.0, 7.0, 7.0], None),
        ([NAN, math.inf, 7.0], None),
        ([0.0, 15.0], 15.0),
        ([0.0, 15.0, 45.0], 15.0),
        ([30.0, 0.0, 15.0, 60.0, 45.0], 15.0),
        ([0.0, 0.0, 15.0, 15.0, 30.0, 30.0], 15.0),
        ([0.0, 29.97, 60.02, 90.01, 119.98], 30.0),
        ([0.0, 0.25, 0.5, 0.75], 0.25),
        ([0.0, 7.5, 15.0, 22.5], 7.5),
        ([0.0, 1e-9, 2e-9], None),
    ],
)
def test_step_of_known_times(times: list[float], expected: float | None) -> None:
    assert estimate_step(times) == expected


@pytest.mark.parametrize("missing", [0.05, 0.3, 0.6])
def test_step_survives_missing_scrapes(missing: float) -> None:
    random = np.random.default_rng(1)
    assert estimate_step(scrapes(400)[random.random(400) > missing]) == 15.0


@pytest.mark.parametrize("offset", REPLICAS)
@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_step_of_an_ha_pair_is_that_of_one_replica(offset: float, missing: float) -> None:
    random = np.random.default_rng(1)
    one, two = (scrapes(400)[random.random(400) >= missing] for _ in range(2))
    assert estimate_step(np.concatenate((one, two + offset))) == 15.0


def test_step_of_three_replicas_is_that_of_one() -> None:
    times = scrapes(100)
    assert estimate_step(np.concatenate((times, times + 2, times + 9))) == 15.0


@given(st.integers(0, 1000), st.floats(0, 0.1), st.sampled_from([5.0, 10.0, 15.0, 30.0, 60.0]))
def test_step_survives_jitter_and_any_order(seed: int, jitter: float, step: float) -> None:
    random = np.random.default_rng(seed)
    times = scrapes(300, step) + random.uniform(-jitter, jitter, 300) * step
    assert estimate_step(random.permutation(times)) == step


BLANKS = [2147483632.0, 2147483635.0, 9223372036854775807.0, 2.0**47, 2.0**47 + 3]


def test_blanks_and_what_cannot_be_are_missing() -> None:
    values = [*BLANKS, -0.1, 100.1, 0.0, 100.0, math.inf, -math.inf, NAN]
    equal(plausible(values, highest=100.0), [NAN] * 7 + [0.0, 100.0] + [NAN] * 3)
    equal(plausible([*BLANKS, 2147483631.0, 2147483648.0]), [NAN] * 5 + [2147483631, 2147483648])
    equal(plausible([-5.0, -11.0], lowest=-10.0), [-5.0, NAN])


def test_plausible_leaves_its_input_alone() -> None:
    values = np.array([-1.0])
    plausible(values)
    assert values[0] == -1.0


@pytest.mark.parametrize(
    ("times", "values", "expected"),
    [
        ([0.0, 15, 30], [1.0, 2, 3], [1.0, 2, 3]),
        ([0.0, 15, 45, 60], [1.0, 2, 4, 5], [1.0, 2, NAN, 4, 5]),
        ([30.0, 0, 15], [3.0, 1, 2], [1.0, 2, 3]),
        ([0.0, 15, 15, 30], [1.0, 2, 4, 3], [1.0, 3, 3]),
        ([0.0, 15, 30], [1.0, NAN, 3], [1.0, NAN, 3]),
        ([0.0, 15, 30], [1.0, math.inf, 3], [1.0, NAN, 3]),
        ([0.0, 15, NAN, 30], [1.0, 2, 9, 3], [1.0, 2, 3]),
    ],
)
def test_grid_of_known_samples(
    times: list[float], values: list[float], expected: list[float]
) -> None:
    grid = to_grid(times, values)
    assert grid is not None
    assert (grid.start_seconds, grid.step_seconds) == (0.0, 15.0)
    equal(grid.values, expected)


@pytest.mark.parametrize(
    ("times", "values"), [([], []), ([0.0], [1.0]), ([0.0, 15.0], [NAN, NAN]), ([NAN], [1.0])]
)
def test_no_grid_without_samples_or_step(times: list[float], values: list[float]) -> None:
    assert to_grid(times, values) is None
    assert counter_rate(times, values) is None


def test_one_sample_is_a_grid_where_the_step_is_given() -> None:
    equal(gridded(to_grid([7.0], [1.0], step_seconds=15.0)), [1.0])
    equal(gridded(counter_rate([7.0], [1.0], step_seconds=15.0)), [NAN])


@given(st.integers(0, 1000), st.floats(0, 15, exclude_max=True), st.sampled_from([None, 15.0]))
def test_jitter_at_any_offset_makes_no_gap_and_no_double(
    seed: int, offset: float, step: float | None
) -> None:
    """Also where the offset lies on a multiple of the step, counted from the epoch."""
    times = scrapes(200, start=1.7e9 + offset)
    times += np.random.default_rng(seed).uniform(-2, 2, 200)
    equal(gridded(to_grid(times, np.arange(200.0), step_seconds=step)), list(range(200)))


@given(st.integers(0, 1000), st.floats(0, 15), st.integers(20, 199))
def test_new_samples_leave_old_slots_where_they_are(seed: int, offset: float, seen: int) -> None:
    times = scrapes(200, start=1.7e9 + offset)
    times += np.random.default_rng(seed).uniform(-1, 1, 200)
    values = np.arange(200.0)
    early = to_grid(times[:seen], values[:seen], step_seconds=15.0)
    late = to_grid(times, values, step_seconds=15.0)
    assert early is not None
    assert late is not None
    equal(late.values[:seen], list(early.values))
    # By an eighth of a step, where jitter moves the mean from one eighth to the next.
    assert abs(late.start_seconds - early.start_seconds) <= 15 / 8 + 1e-6


@given(st.lists(st.tuples(st.integers(0, 50), st.floats(-1e6, 1e6)), min_size=1), st.randoms())
def test_grid_does_not_depend_on_the_order(
    samples: list[tuple[int, float]], random: object
) -> None:
    shuffled = samples.copy()
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    one, other = (
        to_grid([15.0 * t for t, _ in order], [v for _, v in order], step_seconds=15.0)
        for order in (samples, shuffled)
    )
    np.testing.assert_allclose(gridded(one), gridded(other), atol=1e-6)


@pytest.mark.parametrize("stray", [NOW + 3e7, NOW + 1e9, 0.0, -1e300, 1e300, 1.7e12])
def test_an_absurd_time_is_dropped_and_counted(stray: float) -> None:
    times = np.append(scrapes(100), stray)
    for grid in (to_grid(times, np.ones(101)), counter_rate(times, np.ones(101))):
        assert grid is not None
        assert (grid.values.size, grid.samples_dropped) == (100, 1)


def test_a_series_too_long_is_refused_with_a_way_out() -> None:
    times = np.arange(0.0, 2 * MAX_SLOTS, 1000.0)
    with pytest.raises(CepheidError, match="at most 262144") as error:
        to_grid(times, times, step_seconds=1.0)
    assert error.value.hint is not None
    assert "step of 2 s" in error.value.hint


@pytest.mark.parametrize(
    ("millijoules", "watts"),
    [
        # 300 W for a minute, then 100 W: 4,500 J and 1,500 J in 15 s.
        ([0.0, 4.5e6, 9e6, 1.05e7], [NAN, 300, 300, 100]),
        # The driver was loaded anew: a gap, neither negative nor huge.
        ([9e9, 9.0045e9, 1e6, 5.5e6], [NAN, 300, NAN, 300]),
        # A blank is no sample, and its neighbours are two steps apart.
        ([0.0, 4.5e6, 2.0**63, 1.35e7, 1.8e7], [NAN, 300, NAN, NAN, 300]),
        ([0.0, 4.5e6, 2147483632.0, 1.35e7, 1.8e7], [NAN, 300, NAN, NAN, 300]),
        ([0.0, 0.0, 0.0, 0.0], [NAN, 0, 0, 0]),
    ],
)
def test_energy_gives_mean_power(millijoules: list[float], watts: list[float]) -> None:
    rates = gridded(counter_rate(scrapes(len(watts)), millijoules))
    equal(rates / 1000, watts)


def test_rate_is_over_the_time_that_really_passed() -> None:
    times = np.array([0.0, 14.0, 31.0, 45.0])
    equal(gridded(counter_rate(times, 300.0 * times, step_seconds=15.0)), [NAN, 300, 300, 300])


def test_rate_is_from_the_last_sample_of_a_slot_to_the_next_one() -> None:
    times, values = [0.0, 1, 15, 16, 30, 31], [0.0, 5, 20, 35, 90, 95]
    equal(gridded(counter_rate(times, values, step_seconds=15.0)), [NAN, 2, 4])


def test_a_missed_scrape_is_a_gap_of_two_slots() -> None:
    times = np.array([0.0, 15, 30, 60, 75])
    equal(gridded(counter_rate(times, 2 * times)), [NAN, 2, 2, NAN, NAN, 2])


@pytest.mark.parametrize("offset", REPLICAS)
def test_an_ha_pair_gives_one_rate_per_step(offset: float) -> None:
    times = np.concatenate((scrapes(50), scrapes(50) + offset))
    rates = gridded(counter_rate(times, (times - NOW) * 7))
    equal(rates[2:-2], [7.0] * (rates.size - 4))


def test_samples_a_moment_apart_make_no_rate() -> None:
    """A counter that ticks once a second would show a thousandfold rate."""
    times = [0.0, 15.0, 30.0, 37.49, 37.51, 60.0, 75.0]
    rates = gridded(counter_rate(times, [0.0, 15, 30, 37, 38, 60, 75], step_seconds=15.0))
    assert np.nanmax(rates) < 2


@given(st.lists(ANY_FLOAT, max_size=30), st.lists(ANY_FLOAT, max_size=30))
def test_no_input_of_equal_lengths_warns_or_fails(times: list[float], values: list[float]) -> None:
    size = min(len(times), len(values))
    for make in (to_grid, counter_rate):
        grid = make(times[:size], values[:size])
        if grid is not None:
            assert 0 < grid.values.size <= MAX_SLOTS
            assert not np.isinf(grid.values).any()


@given(st.lists(st.floats(0, 1e12), min_size=2, max_size=60))
def test_rates_are_never_negative_and_add_up(values: list[float]) -> None:
    rates = gridded(counter_rate(scrapes(len(values)), values))
    assert not (rates < 0).any()
    rises = np.diff(values)
    assert np.nansum(rates) * 15 == pytest.approx(rises[rises >= 0].sum(), rel=1e-6, abs=1e-6)


def test_align_moves_all_values_to_the_nearest_slots() -> None:
    like = Grid(100.0, 10.0, np.zeros(5))
    values = np.array([1.0, 2, 3])
    for start, expected in [
        (100.0, [1.0, 2, 3, NAN, NAN]),
        (114.0, [NAN, 1, 2, 3, NAN]),
        (134.0, [NAN, NAN, NAN, 1, 2]),
        (86.0, [2.0, 3, NAN, NAN, NAN]),
        (500.0, [NAN] * 5),
        (-500.0, [NAN] * 5),
    ]:
        moved = align(Grid(start, 10.0, values), like)
        assert (moved.start_seconds, moved.step_seconds) == (100.0, 10.0)
        equal(moved.values, expected)


def test_bad_input_is_refused_with_a_hint() -> None:
    two_dimensional = np.zeros((2, 2))
    for refused in (
        lambda: to_grid([1.0], [1.0, 2.0]),
        lambda: counter_rate([1.0], []),
        lambda: as_series(two_dimensional),
        lambda: plausible(two_dimensional),
        lambda: estimate_step(two_dimensional),
        lambda: to_grid([1.0], [1.0], step_seconds=0.0),
        lambda: to_grid([1.0], [1.0], step_seconds=NAN),
        lambda: align(Grid(0.0, 1.0, np.ones(1)), Grid(0.0, 2.0, np.ones(1))),
    ):
        with pytest.raises(CepheidError) as error:
            refused()
        assert error.value.hint
