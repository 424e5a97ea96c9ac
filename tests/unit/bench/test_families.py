"""The synthetic series: what they say of themselves is true."""

import numpy as np
import pytest

from tests.bench.families import FEWEST_CYCLES, NEGATIVE, POSITIVE, SHORTEST_PERIOD, sample, samples


def test_the_same_arguments_give_the_same_series_whatever_else_is_asked_for() -> None:
    alone = sample("gaps", 3, 7)
    among = [s for s in samples(5, 7) if s.family == "gaps"][3]
    np.testing.assert_array_equal(alone.values, among.values)
    assert alone.periods == among.periods
    assert sample("gaps", 4, 7).periods != alone.periods
    assert sample("gaps", 3, 8).periods != alone.periods


@pytest.mark.parametrize("family", POSITIVE)
def test_cyclic_families_are_hard_but_can_be_seen(family: str) -> None:
    for number in range(20):
        series = sample(family, number)
        assert series.periods
        assert min(series.periods) >= 0.8 * SHORTEST_PERIOD
        cycles = np.isfinite(series.values).sum() / min(series.periods)
        assert cycles >= 0.8 * FEWEST_CYCLES


@pytest.mark.parametrize("family", NEGATIVE)
def test_families_without_a_cycle_claim_none(family: str) -> None:
    assert all(sample(family, number).periods == () for number in range(5))


def test_a_length_that_is_asked_for_is_kept() -> None:
    assert {len(sample(f, 0, 0, 700).values) for f in (*POSITIVE, *NEGATIVE)} == {700}


def test_the_period_of_a_clean_family_is_in_the_series() -> None:
    """Folded at its true period a series varies less than folded at others."""
    series = sample("sine", 1, 5, 1024)
    known = np.isfinite(series.values)

    def rest(period: float) -> float:
        phases = (np.arange(len(series.values)) / period % 1 * 12).astype(int)
        parts = [series.values[known & (phases == p)] for p in range(12)]
        return float(np.mean([part.var() for part in parts if len(part)]))

    (period,) = series.periods
    assert rest(period) < min(rest(1.13 * period), rest(0.87 * period))
