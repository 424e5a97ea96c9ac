"""What is a job as a row?

The same of a process on a laptop and of a job in a cluster: figures with their unit in the name,
None where nothing was measured.
"""

from dataclasses import dataclass
from datetime import datetime

from cepheid.jobprofile import JobProfile, Spread
from cepheid.jobs.gpu_names import model_name


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRow:
    id: str
    name: str
    kind: str
    namespace: str
    user: str | None
    status: str
    reason: str | None
    started: datetime | None
    ended: datetime | None
    duration_seconds: float | None
    cpu_cores_mean: float | None
    cpu_seconds: float | None
    memory_peak_bytes: float | None
    gpu_count: int
    gpu_models: str | None
    gpu_util_percent_mean: float | None
    gpu_memory_peak_bytes: float | None
    energy_joules: float | None
    period_seconds: float | None
    verdict: str | None


def row_of(profile: JobProfile) -> JobRow:
    usage, process = profile.usage, profile.process
    peak = None if process is None else process.peak_memory_bytes
    return JobRow(
        id=profile.job.uid,
        name=profile.job.name,
        kind=profile.job.kind,
        namespace=profile.job.namespace,
        user=profile.user or profile.service_account,
        status=profile.outcome.value,
        reason=None if profile.reason is None else profile.reason.value,
        started=profile.started,
        ended=profile.ended,
        duration_seconds=profile.duration_seconds,
        cpu_cores_mean=_mean(None if usage is None else usage.cpu_cores),
        cpu_seconds=cpu_seconds(profile),
        # Nothing that runs has no memory: 0 is what is read of a process that is gone already.
        memory_peak_bytes=peak or _most(None if usage is None else usage.memory_bytes) or None,
        gpu_count=gpu_count(profile),
        gpu_models=gpu_models(profile),
        gpu_util_percent_mean=_mean(None if usage is None else usage.gpu_util_percent),
        gpu_memory_peak_bytes=_most(None if usage is None else usage.gpu_memory_bytes),
        energy_joules=energy_joules(profile),
        period_seconds=None if profile.cycle is None else profile.cycle.period_seconds,
        verdict=profile.verdict,
    )


def cpu_seconds(profile: JobProfile, lasted_seconds: float | None = None) -> float | None:
    """As the kernel counted them; else what the mean of the samples makes of the whole run, as long
    as its record says or as somebody knows better."""
    if profile.process is not None and profile.process.cpu_seconds is not None:
        return profile.process.cpu_seconds
    mean = _mean(None if profile.usage is None else profile.usage.cpu_cores)
    lasted = profile.duration_seconds if lasted_seconds is None else lasted_seconds
    return None if mean is None or lasted is None else mean * lasted


def energy_joules(profile: JobProfile) -> float | None:
    """Of its GPUs; and of the machine's CPUs, where the process had it to itself to read."""
    gpus = None if profile.usage is None else profile.usage.energy_joules
    machine = None if profile.process is None else profile.process.machine_energy_joules
    if gpus is None or machine is None:
        return gpus if machine is None else machine
    return gpus + machine


def gpu_count(profile: JobProfile) -> int:
    return profile.gpu_count or len(profile.gpus)


def gpu_models(profile: JobProfile) -> str | None:
    """`4xA100-80`, several with a plus between them."""
    counts: dict[str, int] = {}
    for gpu in profile.gpus:
        name = model_name(gpu.model or "")
        counts[name] = counts.get(name, 0) + 1
    if not counts:
        count = profile.gpu_count
        return f"{count}xGPU" if count else None
    ranked = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    return "+".join(f"{count}x{name}" for name, count in ranked)


def _mean(spread: Spread | None) -> float | None:
    return None if spread is None else spread.mean


def _most(spread: Spread | None) -> float | None:
    return None if spread is None else spread.max
