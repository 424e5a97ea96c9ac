"""What the running sums say of all periods at once is what the definition says of each."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.analysis.autocovariance import Autocovariance, autocovariance, standardised
from cepheid.analysis.repetition import (
    FEWEST_CYCLES,
    Candidates,
    Lags,
    Repetition,
    find_candidates,
    lags_between,
    threshold,
)
from cepheid.model import FloatArray

Random = np.random.Generator


def smooth_noise(random: Random, size: int) -> FloatArray:
    return np.convolve(random.standard_normal(size + 7), np.ones(8), mode="valid")


def on_a_ring(values: FloatArray, lags: int) -> Autocovariance:
    """Of a series whose end meets its beginning: what then holds for it holds to the last bit."""
    rest = values - values.mean()
    at = np.array([rest @ np.roll(rest, -lag) for lag in range(lags)]) / len(rest)
    return Autocovariance(at / at[0])


def averaged_on_a_ring(values: FloatArray, width: int, apart: int = 1) -> FloatArray:
    """Over `width` samples around each, every `apart`-th one."""
    around = range(-(width // 2), width - width // 2)
    total = np.sum([np.roll(values, apart * i) for i in around], axis=0)
    return np.asarray(total / width)


def by_definition(values: FloatArray, period: int, apart: int = 1) -> tuple[float, float]:
    """Variance, and covariance a period later, of the series minus its moving average."""
    rest = values - averaged_on_a_ring(values, period, apart)
    return float(rest.var()), float(np.mean(rest * np.roll(rest, -period * apart)))


@given(seed=st.integers(0, 1000), size=st.integers(80, 200))
def test_on_a_ring_it_is_the_definition_for_every_period(seed: int, size: int) -> None:
    values = smooth_noise(np.random.default_rng(seed), size)
    longest = size // 3
    seen = Repetition.of(on_a_ring(values, 2 * longest + 3), lags_between(2, longest))
    expected = np.array([by_definition(values / values.std(), p) for p in range(2, longest + 1)])
    np.testing.assert_array_equal(seen.periods, np.arange(2, longest + 1))
    np.testing.assert_allclose(seen.within, expected[:, 0], atol=1e-9)
    np.testing.assert_allclose(seen.repeating, expected[:, 1], atol=1e-9)


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("period", [7, 10, 33, 64])
def test_on_a_long_series_it_is_the_definition_but_for_the_ends(
    period: int, missing: float
) -> None:
    random = np.random.default_rng(period)
    position = np.arange(30_000)
    values = 2 * (position % period < period / 3) + smooth_noise(random, len(position))
    values = (values - values.mean()) / values.std()
    average = np.convolve(values, np.ones(period) / period, mode="valid")
    rest = values[period // 2 :][: len(average)] - average
    expected = rest.var(), np.mean(rest[period:] * rest[:-period])
    signal = standardised(np.where(random.random(len(values)) < missing, np.nan, values))
    assert signal is not None
    seen = Repetition.of(autocovariance(signal, 200), Lags.of(np.array([period])))
    assert (seen.within[0], seen.repeating[0]) == pytest.approx(expected, abs=0.02)


@pytest.mark.parametrize("period", [5, 8, 21])
def test_what_repeats_stays_whole(period: int) -> None:
    pattern = np.random.default_rng(1).standard_normal(period)
    covariance = on_a_ring(np.tile(pattern, 12), 3 * period)
    seen = Repetition.of(covariance, Lags.of(np.array([period])))
    assert (seen.within[0], seen.repeating[0]) == pytest.approx((1.0, 1.0))


def test_of_a_slow_swing_nearly_nothing_is_left() -> None:
    """A period that is a fiftieth of it sees next to none of its variance."""
    values = np.sin(math.tau * np.arange(1000) / 500)
    seen = Repetition.of(on_a_ring(values, 30), Lags.of(np.array([10])))
    assert abs(seen.within[0]) < 1e-3
    assert abs(seen.repeating[0]) < 1e-3


@pytest.mark.parametrize(
    ("period", "count", "coarse", "expected"),
    [
        # 0.06 + 1.10 (fine) or 1.25 (coarse) times the root of (period + 12) / count
        (4.0, 1600, False, 0.17),
        (4.0, 1600, True, 0.185),
        (13.0, 100, False, 0.61),
        (88.0, 400, True, 0.685),
        # but never more than this, once it came back four times
        (4.0, 16, False, 0.85),
        (4.0, 16, True, 0.85),
        (4.0, 15, False, 1.19607394),
    ],
)
def test_threshold_of_known_periods(
    period: float, count: int, coarse: bool, expected: float
) -> None:
    assert float(threshold(period, count, coarse=coarse)) == pytest.approx(expected)


@given(
    period=st.floats(3, 1000),
    count=st.integers(12, 100_000),
    more=st.integers(1, 1000),
    coarse=st.booleans(),
)
def test_threshold_falls_with_the_samples_and_rises_with_the_period(
    period: float, count: int, more: int, coarse: bool
) -> None:
    here = threshold(period, count, coarse=coarse)
    assert threshold(period, count + more, coarse=coarse) <= here
    assert threshold(period + more, count, coarse=coarse) >= here
    assert threshold(period, count, coarse=True) >= threshold(period, count, coarse=False)


def candidates_on_a_ring(values: FloatArray) -> Candidates:
    longest = int(len(values) / FEWEST_CYCLES)
    covariance = on_a_ring(values, 2 * longest + 3)
    fine = Repetition.of(covariance, lags_between(2, longest))
    return find_candidates(fine, covariance, len(values))


@pytest.mark.parametrize(("size", "period"), [(1000, 50), (1800, 90), (2000, 200)])
def test_coarse_copies_are_those_of_the_averaged_series(size: int, period: int) -> None:
    random = np.random.default_rng(period)
    phase = math.tau * np.arange(size) / period
    values = np.sin(phase) + np.sin(3 * phase) + 0.8 * random.standard_normal(size)
    values = (values - values.mean()) / values.std()
    found = candidates_on_a_ring(values)
    coarse = found.where(found.coarseness > 1)
    assert len(set(coarse.coarseness)) > 1
    for steps, share, variance, step in zip(*coarse, strict=True):
        copy = averaged_on_a_ring(values, int(step))
        # A summit lies up to half a step beside the lag at which it was read.
        within, repeating = min(
            (by_definition(copy, lag, int(step)) for lag in near(steps / step)),
            key=lambda seen: abs(seen[1] - variance),
        )
        assert variance == pytest.approx(repeating, abs=1e-9)
        assert share == pytest.approx(repeating / within, abs=1e-9)
        # Each answers for 8 to 16 of its own steps.
        assert 7 <= steps / step <= 17


def near(steps: float) -> range:
    return range(math.floor(steps), math.ceil(steps) + 1)


def test_candidates_are_summits_above_the_threshold_seen_often_enough() -> None:
    random = np.random.default_rng(2)
    values = np.sin(math.tau * np.arange(600) / 24) + 0.5 * random.standard_normal(600)
    values = (values - values.mean()) / values.std()
    found = candidates_on_a_ring(values)
    fine = found.where(found.coarseness == 1)
    shares = {
        period: (by_definition(values, period)[1] / by_definition(values, period)[0])
        for period in range(2, 207)
    }
    expected = [
        period
        for period in range(3, 206)
        if shares[period - 1] <= shares[period] > shares[period + 1]
        and shares[period] > threshold(period, 600, coarse=False)
    ]
    np.testing.assert_array_equal(fine.periods, expected)
    np.testing.assert_allclose(fine.shares, [shares[period] for period in expected])
    assert 24 in expected
    assert found.periods.max() * FEWEST_CYCLES <= 600 + 8


def test_a_summit_of_a_coarse_copy_lies_between_its_steps() -> None:
    """Of 101 samples, read on copies of 8 and 16: nearer than half a step."""
    position = np.arange(2020)
    found = candidates_on_a_ring(np.sin(math.tau * position / 101))
    coarse = found.where((found.coarseness >= 8) & (np.abs(found.periods - 101) < 16))
    assert len(coarse.periods)
    np.testing.assert_allclose(coarse.periods, 101, atol=1.5)


def test_a_short_series_has_no_coarse_copies() -> None:
    values = np.tile([0.0, 1.0, 2.0], 10)
    assert set(candidates_on_a_ring(values).coarseness) == {1.0}
