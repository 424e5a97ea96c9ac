"""What is most worth knowing of a job, and what to do about it.

The first that applies is the verdict, a few words; each has its advice, with the field to change
and the value to give it where that can be told.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from cepheid.jobprofile import Asked, JobProfile, Outcome, Reason, Worker
from cepheid.jobs.fields import one_line
from cepheid.units import in_bytes, in_time, quantity

VERDICT_CHARACTERS = 60
MOST_ADVICE = 6

WASTES = 1.5
"""Times what it used: asked for more than that, the difference is worth a word."""
SPARE = 1.15
"""What is advised above the peak, as the Vertical Pod Autoscaler and KRR do."""
TOLD_SECONDS = 300.0
"""A shorter run does not show what a job needs."""
LEAST_WASTE_BYTES = 2.0**28
LEAST_WASTE_CORES = 1.0
IDLE_PERCENT, LOW_PERCENT = 5.0, 25.0
"""Of GPU load at its highest; the second as Jobanalyzer has it."""
LEAST_LOST_PERCENT = 20.0


class Word(NamedTuple):
    verdict: str
    advice: str | None = None


def judge(profile: JobProfile) -> tuple[str | None, tuple[str, ...]]:
    """Verdict and advice on what the rest of the profile says."""
    found = [*_end(profile), *_memory(profile), *_gpu(profile), *_cpu(profile), *_rest(profile)]
    verdict = one_line(found[0].verdict, VERDICT_CHARACTERS) if found else None
    told = [one_line(word.advice) for word in found if word.advice]
    return verdict, tuple(advice for advice in told[:MOST_ADVICE] if advice)


def _end(profile: JobProfile) -> Iterator[Word]:
    limit = _lowest_limit(profile.asked)
    match profile.reason:
        case Reason.OOM_KILLED:
            at = f" of {in_bytes(limit)}" if limit else ""
            yield Word(
                f"killed at its memory limit{at}",
                f"raise resources.limits.memory: it was killed at its limit{at}"
                + (f"; try {in_bytes(limit * 1.5)}" if limit else ""),
            )
        case Reason.DEADLINE:
            after = profile.duration_seconds
            yield Word(
                "stopped by its deadline" + ("" if after is None else f" after {in_time(after)}"),
                "raise activeDeadlineSeconds, or save checkpoints so that the next run goes on",
            )
        case Reason.EXIT_CODE:
            code = profile.exit_code
            yield Word("failed" if code is None else f"failed with exit code {code}")
        case Reason.UNKNOWN if profile.outcome is Outcome.FAILED:
            yield Word("failed")
        case None:
            return
        case reason:
            verdict, advice = _ENDS.get(reason, (str(reason), None))
            yield Word(verdict, advice)


_ENDS: dict[Reason, tuple[str, str | None]] = {
    Reason.BACKOFF: ("failed too often", None),
    Reason.EVICTED: (
        "evicted from its node",
        "ask for what it uses: pods above their requests are evicted first",
    ),
    Reason.PREEMPTED: (
        "made way for a job of higher priority",
        "give it a higher priorityClassName, or save checkpoints",
    ),
    Reason.NODE_LOST: ("its node was lost", "save checkpoints, so that the next run goes on"),
    Reason.IMAGE: ("its image cannot be pulled", "check the image's name and imagePullSecrets"),
    Reason.CONFIG: (
        "its container cannot be made",
        "check its command, and the ConfigMaps and Secrets that it names",
    ),
    Reason.UNSCHEDULABLE: (
        "no node has room for it",
        "compare its requests, nodeSelector and tolerations with what the nodes have",
    ),
    Reason.DELETED: ("deleted while it ran", None),
    Reason.STOPPED: ("stopped by somebody", None),
    Reason.SIGNAL: ("ended by a signal", None),
    Reason.COMMAND: (
        "its command could not be started",
        "check how it is spelled, and that it may be executed",
    ),
    Reason.LOST: ("whoever recorded it was killed", None),
}


def _memory(profile: JobProfile) -> Iterator[Word]:
    if profile.leak is not None:
        speed = f"{in_bytes(60 * profile.leak.bytes_per_second)}/m"
        yield Word(
            f"memory leak {speed}",
            f"its memory grows by {speed} and is never given back: find what it keeps",
        )
        return  # what it used so far is not what it will
    asked = _asked(profile.asked, "memory")
    used = max((w.memory_bytes for w in profile.workers if w.memory_bytes), default=None)
    if not _went_through(profile) or asked is None or used is None:
        return
    if asked >= WASTES * used and asked - used >= LEAST_WASTE_BYTES:
        yield Word(
            f"memory asked {asked / used:.1f}x",
            f"ask for {in_bytes(SPARE * used)} of memory instead of {in_bytes(asked)}: a pod of"
            f" it used {in_bytes(used)} at most",
        )


def _gpu(profile: JobProfile) -> Iterator[Word]:
    util = None if profile.usage is None else profile.usage.gpu_util_percent
    if not profile.gpu_count or not is_told(profile) or util is None or util.max is None:
        return
    count = "its GPU" if profile.gpu_count == 1 else f"its {profile.gpu_count} GPUs"
    if util.max <= IDLE_PERCENT:
        verb = "was" if profile.gpu_count == 1 else "were"
        yield Word("GPU idle", f"{count} {verb} never used: do without, or find why")
    elif util.max <= LOW_PERCENT:
        yield Word(
            f"GPU used {util.max:.0f} % at most",
            f"{count} reached {util.max:.0f} % at most: a smaller or shared one will do",
        )


def _cpu(profile: JobProfile) -> Iterator[Word]:
    asked = _asked(profile.asked, "cpu")
    used = max((w.cpu_cores for w in profile.workers if w.cpu_cores), default=None)
    if not _went_through(profile) or asked is None or used is None:
        return
    if asked >= 2 * WASTES * used and asked - used >= LEAST_WASTE_CORES:
        yield Word(
            f"CPU asked {asked / used:.1f}x",
            f"ask for {SPARE * used:.1f} cores instead of {asked:g}: a pod of it used {used:.1f}"
            " at most",
        )


def _rest(profile: JobProfile) -> Iterator[Word]:
    lags = [worker for worker in profile.workers if worker.straggles]
    if lags:
        yield Word(f"{_short(lags[0])} lags", f"{lags[0].name}: {lags[0].straggles}")
    held = profile.held_back_by
    if held is not None and held.advice and held.share_percent >= LEAST_LOST_PERCENT:
        share = f"{held.share_percent:.0f} %"
        verdict = (
            f"{held.kind} is the limit" if held.kind == "gpu" else f"{held.kind} costs {share}"
        )
        yield Word(verdict, held.advice)


def _short(worker: Worker) -> str:
    """The end of a long name tells which of the workers it is."""
    return worker.name if len(worker.name) <= VERDICT_CHARACTERS // 2 else f"..{worker.name[-28:]}"


def is_told(profile: JobProfile) -> bool:
    return (profile.duration_seconds or 0.0) >= TOLD_SECONDS


def _went_through(profile: JobProfile) -> bool:
    """All that it does: one that runs yet, or died, may need more memory and CPU than it used."""
    return is_told(profile) and profile.outcome is Outcome.SUCCESS


def _asked(asked: Sequence[Asked], resource: str) -> float | None:
    """Of the pods of the role that asks for the most; None where a container does not say."""
    roles: dict[str | None, dict[str, float]] = {}
    silent = set()
    for one in asked:
        text = one.requests.get(resource, one.limits.get(resource))
        amount = None if text is None else quantity(text)
        containers = roles.setdefault(one.role, {})
        if amount is None:
            silent.add(one.role)
        else:
            containers[one.container] = max(amount, containers.get(one.container, 0.0))
    totals = [sum(each.values()) for role, each in roles.items() if role not in silent]
    return max(totals, default=None) or None


def _lowest_limit(asked: Sequence[Asked]) -> float | None:
    limits = [quantity(one.limits["memory"]) for one in asked if "memory" in one.limits]
    return min((limit for limit in limits if limit), default=None)
