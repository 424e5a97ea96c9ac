"""Which placement is recommended, and how sure is that? Pure.

What was measured comes before what is foreseen: one that was not tried must be better beyond doubt.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cepheid.analysis.scaling import Scaling
from cepheid.model import FloatArray
from cepheid.placementtrial import Goal, Optimise, Placement
from cepheid_operator.trials.answering.figures import Figure, ratio
from cepheid_operator.trials.searching import search
from cepheid_operator.trials.searching.search import Problem, Tried
from cepheid_operator.trials.searching.worth import value

SURE = 0.95
"""So sure it must be that one that was not tried is better, before it is recommended."""


@dataclass(frozen=True, slots=True)
class Choice:
    placement: Placement
    confidence: float
    """0 to 1: that nothing else is better by more than the margin."""


def choose(
    problem: Problem,
    tried: Sequence[Tried],
    scaling: Scaling,
    measured: Mapping[Placement, Figure],
    *,
    is_over: bool,
) -> Choice | None:
    """None where nothing that was measured can be compared.

    Until it is over, what is not tried yet is not spoken of: it may be the next.
    """
    leader = search.best(problem, tried)
    if leader is None or leader.placement not in measured:
        return None
    left = search.left_to_try(problem, tried, ())
    chances = _Chances(problem, scaling, tried)
    chosen = _fewest_of_equals(problem.optimise, measured, leader.placement)
    if is_over:
        chosen = chances.surely_better(chosen, left) or chosen
    if chosen == leader.placement:
        return Choice(chosen, leader.confidence)
    return Choice(chosen, chances.none_is_better(chosen, left))


def _fewest_of_equals(
    optimise: Optimise, measured: Mapping[Placement, Figure], leader: Placement
) -> Placement:
    """Of those that are as good within the error, and within the margin, the one with fewest GPUs.

    Not with a deadline: there it is the GPUs, or their price, that is compared.
    """
    if optimise.goal is Goal.DEADLINE:
        return leader
    first = measured[leader]
    equals = [leader]
    for one in measured.values():
        worse = ratio(first, one, optimise.goal)
        error_percent = math.hypot(one.error_percent, first.error_percent)
        slack = min(error_percent, optimise.margin_percent) / 100
        if worse is not None and math.log(worse) <= slack:
            equals.append(one.placement)
    return min(equals, key=lambda placement: placement.gpus)  # of equals the leader


class _Chances:
    """By the draws of the fitted model."""

    def __init__(self, problem: Problem, scaling: Scaling, tried: Sequence[Tried]) -> None:
        self._optimise, self._scaling = problem.optimise, scaling
        self._margin = math.log1p(problem.optimise.margin_percent / 100)
        self._prices = {one.placement: one.price for one in problem.candidates}
        self._watts = {one.placement: one.watts for one in tried if one.watts}
        self._measured = [one.placement for one in tried if one.seen is not None]

    def surely_better(self, chosen: Placement, left: Sequence[Placement]) -> Placement | None:
        """The best of those that are better by more than the margin, beyond doubt."""
        found = {}
        own = self._worth(chosen)
        for placement in left:
            ahead = self._worth(placement) - own  # NaN, where that cannot be told, is not more
            if float((ahead > self._margin).mean()) >= SURE:
                found[placement] = float(np.median(ahead))
        return max(found, key=lambda placement: found[placement], default=None)

    def none_is_better(self, chosen: Placement, left: Sequence[Placement]) -> float:
        """How likely that is, by more than the margin."""
        own = self._worth(chosen)
        better = np.zeros(own.shape, dtype=np.bool_)
        for placement in {*left, *self._measured} - {chosen}:
            better |= self._worth(placement) > own + self._margin
        return 1 - float(better.mean())

    def _worth(self, placement: Placement) -> FloatArray:
        return value(
            self._optimise,
            self._scaling.samples([placement])[:, 0],
            placement,
            watts=self._watts.get(placement),
            price=self._prices.get(placement),
        )
