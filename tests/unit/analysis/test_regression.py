"""A run is worse where it is unusually so, and by enough to matter."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.analysis.regression import Regression, find_regression
from cepheid.errors import CepheidError

NAN = math.nan
ANY_FLOAT = st.floats(allow_nan=True, allow_infinity=True)
RUNS = st.lists(st.floats(1.0, 1e6), min_size=3, max_size=20)


def sure(regression: Regression | None) -> Regression:
    assert regression is not None
    return regression


@pytest.mark.parametrize(
    ("earlier", "new", "percent", "spreads", "needed", "verdict"),
    [
        # Spread 1.5 % of 100; three runs need 3.5 * (1 + 2 / 2) of them.
        ([100.0, 100, 100], 110.0, 10, 6.6667, 7.0, "same"),
        ([100.0, 100, 100], 111.0, 11, 7.3333, 7.0, "worse"),
        ([100.0, 100, 100], 89.0, -11, -7.3333, 7.0, "better"),
        # Spread 1.4826 * 2; five runs need 3.5 * 1.5.
        ([98.0, 99, 101, 103, 105], 115.0, 13.861, 4.7214, 5.25, "same"),
        ([98.0, 99, 101, 103, 105], 118.0, 16.832, 5.7332, 5.25, "worse"),
        # An outlier among them changes little.
        ([100.0, 101, 99, 100, 900], 110.0, 10, 6.6667, 5.25, "worse"),
        ([100.0, NAN, 100, 100, math.inf], 111.0, 11, 7.3333, 7.0, "worse"),
        # Ever so unusual, but less than 5 %.
        ([100.0] * 1000, 104.9, 4.9, 3.2667, 3.507, "same"),
        ([-100.0] * 3, -89.0, 11, 7.3333, 7.0, "worse"),
        ([0.0, 0, 0], 1.0, None, math.inf, 7.0, "worse"),
        ([0.0, 0, 0], 0.0, None, 0, 7.0, "same"),
    ],
)
def test_regression_of_known_runs(
    earlier: list[float],
    new: float,
    percent: float | None,
    spreads: float,
    needed: float,
    verdict: str,
) -> None:
    found = sure(find_regression(earlier, new, higher_is_worse=True))
    assert found.verdict == verdict
    assert found.change_percent == (None if percent is None else pytest.approx(percent, rel=1e-4))
    assert found.spreads == pytest.approx(spreads, rel=1e-4)
    assert found.spreads_needed == pytest.approx(needed, rel=1e-3)


def test_least_change_is_what_the_caller_says() -> None:
    for least, verdict in [(12.0, "same"), (10.0, "worse")]:
        found = find_regression([100.0] * 3, 111, higher_is_worse=True, least_change_percent=least)
        assert sure(found).verdict == verdict


def test_the_reason_holds_the_figures() -> None:
    found = sure(find_regression([100.0, 100, 100, NAN], 120.0, higher_is_worse=True))
    assert found.earlier_runs == 3
    assert found.typical == 100
    assert found.reason == (
        "120 after 100 in 3 earlier runs: +20.0 %, 13.3 spreads where 7.0 are unusual"
    )


@pytest.mark.parametrize(
    ("earlier", "new"),
    [([], 1.0), ([1.0], 1.0), ([1.0, 1], 1.0), ([1.0, 1, NAN], 1.0), ([1.0, 1, 1], NAN)],
)
def test_too_few_runs_are_none(earlier: list[float], new: float) -> None:
    assert find_regression(earlier, new, higher_is_worse=True) is None


# Measured in 100,000 draws: 1.6, 1.7, 0.8 and 0.3 %.
@pytest.mark.parametrize("runs", [3, 5, 10, 20])
def test_ordinary_runs_are_hardly_ever_called_worse(runs: int) -> None:
    random = np.random.default_rng(runs)
    draws = 100 + 5 * random.standard_normal((1000, runs + 1))
    found = [sure(find_regression(row[1:], row[0], higher_is_worse=True)) for row in draws]
    assert sum(one.verdict == "worse" for one in found) / 1000 <= 0.03


OPPOSITE = {"worse": "better", "better": "worse", "same": "same"}


@given(RUNS, st.floats(1.0, 1e6))
def test_the_other_direction_gives_the_opposite_verdict(earlier: list[float], new: float) -> None:
    high = sure(find_regression(earlier, new, higher_is_worse=True))
    low = sure(find_regression(earlier, new, higher_is_worse=False))
    assert low.verdict == OPPOSITE[high.verdict]
    assert low.change_percent == high.change_percent


@given(RUNS, st.floats(1.0, 1e6), st.sampled_from([0.125, 2.0, 1024.0]))
def test_the_unit_does_not_matter(earlier: list[float], new: float, unit: float) -> None:
    plain = sure(find_regression(earlier, new, higher_is_worse=True))
    scaled = sure(find_regression(np.array(earlier) * unit, new * unit, higher_is_worse=True))
    assert scaled.verdict == plain.verdict
    assert scaled.spreads == pytest.approx(plain.spreads)
    assert scaled.change_percent == pytest.approx(plain.change_percent)


@given(RUNS, st.randoms())
def test_the_order_of_earlier_runs_does_not_matter(earlier: list[float], random: object) -> None:
    shuffled = earlier.copy()
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert find_regression(earlier, 5.0, higher_is_worse=True) == find_regression(
        shuffled, 5.0, higher_is_worse=True
    )


@given(st.lists(ANY_FLOAT, max_size=8), ANY_FLOAT, st.booleans())
def test_no_values_warn_or_fail(earlier: list[float], new: float, higher: bool) -> None:
    found = find_regression(earlier, new, higher_is_worse=higher)
    if found is not None:
        assert not math.isnan(found.spreads)


def test_bad_input_is_refused_with_a_hint() -> None:
    with pytest.raises(CepheidError) as error:
        find_regression(np.zeros((3, 3)), 1.0, higher_is_worse=True)
    assert error.value.hint
