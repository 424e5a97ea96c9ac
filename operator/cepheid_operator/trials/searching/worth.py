"""How good is a throughput for what the user wants? Pure."""

import math

import numpy as np

from cepheid.model import FloatArray
from cepheid.placementtrial import Goal, Optimise, Placement

TOO_LATE = 4.0
"""A deadline that is missed weighs like fifty times the cost: more than anything could save."""
LATER = 20.0
"""And the more the later: of those that all miss it, the fastest is the best."""


def value(
    optimise: Optimise,
    per_second: FloatArray,
    placement: Placement,
    *,
    watts: FloatArray | float | None = None,
    price: float | None = None,
) -> FloatArray:
    """Higher is better, and 0.05 more is 5 % better.

    NaN where the goal needs a price or a power that is not known.
    """
    rate = np.log(per_second)
    match optimise.goal:
        case Goal.THROUGHPUT:
            worth = rate
        case Goal.THROUGHPUT_PER_GPU:
            worth = rate - math.log(placement.gpus)
        case Goal.COST:
            worth = rate - np.log(placement.gpus * _known(price))
        case Goal.ENERGY:
            worth = rate - np.log(_known(watts))
        case Goal.DEADLINE:
            late = np.log(_known(optimise.work) / _known(optimise.deadline_seconds)) - rate
            cost = math.log(placement.gpus) + (0.0 if price is None else math.log(price) - rate)
            worth = -cost - np.where(late <= 0, 0.0, TOO_LATE + LATER * late)
    return np.asarray(worth)


def _known(figure: FloatArray | float | None) -> FloatArray | float:
    return math.nan if figure is None else figure
