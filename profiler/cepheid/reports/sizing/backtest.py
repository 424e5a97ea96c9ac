"""Would advice have broken a run that went well?

Leave-one-out: the advice that all other runs give is held against the one that was left out, each
in turn. The advice of all runs together would break none of them by the way it is made, which
says nothing of the next one; this does.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

FEWEST_RUNS = 2
ROUNDING = 1e-6
"""By less than that two amounts are the same."""
Run = TypeVar("Run")
Advice = TypeVar("Advice")


@dataclass(frozen=True, slots=True)
class Need:
    """Of one resource, in one run."""

    least: float
    """With less it breaks."""
    wanted: float
    """What it would have asked for: with the buffer."""
    is_open: bool = False
    """It broke with `least`: not even that is enough, and how much is, is not known."""

    @property
    def enough(self) -> float:
        """With that, or more, it does not break."""
        return self.least * (1 + ROUNDING if self.is_open else 1 - ROUNDING)

    def is_met(self, amount: float) -> bool:
        return amount > self.enough if self.is_open else amount >= self.enough


def most_of_others(values: Sequence[float]) -> list[float]:
    """For each of them, the highest of all the others; in one pass, as there may be many jobs."""
    first = max(range(len(values)), key=values.__getitem__)
    second = max((value for place, value in enumerate(values) if place != first), default=-math.inf)
    return [second if place == first else values[first] for place in range(len(values))]


def broken_by_most(needs: Sequence[Need], advise: Callable[[float, float], float]) -> list[int]:
    """The same where advice rests on two figures: the most wanted, and the most that is needed."""
    if len(needs) < FEWEST_RUNS:
        return []
    wanted = most_of_others([need.wanted for need in needs])
    least = most_of_others([need.enough for need in needs])
    told = cache(advise)  # of all but one or two runs it is the same
    return [
        place
        for place, need in enumerate(needs)
        if not need.is_met(told(wanted[place], least[place]))
    ]


def broken(
    runs: Sequence[Run],
    advise: Callable[[Sequence[Run]], Advice],
    is_met: Callable[[Advice, Run], bool],
) -> tuple[int, ...] | None:
    """Which of the runs would have broken, by place; None where there are too few to tell."""
    if len(runs) < FEWEST_RUNS:
        return None
    return tuple(
        place
        for place, run in enumerate(runs)
        if not is_met(advise([*runs[:place], *runs[place + 1 :]]), run)
    )
