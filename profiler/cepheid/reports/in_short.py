"""A run in three lines, for the terminal that it ran in."""

from cepheid.jobprofile import JobProfile, Outcome, Reason
from cepheid.units import in_bytes, in_time

UID_CHARACTERS = 8
_SHORT_SECONDS = 10.0


def in_short(profile: JobProfile) -> list[str]:
    lines = [_used(profile)]
    if told := _told(profile):
        lines.append(told)
    uid = profile.job.uid[:UID_CHARACTERS]
    lines.append(f"hint: cepheid job {uid} | cepheid plot {uid}")
    return lines


def _used(profile: JobProfile) -> str:
    process, usage = profile.process, profile.usage
    parts = []
    if usage is not None and usage.cpu_cores is not None and usage.cpu_cores.mean is not None:
        cores = "" if process is None or process.cores is None else f" of {process.cores:g}"
        parts.append(f"{_figure(usage.cpu_cores.mean)}{cores} cores")
    if process is not None and process.peak_memory_bytes is not None:
        parts.append(f"{amount(process.peak_memory_bytes)} at most")
    if usage is not None and usage.gpu_util_percent is not None:
        parts += _gpus(profile)
    used = f" and used {', '.join(parts)}" if parts else ""
    uid = profile.job.uid[:UID_CHARACTERS]
    return f"{profile.job.name} {_ended(profile)}{used} (job {uid})"


def _ended(profile: JobProfile) -> str:
    seconds = profile.duration_seconds
    long = "" if seconds is None else duration(seconds)
    match profile.outcome:
        case Outcome.SUCCESS:
            return f"took {long}"
        case Outcome.TIMEOUT:
            return f"was stopped by its timeout after {long}"
        case Outcome.FAILED if profile.message is None and profile.exit_code is not None:
            return f"failed with exit code {profile.exit_code} after {long}"
        case Outcome.FAILED if profile.reason is not Reason.SIGNAL:
            return f"failed ({profile.message}) after {long}"
        case _:
            return f"{profile.message or profile.outcome} after {long}"


def _gpus(profile: JobProfile) -> list[str]:
    usage = profile.usage
    mean = None if usage is None or usage.gpu_util_percent is None else usage.gpu_util_percent.mean
    if mean is None or not profile.gpus:
        return []
    if len(profile.gpus) == 1:
        return [f"GPU {profile.gpus[0].index} at {mean:.0f} %"]
    return [f"{len(profile.gpus)} GPUs at {mean:.0f} %"]


def _told(profile: JobProfile) -> str | None:
    parts = []
    if profile.cycle is not None and profile.cycle.confirmed is not False:
        parts.append(f"it repeats every {_figure(profile.cycle.period_seconds)} s")
    if profile.verdict is not None and profile.outcome is Outcome.SUCCESS:
        advice = f": {profile.advice[0]}" if profile.advice else ""
        parts.append(f"{profile.verdict}{advice}")
    elif profile.advice:
        parts.append(profile.advice[0])
    if profile.process is not None and profile.process.left_running:
        left = profile.process.left_running
        parts.append(f"{left} process{'es' * (left != 1)} of it still run{'s' * (left == 1)}")
    if profile.process is not None and profile.process.skipped:
        parts.append(f"not measured: {', '.join(profile.process.skipped)}")
    return "; ".join(parts) or None


def amount(count: float) -> str:
    """`6.2 GiB`: for people, where `in_bytes` is for a manifest."""
    text = in_bytes(count)
    number = text.rstrip("KMGTi")
    unit = text[len(number) :]
    return f"{number} {unit}B"


def duration(seconds: float) -> str:
    return f"{seconds:.1f}s" if seconds < _SHORT_SECONDS else in_time(seconds)


def _figure(value: float) -> str:
    return f"{value:.3g}"
