"""Which placement is tried next, for how long, and when is it enough? Pure.

The answer depends on the arguments alone: whoever asks again after a restart gets the same.

Next is what is expected to improve the decision most, a GPU-second. A trial does that in two ways:
it may itself be better than the best so far, and it teaches how the others would be (one GPU of a
type costs little, and tells of all its counts).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cepheid.placementtrial import Placement, State
from cepheid_operator.trials.searching.problem import Candidate, Problem, Tried, left_to_try
from cepheid_operator.trials.searching.race import HOPELESS, Race, race, scaling_of

__all__ = [
    "Best",
    "Candidate",
    "Problem",
    "Stop",
    "Tried",
    "Try",
    "best",
    "choose",
    "is_clear",
    "left_to_try",
    "reserved_gpu_seconds",
    "scaling_of",
]

SURE = 0.98
"""Enough is known when nothing that is left is better by more than the margin, with this."""
HARDLY = 0.02
"""What wins with less than this probability is out of the race."""
PRECISE = 0.3
"""Of the margin: a smaller error decides nothing more."""
SHORTEST_SECONDS = 20.0
IN_VAIN = 3
"""So many trials from which nothing was learnt, and none from which anything was, are enough."""


@dataclass(frozen=True, slots=True)
class Try:
    placement: Placement
    seconds: float
    """At most so long it is measured; `is_clear` may end it earlier."""


@dataclass(frozen=True, slots=True)
class Stop:
    """Nothing more is started. Where trials still run: not before they are over, at least."""

    words: str
    confidence: float
    """How sure it is, 0 to 1, that nothing else is better by more than the margin."""


@dataclass(frozen=True, slots=True)
class Best:
    placement: Placement
    confidence: float
    """As of `Stop`."""


def choose(problem: Problem, tried: Sequence[Tried], running: Sequence[Placement]) -> Try | Stop:
    left = left_to_try(problem, tried, running)
    known = race(problem, tried, running)
    confidence = _confidence(problem, known, left)
    if not left:
        return Stop("all that can be tried was tried", confidence)
    in_vain = [one for one in tried if one.state in (State.FAILED, State.UNMEASURED)]
    if not known.measured and len(in_vain) >= IN_VAIN:
        return Stop(f"{len(in_vain)} trials ran and none could be measured", confidence)
    if (known.worths <= HOPELESS).all():
        return Stop(f"nothing here says what counts: {problem.optimise.goal}", confidence)
    leader, margin_percent = known.leader(), problem.optimise.margin_percent
    if leader is not None:
        unsure = known.chance_of_better(leader, left, math.log1p(margin_percent / 100))
        if unsure <= 1 - SURE:
            words = f"no other placement is likely to be better by {margin_percent:g} %"
            return Stop(words, confidence)
    affordable = [one for one in left if _seconds(problem, one) is not None]
    if not affordable:
        hours = problem.left_gpu_seconds / 3600
        return Stop(f"{hours:.2g} GPU-hours are left: too few for another trial", confidence)
    lengths = [_seconds(problem, one) or 0.0 for one in affordable]
    costs = [
        reserved_gpu_seconds(problem, one, seconds)
        for one, seconds in zip(affordable, lengths, strict=True)
    ]
    first = int(np.argmax(known.gains(affordable) / costs))
    return Try(affordable[first], lengths[first])


def is_clear(problem: Problem, tried: Sequence[Tried], running_one: Tried) -> bool:
    """Whether nothing that is still to be decided would change if it were measured for longer.

    `tried` is without it. Precise enough; or precise enough to teach, and no winner.
    """
    seen, margin = running_one.seen, problem.optimise.margin_percent / 100
    if seen is None or seen.error_ratio > margin:
        return False
    if seen.error_ratio <= PRECISE * margin:
        return True
    known = race(problem, [*tried, running_one])
    others = {*left_to_try(problem, tried, [seen.placement]), *known.measured}
    wins = 1 - known.chance_of_better(seen.placement, others, math.log1p(margin))
    return wins < HARDLY


def best(problem: Problem, tried: Sequence[Tried]) -> Best | None:
    """The best of those that were measured, by what the fitted model makes of all of them.

    None before anything was measured.
    """
    known = race(problem, tried)
    leader = known.leader()
    if leader is None:
        return None
    return Best(leader, _confidence(problem, known, left_to_try(problem, tried, ())))


def reserved_gpu_seconds(problem: Problem, placement: Placement, seconds: float) -> float:
    """The most that a trial can hold, if nothing in it outlives its deadline."""
    held = problem.overhead_seconds + problem.limits.warmup_seconds + seconds
    return placement.gpus * held


def _confidence(problem: Problem, known: Race, left: Sequence[Placement]) -> float:
    leader = known.leader()
    if leader is None:
        return 0.0
    margin = math.log1p(problem.optimise.margin_percent / 100)
    return 1 - known.chance_of_better(leader, {*left, *known.measured}, margin)


def _seconds(problem: Problem, placement: Placement) -> float | None:
    """As long as allowed, or a half or a quarter of it where the budget is too small for that."""
    for part in (1, 2, 4):
        seconds = problem.limits.trial_seconds / part
        if part > 1 and seconds < SHORTEST_SECONDS:
            return None
        if reserved_gpu_seconds(problem, placement, seconds) <= problem.left_gpu_seconds:
            return seconds
    return None
