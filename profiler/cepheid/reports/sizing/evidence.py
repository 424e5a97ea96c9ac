"""What does one run show of what its job needs?

A run that succeeded shows what is enough. One that was killed for its memory, stopped by its
deadline or throttled shows what is not. One that failed otherwise, was too short or still runs
shows neither, and is not asked; nor is one that was killed asked what else it used: it may have
died before it used it. Small, since there may be ten thousand.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from cepheid.jobprofile import JobProfile, Outcome, Reason
from cepheid.reports.figures import peak_memory_bytes
from cepheid.reports.nexttime import LEAST_SECONDS
from cepheid.reports.sizing import asked as was
from cepheid.reports.sizing.asked import Given, believed
from cepheid.reports.sizing.gpus_held import GpuSeen, gpus_of
from cepheid.reports.sizing.verdicts import Case, case_of

MOST_RUNS = 30
"""Of a job, the latest: what it needed a year ago is not what it needs."""


@dataclass(frozen=True, slots=True)
class PodSeen:
    """The most that a pod of one role used."""

    memory_bytes: float | None = None
    peak_cores: float | None = None
    sustained_cores: float | None = None
    is_killed: bool = False
    killed_at_bytes: float | None = None
    """None where the pod has several containers: whose limit it was is not known."""
    is_throttled: bool = False
    throttled_at_cores: float | None = None


@dataclass(frozen=True, slots=True)
class RunSeen:
    uid: str
    pods: Mapping[str | None, PodSeen] = field(default_factory=dict)
    """By role."""
    seconds: float | None = None
    """Of one that went to its end; None for others."""
    stopped_seconds: float | None = None
    """After which its deadline stopped it."""
    gpus: GpuSeen | None = None
    leaks: bool = False


@dataclass(slots=True)
class Runs:
    """All that is kept of one job: the latest run, and what each of the latest shows."""

    newest: JobProfile
    kept: int = 0
    """Runs of any kind."""
    seen: list[RunSeen] = field(default_factory=list)


def gathered(profiles: Iterable[JobProfile]) -> list[Runs]:
    """By job; profiles come with the newest first."""
    jobs: dict[tuple[str, str, str], Runs] = {}
    for profile in profiles:
        key = (profile.job.namespace, profile.job.kind, profile.series)
        runs = jobs.get(key)
        if runs is None:
            runs = jobs[key] = Runs(profile)
        runs.kept += 1
        if len(runs.seen) < MOST_RUNS and (found := evidence(profile)) is not None:
            runs.seen.append(found)
    return list(jobs.values())


def evidence(profile: JobProfile) -> RunSeen | None:
    is_stopped = profile.reason is Reason.DEADLINE
    seconds = believed(profile.duration_seconds)
    is_enough = was.shows_need(profile) and (seconds or 0.0) >= LEAST_SECONDS
    if not (is_enough or is_stopped or was.is_killed(profile)):
        return None
    case = case_of(profile)
    is_whole = profile.outcome is Outcome.SUCCESS
    return RunSeen(
        uid=profile.job.uid,
        pods=_of_process(profile, is_enough=is_enough)
        if profile.process is not None
        else _of_pods(case, is_enough=is_enough),
        seconds=seconds if is_whole else None,
        stopped_seconds=seconds if is_stopped else None,
        gpus=gpus_of(profile, case.givens) if is_whole else None,
        leaks=profile.leak is not None,
    )


def _of_pods(case: Case, *, is_enough: bool) -> dict[str | None, PodSeen]:
    profile, usage = case.profile, case.profile.usage
    steady = was.steadiness(None if usage is None else usage.cpu_cores)
    killed = case.hit("memory", "memory_bytes") if was.is_killed(profile) else None
    throttled = case.hit("cpu", "cpu_cores") if was.is_throttled(profile) else None
    found: dict[str | None, PodSeen] = {}
    for given in case.givens:
        memory = case.most(given, "memory_bytes") if is_enough else None
        cores = case.most(given, "cpu_cores") if is_enough else None
        found[given.role] = PodSeen(
            memory_bytes=None if memory is None else memory.amount,
            peak_cores=None if cores is None else cores.amount,
            sustained_cores=None if cores is None else steady * cores.amount,
            # Killed without any limit, each of them may have been it.
            is_killed=was.is_killed(profile) and (killed is given or killed is None),
            killed_at_bytes=_limit(given, "memory") if given is killed else None,
            is_throttled=given is throttled,
            throttled_at_cores=_limit(given, "cpu") if given is throttled else None,
        )
    return found


def _limit(given: Given, resource: str) -> float | None:
    return given.limit(resource) if len(given.containers) == 1 else None


def _of_process(profile: JobProfile, *, is_enough: bool) -> dict[str | None, PodSeen]:
    cores = None if profile.usage is None or not is_enough else profile.usage.cpu_cores
    peak = None if cores is None else believed(cores.max)
    return {
        None: PodSeen(
            memory_bytes=believed(peak_memory_bytes(profile)) if is_enough else None,
            peak_cores=peak,
            sustained_cores=None if peak is None else was.steadiness(cores) * peak,
            is_killed=was.is_killed(profile),
            is_throttled=was.is_throttled(profile),
        )
    }
