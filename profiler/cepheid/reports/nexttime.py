"""Which line of the command, or of the YAML, should be another one next time?

Only where the line and its value can be told: of a cluster's job the field of one container, of a
process an option that its command has already. All else is advice, in words.
"""

import math
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cepheid.jobprofile import Asked, JobProfile, Outcome, Reason
from cepheid.jobs.advice import IDLE_PERCENT, SPARE, TOLD_SECONDS, WASTES
from cepheid.reports import words
from cepheid.reports.figures import peak_memory_bytes
from cepheid.reports.sizing.asked import amount, believed, reserved, shows_need

LEAST_FREED_BYTES = 2.0**28
LEAST_FREED_CORES = 0.5
LEAST_SECONDS = 60.0
"""A shorter run does not show what a pod would need."""
MOST_SECONDS = 1e9
ROOM_AFTER_KILL = 1.5
"""Times the limit that killed it: what it would have needed is not known."""
ROOM_AFTER_DEADLINE = 2.0
WORKER_OPTIONS = frozenset(
    {"num-workers", "num_workers", "workers", "dataloader-num-workers", "jobs", "j", "threads"}
)
_WORKERS = re.compile(r"(--?)([A-Za-z][\w-]*)(?:=(\d+))?")
DEADLINES = {
    "Job": "spec.activeDeadlineSeconds",
    "Pod": "spec.activeDeadlineSeconds",
    "RayJob": "spec.activeDeadlineSeconds",
    "MPIJob": "spec.runPolicy.activeDeadlineSeconds",
    "PyTorchJob": "spec.runPolicy.activeDeadlineSeconds",
    "TFJob": "spec.runPolicy.activeDeadlineSeconds",
}
"""Where a deadline stands, by kind."""


@dataclass(frozen=True, slots=True)
class Change:
    line: str
    """As it is to be written."""
    why: str


def changes(profile: JobProfile, earlier: Sequence[JobProfile] = ()) -> tuple[Change, ...]:
    """The foremost first. `earlier` runs of the same job: none of them may break."""
    runs = [run for run in earlier if run.outcome is Outcome.SUCCESS]
    if profile.process is not None:
        return tuple(_of_process(profile, profile.process.command, runs))
    return tuple(_of_yaml(profile, runs))


def _of_yaml(profile: JobProfile, runs: Sequence[JobProfile]) -> Iterator[Change]:
    where = _only_container(profile.asked)
    if profile.reason is Reason.OOM_KILLED and where is not None:
        limit = amount(where.limits, "memory")
        if limit:
            line = f"resources.limits.memory: {memory_quantity(ROOM_AFTER_KILL * limit)}"
            why = f"{_of(where)}: it was killed at {where.limits['memory']}"
            yield Change(line, why)
    if profile.reason is Reason.DEADLINE and profile.job.kind in DEADLINES:
        seconds = _deadline_seconds(profile, runs)
        if seconds is not None:
            yield Change(
                f"{DEADLINES[profile.job.kind]}: {seconds}", _usual_length(runs) or "twice as long"
            )
    if profile.reason is not None or (profile.duration_seconds or 0.0) < TOLD_SECONDS:
        return
    if where is not None and shows_need(profile):
        yield from _memory(profile, where, runs)
        yield from _cpu(profile, where, runs)
    if where is not None:
        yield from _gpus(profile, where)


def _memory(profile: JobProfile, where: Asked, runs: Sequence[JobProfile]) -> Iterator[Change]:
    peak, now = _worst(profile, runs, "memory_bytes"), reserved(where, "memory")
    if peak is None or now is None or profile.leak is not None:
        return
    wanted = SPARE * peak
    freed = (now - wanted) * where.pods
    if now >= WASTES * peak and freed >= LEAST_FREED_BYTES:
        for which in _where_given(where, "memory"):
            why = f"{_of(where)}: {_breaks(runs)}frees {words.in_bytes(freed)}"
            yield Change(f"resources.{which}.memory: {memory_quantity(wanted)}", why)


def _cpu(profile: JobProfile, where: Asked, runs: Sequence[JobProfile]) -> Iterator[Change]:
    peak, now = _worst(profile, runs, "cpu_cores"), reserved(where, "cpu")
    if peak is None or now is None:
        return
    wanted = math.ceil(SPARE * peak * 2) / 2
    freed = (now - wanted) * where.pods
    if now >= WASTES * peak and freed >= LEAST_FREED_CORES:
        for which in _where_given(where, "cpu"):
            why = f"{_of(where)}: a pod used {words.figure(peak)} at most"
            yield Change(f'resources.{which}.cpu: "{wanted:g}"', why)


def _gpus(profile: JobProfile, where: Asked) -> Iterator[Change]:
    util = None if profile.usage is None else profile.usage.gpu_util_percent
    asked = [name for name in where.limits if name.endswith("/gpu")]
    if asked and util is not None and util.max is not None and util.max <= IDLE_PERCENT:
        yield Change(f"resources.limits: without {asked[0]}", "its GPUs were never used")


def _of_process(profile: JobProfile, command: str, runs: Sequence[JobProfile]) -> Iterator[Change]:
    if profile.reason is Reason.DEADLINE:
        seconds = _deadline_seconds(profile, runs)
        if seconds is not None:
            why = _usual_length(runs) or "twice as long"
            yield Change(f"cepheid run --timeout {seconds} -- {command}", why)
    held = profile.held_back_by
    if held is not None and held.kind == "input":
        more = _with_more_workers(command, profile.process.cores if profile.process else None)
        if more is not None:
            yield Change(more, f"it waited for data {held.share_percent:.0f} % of the time")
    request = _requests(profile, runs)
    if request is not None:
        yield Change(f"resources.requests: {request}", "what a cluster should be asked for")
        if _has_nvidia(profile):
            yield Change(f"resources.limits: {{nvidia.com/gpu: {profile.gpu_count}}}", "and that")


def _requests(profile: JobProfile, runs: Sequence[JobProfile]) -> str | None:
    """The same work as a pod: what it needs at most, and some to spare."""
    everyone = [profile, *runs]
    peaks = [peak for run in everyone if (peak := peak_memory_bytes(run)) is not None]
    cores = [
        run.usage.cpu_cores.p95
        for run in everyone
        if run.usage and run.usage.cpu_cores and run.usage.cpu_cores.p95 is not None
    ]
    is_whole = profile.outcome is Outcome.SUCCESS and profile.leak is None
    is_long = (profile.duration_seconds or 0.0) >= LEAST_SECONDS
    peak, busiest = believed(max(peaks, default=None)), believed(max(cores, default=None))
    if not is_whole or not is_long or peak is None or busiest is None:
        return None
    most = profile.process.cores if profile.process is not None else None
    wanted = min(SPARE * busiest, most or math.inf)
    cpu = max(0.1, math.ceil(10 * wanted) / 10)
    return f'{{cpu: "{cpu:g}", memory: {memory_quantity(SPARE * peak)}}}'


def _has_nvidia(profile: JobProfile) -> bool:
    return bool(profile.gpu_count) and any(
        word in (gpu.model or "") for gpu in profile.gpus for word in ("NVIDIA", "Tesla")
    )


def _with_more_workers(command: str, cores: float | None) -> str | None:
    """With twice as many as the command says itself, up to the cores; else None."""
    try:
        parts = shlex.split(command)
    except ValueError:
        return None
    for place, part in enumerate(parts):
        found = _WORKERS.fullmatch(part)
        if found is None or found[2] not in WORKER_OPTIONS:
            continue
        beside = parts[place + 1] if place + 1 < len(parts) else ""
        text = found[3] or beside
        if not (text.isascii() and text.isdecimal()):
            continue
        most = int(cores) if cores is not None and cores >= 1 else 2 * int(text)
        wanted = min(max(1, 2 * int(text)), max(most, 1))
        if wanted <= int(text):
            return None
        at = place if found[3] else place + 1
        parts[at] = f"{found[1]}{found[2]}={wanted}" if found[3] else str(wanted)
        return shlex.join(parts)
    return None


def memory_quantity(amount: float) -> str:
    """Rounded up to what somebody would write: 640Mi, 44Gi."""
    if amount < words.GIB:
        return f"{max(16, 16 * math.ceil(amount / (16 * words.MIB)))}Mi"
    gib = amount / words.GIB
    if gib < 2:  # noqa: PLR2004 - below that quarters matter, then halves
        return f"{math.ceil(4 * gib) / 4:g}Gi"
    if gib < 8:  # noqa: PLR2004
        return f"{math.ceil(2 * gib) / 2:g}Gi"
    return f"{math.ceil(gib)}Gi"


def _only_container(asked: Sequence[Asked]) -> Asked | None:
    """Of the role that most pods have; None where such a pod has several: who used what?"""
    if not asked:
        return None
    most = max(asked, key=lambda one: one.pods)
    same = [one for one in asked if one.role == most.role]
    return most if len(same) == 1 else None


def _of(where: Asked) -> str:
    role = "" if where.role is None else f"{where.role}, "
    return f"{role}container {where.container}"


def _where_given(where: Asked, resource: str) -> list[str]:
    """What was given anew: a limit below its request would be refused."""
    return [
        name
        for name, given in (("requests", where.requests), ("limits", where.limits))
        if resource in given
    ]


def _worst(profile: JobProfile, runs: Sequence[JobProfile], figure: str) -> float | None:
    """Of one pod, in this run and the earlier ones."""
    found = [
        value
        for run in (profile, *runs)
        for worker in run.workers
        if (value := getattr(worker, figure)) is not None
    ]
    return believed(max(found, default=None))


def _breaks(runs: Sequence[JobProfile]) -> str:
    return f"breaks 0 of the last {len(runs)} runs, " if runs else ""


def _deadline_seconds(profile: JobProfile, runs: Sequence[JobProfile]) -> int | None:
    lengths = [run.duration_seconds for run in runs if run.duration_seconds]
    longer = ROOM_AFTER_DEADLINE * (profile.duration_seconds or 0.0)
    wanted = SPARE * max(lengths) if lengths else longer
    if wanted <= (profile.duration_seconds or 0.0):
        wanted = longer
    return deadline_seconds(wanted)


def deadline_seconds(wanted: float) -> int | None:
    """In whole minutes, never less; None for what is no time that a job takes."""
    return max(60, 60 * math.ceil(wanted / 60)) if 1 <= wanted < MOST_SECONDS else None


def _usual_length(runs: Sequence[JobProfile]) -> str:
    lengths = [run.duration_seconds for run in runs if run.duration_seconds]
    if not lengths:
        return ""
    return f"earlier runs took up to {words.lasting(max(lengths))}"
