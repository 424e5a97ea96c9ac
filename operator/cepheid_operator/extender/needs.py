"""What will a pod need that has not started yet?

Its job's earlier runs tell: first those made from the same template, else those of the same name.
What trials found out about its best GPU type counts for more than that. What no run shows is None,
and decides nothing.

How fast a job is on a type of GPU that it never ran on follows from one that it did run on. Of each
second there the GPUs computed for a share f, and only that share gets shorter on a GPU with a
higher peak: t' = t * (1 - f + f * peak / peak'). Jobs that wait for data gain little. One of which
no run is known is taken for a usual one: faster GPUs are better for it as well.
"""

import statistics
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from cepheid.analysis.findings import Cause
from cepheid.annotations.facts import GB
from cepheid.annotations.job_facts import BestPlacement
from cepheid.gpu_models import peaks_of
from cepheid.jobprofile import JobProfile, Outcome
from cepheid.jobs.placed import gpu_type_of, per_worker

MOST_RUNS = 5
"""The last so many count: jobs change."""
INPUT = frozenset({Cause.INPUT, Cause.CPU, Cause.DISK})
"""Of what held a run back: what neighbours on the same node take from each other."""
TOOK_ALL = 0.7
"""Of its GPUs' memory: a run that held so much may have taken whatever there was (JAX takes 75 %,
TensorFlow and vLLM 90 %), so that it tells nothing of what the job needs elsewhere."""
USUAL_BUSY = 0.5
"""Share of the time in which the GPUs of a usual job compute, in published traces about half."""
NEXT_BEST = 0.5
"""At most so good, beside the type that a trial found to be the best, is any other."""


@dataclass(frozen=True, slots=True)
class Run:
    """Of one earlier run, what a scheduler could act on."""

    ended: float
    """Seconds since the epoch; infinite while it runs."""
    template: str | None = None
    gpu_type: str | None = None
    """As the node's label has it; None where they differed."""
    seconds: float | None = None
    """Of a run that succeeded."""
    gpus: int = 0
    memory_gb: float | None = None
    """The most that one of its GPUs held."""
    busy: float | None = None
    """Share of the time in which its GPUs computed, 0 to 1."""
    draws: float = 0.0
    """Share of the time in which it draws on its node for input, 0 to 1: of a job with a pulse the
    part of it in which the GPUs wait, of one that waits without a pulse all of it."""


@dataclass(frozen=True, slots=True)
class Needs:
    gpus: int
    """That the pod asks for."""
    runs: int = 0
    """On so many earlier ones the rest stands."""
    memory_gb: float | None = None
    """Of each GPU."""
    seconds: float | None = None
    """How long it will run."""
    speeds: Mapping[str, float] = field(default_factory=dict)
    """By type of GPU, relative to the fastest of them; without `runs` those of a usual job. Not
    there where nobody can tell."""
    best_type: str | None = None
    """That a PlacementTrial found."""
    draws: float | None = None
    busy: float | None = None


def run_of(profile: JobProfile) -> Run | None:
    """None of a run that had no GPUs, or of which nothing was measured."""
    if not profile.gpu_count or profile.usage is None:
        return None
    load = profile.usage.gpu_util_percent
    succeeded = profile.outcome is Outcome.SUCCESS
    return Run(
        ended=float("inf") if profile.ended is None else profile.ended.timestamp(),
        template=profile.template,
        gpu_type=gpu_type_of(profile),
        seconds=profile.duration_seconds if succeeded else None,
        gpus=profile.gpu_count,
        memory_gb=_memory_gb(profile),
        busy=None if load is None or load.mean is None else min(1.0, load.mean / 100),
        draws=_draws(profile),
    )


def _draws(profile: JobProfile) -> float:
    back, cycle = profile.held_back_by, profile.cycle
    if back is None or back.kind not in INPUT:
        return 0.0
    pulses = cycle is not None and cycle.confirmed is not False
    return back.share_percent / 100 if pulses else 1.0


def _memory_gb(profile: JobProfile) -> float | None:
    """Of one GPU, on average over those of the worker that used the most."""
    each = per_worker(profile)
    used = [w.gpu_memory_bytes for w in profile.workers if w.gpu_memory_bytes is not None]
    if each is None or not used:
        return None
    return max(used) / each / GB


def alike(runs: Iterable[Run], template: str | None) -> list[Run]:
    """The last of those made from the same template, or where there is none the last of all."""
    latest = sorted(runs, key=lambda run: run.ended, reverse=True)
    same = [run for run in latest if template is not None and run.template == template]
    return (same or latest)[:MOST_RUNS]


def needs_of(
    gpus: int, runs: Sequence[Run], best: BestPlacement | None, types: Collection[str]
) -> Needs:
    """Of a pod that asks for so many GPUs; `types` are those of the cluster's nodes."""
    memories = [gb for run in runs if (gb := run.memory_gb) is not None and not _took_all(run, gb)]
    lengths = [run.seconds for run in runs if run.seconds is not None]
    return Needs(
        gpus=gpus,
        runs=len(runs),
        memory_gb=max(memories, default=None),
        seconds=statistics.median(lengths) if lengths else None,
        speeds=_speeds(runs, best, types),
        best_type=None if best is None else best.gpu_type,
        draws=statistics.median(run.draws for run in runs) if runs else None,
        busy=_median([run.busy for run in runs]),
    )


def _took_all(run: Run, memory_gb: float) -> bool:
    peaks = peaks_of(run.gpu_type)
    return peaks is not None and memory_gb > TOOK_ALL * peaks.memory_gb


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def _speeds(
    runs: Sequence[Run], best: BestPlacement | None, types: Collection[str]
) -> dict[str, float]:
    seen = _seconds_by_type(runs)
    busy = _median([run.busy for run in runs])
    times = {kind: _foretold(kind, seen, busy) for kind in types}
    known = {kind: seconds for kind, seconds in times.items() if seconds}
    fastest = min(known.values(), default=1.0)
    speeds = {kind: fastest / seconds for kind, seconds in known.items()} or usual(types)
    if best is not None and best.gpu_type in types:
        others = {kind: min(NEXT_BEST, speeds.get(kind, NEXT_BEST)) for kind in types}
        return others | {best.gpu_type: 1.0}
    return speeds


def _seconds_by_type(runs: Sequence[Run]) -> dict[str, float]:
    """Of runs with the same number of GPUs, the most common one: with others they take longer."""
    counts = [run.gpus for run in runs if run.gpu_type and run.seconds]
    usual = statistics.mode(counts) if counts else 0
    found: dict[str, list[float]] = {}
    for run in runs:
        if run.gpu_type and run.seconds and run.gpus == usual:
            found.setdefault(run.gpu_type, []).append(run.seconds)
    return {kind: statistics.median(seconds) for kind, seconds in found.items()}


def _foretold(kind: str, seen: Mapping[str, float], busy: float | None) -> float | None:
    if kind in seen:
        return seen[kind]
    there = peak(kind)
    for known, seconds in seen.items():
        here = peak(known)
        if here is not None and there is not None and busy is not None:
            return seconds * (1 - busy + busy * here / there)
    return None


def usual(types: Collection[str]) -> dict[str, float]:
    """How fast a usual job is on those types, beside the fastest; without those whose data sheet
    is not known."""
    peaks = {kind: found for kind in types if (found := peak(kind)) is not None}
    most = max(peaks.values(), default=1.0)
    return {kind: 1.0 / (1 - USUAL_BUSY + USUAL_BUSY * most / own) for kind, own in peaks.items()}


def peak(kind: str) -> float | None:
    """Dense FP16 of the tensor pipes where there are some, else what the memory's bandwidth is
    worth beside a V100's, the oldest that has some: beside a T4's, which has little bandwidth, a
    P100 would pass for faster than a V100."""
    peaks = peaks_of(kind)
    if peaks is None:
        return None
    return peaks.tensor_teraflops or 125.0 * peaks.dram_gb_per_second / 900.0
