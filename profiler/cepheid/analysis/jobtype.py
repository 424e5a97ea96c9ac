"""What kind of job holds a GPU, how sure that is, and why, in words.

Every rule of `jobrules` that holds adds its weight to one kind; the heaviest kind wins. So every
verdict can be retraced by hand. GPU_UTIL says only that some kernel ran: a verdict that has
nothing else is never surer than `GAUGE_CEILING`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cepheid.analysis.features import Features, features
from cepheid.analysis.jobrules import IDLE_SHARE, RULES, JobKind, Rule
from cepheid.analysis.signals import GpuLoad, Signals, gpu_load, known

__all__ = ["JobKind", "JobType", "job_type"]

JUDGED = tuple(dict.fromkeys(rule.kind for rule in RULES))
FEWEST_SAMPLES = 16
SHORTEST_SECONDS = 300.0
# From here on a person's pause is hardly mistaken for the end of the work.
AMPLE_SECONDS = 1800.0
GAUGE_CEILING = 0.3
# Below these the kinds fit about equally well, or none does: not known.
SMALLEST_MARGIN = 0.12
SMALLEST_SCORE = 2.5
# What a verdict has against it unseen: one rule alone convinces less than three.
DOUBT = 2.0
# A CUDA context alone takes 300 MiB and more; an empty GPU shows a few.
EMPTY_MIB = 200.0
# Where several pods share the GPU each sees the others' load; where none is known, something is
# wrong with what is known.
SHARED_FACTOR = 0.7


@dataclass(frozen=True, slots=True)
class JobType:
    kind: JobKind
    confidence: float
    """0 to 1: from the margin over the runner-up and from how much was measured."""
    reason: str


def job_type(signals: Signals) -> JobType:
    load = gpu_load(signals)
    found = features(signals, load)
    if (empty := _empty(signals.pods, found)) is not None:
        return empty
    samples = known(load.active).size
    seconds = samples * signals.step_seconds
    missing = _missing(load, found)
    if samples < FEWEST_SAMPLES or seconds < SHORTEST_SECONDS:
        return JobType(
            JobKind.UNKNOWN,
            0.0,
            f"{samples} samples of the GPU's activity, {seconds:.0f} s, are too few: at least"
            f" {FEWEST_SAMPLES} and {SHORTEST_SECONDS:.0f} s are needed{_listed(missing)}",
        )
    held = [rule for rule in RULES if rule.holds(found)]
    scores = {kind: sum(rule.weight for rule in held if rule.kind is kind) for kind in JUDGED}
    best, second = sorted(scores, key=lambda kind: -scores[kind])[:2]
    margin = (scores[best] - scores[second]) / (scores[best] + DOUBT)
    because = _words(held, best, found)
    against = _words(held, second, found)
    if scores[best] < SMALLEST_SCORE or margin < SMALLEST_MARGIN:
        why = f"{best} or {second}: {because}; but {against}" if against else "no rule fits well"
        return JobType(JobKind.UNKNOWN, 0.0, why + _listed(missing))
    confidence = margin * (1 - sum(missing.values()))
    confidence *= min(1.0, 0.5 + 0.5 * seconds / AMPLE_SECONDS)
    confidence *= min(1.0, samples / (0.8 * _length(load)))
    reason = because + (f"; but {against}" if against else "")
    if signals.pods is not None and signals.pods != 1:
        confidence *= SHARED_FACTOR
        reason += (
            f"; {signals.pods} pods share the GPU, so the signals mix"
            if signals.pods
            else "; no pod is known to hold it"
        )
    if load.pulse is None:
        confidence = min(confidence, GAUGE_CEILING)
    return JobType(best, confidence, reason + _listed(missing))


def _empty(pods: int | None, found: Features) -> JobType | None:
    if pods or found.memory_mib >= EMPTY_MIB or found.active >= IDLE_SHARE:
        return None
    if np.isnan(found.memory_mib):
        if pods is None:
            return None
        return JobType(JobKind.EMPTY, 0.6, "no pod holds it; not measured: GPU memory")
    held = f"{found.memory_mib:.0f} MiB of its memory are in use, less than any process takes"
    if pods is None:
        return JobType(JobKind.EMPTY, 0.6, f"{held}; not known: which pods hold it")
    return JobType(JobKind.EMPTY, 0.95, f"no pod holds it; {held}")


def _missing(load: GpuLoad, found: Features) -> dict[str, float]:
    """What was not measured, with the share of the confidence that it costs; at most 0.8."""
    table = (
        ("power between idle and limit", 0.20, load.power is None),
        ("tensor pipe", 0.15, load.tensor is None),
        ("device memory activity", 0.10, load.dram is None),
        ("kernel activity", 0.10, load.busy is None),
        ("GPU memory", 0.05, np.isnan(found.memory_mib)),
        ("network", 0.10, np.isnan(found.traffic)),
        ("cycles", 0.10, np.isnan(found.step_seconds)),
    )
    return {name: cost for name, cost, is_missing in table if is_missing}


def _listed(missing: Mapping[str, float]) -> str:
    return f"; not measured: {', '.join(missing)}" if missing else ""


def _words(held: Sequence[Rule], kind: JobKind, found: Features) -> str:
    """The heaviest three reasons for a kind."""
    rules = sorted((rule for rule in held if rule.kind is kind), key=lambda rule: -rule.weight)
    figures = {name: getattr(found, name) for name in Features.__slots__}
    return "; ".join(rule.words.format_map(figures) for rule in rules[:3])


def _length(load: GpuLoad) -> int:
    return 0 if load.active is None else load.active.size
