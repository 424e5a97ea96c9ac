"""The record of a job: true, small, and such as can be read back."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cepheid.analysis.jobrules import JobKind
from cepheid.annotations.facts import CycleFacts, PodFacts, PodGpuFacts
from cepheid.annotations.job_facts import JobFacts, WorkerFacts
from cepheid.jobprofile import (
    CycleSeen,
    GpuHeld,
    HeldBackBy,
    MemoryLeak,
    Outcome,
    ProfileError,
    Reason,
    Spread,
    Usage,
    Worker,
    from_document,
    from_json,
    to_document,
    to_json,
)
from cepheid.jobs.ending import RUNNING, Ending, ending_of
from cepheid.jobs.measure import Measured
from cepheid.jobs.owners import Reference
from cepheid.jobs.pods import Container, Phase, PodState
from cepheid.jobs.profile import MOST_BYTES, Kept, Known, profile_of
from cepheid.jobs.usage import merge
from cepheid.jobs.workers import workers_of
from tests.unit.jobs.samples import NAMES, at, load
from tests.unit.jobs.strategies import HOSTILE, POD_STATES

NOW = datetime(2026, 3, 1, 13, tzinfo=UTC)
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
GIB = 2.0**30


@pytest.mark.parametrize("name", NAMES)
def test_the_profile_of_a_sample_is_true(name: str) -> None:
    sample = load(name)
    ending = ending_of(sample.job, sample.pods, deleted=sample.deleted)
    profile = profile_of(Known(sample.job, sample.pods), ending, NOW)
    expected = sample.expected
    assert profile.outcome == expected["ending"]["outcome"]
    assert profile.ended == at(expected["ending"].get("ended"))
    assert profile.job.uid == sample.job["metadata"]["uid"]
    assert profile.suspended is expected.get("suspended", False)
    if "started" in expected:
        assert profile.started == at(expected["started"])
    if "restarts" in expected:
        assert profile.restarts == expected["restarts"]
    if "nodes" in expected:
        assert sorted(profile.nodes) == sorted(expected["nodes"])
        assert profile.node_count == len(expected["nodes"])
    if "gpu_count" in expected:
        assert profile.gpu_count == expected["gpu_count"]
    assert from_json(to_json(profile)) == profile
    assert 150 <= len(to_json(profile)) <= 5000


def test_who_and_what_and_how_long() -> None:
    sample = load("mpijob-v2beta1-succeeded")
    ending = ending_of(sample.job, sample.pods)
    kept = Kept(labels=("team", "missing"), users=("example.com/none", "example.com/owner"))
    profile = profile_of(Known(sample.job, sample.pods), ending, NOW, kept)
    assert profile.user == "ada"
    assert profile.service_account == "team-a:trainer"
    assert profile.labels == {"team": "vision"}
    assert profile.series == "resnet"
    assert profile.waited_seconds == 20
    assert profile.duration_seconds == 45 * 60 - 20
    assert [(a.role, a.container, a.pods, a.limits["memory"]) for a in profile.asked] == [
        ("Worker", "worker", 2, "16Gi"),
        ("Launcher", "launcher", 1, "1Gi"),
    ]
    assert [worker.name for worker in profile.workers] == [
        "resnet-x7k2p-launcher-abcde",
        "resnet-x7k2p-worker-0",
        "resnet-x7k2p-worker-1",
    ]


def test_without_a_name_for_its_user_the_service_account_is_the_user() -> None:
    sample = load("pod-succeeded")
    profile = profile_of(Known(sample.job, sample.pods), RUNNING, NOW)
    assert profile.user == profile.service_account == "team-g:ada"


def test_a_running_job_lasts_until_now_and_has_no_end() -> None:
    sample = load("pytorchjob-restarting")
    profile = profile_of(Known(sample.job, sample.pods), RUNNING, NOW)
    assert (profile.outcome, profile.ended) == (Outcome.RUNNING, None)
    assert profile.duration_seconds == 3 * 3600 - 10


def test_a_clock_that_jumped_back_makes_no_negative_time() -> None:
    sample = load("job-deadline")
    early = Ending(Outcome.SUCCESS, ended=NOON - timedelta(days=1))
    profile = profile_of(Known(sample.job, sample.pods), early, NOW)
    assert profile.duration_seconds == 0


def pod(name: str, index: int = 0, **changes: Any) -> PodState:
    state = PodState(
        uid=f"uid-{name}",
        name=name,
        namespace="ns",
        created=NOON,
        phase=Phase.RUNNING,
        node=f"node-{index % 4}",
        role="Worker",
        service_account="trainer",
        started=NOON + timedelta(seconds=30),
        containers=(
            Container(
                "main",
                (("memory", "12Gi"),),
                (("cpu", "4"), ("memory", "12Gi"), ("nvidia.com/gpu", "1")),
            ),
        ),
        gpu_count=1,
        facts=PodFacts(
            f"node-{index % 4}",
            50,
            7000 + index,
            80,
            3,
            (PodGpuFacts(index // 4, None, 90, 61_000),),
            JobKind.TRAINING,
            CycleFacts(42.1, 0.93, "power", confirmed=True),
        ),
    )
    return replace(state, **changes)


JOB = {
    "apiVersion": "kubeflow.org/v1",
    "kind": "MPIJob",
    "metadata": {
        "name": "train",
        "namespace": "ns",
        "uid": "u",
        "creationTimestamp": "2026-03-01T12:00:00Z",
    },
}


def test_what_agents_wrote_is_all_there_is_without_measurements() -> None:
    pods = [pod("w-0", 0), pod("w-1", 1)]
    facts = merge(JobFacts(workers={"w-gone": WorkerFacts(cpu_mem_mb=9000, node="old")}), pods)
    models = {"node-0": "NVIDIA A100-SXM4-80GB"}
    profile = profile_of(Known(JOB, pods, facts=facts, gpu_models=models), RUNNING, NOW)
    assert profile.gpus == (
        GpuHeld(node="node-0", index=0, model="NVIDIA A100-SXM4-80GB"),
        GpuHeld(node="node-1", index=0),
    )
    assert profile.nodes == ("node-0", "node-1", "old")
    assert profile.usage == Usage(
        memory_bytes=Spread(max=14001 * 2.0**20),
        gpu_util_percent=Spread(max=90),
        gpu_memory_bytes=Spread(max=122_000 * 2.0**20),
        network_bytes_per_second=Spread(max=20e6),
        disk_bytes_per_second=Spread(max=6e6),
    )
    assert profile.workers[0] == Worker(
        name="w-0",
        node="node-0",
        cpu_cores=2.0,
        memory_bytes=7000 * 2.0**20,
        gpu_util_percent=90,
        gpu_memory_bytes=61_000 * 2.0**20,
        network_bytes_per_second=10e6,
        disk_bytes_per_second=3e6,
        restarts=0,
    )
    assert profile.workers[2] == Worker(
        name="w-gone", node="old", memory_bytes=9000 * 2.0**20, restarts=None
    )
    assert (profile.worker_count, profile.gpu_count) == (3, 2)
    assert profile.job_type == "training"
    assert profile.cycle == CycleSeen(
        period_seconds=42.1, strength=0.93, metric="power", confirmed=True
    )
    assert profile.samples is None


def test_gpus_that_no_agent_named_are_those_that_are_given() -> None:
    given = (GpuHeld(node="node-9", index=3, model="NVIDIA T4"),)
    silent = replace(pod("w-0"), facts=PodFacts())
    assert profile_of(Known(JOB, [silent], gpus=given), RUNNING, NOW).gpus == given
    told = profile_of(Known(JOB, [pod("w-0")], gpus=given), RUNNING, NOW).gpus
    assert [gpu.node for gpu in told] == ["node-0"]


def measured(**changes: Any) -> Measured:
    spread = Spread(mean=1.5, p95=2.5, max=3.5, min=0.5)
    return Measured(
        usage=Usage(cpu_cores=spread, memory_bytes=spread, energy_joules=1.23456),
        samples=240,
        interval_seconds=15.0,
        **changes,
    )


def test_measurements_count_before_notes_but_no_maximum_is_lost() -> None:
    pods = [pod("w-0")]
    facts = merge(JobFacts(), pods)
    seen = measured(
        workers={"w-0": Worker(name="w-0", memory_bytes=1.0, cpu_cores=3.25)},
        job_type=JobKind.INFERENCE,
        forecast_error_percent=7.123456,
    )
    profile = profile_of(Known(JOB, pods, facts=facts, measured=seen), RUNNING, NOW)
    assert profile.workers[0].memory_bytes == 7000 * 2.0**20
    assert profile.workers[0].cpu_cores == 3.25
    assert profile.job_type == "inference"
    assert (profile.samples, profile.interval_seconds) == (240, 15.0)
    assert profile.forecast_error_percent == 7.123
    assert profile.usage is not None
    assert profile.usage.energy_joules == 1.235


def large(name_characters: int) -> Known:
    """64 workers with eight GPUs each, and names as long as Kubernetes takes them."""
    fill = "x" * (name_characters - 12)
    gpus = tuple(PodGpuFacts(i, None, 90 + i / 8, 61_000) for i in range(8))
    pods = [
        replace(
            pod(f"{fill}-worker-{i}", i),
            node=f"{fill}-node-{i}",
            gpu_count=8,
            facts=PodFacts("n", 50, 7000 + i, 80, 3, gpus, JobKind.TRAINING),
        )
        for i in range(64)
    ]
    spread = Spread(mean=123456789.123, p95=223456789.123, max=323456789.123, min=23456789.123)
    usage = Usage(
        **dict.fromkeys(set(Usage.__struct_fields__) - {"energy_joules"}, spread),
        energy_joules=123456789.0,
    )
    lags = {
        one.name: Worker(name=one.name, cpu_cores=3.2, straggles="holds 20Gi, the others 8Gi")
        for one in pods[:9]
    }
    job = {
        **JOB,
        "metadata": {
            **JOB["metadata"],  # type: ignore[dict-item]
            "name": fill,
            "labels": {f"{'k' * 200}/{i}": "v" * 63 for i in range(30)},
        },
    }
    return Known(
        job,
        pods,
        facts=merge(JobFacts(), pods),
        measured=Measured(
            usage,
            17_280,
            15.0,
            lags,
            JobKind.TRAINING,
            CycleSeen(period_seconds=42.123456, strength=0.931234, metric="power", confirmed=True),
            HeldBackBy(kind="input", share_percent=41.5, advice="w" * 150),
            MemoryLeak(bytes_per_second=1572864.0, confidence=0.99),
            6.123456,
        ),
        gpu_models={one.node or "": "NVIDIA A100-SXM4-80GB" for one in pods},
    )


@pytest.mark.parametrize("characters", [20, 63, 120, 253])
def test_a_record_stays_small_however_large_the_job(characters: int) -> None:
    known = large(characters)
    ending = Ending(Outcome.FAILED, Reason.OOM_KILLED, "m" * 200, 137, NOW)
    labels = tuple(f"{'k' * 200}/{i}" for i in range(30))
    profile = profile_of(known, ending, NOW, Kept(labels=labels))
    assert len(to_json(profile)) <= MOST_BYTES
    assert (profile.worker_count, profile.node_count, profile.gpu_count) == (64, 64, 512)
    assert from_json(to_json(profile)) == profile
    assert profile.workers
    if characters <= 63:
        assert profile.nodes
        assert profile.gpus
        assert len(profile.workers) >= 4
        assert sum(worker.straggles is not None for worker in profile.workers) >= 4
    everyone = workers_of(known.pods, known.facts, known.measured)
    assert len(everyone) == 64


def test_of_many_workers_the_extremes_and_the_stragglers_are_listed() -> None:
    pods = [pod(f"w-{i}", i) for i in range(40)]
    seen = {"w-7": Worker(name="w-7", straggles="lags")}
    known = Known(JOB, pods, facts=merge(JobFacts(), pods), measured=measured(workers=seen))
    profile = profile_of(known, RUNNING, NOW)
    names = [worker.name for worker in profile.workers]
    assert len(names) == 8
    assert {"w-0", "w-7", "w-39"} <= {*names}
    assert names == sorted(names, key=lambda name: int(name[2:]))


def test_workers_are_listed_as_they_are_numbered() -> None:
    workers = workers_of([pod(f"w-{i}") for i in (10, 2, 1)], None, None)
    assert [worker.name for worker in workers] == ["w-1", "w-2", "w-10"]


@pytest.mark.parametrize(
    "job",
    [
        {},
        {"apiVersion": "v1", "kind": "Elephant", "metadata": JOB["metadata"]},
        {**JOB, "metadata": 3},
    ],
)
def test_what_is_no_job_has_no_profile(job: dict[str, Any]) -> None:
    with pytest.raises(ProfileError, match="this is no job"):
        profile_of(Known(job), RUNNING, NOW)


@given(HOSTILE, st.lists(POD_STATES, max_size=4), st.booleans())
@settings(deadline=None)
def test_hostile_jobs_have_a_profile_that_reads_back_or_a_clear_error(
    job: dict[str, Any], pods: list[PodState], is_cron: bool
) -> None:
    known = Known(
        job,
        pods,
        Reference("batch/v1", "CronJob", "c", "u") if is_cron else None,
        merge(JobFacts(), pods),
        measured(),
    )
    try:
        profile = profile_of(known, ending_of(job, pods, deleted=NOW), NOW, Kept(("a",), ("b",)))
    except ProfileError:
        return
    assert from_document(to_document(profile)) == profile
    assert len(to_json(profile)) <= MOST_BYTES
