"""What comes next, how sure is that, and how wrong was the same method before?

A dozen and a half forecasters, each a few numpy operations (last value, means and medians of
several memories, a value that fades to the usual one, the season in several guises), are tried at
many moments of the series' own past. Each counts by how small its error was there, near and far
horizons apart, and moments at the same point of the cycle more than others. The answer is their
weighted median: where a job is either at 0 or at 100 %, their mean would be neither.

The band holds the share of those past errors that the level asks for: split conformal prediction
(Lei et al. 2018, "Distribution-free predictive inference for regression"), with signed errors, so
that it may be lopsided. It assumes no noise of any kind, only that the future errs like the past.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from cepheid.analysis.autocovariance import IntArray, check_step, one_series
from cepheid.analysis.forecasters import Past, names_of, predict
from cepheid.analysis.period import find_cycles
from cepheid.errors import CepheidError
from cepheid.model import Cycle, FloatArray, Forecast

FEWEST_SAMPLES = 24
FEWEST_ORIGINS = 8
"""Moments of the past at which the whole horizon was tried; fewer say too little of the error."""


def forecast(
    values: FloatArray,
    step_seconds: float,
    horizon_steps: int,
    *,
    cycles: Sequence[Cycle] | None = None,
    bounds: tuple[float, float] | None = None,
    level: float = 0.9,
) -> Forecast | None:
    """The next `horizon_steps` values of a series on a regular grid with NaN gaps.

    `cycles` are those of the series where they are known already, else they are looked for.
    `bounds` are what a value can be at all. None where there is too little past to try it on.
    """
    series = _checked(values, step_seconds, horizon_steps, bounds, level)
    if np.count_nonzero(np.isfinite(series)) < FEWEST_SAMPLES:
        return None
    if cycles is None:
        cycles = find_cycles(series, step_seconds)
    past, missing = Past.of(series)
    # Samples missing at the end are part of what is to be foretold.
    furthest = missing + horizon_steps
    length = len(past.filled)
    seasons = _seasons((c.period_seconds / step_seconds for c in cycles), length - furthest)
    first = max(FEWEST_SAMPLES // 2, length // 4, *(int(2 * s) + 2 for s in seasons))
    if length - furthest - first <= FEWEST_ORIGINS:
        return None
    trial = _Trial.of(past, _horizons(furthest), *_origins(first, length, seasons), seasons)
    if not trial.enough():
        return None
    ahead = np.arange(missing + 1, furthest + 1)
    now = predict(past, np.array([length - 1]), ahead, seasons)
    weights = trial.weights(len(trial.actual))
    middle = _weighted_median(now, weights[:, _group_of(ahead)])[0]
    errors = trial.errors(weights)
    tails = trial.tails(errors, level, length - first)
    lower, upper = middle + tails[:, _group_of(ahead)]
    usual = middle + trial.bias(errors)[_group_of(ahead)]
    with np.errstate(over="ignore"):  # a band around what is nearly the largest float
        lines = past.scale * np.array([middle, lower, upper, usual])
    lines = np.clip(lines, *(bounds or _ALL_FLOATS))
    mape, coverage = trial.back_test(level, length - first)
    heaviest = np.argsort(-weights.sum(axis=1))[:3]
    names = names_of(seasons)
    return Forecast(
        mean=lines[0],
        lower=lines[1],
        upper=lines[2],
        average=float((lines[3] / len(ahead)).sum()),
        mape=mape,
        coverage=coverage,
        method=" + ".join(names[i] for i in heaviest),
    )


def _checked(
    values: FloatArray,
    step_seconds: float,
    horizon_steps: int,
    bounds: tuple[float, float] | None,
    level: float,
) -> FloatArray:
    series = one_series(values)
    check_step(step_seconds)
    if horizon_steps < 1:
        raise CepheidError(
            f"a horizon of {horizon_steps} steps is not ahead", hint="give at least 1"
        )
    if not 0 < level < 1:
        raise CepheidError(
            f"a band cannot hold a share of {level}", hint="give a level such as 0.9"
        )
    if bounds is not None and not bounds[0] <= bounds[1]:
        raise CepheidError(f"nothing lies between {bounds}", hint="give (lowest, highest)")
    return series


def _seasons(periods: Iterator[float], room: int) -> tuple[float, ...]:
    """The primary one, and a longer one if there is: those that were seen twice before."""
    seasons: list[float] = []
    for period in periods:
        if 2 * period + 2 + FEWEST_ORIGINS < room and (not seasons or period > seasons[0]):
            seasons.append(period)
    return tuple(seasons[:2])


@lru_cache(maxsize=8)
def _horizons(furthest: int) -> IntArray:
    """Those that are tried: the near ones all, of the far ones some."""
    if furthest <= _MOST_HORIZONS:
        return np.arange(1, furthest + 1)
    return np.unique(np.rint(np.geomspace(1, furthest, _MOST_HORIZONS)).astype(np.intp))


_MOST_HORIZONS = 14
_MOST_ORIGINS = 40
_CYCLES_BACK = 10
_SAME_PHASE = 2.0
"""What the moments at the present point of the cycle weigh together, all others being 1."""


def _origins(first: int, length: int, seasons: tuple[float, ...]) -> tuple[IntArray, FloatArray]:
    """The moments from which the past is foretold, oldest first, and what each weighs."""
    last = length - 2
    spread = np.linspace(first, last, min(_MOST_ORIGINS, last - first + 1)).astype(np.intp)
    if not seasons:
        return spread, np.ones(len(spread))
    back = np.rint(seasons[0] * np.arange(1, _CYCLES_BACK + 1)[:, None])
    nearby = np.rint(seasons[0] / 16 * np.array([-1, 0, 1]))
    same = np.unique((length - 1 - back + nearby).astype(np.intp))
    same = same[(same >= first) & (same <= last)]
    together = _SAME_PHASE * len(spread) * min(1.0, len(same) / _CYCLES_BACK)
    origins = np.concatenate((spread, same))
    weights = np.ones(len(origins))
    weights[len(spread) :] = together / max(len(same), 1)
    order = np.argsort(origins, kind="stable")
    return origins[order], weights[order]


def _group_of(horizons: IntArray) -> IntArray:
    """Near and far horizons are judged apart."""
    return np.searchsorted(_GROUP_STARTS, horizons, side="right") - 1


_GROUP_STARTS = np.array([1, 4, 12, 36, 108, 324])


@dataclass(frozen=True, slots=True)
class _Trial:
    """What every forecaster would have said in the past, beside what came."""

    group: IntArray
    """Of each horizon tried."""
    reach: FloatArray
    """By group: the mean horizon."""
    guesses: FloatArray
    """By forecaster, origin (oldest first), horizon."""
    actual: FloatArray
    """By origin and horizon; NaN where nothing was measured."""
    importance: FloatArray
    """By origin and horizon; 0 where nothing was measured."""
    losses: FloatArray
    """By forecaster, origin and group: how much it erred, times the importance."""

    @classmethod
    def of(
        cls,
        past: Past,
        horizons: IntArray,
        origins: IntArray,
        importance: FloatArray,
        seasons: tuple[float, ...],
    ) -> "_Trial":
        then = origins[:, None] + horizons
        actual = past.measured[np.minimum(then, len(past.measured) - 1)]
        actual[then >= len(past.measured)] = np.nan
        known = np.isfinite(actual)
        importance = np.where(known, importance[:, None], 0.0)
        guesses = predict(past, origins, horizons, seasons)
        losses = np.abs(guesses - np.where(known, actual, 0.0))
        losses *= importance
        group = _group_of(horizons)
        starts = np.searchsorted(group, np.arange(group[-1] + 1))
        return cls(
            group,
            np.bincount(group, horizons) / np.bincount(group),
            guesses,
            actual,
            importance,
            np.add.reduceat(losses, starts, axis=2),
        )

    def weights(self, origins: int) -> FloatArray:
        """By forecaster and group, from the oldest `origins`."""
        losses = self.losses[:, :origins].sum(axis=1) + 1e-12
        weights = (losses.min(axis=0) / losses) ** _SHARPNESS
        return np.asarray(weights / weights.sum(axis=0))

    def errors(self, weights: FloatArray) -> FloatArray:
        """Actual minus foretold, by origin and horizon."""
        return self.actual - _weighted_median(self.guesses, weights[:, self.group])

    def half(self) -> int:
        """How many of the oldest origins hold half of those that tell of the furthest horizon.

        Not half of them all: with a short cycle many are recent, and tell of near horizons only.
        """
        whole = np.flatnonzero(self.importance[:, -1] > 0)
        return int(whole[len(whole) // 2]) if len(whole) else 0

    def enough(self) -> bool:
        """Whether both halves of the past tell something of every group."""
        half = self.half()
        return all(
            np.bincount(self.group, (part > 0).sum(axis=0)).min() >= FEWEST_ORIGINS
            for part in (self.importance[:half], self.importance[half:])
        )

    def bias(self, errors: FloatArray) -> FloatArray:
        """By group: what it erred on average, with its sign."""
        weight = np.bincount(self.group, self.importance.sum(axis=0))
        erred = np.where(self.importance > 0, errors, 0.0) * self.importance
        return np.asarray(np.bincount(self.group, erred.sum(axis=0)) / weight)

    def tails(self, errors: FloatArray, level: float, span: int) -> FloatArray:
        """Lower and upper error, by group, between which the level's share of the errors lies."""
        importance = self.importance[: len(errors)]
        known = importance > 0
        group, errors = np.broadcast_to(self.group, errors.shape)[known], errors[known]
        order = np.lexsort((errors, group))
        errors, shares = errors[order], np.cumsum(importance[known][order])
        ends = np.searchsorted(group[order], np.arange(len(self.reach)), side="right")
        starts = np.concatenate(([0], ends[:-1]))
        until = shares[ends - 1]
        size = np.diff(until, prepend=0.0)
        # Trials that overlap repeat each other's luck: the fewer fit side by side, the wider.
        slack = np.minimum(0.9, _SLACK + _OVERLAP_SLACK * self.reach / span)
        tail = 0.5 * (1 - level) * (1 - slack) * size
        low = np.searchsorted(shares, until - size + tail)
        high = np.searchsorted(shares, until - tail)
        tails = errors[[np.maximum(low - 1, starts), np.minimum(high, ends - 1)]]
        # Where it erred to one side only, the band still holds what is foretold.
        return np.clip(tails, _BELOW, _ABOVE)

    def back_test(self, level: float, span: int) -> tuple[float | None, float]:
        """Weights and band from the older half, tried on the newer: error in percent, coverage."""
        half = self.half()
        errors = self.errors(self.weights(half))
        low, high = self.tails(errors[:half], level, span)[:, self.group]
        newer, known = errors[half:], self.importance[half:] > 0
        inside = (newer >= low) & (newer <= high)
        size = float(np.abs(self.actual[half:][known]).sum())
        error = 100 * float(np.abs(newer[known]).sum()) / size if size > 0 else None
        return error, float(inside[known].mean())


_ALL_FLOATS = (-float(np.finfo(np.float64).max), float(np.finfo(np.float64).max))
_BELOW, _ABOVE = np.array([[-np.inf], [0.0]]), np.array([[0.0], [np.inf]])
_SHARPNESS = 8
_SLACK, _OVERLAP_SLACK = 0.08, 5.0
_MOST_VOICES = 6
"""Forecasters in a median; those that weigh least only cost time."""


def _weighted_median(guesses: FloatArray, weights: FloatArray) -> FloatArray:
    """Of all forecasters, by origin and horizon; the weights by forecaster and horizon."""
    loudest = np.argsort(-weights.max(axis=1))[:_MOST_VOICES]
    voices, weights = guesses[loudest], weights[loudest]
    at_most = np.zeros_like(voices)
    part = np.empty_like(voices)
    for voice, weight in zip(voices, weights, strict=True):
        at_most += np.multiply(voice <= voices, weight, out=part)
    middle = np.where(at_most >= 0.5 * weights.sum(axis=0), voices, np.inf)
    return np.asarray(middle.min(axis=0))
