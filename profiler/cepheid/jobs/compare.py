"""Is a run clearly worse than the earlier runs of the same job, and in what?"""

from collections.abc import Callable, Iterable

from cepheid.analysis.regression import find_regression
from cepheid.jobprofile import JobProfile, Outcome, Regressed, Spread
from cepheid.jobs.workers import neat

MOST_RUNS = 30
"""Of the earlier ones, the latest: what a job needed a year ago is not what it usually needs."""
LEAST_CHANGE_PERCENT = 10.0
SECONDS_PER_HOUR = 3600.0


def compare(profile: JobProfile, earlier: Iterable[JobProfile]) -> tuple[Regressed, ...]:
    """Only with earlier runs that succeeded; nothing with fewer than three of them."""
    runs = [run for run in earlier if _comparable(profile, run)]
    runs.sort(key=lambda run: (run.ended or run.created, run.job.uid))
    found = []
    for what, figure in _FIGURES:
        now = figure(profile)
        before = [value for run in runs[-MOST_RUNS:] if (value := figure(run)) is not None]
        if now is None:
            continue
        seen = find_regression(
            before, now, higher_is_worse=True, least_change_percent=LEAST_CHANGE_PERCENT
        )
        if seen is not None and seen.verdict == "worse":
            found.append(
                Regressed(
                    what=what,
                    now=neat(now),
                    usual=neat(seen.typical),
                    change_percent=seen.change_percent and round(seen.change_percent, 1),
                    runs=seen.earlier_runs,
                )
            )
    return tuple(found)


def _comparable(profile: JobProfile, run: JobProfile) -> bool:
    this, that = profile.job, run.job
    same_job = run.series == profile.series or (
        run.template is not None and run.template == profile.template
    )
    return (
        run.outcome is Outcome.SUCCESS
        and same_job
        and (this.namespace, this.kind) == (that.namespace, that.kind)
        and this.uid != that.uid
        and run.created <= profile.created
    )


def _memory(profile: JobProfile) -> float | None:
    return _highest(None if profile.usage is None else profile.usage.memory_bytes)


def _gpu_memory(profile: JobProfile) -> float | None:
    return _highest(None if profile.usage is None else profile.usage.gpu_memory_bytes)


def _highest(spread: Spread | None) -> float | None:
    return None if spread is None else spread.max


def _gpu_hours(profile: JobProfile) -> float | None:
    if not profile.gpu_count or profile.duration_seconds is None:
        return None
    return profile.gpu_count * profile.duration_seconds / SECONDS_PER_HOUR


_FIGURES: tuple[tuple[str, Callable[[JobProfile], float | None]], ...] = (
    ("duration", lambda profile: profile.duration_seconds),
    ("memory", _memory),
    ("gpuMemory", _gpu_memory),
    ("gpuHours", _gpu_hours),
)
