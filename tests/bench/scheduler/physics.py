"""How fast does a job truly run, where and beside whom?

By other formulas than the extender's: what feeds the GPUs and what they compute overlap, so that
the slower of the two decides (a smooth minimum), where needs.py adds them up; what GPUs gain over
each other was measured, where needs.py goes by data sheets.

Jobs on one node share what feeds them: at an instant at which more is asked for than it has, all
who draw are slowed down alike. Those on one GPU slow each other down by what they compute.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tests.bench.scheduler.programs import Program

INSTANTS = 64
"""At which it is looked who draws: cycles of different jobs have nothing to do with each other."""
SHARPNESS = -4.0
"""Of the minimum: where feeding and computing are as fast as each other it is 16 % slower."""
PRESSURE = 0.4
"""What a job that always computes takes from one on the same GPU. Two alike on a V100 keep 60 to
94 % of their speed in Gavel's scheduler/combined_throughputs_with_p100.json."""
Floats = NDArray[np.float64]


def rate(speed: float | Floats, feed: float | Floats) -> Floats:
    found: Floats = (np.power(speed, SHARPNESS) + np.power(feed, SHARPNESS)) ** (1 / SHARPNESS)
    return found


def alone(program: Program, gpu_type: str) -> float:
    return float(rate(program.speeds[gpu_type], program.feed))


def busy_alone(program: Program, gpu_type: str) -> float:
    """Share of the time in which its GPUs compute."""
    return alone(program, gpu_type) / program.speeds[gpu_type] * program.occupancy


def rates(gpu_type: str, programs: Sequence[Program], gpus: Sequence[Sequence[int]]) -> Floats:
    """Of all jobs on one node, of which each has those GPUs."""
    speeds = np.array([program.speeds[gpu_type] for program in programs])
    feeds = np.array([program.feed for program in programs])
    if len(programs) > 1:
        feeds = feeds / _crowding(programs)
        speeds = speeds * _kept(gpu_type, programs, gpus)
    return rate(speeds, feeds)


def _crowding(programs: Sequence[Program]) -> Floats:
    """How many times longer feeding takes, by job."""
    draws = np.stack([program.draws for program in programs])
    asked = np.array([program.demand for program in programs]) @ draws
    found: Floats = (draws * np.maximum(1.0, asked)).sum(axis=1) / np.maximum(1, draws.sum(axis=1))
    return np.maximum(1.0, found)


def _kept(gpu_type: str, programs: Sequence[Program], gpus: Sequence[Sequence[int]]) -> Floats:
    """Of its speed, by job: of several GPUs the slowest counts."""
    widest = 1 + max(max(held) for held in gpus)
    holds = np.zeros((len(programs), widest), np.bool_)
    for row, held in enumerate(gpus):
        holds[row, list(held)] = True
    if holds.sum(axis=0).max() < 2:
        return np.ones(len(programs))
    left = np.array([1 - PRESSURE * busy_alone(program, gpu_type) for program in programs])
    all_of = np.where(holds, left[:, None], 1.0).prod(axis=0)
    found: Floats = np.where(holds, all_of / left[:, None], 1.0).min(axis=1)
    return found
