"""How good a throughput is, for each goal."""

import math

import numpy as np
import pytest

from cepheid.placementtrial import Goal, Optimise, Placement
from cepheid_operator.trials.searching.worth import value

FOUR = Placement(gpu_type="A100", workers=4)
EIGHT = Placement(gpu_type="A100", workers=8)


def worth(goal: Goal, rate: float, placement: Placement, **known: float) -> float:
    optimise = Optimise(goal=goal, work=1000.0, deadline_seconds=100.0)
    return float(value(optimise, np.array(rate), placement, **known))


def difference(goal: Goal, rates: tuple[float, float], **known: float) -> float:
    """By how much eight are better than four."""
    return worth(goal, rates[1], EIGHT, **known) - worth(goal, rates[0], FOUR, **known)


def test_throughput_is_all_that_counts() -> None:
    assert difference(Goal.THROUGHPUT, (10, 11)) == pytest.approx(math.log(1.1))


def test_a_gpu_that_is_used_half_is_half_as_good() -> None:
    assert difference(Goal.THROUGHPUT_PER_GPU, (10, 10)) == pytest.approx(-math.log(2))


def test_of_the_same_price_the_cost_is_that_of_the_gpu_seconds() -> None:
    assert difference(Goal.COST, (10, 20), price=3.0) == pytest.approx(0)
    cheap, dear = worth(Goal.COST, 10, FOUR, price=1.0), worth(Goal.COST, 10, FOUR, price=2.0)
    assert cheap - dear == pytest.approx(math.log(2))


def test_energy_is_power_over_throughput() -> None:
    low, high = worth(Goal.ENERGY, 10, FOUR, watts=300), worth(Goal.ENERGY, 20, FOUR, watts=600)
    assert low == pytest.approx(high)


@pytest.mark.parametrize(("rates", "better"), [((11, 30), 4), ((9.8, 10.2), 8), ((5, 7), 8)])
def test_a_deadline_is_kept_with_the_fewest_gpus(rates: tuple[float, float], better: int) -> None:
    """1000 in 100 seconds: 10 a second are just enough."""
    assert (difference(Goal.DEADLINE, rates) > 0) == (better == 8)


def test_a_deadline_is_kept_for_the_least_money() -> None:
    assert difference(Goal.DEADLINE, (11, 23), price=1.0) > 0
    assert difference(Goal.DEADLINE, (11, 21), price=1.0) < 0


def test_what_cannot_be_judged_is_not_a_number() -> None:
    assert math.isnan(worth(Goal.COST, 10, FOUR))
    assert math.isnan(worth(Goal.ENERGY, 10, FOUR))
    assert math.isnan(float(value(Optimise(goal=Goal.DEADLINE), np.array(1.0), FOUR)))
