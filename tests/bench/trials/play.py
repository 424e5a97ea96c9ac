"""A search from its first trial to its answer, with its bill; and what else one could do."""

import time
from dataclasses import dataclass, field

import numpy as np

from cepheid.placementtrial import Placement
from cepheid_operator.trials.answering import choice
from cepheid_operator.trials.answering.figures import Figure
from cepheid_operator.trials.searching import search
from cepheid_operator.trials.searching.search import Problem, Stop, Tried
from cepheid_operator.trials.searching.worth import value
from tests.bench.trials.truth import Job
from tests.bench.trials.trying import LIMITS, OVERHEAD_SECONDS, Ended, try_on


class OverBudgetError(Exception):
    """What must never happen."""


@dataclass
class Game:
    job: Job
    ended: list[Ended] = field(default_factory=list)
    answer: Placement | None = None
    leader: Placement | None = None
    """The best of those that were measured; the answer may be another that is as good."""
    words: str = ""
    cpu_seconds: list[float] = field(default_factory=list)
    """Of each choice."""

    @property
    def spent(self) -> float:
        return sum(one.gpu_seconds for one in self.ended)

    @property
    def tried(self) -> list[Tried]:
        return [one.tried for one in self.ended]

    def problem(self, left_gpu_seconds: float) -> Problem:
        return Problem(
            candidates=self.job.candidates,
            types=self.job.types,
            optimise=self.job.optimise,
            limits=LIMITS,
            left_gpu_seconds=left_gpu_seconds,
            overhead_seconds=OVERHEAD_SECONDS,
        )


def search_for(job: Job, budget_gpu_seconds: float, parallel: int = 1) -> Game:
    """As the operator does it. Raises OverBudgetError."""
    game, now = Game(job), 0.0
    running: list[tuple[float, float, Ended]] = []
    while True:
        reserved = sum(one[1] for one in running)
        if game.spent + reserved > budget_gpu_seconds:
            raise OverBudgetError(
                f"job {job.seed}: {game.spent + reserved} of {budget_gpu_seconds}"
            )
        problem = game.problem(budget_gpu_seconds - game.spent - reserved)
        if len(running) < parallel:
            began = time.process_time()
            step = search.choose(problem, game.tried, [one[2].tried.placement for one in running])
            game.cpu_seconds.append(time.process_time() - began)
            if not isinstance(step, Stop):
                ended = _follow(game, problem, step)
                bound = search.reserved_gpu_seconds(problem, step.placement, step.seconds)
                running.append((now + ended.seconds, bound, ended))
                continue
            if not running:
                game.words = step.words
                return _answered(game, problem)
        first = min(running, key=lambda one: one[0])
        running.remove(first)
        now, _, ended = first
        game.ended.append(ended)


def _follow(game: Game, problem: Problem, step: search.Try) -> Ended:
    known = game.tried
    return try_on(
        game.job, step.placement, step.seconds, lambda now: search.is_clear(problem, known, now)
    )


def _answered(game: Game, problem: Problem) -> Game:
    found = search.best(problem, game.tried)
    game.leader = None if found is None else found.placement
    scaling = search.scaling_of(problem, game.tried)
    figures = {one.placement: _figure(game.job, one) for one in game.tried if one.seen is not None}
    told = choice.choose(problem, game.tried, scaling, figures, is_over=True)
    game.answer = None if told is None else told.placement
    return game


def _figure(job: Job, tried: Tried) -> Figure:
    assert tried.seen is not None
    rate, price = tried.seen.per_second, job.price(tried.placement)
    return Figure(
        placement=tried.placement,
        per_second=rate,
        error_percent=100 * tried.seen.error_ratio,
        unit="iterations",
        cost_per_unit=None if price is None else price * tried.placement.gpus / 3600 / rate,
        joules_per_unit=None if tried.watts is None else tried.watts / rate,
    )


def try_all(job: Job) -> Game:
    """Every placement for as long as is allowed."""
    game = Game(job)
    for one in job.candidates:
        game.ended.append(_to_the_end(job, one.placement))
    return _best_seen(game)


def try_at_random(job: Job, gpu_seconds: float) -> Game:
    """Placements in any order, as long as the next one still fits."""
    game = Game(job)
    order = np.random.default_rng([*job.seed, 999]).permutation(len(job.candidates))
    for place in order:
        ended = _to_the_end(job, job.candidates[place].placement)
        if game.spent + ended.gpu_seconds <= gpu_seconds:
            game.ended.append(ended)
    return _best_seen(game)


def _to_the_end(job: Job, placement: Placement) -> Ended:
    return try_on(job, placement, LIMITS.trial_seconds, lambda _: False)


def _best_seen(game: Game) -> Game:
    worths = {
        one.placement: float(
            value(
                game.job.optimise,
                np.array(one.seen.per_second),
                one.placement,
                watts=one.watts,
                price=game.job.price(one.placement),
            )
        )
        for one in game.tried
        if one.seen is not None
    }
    game.answer = max(worths, key=lambda one: worths[one], default=None)
    return game
