"""The fast way gives what the plain sum over pairs gives, with gaps and without."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.analysis.autocovariance import (
    FEWEST_SAMPLES,
    Signal,
    _fast_size,
    autocovariance,
    moving_sum,
    standardised,
)
from cepheid.errors import CepheidError
from cepheid.model import FloatArray

Random = np.random.Generator


def wandering(random: Random, size: int, missing: float) -> FloatArray:
    values = 40 + np.cumsum(random.standard_normal(size)) + 0.1 * np.arange(size)
    return np.where(random.random(size) < missing, np.nan, values)


def standard(values: FloatArray) -> Signal:
    signal = standardised(values)
    assert signal is not None
    return signal


def over_pairs(signal: Signal, lag: int) -> float:
    """The mean product of the pairs that far apart; 0 where there is none."""
    products = [
        signal.values[i] * signal.values[i + lag]
        for i in range(len(signal.values) - lag)
        if signal.present is None or signal.present[i] * signal.present[i + lag] > 0
    ]
    return float(np.mean(products)) if products else 0.0


@pytest.mark.parametrize("missing", [0.0, 0.1, 0.5, 0.9])
@pytest.mark.parametrize("size", [40, 63, 128, 211])
def test_it_is_the_mean_over_all_pairs(size: int, missing: float) -> None:
    random = np.random.default_rng(size)
    values = wandering(random, size, missing)
    values[:FEWEST_SAMPLES] = random.standard_normal(FEWEST_SAMPLES)
    values[-1] = random.standard_normal()
    signal = standard(values)
    found = autocovariance(signal, size).at
    np.testing.assert_allclose(found, [over_pairs(signal, k) for k in range(size)], atol=1e-9)


def test_what_is_missing_before_the_first_and_after_the_last_sample_is_no_gap() -> None:
    values = wandering(np.random.default_rng(1), 60, 0.2)
    values[[0, -1]] = 1.0
    padded = np.concatenate((np.full(100, np.nan), values, np.full(7, np.nan)))
    alone, within = standard(values), standard(padded)
    np.testing.assert_array_equal(within.values, alone.values)
    assert within.present is not None
    np.testing.assert_array_equal(within.present, alone.present)


def test_lags_without_a_pair_are_0() -> None:
    values = np.concatenate((np.arange(12.0) % 5, np.full(30, np.nan), np.arange(12.0) % 5))
    found = autocovariance(standard(values), 54).at
    np.testing.assert_allclose(found[12:31], 0.0, atol=1e-12)
    assert np.abs(found[31:54]).max() > 0.1


@pytest.mark.parametrize("lags", [1, 7, 50, 51, 400])
def test_there_are_as_many_lags_as_asked_for_but_no_more_than_samples(lags: int) -> None:
    signal = standard(wandering(np.random.default_rng(2), 50, 0.0))
    few, all_of_them = autocovariance(signal, lags).at, autocovariance(signal, 50).at
    assert len(few) == min(lags, 50)
    np.testing.assert_allclose(few, all_of_them[:lags], atol=1e-12)


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_at_lag_0_it_is_the_variance_which_is_1(missing: float) -> None:
    signal = standard(wandering(np.random.default_rng(3), 300, missing))
    assert autocovariance(signal, 10).at[0] == pytest.approx(1.0)


def test_running_sums_are_those_before_each_lag() -> None:
    covariance = autocovariance(standard(wandering(np.random.default_rng(4), 60, 0.2)), 40)
    at = covariance.at.tolist()
    sums = [math.fsum(at[:k]) for k in range(41)]
    np.testing.assert_allclose(covariance.sums, sums, atol=1e-12)
    double_sums = [math.fsum(sums[: k + 1]) for k in range(41)]
    np.testing.assert_allclose(covariance.double_sums, double_sums, atol=1e-11)


@pytest.mark.parametrize(("reach", "width"), [(0, 3), (2, 5), (1, 1)])
def test_above_average_is_the_near_mean_minus_the_far_mean(reach: int, width: int) -> None:
    covariance = autocovariance(standard(wandering(np.random.default_rng(5), 90, 0.0)), 60)
    expected = [
        covariance.at[k - reach : k + reach + 1].mean()
        - covariance.at[k - width : k + width + 1].mean()
        for k in range(10, 21)
    ]
    np.testing.assert_allclose(covariance.above_average(10, 20, reach, width), expected, atol=1e-12)


@given(
    seed=st.integers(0, 1000),
    size=st.integers(30, 300),
    missing=st.sampled_from([0.0, 0.2, 0.5]),
    shift=st.floats(-1e6, 1e6),
    exponent=st.integers(-300, 300),
)
def test_a_standardised_series_has_no_mean_no_trend_and_unit_variance(
    seed: int, size: int, missing: float, shift: float, exponent: int
) -> None:
    random = np.random.default_rng(seed)
    values = wandering(random, size, missing)
    values[:FEWEST_SAMPLES] = random.standard_normal(FEWEST_SAMPLES)
    values[-1] = random.standard_normal()
    known = np.isfinite(values)
    signal = standard((values + shift) * 10.0**exponent)
    assert signal.count == np.count_nonzero(known)
    assert (signal.present is None) == bool(known.all())
    if signal.present is not None:
        np.testing.assert_array_equal(signal.present, known)
        assert not signal.values[~known].any()
    assert signal.values.sum() == pytest.approx(0.0, abs=1e-6 * size)
    assert signal.values @ np.arange(size) == pytest.approx(0.0, abs=1e-6 * size * size)
    assert signal.values @ signal.values == pytest.approx(signal.count)


@given(
    seed=st.integers(0, 1000),
    slope=st.floats(-10, 10),
    scale=st.floats(1e-6, 1e6),
    missing=st.sampled_from([0.0, 0.3]),
)
def test_trend_shift_and_scale_go_into_the_deviation_only(
    seed: int, slope: float, scale: float, missing: float
) -> None:
    random = np.random.default_rng(seed)
    noise = random.uniform(-1, 1, 100)  # within five deviations: no freaks
    values = np.where(random.random(100) < missing, np.nan, noise)
    plain, moved = standard(values), standard(scale * (values + slope * np.arange(100) / 100 - 7))
    np.testing.assert_allclose(moved.values, plain.values, atol=1e-6)
    assert moved.deviation == pytest.approx(scale * plain.deviation, rel=1e-6)


def test_the_deviation_is_that_of_the_series_without_its_trend() -> None:
    position = np.arange(240.0)
    values = 300 + 5 * np.sin(math.tau * position / 24) + 0.5 * position
    rest = values - np.polyval(np.polyfit(position, values, 1), position)
    assert standard(values).deviation == pytest.approx(rest.std())


@pytest.mark.parametrize(("freak", "limit"), [(1e9, 1.5), (-1e9, -0.5)])
def test_a_freak_is_cut_at_half_of_the_range_of_all_others(freak: float, limit: float) -> None:
    """From 0 to 1 they swing, and one is a blank that nobody filtered."""
    position = np.arange(400.0)
    values = 0.5 + 0.5 * np.sin(math.tau * position / 20)
    values[123] = freak
    cut = values.copy()
    cut[123] = limit
    np.testing.assert_allclose(standard(values).values, standard(cut).values, atol=1e-6)


def test_the_few_that_differ_are_kept_where_all_others_are_equal() -> None:
    values = np.full(400, 3.0)
    values[200] = 10.0
    signal = standard(values)
    assert signal.values[200] == pytest.approx(20, rel=0.01)  # of 400, one: the root of 400


def test_infinite_values_are_gaps() -> None:
    values = np.sin(np.arange(60.0))
    missing = values.copy()
    values[[5, 17]], missing[[5, 17]] = (math.inf, -math.inf), math.nan
    np.testing.assert_array_equal(standard(values).values, standard(missing).values)
    assert standard(values).count == 58


@pytest.mark.parametrize(
    "values",
    [
        np.array([]),
        np.arange(FEWEST_SAMPLES - 1) % 2.0,
        np.concatenate((np.arange(FEWEST_SAMPLES - 1) % 2.0, np.full(100, np.nan))),
        np.full(100, np.nan),
        np.full(100, np.inf),
        np.zeros(100),
        np.full(100, 0.1),
        np.full(100, -1e300),
        np.full(100, 5e-324),
        0.1 * np.arange(100),
    ],
)
def test_none_where_there_is_too_little_or_nothing_varies(values: FloatArray) -> None:
    assert standardised(values) is None


def test_standardised_leaves_its_input_alone() -> None:
    values = wandering(np.random.default_rng(6), 50, 0.2)
    before = values.copy()
    standardised(values)
    np.testing.assert_array_equal(values, before)


def test_two_dimensions_are_refused_with_a_hint() -> None:
    with pytest.raises(CepheidError, match="2 dimensions") as error:
        standardised(np.zeros((20, 20)))
    assert error.value.hint


@given(st.integers(1, 3_000_000))
def test_a_fast_size_is_large_enough_and_a_product_of_small_primes(at_least: int) -> None:
    size = rest = _fast_size(at_least)
    assert at_least <= size <= max(1.2 * at_least, at_least + 1)
    for prime in (2, 3, 5):
        while rest % prime == 0:
            rest //= prime
    assert rest == 1


@given(
    st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=50).flatmap(
        lambda values: st.tuples(st.just(values), st.integers(1, len(values)))
    )
)
def test_moving_sum_adds_up_every_stretch(values_and_width: tuple[list[float], int]) -> None:
    values, width = values_and_width
    expected = [math.fsum(values[i : i + width]) for i in range(len(values) - width + 1)]
    np.testing.assert_allclose(moving_sum(np.array(values), width), expected, atol=1e-9)
