"""How fast does a job go, read off the pulse of its GPUs?

    period   of their load: one iteration, where it is slow enough for the scrapes to show it. Only
             signals that are means over the time between two scrapes are asked. Most of those that
             see a period, of all workers, have to agree on it: half or twice of it is another. And
             one of them has to swing by more than what is left of a faster iteration could
    work     what the tensor pipes did, which is seen however fast the iterations are

Both come with a standard error. The first seconds of a job are not like the rest: they are left
out. What was not measured is None.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from cepheid.analysis.alias import swings_beyond_alias
from cepheid.analysis.period import find_cycles
from cepheid.analysis.signals import PETA, measured
from cepheid.analysis.timing import time_cycles
from cepheid.jobs.measure import AVERAGED
from cepheid.jobs.series import JobSeries, WorkerSeries
from cepheid.model import FloatArray

SHORTEST_STEPS = 3.5
"""As `alias` has it: below, a true cycle and a false one look too much alike."""
SAME = 0.05
"""Two signals that differ by less than this share see the same period."""
LEAST_SPREAD_RATIO = 0.02
"""Of the level: what varies less is flat, and its silence says nothing."""
MOST_WORKERS = 8
"""So many are asked for the period: they keep step with each other."""
BLOCK_STEPS = 4
"""Where there is no period: neighbouring samples are too alike to count each by itself."""
FEWEST_SAMPLES = 4
LEAST_ACTIVE_RATIO = 0.001
"""Of the tensor pipes: a job that leaves them to rest computes by other means."""
_USUAL_SPREAD, _USUAL_WEIGHT = 0.02, 2.0
"""Of one block of work against the next, and as how many observed blocks that counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """What was measured after the warm-up; None where it was not."""

    seconds: float
    period_seconds: float | None = None
    """Of the GPUs' load, confirmed: one iteration."""
    period_error_ratio: float | None = None
    """Standard error."""
    cycles_seen: float | None = None
    teraflops: float | None = None
    """Done by the tensor pipes of all GPUs."""
    teraflops_error_ratio: float | None = None
    gpu_memory_mib: float | None = None
    """The most that any one GPU held, warm-up included."""
    watts: float | None = None
    """Mean power of all GPUs."""


def pace_of(series: JobSeries, *, from_seconds: float, workers: Collection[str]) -> Pace | None:
    """`workers` are the pods with GPUs: what one of them lacks is not known of the job."""
    step = series.step_seconds
    # What is in a slot was measured up to a step before its time.
    first = max(0, math.ceil((from_seconds - series.start_seconds) / step) + 1)
    found = [series.workers[name] for name in sorted(workers) if name in series.workers]
    signals = [_since(first, worker) for worker in found]
    samples = max((_samples(one) for one in signals), default=0)
    if samples == 0:
        return None
    whole = len(found) == len(set(workers))
    looked_at = zip(found, signals, strict=True)
    period, error = _period(list(looked_at)[:MOST_WORKERS], step)
    teraflops, spread = None, None
    if whole:
        teraflops, spread = _work(found, signals, None if period is None else period / step)
    return Pace(
        seconds=samples * step,
        period_seconds=period,
        period_error_ratio=error,
        cycles_seen=None if period is None else samples * step / period,
        teraflops=teraflops,
        teraflops_error_ratio=spread,
        gpu_memory_mib=max(
            (w.gpu_memory_most_mib for w in found if w.gpu_memory_most_mib is not None),
            default=None,
        ),
        watts=_watts(signals) if whole else None,
    )


Arrays = Mapping[str, FloatArray]


def _since(first: int, worker: WorkerSeries) -> Arrays:
    found = {}
    for name in AVERAGED:
        values = worker.signals.get(name)
        ceiling = PETA if name == "power_watts" else 1.0
        possible = None if values is None else measured(values[first:], ceiling=ceiling)
        if possible is not None:
            found[name] = possible
    return found


def _samples(signals: Arrays) -> int:
    """From the first to the last."""
    known = [np.flatnonzero(np.isfinite(values)) for values in signals.values()]
    if not known:
        return 0
    return int(max(there[-1] for there in known) - min(there[0] for there in known)) + 1


class _Vote(NamedTuple):
    period_steps: float
    values: FloatArray
    is_real: bool


def _period(
    workers: Sequence[tuple[WorkerSeries, Arrays]], step: float
) -> tuple[float | None, float | None]:
    signals = [
        (values, values / _most(worker, name))
        for worker, arrays in workers
        for name, values in arrays.items()
        if _varies(values)
    ]
    votes = [vote for one in signals if (vote := _vote(*one)) is not None]
    agreed = max((_near(one.period_steps, votes) for one in votes), key=len, default=[])
    if not agreed or 2 * len(agreed) <= len(votes) or 2 * len(agreed) < len(signals):
        return None, None
    about = float(np.median([vote.period_steps for vote in agreed]))
    if about < SHORTEST_STEPS or not any(vote.is_real for vote in agreed):
        return None, None
    timing = time_cycles([vote.values for vote in agreed], about)
    if timing is None or timing.period_steps < SHORTEST_STEPS:
        return None, None
    return timing.period_steps * step, timing.error_steps / timing.period_steps


def _most(worker: WorkerSeries, name: str) -> float:
    """What it can be at most; NaN where that is not known."""
    if name != "power_watts":
        return 1.0
    return np.nan if worker.power_limit_watts is None else worker.power_limit_watts


def _varies(values: FloatArray) -> bool:
    return bool(np.nanstd(values) > LEAST_SPREAD_RATIO * np.nanmean(values))


def _vote(values: FloatArray, shares: FloatArray) -> _Vote | None:
    cycles = find_cycles(values, 1.0)
    if not cycles:
        return None
    period = cycles[0].period_seconds
    return _Vote(period, values, swings_beyond_alias(shares, period))


def _near(period_steps: float, votes: Sequence[_Vote]) -> list[_Vote]:
    return [vote for vote in votes if abs(vote.period_steps / period_steps - 1) <= SAME]


def _work(
    workers: Sequence[WorkerSeries], signals: Sequence[Arrays], period_steps: float | None
) -> tuple[float | None, float | None]:
    done, most = np.zeros(1), 0.0
    for worker, arrays in zip(workers, signals, strict=True):
        peak, active = worker.tensor_peak_teraflops, arrays.get("tensor_active_ratio")
        if peak is None or active is None:
            return None, None
        done = done + peak * active
        most += peak
    known = done[np.isfinite(done)]
    if known.size < FEWEST_SAMPLES:
        return None, None
    blocks = _blocks(known, period_steps)
    mean = float(blocks.mean())
    if mean < LEAST_ACTIVE_RATIO * most:
        return None, None
    off = blocks / mean - 1
    usual = _USUAL_WEIGHT * _USUAL_SPREAD**2
    variance = (float(off @ off) + usual) / (off.size - 1 + _USUAL_WEIGHT)
    return mean, math.sqrt(variance / off.size)


def _blocks(known: FloatArray, period_steps: float | None) -> FloatArray:
    """Means of whole periods, the last ones: a part of one would weigh its high or low too much."""
    width = period_steps or BLOCK_STEPS
    count = int(known.size / width)
    if count < 2:  # noqa: PLR2004
        width, count = known.size / 2, 2
    edges = np.rint(known.size - width * np.arange(count, -1, -1)).astype(np.intp)
    sums: FloatArray = np.add.reduceat(known, edges[:-1])
    means: FloatArray = sums / np.diff(edges)
    return means


def _watts(signals: Sequence[Arrays]) -> float | None:
    total = 0.0
    for one in signals:
        power = one.get("power_watts")
        if power is None:
            return None
        total += float(np.nanmean(power))
    return total
