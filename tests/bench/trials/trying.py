"""A trial of a job of known truth: how long it holds its GPUs, what is measured and how wrong.

Noise as measured: the period of a pulse of a few cycles is right to one or two percent, but it is
only seen where it is at least 3.5 scrapes of 15 s long and 3.4 of it fit into the trial. Otherwise
the work done tells, with 3 to 5 %, and a little more or less on each type.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from cepheid.analysis.scaling import Seen
from cepheid.model import FloatArray
from cepheid.placementtrial import Limits, Placement, State
from cepheid_operator.trials.searching.search import Tried
from tests.bench.trials.truth import Job

SCRAPE_SECONDS = 15.0
SHORTEST_SCRAPES = 3.5
FEWEST_CYCLES = 3.4
FIRST_SECONDS = 30.0
"""Before that nothing is measured; after twice as long it is looked at again, and so on."""
LIMITS = Limits(trial_seconds=300.0, warmup_seconds=30.0, pending_seconds=300.0)
OVERHEAD_SECONDS = 60.0
"""Reserved for starting and stopping; it takes less."""
WATTS_ERROR = 0.02


@dataclass(frozen=True)
class Ended:
    tried: Tried
    gpu_seconds: float
    seconds: float
    """From its beginning to its end."""
    measured_seconds: float = 0.0


def try_on(
    job: Job, placement: Placement, seconds: float, is_clear: Callable[[Tried], bool]
) -> Ended:
    """The same placement of the same job is measured alike whoever asks: luck favours nobody."""
    number = [one.placement for one in job.candidates].index(placement)
    chance = np.random.default_rng([*job.seed, number])
    around = chance.uniform(10, OVERHEAD_SECONDS)
    if not job.is_free(placement):
        tried = Tried(placement=placement, state=State.UNAVAILABLE)
        return Ended(tried, 0.0, LIMITS.pending_seconds)
    if not job.holds(placement):
        tried = Tried(placement=placement, state=State.OUT_OF_MEMORY)
        return Ended(tried, placement.gpus * around, around)
    noise = chance.standard_normal(4)
    measured = min(FIRST_SECONDS, seconds)
    while not is_clear(now := read(job, placement, measured, noise)) and measured < seconds:
        measured = min(2 * measured, seconds)
    held = around + LIMITS.warmup_seconds + measured
    tried = replace(now, state=State.MEASURED)
    return Ended(tried, placement.gpus * held, held, measured)


def read(job: Job, placement: Placement, seconds: float, noise: FloatArray) -> Tried:
    """What is known of it after so long."""
    period = job.step_seconds(placement)
    cycles = seconds / period
    if period >= SHORTEST_SCRAPES * SCRAPE_SECONDS and cycles >= FEWEST_CYCLES:
        error, bias = 0.06 / cycles, 0.0
        off = error * noise[0]
    else:
        error = 0.03 + 0.02 * math.sqrt(FIRST_SECONDS / seconds)
        bias = job.luck[placement.gpu_type].bias
        off = error * noise[1]
    rate = job.per_second(placement) * math.exp(off + bias)
    return Tried(
        placement=placement,
        state=State.RUNNING,
        # How large the error is, is not known exactly either.
        seen=Seen(placement, rate, error * math.exp(0.2 * noise[2])),
        watts=job.watts(placement) * math.exp(WATTS_ERROR * noise[3]),
        gpu_memory_mib=job.needs_mib(placement),
    )
