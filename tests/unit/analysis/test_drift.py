"""A change of level is told from noise, also where neighbours are alike."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.analysis.drift import Drift, find_drift
from cepheid.errors import CepheidError
from cepheid.model import FloatArray

NAN = math.nan
SIZE = 1024


def sure(drift: Drift | None) -> Drift:
    assert drift is not None
    return drift


def autoregressive(seed: int, correlation: float) -> FloatArray:
    """By its moving average, cut off where a thousandth is left."""
    lags = np.arange(math.log(1e-3) / math.log(correlation)) if correlation else np.zeros(1)
    weights = correlation**lags
    shocks = np.random.default_rng(seed).standard_normal(SIZE + weights.size - 1)
    return np.convolve(shocks, weights / np.sqrt(weights @ weights), mode="valid")


@pytest.mark.parametrize(
    ("values", "before", "after", "percent", "effect", "beyond"),
    [
        ([5.0] * 32, 5, 5, 0, 0, False),
        ([5.0] * 16 + [6.0] * 16, 5, 6, 20, 1, True),
        ([5.0] * 16 + [4.0] * 16, 5, 4, -20, -1, True),
        ([0.0] * 16 + [1.0] * 16, 0, 1, None, 1, True),
        ([-4.0] * 16 + [-2.0] * 16, -4, -2, 50, 1, True),
        # One value in the middle belongs to no half, and a spike to one stretch of eight.
        ([5.0] * 16 + [99.0] + [6.0] * 16, 5, 6, 20, 1, True),
        ([5.0] * 15 + [1e9] + [5.0] * 16, 5, 5, 0, -1 / 16, False),
        # At 0 or 100 half of the time, and still: the median of the values would be of no use.
        ([0.0, 100.0] * 16, 50, 50, 0, 0, False),
        # Three in four instead of one in two: above by 8 * 12, below by 8 * 4, of 16 * 16.
        ([0.0, 100.0] * 8 + [0.0, 100.0, 100.0, 100.0] * 4, 50, 75, 50, 0.25, False),
        ([0.0, 100.0] * 32 + [0.0, 100.0, 100.0, 100.0] * 16, 50, 75, 50, 0.25, True),
    ],
)
def test_drift_of_known_halves(
    values: list[float],
    before: float,
    after: float,
    percent: float | None,
    effect: float,
    beyond: bool,
) -> None:
    drift = sure(find_drift(values))
    assert (drift.before, drift.after) == pytest.approx((before, after))
    assert drift.shift == pytest.approx(after - before)
    assert drift.shift_percent == (None if percent is None else pytest.approx(percent))
    assert drift.effect_size == pytest.approx(effect)
    assert drift.beyond_noise is beyond


def test_noise_is_six_standard_errors_of_the_stretches() -> None:
    """Stretches at 0, 1 .. 7 and 20, 21 .. 27: their MAD is 2, 1.4826 * 2 * sqrt(2 / 8) * 6."""
    values = np.repeat([*range(8), *range(20, 28)], 2)
    drift = sure(find_drift(values))
    assert drift.noise == pytest.approx(8.8956)
    assert drift.beyond_noise
    assert drift.reason == "from 3.5 to 23.5; chance brings about up to 8.9; effect size 1.00"


# Measured over 4,000 series: 0.6, 1.0 and 2.2 %.
@pytest.mark.parametrize(("correlation", "most"), [(0.0, 2), (0.95, 3), (0.98, 4)])
def test_noise_is_hardly_ever_a_drift(correlation: float, most: float) -> None:
    found = [sure(find_drift(autoregressive(seed, correlation))) for seed in range(300)]
    assert 100 * sum(drift.beyond_noise for drift in found) / 300 <= most


@pytest.mark.parametrize(("correlation", "shift"), [(0.0, 1.0), (0.95, 4.0)])
def test_a_shift_is_found(correlation: float, shift: float) -> None:
    change = shift * (np.arange(SIZE) >= SIZE // 2)
    found = [sure(find_drift(autoregressive(seed, correlation) + change)) for seed in range(100)]
    assert sum(drift.beyond_noise for drift in found) >= 90
    assert np.median([drift.shift for drift in found]) == pytest.approx(shift, rel=0.1)


@given(st.integers(0, 1000), st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), st.floats(-3, 3))
def test_drift_moves_and_scales_with_its_values(
    seed: int, move: float, scale: float, change: float
) -> None:
    values = autoregressive(seed, 0.5) + change * (np.arange(SIZE) >= SIZE // 2)
    plain, moved = sure(find_drift(values)), sure(find_drift(scale * (values + move)))
    assert moved.shift == pytest.approx(scale * plain.shift, rel=1e-4, abs=1e-7 * scale)
    assert moved.noise == pytest.approx(scale * plain.noise, rel=1e-4)
    assert moved.effect_size == pytest.approx(plain.effect_size, abs=1e-4)


@given(st.integers(0, 1000), st.integers(100, 300), st.floats(0, 0.6))
def test_backwards_the_shift_is_the_opposite(seed: int, size: int, missing: float) -> None:
    random = np.random.default_rng(seed)
    values = np.where(random.random(size) < missing, NAN, random.standard_normal(size))
    forth, back = find_drift(values), find_drift(values[::-1])
    if forth is None:
        assert back is None
        return
    back = sure(back)
    assert back.shift == pytest.approx(-forth.shift)
    assert back.effect_size == pytest.approx(-forth.effect_size)
    assert back.beyond_noise is forth.beyond_noise


@pytest.mark.parametrize(
    "values",
    [[], [1.0], [1.0, 2.0], [1.0, 2.0, 3.0], [1.0] * 31, [NAN] * 100, [1.0] * 50 + [NAN] * 50],
)
def test_too_little_data_is_none(values: list[float]) -> None:
    assert find_drift(values) is None


@given(st.floats(-1e15, 1e15), st.integers(0, 2**32), st.integers(40, 300), st.floats(0, 0.2))
def test_a_constant_never_drifts(value: float, seed: int, size: int, missing: float) -> None:
    """Though the means of equal values are not always equal."""
    gaps = np.random.default_rng(seed).random(size) < missing
    drift = find_drift(np.where(gaps, NAN, value))
    assert drift is None or not drift.beyond_noise


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=100))
def test_no_values_warn_or_fail(values: list[float]) -> None:
    drift = find_drift(values)
    if drift is not None:
        assert -1 <= drift.effect_size <= 1
        assert math.isfinite(drift.shift)


def test_bad_input_is_refused_with_a_hint() -> None:
    with pytest.raises(CepheidError) as error:
        find_drift(np.zeros((2, 40)))
    assert error.value.hint
