"""One that lags is named; two groups, noise and trifles are not."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.analysis.stragglers import Stragglers, find_stragglers
from cepheid.errors import CepheidError
from cepheid.model import FloatArray

NAN = math.nan


def among(levels: list[float], *, higher_is_worse: bool = True, least: float = 0.0) -> Stragglers:
    workers = {f"w{place}": level for place, level in enumerate(levels)}
    found = find_stragglers(workers, higher_is_worse=higher_is_worse, least_difference=least)
    assert found is not None
    return found


def names(found: Stragglers) -> list[str]:
    return [straggler.worker for straggler in found.workers]


@pytest.mark.parametrize(
    ("levels", "expected"),
    [
        ([1.0, 1, 1], []),
        ([1.0, 1, 2], ["w2"]),
        # Two others need 3.5 * 3 spreads of 1.5 %: 15.75 %; seven need 3.5 * 4 / 3 * 1.5: 10.5 %.
        ([1.0, 1, 1.15], []),
        ([1.0, 1, 1.16], ["w2"]),
        ([1.0] * 7 + [1.1], []),
        ([1.0] * 7 + [1.11], ["w7"]),
        ([1.5, 1, 1, 1, 1, 1, 2], ["w6", "w0"]),
        # Ahead of the others is not behind them.
        ([1.0, 1, 1, 1, 0.1], []),
        ([0.0, 0, 0, 0, 1], ["w4"]),
        ([1.0, NAN, 1, 1, 2, math.inf], ["w4"]),
    ],
)
def test_stragglers_of_known_levels(levels: list[float], expected: list[str]) -> None:
    found = among(levels)
    assert names(found) == expected
    assert not found.two_groups


def test_figures_of_a_straggler() -> None:
    """Others at 90, 98, 100, 102, 110: MAD 2, so a spread of 2.9652."""
    found = among([90.0, 98, 100, 102, 110, 200])
    (straggler,) = found.workers
    assert (straggler.level, straggler.others) == (200, 100)
    assert straggler.difference_percent == pytest.approx(100)
    assert straggler.spreads == pytest.approx(100 / 2.9652)
    assert found.compared == 6
    assert found.reason == "1 of 6 workers lag; w5 is at 200, the others at 100"


def test_lower_is_worse_for_utilisation() -> None:
    levels = [95.0, 96, 97, 95, 40]
    assert names(among(levels, higher_is_worse=False)) == ["w4"]
    assert names(among(levels, higher_is_worse=True)) == []
    assert among(levels, higher_is_worse=False).workers[0].difference_percent == pytest.approx(
        -100 * 55.5 / 95.5
    )


def test_a_trifle_does_not_count() -> None:
    """Twice the utilisation of the others, but of next to nothing."""
    assert names(among([1.0, 1, 1, 1, 2])) == ["w4"]
    assert names(among([1.0, 1, 1, 1, 2], least=5.0)) == []


@pytest.mark.parametrize("levels", [[1.0, 1, 2, 2], [1.0, 1, 1, 2, 2], [1.0] * 5 + [2.0] * 3])
def test_two_groups_are_not_stragglers(levels: list[float]) -> None:
    found = among(levels)
    assert (found.workers, found.two_groups) == ((), True)
    assert found.reason == f"more than {len(levels) // 3} of {len(levels)} lag"


@pytest.mark.parametrize(
    "levels", [{}, {"a": 1.0}, {"a": 1.0, "b": 9.0}, {"a": 1, "b": 9, "c": NAN}]
)
def test_fewer_than_three_workers_are_none(levels: dict[str, float]) -> None:
    assert find_stragglers(levels, higher_is_worse=True) is None


def test_series_are_compared_by_their_level() -> None:
    """A spike is no lag, a gap is no 0, and at 0 or 100 it is the share of time that counts."""
    random = np.random.default_rng(1)

    def busy(share: float) -> FloatArray:
        return np.where(random.random(800) < share, 100.0, 0.0)

    workers = {f"w{place}": busy(0.9) for place in range(9)}
    workers["w0"][100:120] = -1e6
    workers["w1"][random.random(800) < 0.5] = NAN
    workers["slow"] = busy(0.6)
    found = find_stragglers(workers, higher_is_worse=False)
    assert found is not None
    assert names(found) == ["slow"]


@pytest.mark.parametrize("workers", [3, 4, 8, 64])
def test_equal_workers_with_noise_are_hardly_ever_named(workers: int) -> None:
    random = np.random.default_rng(workers)
    found = [among(list(100 + 5 * random.standard_normal(workers))) for _ in range(300)]
    assert sum(bool(one.workers) for one in found) / 300 <= 0.04


LEVELS = st.lists(st.floats(0.1, 1e6), min_size=3, max_size=30)


@given(LEVELS)
def test_never_more_than_a_third_are_named(levels: list[float]) -> None:
    found = among(levels)
    assert len(found.workers) <= len(levels) / 3
    typical = np.median(levels)
    assert all(straggler.level > typical for straggler in found.workers)


@given(LEVELS, st.sampled_from([0.125, 4.0, 1024.0]))
def test_the_unit_does_not_matter(levels: list[float], unit: float) -> None:
    assert names(among(levels)) == names(among([level * unit for level in levels]))


@given(LEVELS)
def test_mirrored_levels_with_the_other_direction_are_the_same(levels: list[float]) -> None:
    mirrored = among([-level for level in levels], higher_is_worse=False)
    assert names(among(levels)) == names(mirrored)


@given(st.floats(-1e15, 1e15), st.integers(3, 50))
def test_equal_workers_are_none(level: float, workers: int) -> None:
    assert names(among([level] * workers)) == []


@given(
    st.lists(st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=12), max_size=8),
    st.booleans(),
)
def test_no_values_warn_or_fail(series: list[list[float]], higher: bool) -> None:
    find_stragglers({str(at): one for at, one in enumerate(series)}, higher_is_worse=higher)


def test_bad_input_is_refused_with_a_hint() -> None:
    with pytest.raises(CepheidError, match="values of b") as error:
        find_stragglers({"a": 1.0, "b": np.zeros((2, 2))}, higher_is_worse=True)
    assert error.value.hint
