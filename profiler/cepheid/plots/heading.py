"""What stands above the pictures of a job: the answer, then what is worth knowing, then the facts.

Every figure is one of the profile's own.
"""

from collections.abc import Iterator
from datetime import UTC, datetime

from cepheid.jobprofile import JobProfile, Outcome
from cepheid.plots.scale import Quantity, told
from cepheid.units import in_bytes, in_time

ENDED = {
    Outcome.SUCCESS: ("succeeded", "in"),
    Outcome.FAILED: ("failed", "after"),
    Outcome.TIMEOUT: ("ran out of time", "after"),
    Outcome.ERROR: ("was ended from outside", "after"),
    Outcome.RUNNING: ("is running", "for"),
}


def lead(profile: JobProfile) -> str:
    """`It succeeded in 12m 3s: memory leak 90Mi/m.`"""
    ended, joined = ENDED[profile.outcome]
    words = f"It {ended}"
    if profile.duration_seconds is not None:
        words += f" {joined} {in_time(profile.duration_seconds)}"
    return f"{words}: {profile.verdict}." if profile.verdict else f"{words}."


def says(profile: JobProfile) -> list[str]:
    """What was found, then what to do about it."""
    return [*_found(profile), *profile.advice]


def _found(profile: JobProfile) -> Iterator[str]:
    if profile.message:
        yield profile.message
    cycle = profile.cycle
    if cycle is not None:
        doubt = "" if cycle.confirmed is not False else "; not confirmed, so it is not drawn"
        yield (
            f"Its load repeats every {told(cycle.period_seconds)} s"
            f" (strength {cycle.strength:.2f}{doubt})."
        )
    held = profile.held_back_by
    if held is not None and not profile.advice:  # which tells it, and more
        yield f"Held back by {held.kind}, {held.share_percent:.0f} % of the time."
    if profile.leak is not None and not profile.advice:
        rate = in_bytes(60 * profile.leak.bytes_per_second)
        yield f"Its memory grew by {rate} a minute to the end, and was not given back."
    process = profile.process
    if process is None:
        return
    if process.phases:
        phases = (f"{one.name} {in_time(one.seconds)}" for one in process.phases)
        yield f"Phases: {', '.join(phases)}; all but the steady one are shaded."
    if process.skipped:
        yield f"Not measured: {'; '.join(process.skipped)}."


def facts(profile: JobProfile) -> list[tuple[str, str]]:
    return [(name, text) for name, text in _facts(profile) if text]


def _facts(profile: JobProfile) -> Iterator[tuple[str, str]]:
    job, process = profile.job, profile.process
    yield "job", job.uid if process is not None else f"{job.kind} {job.namespace}/{job.name}"
    if process is not None:
        yield "command", process.command
        yield "on", process.host or ""
        if process.container:
            yield "in", process.container
    else:
        yield "on", ", ".join(profile.nodes)
    yield "by", profile.user or profile.service_account or ""
    yield "began", "" if profile.started is None else moment(profile.started)
    yield "ended", "" if profile.ended is None else moment(profile.ended)
    if profile.samples is not None and profile.interval_seconds is not None:
        yield "samples", f"{profile.samples:,} at {told(profile.interval_seconds)} s"
    if profile.usage is not None and profile.usage.energy_joules is not None:
        yield "energy of its GPUs", Quantity.JOULES(profile.usage.energy_joules)
    if process is not None and process.cpu_seconds is not None:
        yield "CPU time", in_time(process.cpu_seconds)


def moment(when: datetime) -> str:
    return f"{in_utc(when):%Y-%m-%d %H:%M:%S} UTC"


def minute(when: datetime) -> str:
    """For a column that says of which zone."""
    return f"{in_utc(when):%Y-%m-%d %H:%M}"


def in_utc(when: datetime) -> datetime:
    try:
        return when.astimezone(UTC)
    except OverflowError:  # on the first or the last day that there is
        return when
