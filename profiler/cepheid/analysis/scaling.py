"""How fast is a job on GPUs that it was not tried on?

A few throughputs go in, each with its error; out comes what every other placement would give, as
draws from what is still possible: who decides can ask any question of them, and the more was
measured the closer together they lie.

`steptime` says what a step consists of. Each draw begins with parameters out of what is usual and
with measurements disturbed by their own error, and then moves as little as it must for both to
agree: for a linear model these are exactly draws from the posterior (Oliver, He and Reynolds,
"Conditioning permeability fields to pressure data", 1996), for ours nearly, at a dozen steps of
Gauss-Newton for all of them at once.

No job is exactly a sum of parts. What the parts do not explain is a smooth deviation over the
number of GPUs, one for the job and one for each type, fitted along with them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cepheid.analysis.steptime import PARTS, GpuType, Prior, Steps, Terms, log_sum
from cepheid.model import FloatArray

if TYPE_CHECKING:  # its records need msgspec: what analyses needs numpy only
    from cepheid.placementtrial import Placement

__all__ = ["Band", "GpuType", "Scaling", "Seen", "fit"]

DRAWS = 256
SEED = 7
ITERATIONS = 12
LONGEST_STEP = 2.0
"""In spreads of the prior: beyond, the model is far from linear."""
LEAST_ERROR = 0.005
"""Of a measurement: no two runs of a job are more alike."""

DEVIATION_OF_JOB = 0.03
DEVIATION_OF_TYPE = 0.03
OCTAVES = np.arange(0, 16.5, 0.5)
"""Of the number of GPUs: at each is a bump, as wide as they are apart."""


@dataclass(frozen=True, slots=True)
class Seen:
    """The throughput of one placement, in the same unit for all that are fitted together.

    Older knowledge, and that of similar jobs, has a larger error.
    """

    placement: "Placement"
    per_second: float
    error_ratio: float
    """Standard error, as a share of the figure."""

    @property
    def is_usable(self) -> bool:
        """What is off by more than tenfold, or is no throughput of anything, tells nothing."""
        return 1e-30 < self.per_second < 1e30 and 0 <= self.error_ratio < 10  # noqa: PLR2004


@dataclass(frozen=True, slots=True)
class Band:
    """Of one placement: the expected throughput, and between which two it is with 90 %."""

    per_second: float
    low: float
    high: float


class Scaling:
    """What the measurements allow. Made by `fit`."""

    def __init__(
        self, seen: Sequence[Seen], steps: Steps, parameters: FloatArray, deviations: FloatArray
    ) -> None:
        self._seen = seen
        self._steps = steps
        self._parameters = parameters
        self._deviations = deviations

    def log_samples(self, placements: Sequence["Placement"]) -> FloatArray:
        """Logarithms of `samples`."""
        parts = self._steps.terms(placements).logarithms(self._parameters)
        deviation = self._deviations @ _bumps(placements, self._steps).T
        rates: FloatArray = -log_sum(parts) - deviation
        return rates

    def samples(self, placements: Sequence["Placement"]) -> FloatArray:
        """Throughput, a row for each draw, a column for each placement."""
        rates: FloatArray = np.exp(self.log_samples(placements))
        return rates

    def band(self, placements: Sequence["Placement"]) -> tuple[Band, ...]:
        logs = self.log_samples(placements)
        lows, highs = np.exp(np.quantile(logs, (0.05, 0.95), axis=0))
        middles = np.exp(logs.mean(axis=0))
        return tuple(
            Band(float(middle), float(low), float(high))
            for middle, low, high in zip(middles, lows, highs, strict=True)
        )

    def divided_share(self, placement: "Placement") -> float:
        """How much of a step gets shorter with more GPUs: what computes, and loads for each.

        The rest is communication, or waits for what all share. Throughputs alone hardly tell these
        two apart, nor computing from loading: hence no more is said.
        """
        parts = self._steps.terms([placement]).logarithms(self._parameters)[:, 0]
        shares = np.exp(parts - log_sum(parts)[:, None]).mean(axis=0)
        return float(sum(share for part, share in zip(PARTS, shares, strict=True) if part.divides))

    def words(self) -> str:
        """What a step consists of where it was fastest, and what twice the GPUs would do."""
        if not self._seen:
            return "nothing was measured"
        fastest = max(self._seen, key=lambda one: one.per_second).placement
        percent = round(100 * self.divided_share(fastest))
        twice = type(fastest)(
            gpu_type=fastest.gpu_type,
            gpus_per_worker=fastest.gpus_per_worker,
            workers=2 * fastest.workers,
            arrange=fastest.arrange,
        )
        logs = self.log_samples([fastest, twice])
        low, middle, high = np.exp(np.quantile(logs[:, 1] - logs[:, 0], (0.05, 0.5, 0.95)))
        return (
            f"on {fastest} about {percent} % of a step divides among the GPUs, {100 - percent} % is"
            " communication or waits for what all share; twice the GPUs would be"
            f" {middle:.2f} times as fast ({low:.2f} to {high:.2f})"
        )


def fit(seen: Sequence[Seen], types: Sequence[GpuType]) -> Scaling:
    """The same arguments give the same draws. What is no throughput does not count."""
    seen = [one for one in seen if one.is_usable]
    placements = [one.placement for one in seen]
    steps = Steps(types, placements)
    chance = np.random.default_rng(SEED)
    prior = steps.prior(DRAWS)
    start = chance.standard_normal(prior.mean.shape)
    deviations = chance.standard_normal((DRAWS, steps.types_count * OCTAVES.size + OCTAVES.size))
    if not seen:
        return Scaling(seen, steps, prior.at(start), deviations)
    bumps = _bumps(placements, steps)
    errors = np.array([max(one.error_ratio, LEAST_ERROR) for one in seen])
    noise = errors * chance.standard_normal((DRAWS, len(seen)))
    told = _Told(
        terms=steps.terms(placements),
        log_seconds=-np.log([one.per_second for one in seen]) - noise - deviations @ bumps.T,
        covariance=bumps @ bumps.T + np.diag(errors**2),
    )
    moved, misfits = _agree(prior, start, told)
    parameters = prior.at(moved)
    deviations = deviations + told.weighted(told.off(parameters)) @ bumps
    # A draw that is stuck far from what was measured is none: those that are not take its place.
    usual = np.quantile(misfits, 0.25) + 3 * math.sqrt(2 * len(seen)) + 2
    kept = np.resize(np.flatnonzero(misfits <= usual), DRAWS)
    return Scaling(seen, steps, parameters[kept], deviations[kept])


@dataclass(frozen=True, slots=True)
class _Told:
    """What was measured, disturbed for each draw."""

    terms: Terms
    log_seconds: FloatArray
    covariance: FloatArray

    def off(self, parameters: FloatArray) -> FloatArray:
        off: FloatArray = self.log_seconds - log_sum(self.terms.logarithms(parameters))
        return off

    def weighted(self, off: FloatArray) -> FloatArray:
        return np.asarray(np.linalg.solve(self.covariance, off.T).T, dtype=np.float64)


def _agree(prior: Prior, start: FloatArray, told: _Told) -> tuple[FloatArray, FloatArray]:
    """Where each draw agrees with what it was told, in spreads of the prior; and how badly still.

    Steps that make it worse are taken back, and the next one is shorter.
    """

    def misfit(moved: FloatArray) -> FloatArray:
        off = told.off(prior.at(moved))
        unlikely = ((moved - start) ** 2).sum(axis=1)
        return np.asarray(unlikely + (off * told.weighted(off)).sum(axis=1))

    moved = start.copy()
    misfits = misfit(moved)
    reach = np.full(len(start), LONGEST_STEP)
    for _ in range(ITERATIONS):
        parts = told.terms.logarithms(prior.at(moved))
        total = log_sum(parts)
        slopes = told.terms.slopes(np.exp(parts - total[..., None])) * prior.spread
        off = told.log_seconds - total + (slopes @ (moved - start)[..., None])[..., 0]
        spans = slopes @ slopes.transpose(0, 2, 1) + told.covariance
        back = slopes.transpose(0, 2, 1) @ np.linalg.solve(spans, off[..., None])
        step = start + back[..., 0] - moved
        length = np.maximum(np.abs(step).max(axis=1), 1e-12)
        step *= np.minimum(1.0, reach / length)[:, None]
        after = misfit(moved + step)
        better = after < misfits
        moved[better] += step[better]
        misfits[better] = after[better]
        longer = np.minimum(2 * reach, LONGEST_STEP)
        reach = np.where(better, longer, np.minimum(reach, length) / 4)
    return moved, misfits


def _bumps(placements: Sequence["Placement"], steps: Steps) -> FloatArray:
    """[placement, bump]: the sum of their squares is the variance of the deviation there."""
    octaves = np.log2([one.gpus for one in placements])
    shapes = np.exp(-(((octaves[:, None] - OCTAVES) / (OCTAVES[1] - OCTAVES[0])) ** 2))
    shapes /= np.sqrt((shapes**2).sum(axis=1, keepdims=True))
    bumps = np.zeros((len(placements), 1 + steps.types_count, OCTAVES.size))
    bumps[:, 0] = DEVIATION_OF_JOB * shapes
    own = [1 + steps.type_number(one) for one in placements]
    bumps[np.arange(len(placements)), own] = DEVIATION_OF_TYPE * shapes
    return bumps.reshape(len(placements), -1)
