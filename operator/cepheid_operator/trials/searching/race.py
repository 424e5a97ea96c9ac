"""Who may be the best, and what would each trial teach of that? Pure.

All of it is read off draws of how good each placement is: in each of them another one may win.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from cepheid.analysis.scaling import Scaling, fit
from cepheid.analysis.wattage import draw_watts
from cepheid.model import FloatArray
from cepheid.placementtrial import Goal, Placement
from cepheid_operator.trials.searching.problem import Problem, Tried, is_measured, memory_need
from cepheid_operator.trials.searching.worth import value

USUAL_ERROR = 0.03
"""Of a trial's throughput, before any was measured."""
HOPELESS = -1e9
"""How good a placement is that cannot hold the job, or cannot be judged."""
NO_MATTER = 1.0
"""What is worse than the best by more than that, e times, might as well be worse by anything."""
POINTS, WEIGHTS = np.polynomial.hermite_e.hermegauss(9)
WEIGHTS = WEIGHTS / WEIGHTS.sum()


def scaling_of(problem: Problem, tried: Sequence[Tried]) -> Scaling:
    """Fitted to all that is known: its curve and its words are part of the answer."""
    return fit([*problem.known, *(one.seen for one in tried if one.seen)], problem.types)


@dataclass(frozen=True, slots=True)
class Race:
    placements: tuple[Placement, ...]
    worths: FloatArray
    """[draw, placement], as `value` says."""
    log_rates: FloatArray
    holds: FloatArray
    """With which probability a placement can hold the job."""
    measured: tuple[Placement, ...]
    error: float
    """Of a throughput, as it is usually measured here."""
    is_anchored: bool
    """Whether anything was measured: before, not even the unit is known."""

    def leader(self) -> Placement | None:
        """The best of those that were measured; a deadline is kept if that is more likely."""
        medians = {one: float(np.median(self._of(one))) for one in self.measured}
        return max(medians, key=lambda one: medians[one], default=None)

    def chance_of_better(
        self, than: Placement, among: Collection[Placement], margin: float
    ) -> float:
        """That any of them is, by more than the margin."""
        columns = [self.placements.index(one) for one in among if one != than]
        if not columns:
            return 0.0
        best = self.worths[:, columns].max(axis=1)
        return float((best > self._of(than) + margin).mean())

    def gains(self, among: Sequence[Placement]) -> FloatArray:
        """By how much each of them, if it were tried, is expected to improve the decision.

        It may itself be better than the leader; and it teaches how good the others are.
        """
        columns = [self.placements.index(one) for one in among]
        signals = self.log_rates
        if not self.is_anchored:
            signals = signals - signals.mean(axis=1, keepdims=True)
        worths = self.worths - self.log_rates + signals
        worths = np.maximum(worths, np.median(worths, axis=0).max() - NO_MATTER)
        rivals = columns + [self.placements.index(one) for one in self.measured]
        gains = self.holds[columns] * _taught(worths[:, rivals], signals[:, columns], self.error)
        leader = self.leader()
        if leader is not None:
            ahead = worths[:, columns] - worths[:, [self.placements.index(leader)]]
            gains += np.maximum(ahead, 0.0).mean(axis=0)
        return gains

    def _of(self, placement: Placement) -> FloatArray:
        column: FloatArray = self.worths[:, self.placements.index(placement)]
        return column


def race(problem: Problem, tried: Sequence[Tried], running: Sequence[Placement] = ()) -> Race:
    """Those that run are taken to end as they are expected to."""
    prices = {one.placement: one.price for one in problem.candidates}
    goal = problem.optimise.goal
    if goal is Goal.DEADLINE and None in prices.values():
        prices = {}  # then the GPUs are counted: what some cost and others not cannot be compared
    measured = tuple(one for one in tried if is_measured(problem, one))
    placements = tuple(
        dict.fromkeys(
            [one.placement for one in problem.candidates]
            + [one.placement for one in measured]
            + list(running)
        )
    )
    places = {one: place for place, one in enumerate(placements)}
    errors = [one.seen.error_ratio for one in measured if one.seen]
    error = float(np.median(errors)) if errors else USUAL_ERROR
    log_rates = scaling_of(problem, tried).log_samples(placements)
    log_rates = _expected(log_rates, [places[one] for one in running], error)
    watts: FloatArray | None = None
    if goal is Goal.ENERGY:
        drawn = {one.placement: one.watts for one in measured if one.watts}
        watts = draw_watts(drawn, placements, log_rates, problem.types)
    worths = np.empty_like(log_rates)
    for one, place in places.items():
        worths[:, place] = value(
            problem.optimise,
            np.exp(log_rates[:, place]),
            one,
            watts=None if watts is None else watts[:, place],
            price=prices.get(one),
        )
    holds = memory_need(problem, tried).draw_holds(
        [one.gpus for one in placements],
        [problem.memory_mib(one) for one in placements],
        len(log_rates),
    )
    holds[:, [places[one.placement] for one in measured]] = True
    worths = np.where(holds & np.isfinite(worths), worths, HOPELESS)
    judged = (one.placement for one in measured if worths[0, places[one.placement]] > HOPELESS)
    return Race(
        placements=placements,
        worths=worths,
        log_rates=log_rates,
        holds=holds.mean(axis=0),
        measured=tuple(dict.fromkeys(judged)),
        error=error,
        is_anchored=bool(measured or problem.known),
    )


def _expected(log_rates: FloatArray, running: Sequence[int], error: float) -> FloatArray:
    """As if those that run had ended so: the means stay, and what they would teach is known."""
    if not running:
        return log_rates
    off = log_rates - log_rates.mean(axis=0)
    seen = off[:, running]
    spans = seen.T @ seen / len(off) + error**2 * np.eye(len(running))
    gain = np.linalg.solve(spans, seen.T @ off / len(off))
    noise = error * np.random.default_rng(len(running)).standard_normal(seen.shape)
    return np.asarray(log_rates - (seen + noise) @ gain)


def _taught(worths: FloatArray, signals: FloatArray, error: float) -> FloatArray:
    """By how much better the best is expected to be, once each signal is known.

    The knowledge gradient: Frazier, Powell and Dayanik, "The knowledge-gradient policy for
    correlated normal beliefs", 2009.
    """
    means = worths.mean(axis=0)
    off = signals - signals.mean(axis=0)
    slopes = off.T @ (worths - means) / len(worths)
    slopes /= np.sqrt(off.var(axis=0) + error**2)[:, None]
    best = (means[:, None] + slopes[..., None] * POINTS).max(axis=1)
    return np.asarray(best @ WEIGHTS - means.max())
