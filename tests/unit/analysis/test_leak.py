"""Growth that goes on is found; caches, loads, start-ups, cycles and wandering are not."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cepheid.analysis.leak import CONFIDENT, Leak, find_leak
from cepheid.errors import CepheidError
from cepheid.model import FloatArray

SIZE = 1024
T: FloatArray = np.arange(SIZE, dtype=np.float64) / SIZE
STEP = 15.0
WINDOW = SIZE * STEP

Random = np.random.Generator
Make = Callable[[Random], FloatArray]


def noise(random: Random, size: float = 1.0) -> FloatArray:
    return size * random.standard_normal(SIZE)


def autoregressive(random: Random, correlation: float) -> FloatArray:
    """By its moving average, cut off where a thousandth is left."""
    weights = correlation ** np.arange(math.log(1e-3) / math.log(correlation))
    shocks = random.standard_normal(SIZE + weights.size - 1)
    return np.convolve(shocks, weights / np.sqrt(weights @ weights), mode="valid")


def walk(random: Random) -> FloatArray:
    return np.cumsum(noise(random))


def teeth(random: Random, fewest: float, most: float) -> FloatArray:
    return (T * random.uniform(fewest, most) + random.random()) % 1


def collections(random: Random, longest: int) -> FloatArray:
    """Teeth of all lengths, as a garbage collector makes them."""
    lengths = random.integers(10, longest, SIZE // 10)
    return np.concatenate([np.linspace(0, 1, length) for length in lengths])[:SIZE]


def loads(random: Random, count: int) -> FloatArray:
    sizes, times = random.random((2, count, 1))
    total: FloatArray = np.sum(sizes * (times < T), axis=0)
    return total


def with_gaps(values: FloatArray, random: Random) -> FloatArray:
    """A fifth of the samples, and one tenth of the series at once."""
    values = np.where(random.random(SIZE) < 0.2, np.nan, values)
    start = random.integers(0, SIZE * 7 // 10)
    values[start : start + SIZE // 10] = np.nan
    return values


# What is no leak, and in how many percent of 300 series it may be called one. Measured with
# seeds that nothing was tuned on: random walk 1.5 % (of 2,000), with gaps 0.5, slow cycles 1.5,
# cache of long teeth 3.8 (1.2 with the seeds below), growth that stopped 0.2, others 0 (of 400).
HARMLESS: dict[str, tuple[Make, float]] = {
    "noise": (lambda r: 100 + noise(r), 1),
    "correlated noise": (lambda r: autoregressive(r, 0.95), 1),
    "strongly correlated noise": (lambda r: autoregressive(r, 0.99), 2),
    "random walk": (walk, 3),
    "random walk with gaps": (lambda r: with_gaps(walk(r), r), 3),
    "one load": (lambda r: 10 * loads(r, 1) + noise(r, 0.3), 1),
    "six loads": (lambda r: 10 * loads(r, 6) + noise(r, 0.3), 1),
    "six loads without noise": (lambda r: 10 * loads(r, 6), 1),
    "start-up": (lambda r: 10 * np.minimum(1, T / r.uniform(0.02, 0.5)) + noise(r, 0.1), 1),
    "warm-up": (lambda r: 10 * (1 - np.exp(-T / r.uniform(0.01, 0.2))) + noise(r, 0.1), 1),
    "growth that stopped": (
        lambda r: 10 * np.minimum(1, T / r.uniform(0.5, 0.75)) + noise(r, 0.1),
        2,
    ),
    "cache": (lambda r: 10 * teeth(r, 3, 40) + noise(r, 0.3), 1),
    "cache of long teeth": (lambda r: 10 * teeth(r, 1, 3) + noise(r, 0.3), 3),
    "garbage collector": (lambda r: 10 * collections(r, 120) + noise(r, 0.3), 1),
    "cycles": (lambda r: 10 * np.sin(math.tau * teeth(r, 1, 20)) + noise(r, 0.3), 1),
    "slow cycles": (lambda r: 10 * np.sin(math.tau * teeth(r, 0.5, 1)) + noise(r, 0.3), 3),
    "shrinking": (lambda r: noise(r) - 10 * T, 1),
}

# What is a leak, of 10 over the window, and in how many percent at least it is found.
# Measured: 74 % in correlated noise, 97 % and more in all others.
LEAKS: dict[str, tuple[Make, float]] = {
    "twice the noise": (lambda r: noise(r, 2), 95),
    "correlated noise": (lambda r: autoregressive(r, 0.95), 65),
    "cache of six teeth": (lambda r: 10 * teeth(r, 6, 6) + noise(r, 0.3), 95),
    "cache of twelve teeth": (lambda r: 10 * teeth(r, 12, 12) + noise(r, 0.3), 95),
    "cache three times as large": (lambda r: 30 * teeth(r, 20, 60) + noise(r, 0.3), 90),
    "garbage collector": (lambda r: 10 * collections(r, 80) + noise(r, 0.3), 95),
    "gaps": (lambda r: with_gaps(noise(r), r), 97),
    "start-up": (lambda r: 50 * np.minimum(1, T / r.uniform(0.02, 0.12)) + noise(r, 0.5), 95),
    "a load": (lambda r: 50 * (0.45 * r.random() < T) + noise(r, 0.5), 90),
    "spikes": (lambda r: 30 * (r.random(SIZE) < 0.03) + noise(r, 0.5), 97),
}


@pytest.mark.parametrize("kind", HARMLESS)
def test_what_is_no_leak_is_hardly_ever_called_one(kind: str) -> None:
    make, most = HARMLESS[kind]
    found = [find_leak(make(np.random.default_rng(seed)), STEP) for seed in range(300)]
    assert 100 * sum(leak is not None for leak in found) / len(found) <= most


@pytest.mark.parametrize("kind", LEAKS)
def test_a_leak_is_found_with_its_growth(kind: str) -> None:
    make, least = LEAKS[kind]
    found = []
    for seed in range(200):
        leak = find_leak(10 * T + make(np.random.default_rng(seed)), STEP)
        if leak is not None:
            found.append(leak.growth_per_second * WINDOW)
    assert len(found) / 2 >= least
    assert np.median(found) == pytest.approx(10, rel=0.05)


def sure(leak: Leak | None) -> Leak:
    assert leak is not None
    return leak


@pytest.mark.parametrize(("size", "step"), [(64, 30.0), (1000, 15.0), (20160, 30.0)])
def test_figures_of_a_straight_line(size: int, step: float) -> None:
    """2 a second from 100 on; the last value is that far from the limit."""
    values = 100 + 2 * step * np.arange(size, dtype=np.float64)
    leak = sure(find_leak(values, step, limit=float(values[-1]) + 7200))
    assert leak.growth_per_second == pytest.approx(2)
    assert leak.seconds_to_limit == pytest.approx(3600)
    assert leak.confidence == pytest.approx(1)
    assert leak.observed_seconds == size * step
    assert "7.2e+03 an hour" in leak.reason


def test_the_limit_is_reached_by_the_peaks() -> None:
    """A floor at 10 and teeth of 20 on it, which reach 30."""
    teeth_of_20 = 20 * (np.arange(SIZE) % 16) / 15
    leak = sure(find_leak(10 * T + teeth_of_20, STEP, limit=40.0))
    assert leak.seconds_to_limit == pytest.approx(WINDOW, rel=0.01)


def test_no_time_to_a_limit_that_was_not_given_and_none_left_beyond_it() -> None:
    assert sure(find_leak(10 * T, STEP)).seconds_to_limit is None
    assert sure(find_leak(10 * T, STEP, limit=5.0)).seconds_to_limit == 0


def test_growth_is_that_since_the_load() -> None:
    values = 10 * T + 500 * (T > 0.25)
    leak = sure(find_leak(values, STEP))
    assert leak.growth_per_second * WINDOW == pytest.approx(10)
    assert leak.observed_seconds == pytest.approx(0.75 * WINDOW, rel=0.1)


def test_time_before_the_job_does_not_count() -> None:
    values = np.concatenate((np.full(5000, np.nan), 10 * T))
    assert sure(find_leak(values, STEP)).observed_seconds == WINDOW


def test_none_where_the_end_is_missing() -> None:
    values = 10 * T
    values[-SIZE // 5 :] = np.nan
    assert find_leak(values, STEP) is None


@given(
    st.integers(0, 100),
    st.floats(-1e6, 1e6),
    st.floats(1e-3, 1e6),
    st.sampled_from([1.0, 15.0, 60.0]),
)
def test_a_leak_moves_and_scales_with_its_values(
    seed: int, shift: float, scale: float, step: float
) -> None:
    values = 10 * T + noise(np.random.default_rng(seed), 0.5)
    plain = sure(find_leak(values, 1.0, limit=20.0))
    moved = sure(find_leak(scale * (values + shift), step, limit=scale * (20 + shift)))
    assert moved.growth_per_second == pytest.approx(
        plain.growth_per_second * scale / step, rel=1e-6
    )
    assert moved.seconds_to_limit == pytest.approx((plain.seconds_to_limit or 0) * step, rel=1e-3)
    assert moved.confidence == pytest.approx(plain.confidence, abs=1e-6)


@given(st.integers(0, 100))
def test_a_leak_backwards_is_none(seed: int) -> None:
    values = 10 * T + noise(np.random.default_rng(seed), 0.5)
    assert find_leak(values, STEP) is not None
    assert find_leak(values[::-1], STEP) is None


def constant(value: float, size: int) -> list[float]:
    return [value] * size


@settings(max_examples=200)
@given(
    st.one_of(
        st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=4),
        st.builds(
            constant,
            st.floats(allow_nan=True, allow_infinity=True),
            st.integers(0, 300),
        ),
    )
)
def test_few_constant_and_missing_values_are_none(values: list[float]) -> None:
    assert find_leak(values, STEP, limit=1.0) is None


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=64, max_size=200))
def test_no_values_warn_or_fail(values: list[float]) -> None:
    leak = find_leak(values, STEP, limit=1e9)
    if leak is not None:
        assert leak.growth_per_second > 0
        assert CONFIDENT <= leak.confidence <= 1


@pytest.mark.parametrize("step", [0.0, -1.0, math.nan, math.inf])
def test_an_impossible_step_is_refused_with_a_hint(step: float) -> None:
    with pytest.raises(CepheidError) as error:
        find_leak([1.0], step)
    assert error.value.hint


def test_two_dimensions_are_refused_with_a_hint() -> None:
    with pytest.raises(CepheidError) as error:
        find_leak(np.zeros((2, 2)), STEP)
    assert error.value.hint
