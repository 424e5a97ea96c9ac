"""Would twice the GPUs help?

Best told by runs of the same job on different numbers of GPUs: what a step consists of is fitted to
them. Where there was only one number, what held that run back says as much as it can, which is
less: a bound after Amdahl (1967), and never more than was seen.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from cepheid.analysis.findings import Cause
from cepheid.analysis.scaling import GpuType, Scaling, Seen, fit
from cepheid.jobprofile import HeldBackBy, JobProfile, Outcome
from cepheid.jobs.advice import IDLE_PERCENT
from cepheid.jobs.gpu_names import is_gpu
from cepheid.jobs.rates import Rates, rates_of
from cepheid.model import FloatArray
from cepheid.placementtrial import Placement

HELPS, HELPS_LITTLE = 1.5, 1.1
"""Times the throughput, for twice the GPUs: above the first it helps, below the second it does
not."""
SURE = 0.8
"""So sure it is that it helps, or that it does not, before either is said."""
EXCHANGE_GROWS = 2.0
"""At most so many times what it took, with twice the GPUs: of a ring the latency of its hops."""
MOST_GPUS, MOST_GPUS_PER_WORKER = 512, 64
UNKNOWN_MODEL = "GPU"


class Helps(StrEnum):
    YES = "yes"
    LITTLE = "little"
    NO = "no"
    NOT_KNOWN = "not known"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingVerdict:
    helps: Helps
    reason: str
    gpus: int | None = None
    """Twice as many as these."""
    speedup: float | None = None
    """Times the throughput, as expected."""
    low: float | None = None
    high: float | None = None
    """Between these with 90 %; of a bound only the one that there is."""
    counts: tuple[int, ...] = ()
    """Numbers of GPUs that the answer rests on."""
    not_seen: str | None = None

    @property
    def efficiency(self) -> float | None:
        """What a GPU would do of what it does now."""
        return None if self.speedup is None else self.speedup / 2


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePoint:
    """What the job would do on so many GPUs, in times what it does on those that it has now."""

    gpus: int
    speedup: float
    low: float
    high: float
    """Between these with 90 %."""
    runs: int
    """So many were seen on as many GPUs."""
    measured: float | None
    """What these did, the middle one of them."""


def scaling_verdict(runs: Sequence[JobProfile]) -> ScalingVerdict:
    """Of the same job, in any order; those that failed do not count."""
    alike = _alike(runs)
    if not alike:
        return ScalingVerdict(helps=Helps.NOT_KNOWN, reason="no run of it with GPUs did not fail")
    rates = rates_of(alike)
    if rates is not None:
        return _by_counts(_fitted(rates))
    return _by_bottleneck(_latest(alike), alike)


def scaling_curve(runs: Sequence[JobProfile]) -> tuple[CurvePoint, ...]:
    """Over 1, 2, 4, ... GPUs up to twice the most that were seen, and over all that were.

    Empty where runs do not show at least two numbers of them: then there is nothing to fit.
    """
    rates = rates_of(_alike(runs))
    if rates is None:
        return ()
    fitted = _fitted(rates)
    now, most = fitted.now, max(rates.counts)
    doubling = {2**power for power in range(11) if 2**power <= min(2 * most, MOST_GPUS)}
    counts = sorted({*doubling, *rates.counts, now.gpus})
    places = [_of_size(now, gpus, of_workers=fitted.of_workers) for gpus in counts]
    draws = fitted.scaling.samples([now, *places])
    ratios = draws[:, 1:] / draws[:, :1]
    bands = np.quantile(ratios, (0.05, 0.5, 0.95), axis=0)
    unit = float(np.median(draws[:, 0]))
    found = []
    for gpus, low, speedup, high in zip(counts, *bands.tolist(), strict=True):
        seen = [rate / unit for run, rate in rates.each if run.gpu_count == gpus]
        found.append(
            CurvePoint(
                gpus=gpus,
                speedup=round(speedup, 3),
                low=round(low, 3),
                high=round(high, 3),
                runs=len(seen),
                measured=round(float(np.median(seen)), 3) if seen else None,
            )
        )
    return tuple(found)


def _alike(runs: Sequence[JobProfile]) -> list[JobProfile]:
    """On GPUs of the same model as the latest of those that did not fail."""
    usable = [
        run for run in runs if 0 < run.gpu_count <= MOST_GPUS and run.outcome is not Outcome.FAILED
    ]
    if not usable:
        return []
    model = _model(_latest(usable))
    return [run for run in usable if _model(run) == model]


def _latest(runs: Sequence[JobProfile]) -> JobProfile:
    return max(runs, key=lambda run: (run.ended or run.created, run.created, run.job.uid))


class _Fitted(NamedTuple):
    rates: Rates
    now: Placement
    of_workers: bool
    """Whether more GPUs are more workers, rather than more in the one that there is."""
    scaling: Scaling


def _fitted(rates: Rates) -> _Fitted:
    latest = _latest([run for run, _ in rates.each])
    one_worker = all(_shape(run)[0] == 1 for run, _ in rates.each)
    error = rates.error()
    model = _model(latest)
    seen = [Seen(_placement(run, model), rate, error) for run, rate in rates.each]
    now = _placement(latest, model)
    return _Fitted(rates, now, not one_worker, fit(seen, [GpuType(model)]))


def _by_counts(fitted: _Fitted) -> ScalingVerdict:
    rates, now = fitted.rates, fitted.now
    twice = _twice(now, of_workers=fitted.of_workers)
    draws = fitted.scaling.samples([now, twice])
    ratios = draws[:, 1] / draws[:, 0]
    low, speedup, high = (round(float(each), 3) for each in np.quantile(ratios, (0.05, 0.5, 0.95)))
    most = rates.counts[-1]
    foretold = f"{twice.gpus} GPUs were never run" if twice.gpus > most else None
    return ScalingVerdict(
        helps=_class(ratios),
        reason=f"{rates.words()}: {twice.gpus} would do {speedup:.1f} times the work of {now.gpus}"
        f" ({low:.1f} to {high:.1f})",
        gpus=now.gpus,
        speedup=speedup,
        low=low,
        high=high,
        counts=rates.counts,
        not_seen=foretold,
    )


def _class(ratios: FloatArray) -> Helps:
    helps = float((ratios >= HELPS).mean())
    if helps >= SURE:
        return Helps.YES
    if helps > 1 - SURE:
        return Helps.NOT_KNOWN
    return Helps.LITTLE if np.median(ratios) >= HELPS_LITTLE else Helps.NO


def _by_bottleneck(run: JobProfile, runs: Sequence[JobProfile]) -> ScalingVerdict:
    counts = tuple(sorted({one.gpu_count for one in runs}))
    helps, reason, bounds = _of_cause(run)
    low, high = bounds
    not_seen = (
        f"it was run on {run.gpu_count} {_gpus(run.gpu_count)} only"
        if len(counts) == 1
        else f"runs on {', '.join(map(str, counts))} GPUs cannot be compared"
    )
    return ScalingVerdict(
        helps=helps,
        reason=reason,
        gpus=run.gpu_count,
        low=low,
        high=high,
        counts=(run.gpu_count,),
        not_seen=f"{not_seen}: this is what held it back",
    )


_Bounds = tuple[float | None, float | None]


def _of_cause(run: JobProfile) -> tuple[Helps, str, _Bounds]:
    util = None if run.usage is None else run.usage.gpu_util_percent
    if util is not None and util.max is not None and util.max <= IDLE_PERCENT:
        return Helps.NO, f"its GPUs were never busier than {util.max:.0f} %", (None, 1.0)
    held = run.held_back_by
    if held is None:
        return Helps.NOT_KNOWN, "nothing was seen that holds it back", (None, None)
    share = held.share_percent / 100
    said = f"{held.share_percent:.0f} % of the time"
    at_most = 2 / (1 + share)
    match held.kind:
        case Cause.INPUT | Cause.CPU | Cause.CPU_THROTTLED | Cause.DISK:
            words = (
                f"{said} its GPUs wait for the host ({held.kind}): more workers would help by"
                " nothing but the cores and loaders that they bring"
            )
            return Helps.NO, words, (None, at_most)
        case Cause.NETWORK | Cause.PEERS:
            helps = Helps.LITTLE if at_most >= HELPS_LITTLE else Helps.NO
            words = f"{said} its GPUs exchange data or wait for each other, which more would not"
            return helps, f"{words} shorten: {at_most:.1f} times the work at most", (None, at_most)
        case Cause.GPU:
            return _of_computing(run, held)
        case _:
            words = "what held it back tells nothing of more GPUs"
            return Helps.NOT_KNOWN, words, (None, None)


def _of_computing(run: JobProfile, held: HeldBackBy) -> tuple[Helps, str, _Bounds]:
    said = f"its {_gpus(run.gpu_count)} computed {held.share_percent:.0f} % of the time"
    if run.gpu_count == 1:
        words = f"{said}: twice the work at most, less what an exchange between GPUs would cost"
        return Helps.NOT_KNOWN, words, (None, 2.0)
    share = held.share_percent / 100
    low = round(1 / (share / 2 + EXCHANGE_GROWS * (1 - share)), 3)
    helps = Helps.YES if low >= HELPS_LITTLE else Helps.NOT_KNOWN
    return helps, f"{said}: {low:.1f} to 2 times the work", (low, 2.0)


def _gpus(count: int) -> str:
    return "GPU" if count == 1 else "GPUs"


def _model(run: JobProfile) -> str:
    """All of one model, or else what they are."""
    models = sorted({gpu.model or UNKNOWN_MODEL for gpu in run.gpus})
    return "+".join(models)[:253] or UNKNOWN_MODEL


def _placement(run: JobProfile, model: str) -> Placement:
    workers, each = _shape(run)
    return Placement(gpu_type=model, workers=workers, gpus_per_worker=each)


def _shape(run: JobProfile) -> tuple[int, int]:
    """Workers, and GPUs of each; a worker for each GPU where that cannot be told."""
    asked = [
        (one.pods, int(text))
        for one in run.asked
        for name, text in {**one.limits, **one.requests}.items()
        if is_gpu(name) and text.isascii() and text.isdecimal() and int(text)
    ]
    workers, each = asked[0] if len(asked) == 1 else (run.gpu_count, 1)
    fits = workers * each == run.gpu_count and each <= MOST_GPUS_PER_WORKER
    return (workers, each) if fits else (run.gpu_count, 1)


def _twice(now: Placement, *, of_workers: bool) -> Placement:
    workers, each = now.workers, now.gpus_per_worker
    if of_workers or 2 * each > MOST_GPUS_PER_WORKER:
        workers *= 2
    else:
        each *= 2
    return Placement(gpu_type=now.gpu_type, workers=workers, gpus_per_worker=each)


def _of_size(now: Placement, gpus: int, *, of_workers: bool) -> Placement:
    """As many workers as it takes, of the size that they have; or one as large."""
    each = now.gpus_per_worker if of_workers else min(gpus, MOST_GPUS_PER_WORKER)
    workers, rest = divmod(gpus, each)
    if rest:
        workers, each = gpus, 1
    return Placement(gpu_type=now.gpu_type, workers=workers, gpus_per_worker=each)
