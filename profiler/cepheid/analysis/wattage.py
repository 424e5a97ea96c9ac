"""How much power would a job draw on GPUs that it was not tried on?

The logarithm of the power of one GPU is that of its type, and less where it does less than its
type could: a GPU that waits for its peers half of the time draws about 0.7 of its power. Linear,
so the draws are exactly from the posterior; they belong to those of the throughput.
"""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from cepheid.analysis.steptime import GpuType, relative
from cepheid.model import FloatArray

if TYPE_CHECKING:  # its records need msgspec: what analyses needs numpy only
    from cepheid.placementtrial import Placement

SEED = 11
USUAL_WATTS, USUAL_SPREAD = 200.0, 1.0
# Power follows the tensor peak: a T4 has 70 W and 65 teraflops, an H100 700 W and 989.
SHEET, SHEET_SPREAD, UNKNOWN_SPREAD = 0.8, 0.3, 0.7
LOAD, LOAD_SPREAD = 0.5, 0.25
DEVIATION = 0.04
"""What none of this explains, and the error of a mean of power."""


def draw_watts(
    measured: Mapping["Placement", float],
    placements: Sequence["Placement"],
    log_rates: FloatArray,
    types: Sequence[GpuType],
) -> FloatArray:
    """Of all GPUs of each placement, [draw, placement], given what some of them drew.

    `log_rates` are draws of the logarithm of their throughput, as `Scaling.log_samples` gives.
    """
    names = list(dict.fromkeys([*(one.name for one in types), *(p.gpu_type for p in placements)]))
    peaks = relative({one.name: one.tensor_teraflops for one in types})
    mean, spread = [math.log(USUAL_WATTS), LOAD], [USUAL_SPREAD, LOAD_SPREAD]
    for name in names:
        peak = peaks.get(name)
        mean.append(0.0 if peak is None else SHEET * peak)
        spread.append(UNKNOWN_SPREAD if peak is None else SHEET_SPREAD)
    gpus = np.log([one.gpus for one in placements])
    column = [names.index(one.gpu_type) for one in placements]
    by = np.zeros((len(placements), len(mean)))
    by[:, 0] = 1.0
    by[:, 1] = _loads(log_rates.mean(axis=0) - gpus, column)
    by[np.arange(len(placements)), [2 + place for place in column]] = 1.0
    chance = np.random.default_rng(SEED)
    draws = len(log_rates)
    parameters = np.array(mean) + np.array(spread) * chance.standard_normal((draws, len(mean)))
    deviations = DEVIATION * chance.standard_normal((draws, len(placements)))
    rows = [place for place, one in enumerate(placements) if measured.get(one)]
    if rows:
        told = np.log([measured[placements[row]] for row in rows]) - gpus[rows]
        seen = by[rows]
        covariance = seen * np.square(spread) @ seen.T + DEVIATION**2 * np.eye(len(rows))
        off = np.linalg.solve(covariance, (told - parameters @ seen.T - deviations[:, rows]).T).T
        parameters = parameters + off @ seen * np.square(spread)
        deviations[:, rows] += DEVIATION**2 * off
    watts: FloatArray = np.exp(parameters @ by.T + deviations + gpus)
    return watts


def _loads(each: FloatArray, column: Sequence[int]) -> FloatArray:
    """How much less each GPU does than the best of its type, as a logarithm: 0 or below."""
    best = {place: max(each[np.equal(column, place)]) for place in set(column)}
    loads: FloatArray = each - np.array([best[place] for place in column])
    return loads
