"""A profile in the few words that fit a column each. Pure."""

from collections import Counter
from collections.abc import Callable, Iterable

import msgspec

from cepheid.jobprofile import JobProfile, Outcome, Spread, Summary
from cepheid.jobs.gpu_names import GIGABYTES, model_name
from cepheid.units import in_time, quantity

GIB, MIB = 2.0**30, 2.0**20
FEW = 10


def with_summary(profile: JobProfile) -> JobProfile:
    usage = profile.usage
    summary = Summary(
        duration=_duration(profile),
        gpus=_gpus(profile),
        gpu_util=_percent(usage.gpu_util_percent) if usage else None,
        gpu_memory=_of(usage.gpu_memory_bytes, _gpu_memory_bytes(profile)) if usage else None,
        memory=_of(usage.memory_bytes, _memory_limit_bytes(profile)) if usage else None,
        period=_said(profile.cycle.period_seconds, _period) if profile.cycle else None,
    )
    return msgspec.structs.replace(profile, summary=None if summary == Summary() else summary)


def _duration(profile: JobProfile) -> str | None:
    """Of one that runs its age tells: nothing is written merely because time has passed."""
    if profile.outcome is Outcome.RUNNING:
        return None
    return _said(profile.duration_seconds, lambda seconds: in_time(seconds).replace(" ", ""))


def _gpus(profile: JobProfile) -> str | None:
    if not profile.gpus:
        return str(profile.gpu_count) if profile.gpu_count else None
    models = Counter(model_name(gpu.model or "") for gpu in profile.gpus)
    return "+".join(f"{count}x{name}" for name, count in models.most_common(3))


def _gpu_memory_bytes(profile: JobProfile) -> float | None:
    """As far as the names of all its models tell."""
    found = [GIGABYTES.search(gpu.model or "") for gpu in profile.gpus]
    return _total(float(size[1]) * GIB if size else None for size in found)


def _memory_limit_bytes(profile: JobProfile) -> float | None:
    limits = ((asked, quantity(asked.limits.get("memory", ""))) for asked in profile.asked)
    return _total(None if limit is None else limit * asked.pods for asked, limit in limits)


def _total(amounts: Iterable[float | None]) -> float | None:
    """None where one of them is not known: then neither is their sum."""
    known = list(amounts)
    return sum(one for one in known if one is not None) if known and None not in known else None


def _of(spread: Spread | None, most_bytes: float | None) -> str | None:
    if spread is None or spread.max is None:
        return None
    # Both in the unit that the larger one is said in.
    unit, name = (GIB, "Gi") if max(spread.max, most_bytes or 0.0) >= GIB else (MIB, "Mi")
    amounts = [spread.max] if most_bytes is None else [spread.max, most_bytes]
    return "/".join(_short(amount / unit) for amount in amounts) + name


def _short(amount: float) -> str:
    return f"{amount:.1f}" if 0 < amount < FEW and not amount.is_integer() else f"{amount:.0f}"


def _percent(spread: Spread | None) -> str | None:
    return None if spread is None or spread.mean is None else f"{spread.mean:.0f}%"


def _period(seconds: float) -> str:
    return f"{seconds:.1f}s" if seconds < 10 * FEW else in_time(seconds).replace(" ", "")


def _said(value: float | None, words: Callable[[float], str]) -> str | None:
    return None if value is None else words(value)
