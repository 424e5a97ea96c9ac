"""One job, searched with enough GPU-hours, with too few, by a grid and at random."""

import math
from dataclasses import dataclass

import numpy as np

from cepheid.placementtrial import State
from cepheid_operator.trials.searching import search
from tests.bench.trials.play import Game, search_for, try_all, try_at_random
from tests.bench.trials.truth import Job

GOOD = 0.05
"""A loss up to this is as good as the best."""


@dataclass(frozen=True, kw_only=True)
class Score:
    """Losses: how much worse than the best that can be had; infinite without an answer."""

    family: str
    goal: str
    placements: int
    loss: float
    leader_loss: float
    grid_loss: float
    random_loss: float
    spent: float
    """Of the grid's GPU-seconds; likewise below."""
    trials: int
    out_of_memory: int
    measured_seconds: float
    """Mean of its trials."""
    covered: float
    """Of what was not tried, how much lies in its 90 % band."""
    cpu_seconds: tuple[float, ...]
    words: str
    tight_budget: float
    tight_spent: float
    tight_loss: float
    parallel: int


def score(job: Job) -> Score:
    """Raises OverBudgetError."""
    grid = try_all(job)
    free = search_for(job, math.inf)
    chance = np.random.default_rng([*job.seed, 7])
    share = math.exp(chance.uniform(math.log(0.005), math.log(0.4)))
    parallel = int(chance.integers(1, 5))
    tight = search_for(job, share * grid.spent, parallel)
    states = [one.state for one in free.tried]
    return Score(
        family=job.family,
        goal=job.optimise.goal.value,
        placements=len(job.candidates),
        loss=_loss(free),
        leader_loss=math.inf if free.leader is None else job.loss(free.leader),
        grid_loss=_loss(grid),
        random_loss=_loss(try_at_random(job, free.spent)),
        spent=free.spent / grid.spent,
        trials=len(states),
        out_of_memory=states.count(State.OUT_OF_MEMORY),
        measured_seconds=float(np.mean([e.measured_seconds for e in free.ended])),
        covered=_covered(free),
        cpu_seconds=tuple(free.cpu_seconds),
        words=free.words,
        tight_budget=share,
        tight_spent=tight.spent / grid.spent,
        tight_loss=_loss(tight),
        parallel=parallel,
    )


def _loss(game: Game) -> float:
    return math.inf if game.answer is None else game.job.loss(game.answer)


def _covered(game: Game) -> float:
    tried = {one.placement for one in game.tried}
    placements = [c.placement for c in game.job.candidates if c.placement not in tried]
    if not placements:
        return math.nan
    bands = search.scaling_of(game.problem(0.0), game.tried).band(placements)
    truths = [game.job.per_second(one) for one in placements]
    inside = [band.low <= truth <= band.high for band, truth in zip(bands, truths, strict=True)]
    return float(np.mean(inside))
