"""The record of a job that has as much of everything as there can be."""

from datetime import UTC, datetime, timedelta

from cepheid.analysis.jobrules import JobKind
from cepheid.annotations.facts import PodFacts, PodGpuFacts
from cepheid.annotations.job_facts import JobFacts
from cepheid.jobprofile import (
    CycleSeen,
    HeldBackBy,
    MemoryLeak,
    Outcome,
    Reason,
    Regressed,
    Spread,
    Usage,
    Worker,
)
from cepheid.jobs.ending import Ending
from cepheid.jobs.measure import Measured
from cepheid.jobs.pods import Container, Phase, PodState
from cepheid.jobs.profile import Kept
from cepheid.jobs.usage import merge
from cepheid_operator.composing import Figures, Story, with_regression

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
LONG = "n" * 230
LIMITS = tuple((f"example.com/{'r' * 40}-{number}", "1234567890") for number in range(12))
SPREAD = Spread(mean=123456789.123, p95=987654321.123, max=1234567890.123, min=0.123)
FIGURES = ("cpu_cores", "memory_bytes", "gpu_util_percent", "gpu_memory_bytes")


def _pod(number: int) -> PodState:
    gpus = tuple(PodGpuFacts(index, util_percent=99, mem_mb=80_000) for index in range(8))
    return PodState(
        uid=f"uid-{number}",
        name=f"{LONG}-{number}",
        namespace="team",
        created=NOON,
        phase=Phase.FAILED,
        node=f"node-{LONG}-{number}",
        role="Worker",
        started=NOON,
        finished=NOON + timedelta(hours=3),
        containers=tuple(Container(f"c-{at}", LIMITS, LIMITS) for at in range(4)),
        gpu_count=8,
        facts=PodFacts(f"node-{number}", 99, 120_000, 1000.5, 1000.5, gpus),
    )


def _measured(pods: list[PodState]) -> Measured:
    usage = {name: SPREAD for name in Usage.__struct_fields__ if name != "energy_joules"}
    most = dict.fromkeys(FIGURES, 1234567.123)
    return Measured(
        usage=Usage(**usage, energy_joules=1e9),
        samples=1000,
        interval_seconds=15.0,
        workers={pod.name: Worker(name=pod.name, straggles="s" * 300, **most) for pod in pods},  # type: ignore[arg-type]
        job_type=JobKind.TRAINING,
        cycle=CycleSeen(period_seconds=42.1, strength=0.93, metric="power", confirmed=True),
        held_back_by=HeldBackBy(kind="input", share_percent=88.8, advice="a" * 300),
        leak=MemoryLeak(bytes_per_second=12345.678, confidence=0.99),
        forecast_error_percent=12.345,
    )


def _largest() -> Story:
    pods = [_pod(number) for number in range(64)]
    labels = {f"{'l' * 60}-{number:02}": "v" * 63 for number in range(16)}
    metadata = {
        "name": LONG,
        "namespace": "team",
        "uid": "u" * 36,
        "creationTimestamp": "2026-03-01T11:00:00Z",
        "labels": labels,
    }
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata}
    return Story(job, pods, merge(JobFacts(), pods), figures=Figures(_measured(pods)))


REGRESSION = tuple(
    Regressed(what=what, now=123456789.123, usual=12345678.123, change_percent=900.1, runs=30)
    for what in ("duration", "memory", "gpuMemory", "gpuHours")
)
ENDING = Ending(Outcome.FAILED, Reason.OOM_KILLED, "m" * 300, 137, NOON + timedelta(hours=3))
KEPT = Kept(labels=tuple(f"{'l' * 60}-{number:02}" for number in range(16)))
LARGEST = with_regression(_largest().profile(ENDING, NOON + timedelta(hours=4), KEPT), REGRESSION)
