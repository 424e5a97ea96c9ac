"""What happened to a job, in plain words first?

A headline of a sentence or two, the figures, what else is known, and what to do next time.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cepheid.history import TimeSeries
from cepheid.jobprofile import JobProfile, Outcome, Reason, Regressed
from cepheid.jobs.advice import IDLE_PERCENT, LEAST_LOST_PERCENT
from cepheid.reports import words
from cepheid.reports.figures import (
    Figure,
    cpu_limit_cores,
    figures,
    memory_limit_bytes,
    peak_memory_bytes,
)
from cepheid.reports.listing import gpu_count, gpu_models
from cepheid.reports.nexttime import Change, changes
from cepheid.reports.plain import clipped

LEAST_RUNS = 3
"""Fewer earlier runs do not tell what is usual."""
COMMAND_CHARACTERS = 200
FORESEEN_SECONDS = 30 * 86_400.0
"""Nobody asks what a leak does in a year."""
NO_SERIES = "no time series were kept: cepheid run --granularity time-series draws them"


@dataclass(frozen=True, slots=True)
class Fact:
    label: str
    words: str


@dataclass(frozen=True, slots=True)
class Story:
    headline: str
    figures: tuple[Figure, ...]
    facts: tuple[Fact, ...]
    changes: tuple[Change, ...]
    """Lines to write in another way."""
    advice: tuple[str, ...]
    """What to do, as far as no line can be named."""


def tell(
    profile: JobProfile,
    earlier: Sequence[JobProfile] = (),
    kept: Sequence[TimeSeries] = (),
    worse: Sequence[Regressed] = (),
) -> Story:
    """`worse` than in the `earlier` runs, as cepheid.jobs.compare finds it."""
    return Story(
        headline=" ".join([_end(profile), *_finding(profile)]),
        figures=figures(profile, kept),
        facts=tuple(_facts(profile, earlier, worse or profile.regression)),
        changes=changes(profile, earlier),
        advice=tuple(words for words in profile.advice if words != profile.message),
    )


def _end(profile: JobProfile) -> str:
    name, took = profile.job.name, words.lasting(profile.duration_seconds)
    where = _where(profile)
    known = profile.duration_seconds is not None
    match profile.outcome:
        case Outcome.SUCCESS:
            return f"{name} succeeded{f' in {took}' if known else ''}{where}."
        case Outcome.RUNNING:
            return f"{name} is running{f', {took} so far' if known else ''}{where}."
    after = f" after {took}" if known and profile.reason not in _NEVER_RAN else ""
    return f"{name} {_how(profile)}{after}{where}{_said(profile)}."


def _how(profile: JobProfile) -> str:
    limit = memory_limit_bytes(profile)
    match profile.reason:
        case Reason.OOM_KILLED:
            of = "" if limit is None else f" of {words.in_bytes(limit)}"
            return f"was killed at its memory limit{of}"
        case Reason.EXIT_CODE | Reason.BACKOFF if profile.exit_code is not None:
            return f"failed with exit code {profile.exit_code}"
        case None:
            return "failed" if profile.outcome is Outcome.FAILED else f"ended: {profile.outcome}"
    return _ENDS.get(profile.reason, "failed")


_ENDS: dict[Reason, str] = {
    Reason.DEADLINE: "was stopped by its deadline",
    Reason.BACKOFF: "failed as often as it may",
    Reason.EVICTED: "was evicted from its node",
    Reason.PREEMPTED: "had to make room for a job of higher priority",
    Reason.NODE_LOST: "was lost with its node",
    Reason.IMAGE: "could not pull its image",
    Reason.CONFIG: "could not be started as it is configured",
    Reason.UNSCHEDULABLE: "found no node with room for it",
    Reason.DELETED: "was deleted while it ran",
    Reason.STOPPED: "was stopped",
    Reason.SIGNAL: "was ended by a signal",
    Reason.COMMAND: "could not be started",
    Reason.LOST: "was no longer seen, because its recorder was killed,",
}


_NEVER_RAN = frozenset({Reason.COMMAND, Reason.IMAGE, Reason.CONFIG, Reason.UNSCHEDULABLE})


def _said(profile: JobProfile) -> str:
    """In the words of whoever ended it."""
    return f": {profile.message.rstrip('.')}" if profile.message else ""


def _where(profile: JobProfile) -> str:
    gpus = gpu_models(profile)
    nodes = list(profile.nodes)
    if profile.process is not None:
        nodes = [profile.process.host] if profile.process.host else []
    place = words.listed(nodes)
    if gpus is None or not gpu_count(profile):
        return f" on {place}" if place else ""
    said = gpus.replace("+", " and ").replace("x", " x ", 1) if "+" not in gpus else gpus
    return f" on {said}" + (f" ({place})" if place else "")


def _finding(profile: JobProfile) -> Iterator[str]:
    """What is most worth knowing, as a sentence; the first that applies."""
    for sentence in _findings(profile):
        yield sentence
        return
    if profile.verdict is not None and profile.reason is None:
        yield words.sentence(profile.verdict)


def _findings(profile: JobProfile) -> Iterator[str]:
    if profile.leak is not None:
        speed = words.in_bytes(60 * profile.leak.bytes_per_second)
        yield f"Its memory grew by {speed} a minute and was never given back."
    util = None if profile.usage is None else profile.usage.gpu_util_percent
    count = gpu_count(profile)
    if count and util is not None and util.max is not None and util.max <= IDLE_PERCENT:
        yield "Its GPU was never used." if count == 1 else f"Its {count} GPUs were never used."
    lags = [worker for worker in profile.workers if worker.straggles]
    if lags:
        yield f"{lags[0].name} lags behind the others."
    held = profile.held_back_by
    if held is not None and held.share_percent >= LEAST_LOST_PERCENT:
        yield f"{words.sentence(held_back(profile))}"
    for one in profile.regression:
        yield f"{words.sentence(_regressed(one))}"


def held_back(profile: JobProfile) -> str:
    """`it waited for input 22 % of the time`; empty where nothing held it back."""
    held = profile.held_back_by
    if held is None:
        return ""
    share = f"{held.share_percent:.0f} % of the time"
    words_of_kind = _HELD.get(held.kind)
    return (
        f"{held.kind} held it back {share}"
        if words_of_kind is None
        else words_of_kind.format(share)
    )


_HELD = {
    "gpu": "the GPU itself was the limit {}",
    "cpu": "the CPU was at its limit {}",
    "cpu-throttled": "its CPU limit stopped it {}",
    "memory": "it was close to its memory limit",
    "disk": "it waited for the disk {}",
    "network": "it waited for the network {}",
    "input": "it waited for input {}",
    "peers": "it waited for other ranks {}",
    "unknown": "its GPU paused {}, and nothing measured was at its limit",
}


def _evidence(profile: JobProfile) -> str:
    """The figures that show it."""
    usage, held = profile.usage, profile.held_back_by
    if usage is None or held is None:
        return ""
    parts = []
    if held.kind in ("gpu", "input", "peers", "unknown", "disk", "network"):
        if usage.gpu_util_percent and usage.gpu_util_percent.mean is not None:
            parts.append(f"GPU {words.in_percent(usage.gpu_util_percent.mean)}")
        if usage.tensor_percent and usage.tensor_percent.mean is not None:
            parts.append(f"tensor pipe {words.in_percent(usage.tensor_percent.mean)}")
    if held.kind in ("cpu", "cpu-throttled", "input") and usage.cpu_cores is not None:
        limit = cpu_limit_cores(profile)
        of = "" if limit is None else f" of {words.figure(limit)}"
        if usage.cpu_cores.p95 is not None:
            parts.append(f"CPU p95 {words.in_cores(usage.cpu_cores.p95)}{of} cores")
    if held.kind in ("disk", "input") and usage.disk_bytes_per_second is not None:
        parts.append(f"disk up to {words.in_rate(usage.disk_bytes_per_second.max)}")
    if held.kind == "network" and usage.network_bytes_per_second is not None:
        parts.append(f"network up to {words.in_rate(usage.network_bytes_per_second.max)}")
    if held.kind == "memory":
        used = words.bytes_of(peak_memory_bytes(profile), memory_limit_bytes(profile))
        parts.append(f"{used} at most")
    return ", ".join(parts)


def _facts(
    profile: JobProfile, earlier: Sequence[JobProfile], worse: Sequence[Regressed]
) -> Iterator[Fact]:
    if profile.held_back_by is not None:
        evidence = _evidence(profile)
        yield Fact("held back by", held_back(profile) + (f"; {evidence}" if evidence else ""))
    if profile.leak is not None:
        yield Fact("leak", _leak(profile))
    yield from _cycle(profile)
    yield from _of_process(profile)
    if profile.worker_count > 1 or any(worker.straggles for worker in profile.workers):
        yield Fact("workers", _workers(profile))
    yield Fact("usual?", _usual(profile, earlier, worse))
    if profile.waited_seconds:
        yield Fact("waited", f"{words.lasting(profile.waited_seconds)} until it began")
    if profile.restarts:
        yield Fact("restarts", f"{profile.restarts:,}")
    yield Fact("ran", _ran(profile))
    yield Fact("measured", _measured(profile))


def _leak(profile: JobProfile) -> str:
    leak = profile.leak
    if leak is None:
        return ""
    speed = words.in_bytes(60 * leak.bytes_per_second)
    text = f"{speed} a minute, to the end (sure to {100 * leak.confidence:.0f} %)"
    limit, peak = memory_limit_bytes(profile), peak_memory_bytes(profile)
    if limit and peak and leak.bytes_per_second > 0 and limit > peak:
        left_seconds = (limit - peak) / leak.bytes_per_second
        if left_seconds < FORESEEN_SECONDS:
            left = words.lasting(left_seconds)
            text += f"; it would reach {words.in_bytes(limit)} in another {left}"
    return text


def _cycle(profile: JobProfile) -> Iterator[Fact]:
    cycle = profile.cycle
    if cycle is None:
        return
    parts = [f"strength {cycle.strength:.2f}"]
    if profile.duration_seconds and cycle.period_seconds > 0:
        parts.append(f"{profile.duration_seconds / cycle.period_seconds:,.0f} times")
    if cycle.metric:
        parts.append(f"seen in its {cycle.metric}")
    if cycle.confirmed is False:
        parts.append("not confirmed: it may be an alias of something faster")
    yield Fact("repeats", f"every {words.lasting(cycle.period_seconds)} ({', '.join(parts)})")


def _of_process(profile: JobProfile) -> Iterator[Fact]:
    process = profile.process
    if process is None:
        return
    if process.phases:
        each = [
            f"{one.name} {words.lasting(one.seconds)}"
            + ("" if one.cpu_cores is None else f" ({words.cores_said(one.cpu_cores)})")
            for one in process.phases
        ]
        yield Fact("phases", ", ".join(each))
    if process.busiest_threads:
        each = [f"{one.name} {words.lasting(one.cpu_seconds)}" for one in process.busiest_threads]
        yield Fact("threads", words.listed(each, 5))
    system, usage = process.system_cpu_cores, profile.usage
    if system is not None and system.mean is not None and usage and usage.cpu_cores:
        others = system.mean - (usage.cpu_cores.mean or 0.0)
        if process.cores and others > 0.1 * process.cores:
            yield Fact("beside it", f"others used {words.cores_said(others)} of the machine")
    if process.left_running:
        count = words.counted(process.left_running, "process", "processes")
        yield Fact("left behind", f"{count} of it still ran when it had ended")
    if process.container is not None:
        yield Fact("container", process.container)
    for why in process.skipped:
        yield Fact("not measured", why)


def _workers(profile: JobProfile) -> str:
    lags = [f"{one.name} {one.straggles}" for one in profile.workers if one.straggles]
    if lags:
        return words.listed(lags, 2)
    peaks = [one.memory_bytes for one in profile.workers if one.memory_bytes is not None]
    text = words.counted(profile.worker_count, "worker")
    if len(peaks) > 1:
        text += f", with {words.in_bytes(min(peaks))} to {words.in_bytes(max(peaks))} of memory"
    return f"{text}; none lags"


def _usual(profile: JobProfile, earlier: Sequence[JobProfile], worse: Sequence[Regressed]) -> str:
    runs = [one for one in earlier if one.outcome is Outcome.SUCCESS]
    lengths = [one.duration_seconds for one in runs if one.duration_seconds is not None]
    if worse:
        return "no: " + "; ".join(_regressed(one) for one in worse)
    if len(lengths) < LEAST_RUNS:
        count = words.counted(len(runs), "earlier run") if runs else "no earlier run"
        return f"not known: {count} of {profile.series} succeeded"
    shortest, longest = words.lasting(min(lengths)), words.lasting(max(lengths))
    span = shortest if shortest == longest else f"{shortest} to {longest}"
    told = f"{span} in the last {len(lengths)} runs"
    if profile.outcome is not Outcome.SUCCESS:
        return f"no: it took {told}, and succeeded"
    return f"yes: {told}"


def _regressed(one: Regressed) -> str:
    said = _REGRESSED.get(one.what, (one.what, words.figure))
    now, usual = said[1](one.now), said[1](one.usual)
    change = "" if one.change_percent is None else f", {words.change(one.change_percent)}"
    return f"{said[0]} {now}, usually {usual}{change}"


_REGRESSED = {
    "duration": ("it took", words.lasting),
    "memory": ("memory", words.in_bytes),
    "gpuMemory": ("GPU memory", words.in_bytes),
    "gpuHours": ("GPU hours", words.figure),
}


def _ran(profile: JobProfile) -> str:
    moment = profile.started or profile.created
    text = f"{moment:%Y-%m-%d %H:%M:%S} UTC"
    who = profile.user or profile.service_account
    if who:
        text += f" by {who}"
    process = profile.process
    if process is None:
        return f"{text}, {profile.job.kind} {profile.job.namespace}/{profile.job.name}"
    if process.directory:
        text += f" in {process.directory}"
    tags = ", ".join(f"{key}={value}" for key, value in profile.labels.items())
    command = clipped(" ".join(process.command.split()), COMMAND_CHARACTERS)
    return f"{text}: {command}" + (f" [{tags}]" if tags else "")


def _measured(profile: JobProfile) -> str:
    if profile.samples is None:
        return "nothing, or too short for a sample"
    text = words.counted(profile.samples, "sample")
    if profile.interval_seconds is not None:
        text += f", one every {words.lasting(profile.interval_seconds)}"
    if profile.forecast_error_percent is not None:
        text += f"; forecasts were {words.in_percent(profile.forecast_error_percent)} off"
    return text
