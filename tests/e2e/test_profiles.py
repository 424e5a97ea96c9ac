"""What is kept of jobs that end in every way there is, when they and their pods are gone."""

from collections.abc import Iterator

import pytest

from cepheid.annotations.codec import is_ours
from cepheid.annotations.job_codec import decode_job
from cepheid.history import History, Query
from cepheid.jobprofile import JobProfile, Outcome, Reason
from tests.cluster.kubectl import Kubectl
from tests.cluster.layout import Cluster
from tests.cluster.progress import wait_for
from tests.e2e import finished
from tests.e2e.history import archive_to, postgres_beside
from tests.e2e.watched import annotations

MIB = 2**20
LONG = finished.LONG_SECONDS
ALL = {"pair", "eater", "late", "bare", "nightly-1", "nightly-2", "nightly-3", "nightly-4"}


@pytest.fixture(scope="package")
def history_url(cluster: Cluster, kubectl: Kubectl) -> Iterator[str]:
    with postgres_beside(cluster) as postgres, postgres.database() as url:
        archive_to(kubectl, url)
        yield url


@pytest.mark.patient
def test_a_job_that_is_killed_for_its_memory_says_so(ended: Kubectl) -> None:
    eater = finished.complete(ended, "eater", LONG)
    assert (eater.outcome, eater.reason) == (Outcome.FAILED, Reason.OOM_KILLED)
    assert eater.exit_code == 137
    (asked,) = eater.asked
    assert asked.limits == {"memory": finished.OOM_LIMIT}
    assert asked.requests["cpu"] == "10m"
    assert eater.gpu_count == 0


@pytest.mark.patient
def test_a_job_that_passes_its_deadline_is_a_timeout(ended: Kubectl) -> None:
    late = finished.complete(ended, "late", LONG)
    assert (late.outcome, late.reason) == (Outcome.TIMEOUT, Reason.DEADLINE)
    assert late.duration_seconds is not None
    assert late.waited_seconds is not None
    # From when it was made: a busy machine may begin its pod late, and end it late.
    took_seconds = late.waited_seconds + late.duration_seconds
    assert took_seconds == pytest.approx(finished.DEADLINE_SECONDS + 60, abs=65)


@pytest.mark.patient
@pytest.mark.timeout(LONG + 200)
def test_both_workers_of_an_mpijob_are_known_after_their_pods_are_gone(ended: Kubectl) -> None:
    pair = finished.complete(ended, "pair", LONG)
    owned = "--selector=training.kubeflow.org/job-name=pair"
    wait_for("its pods are gone", lambda: not ended.items("pods", owned), 120)

    def measured() -> JobProfile | None:
        found = finished.profiles(ended)["pair"]
        return found if found.samples else None

    pair = wait_for("what it used", measured, 120)
    assert (pair.outcome, pair.reason, pair.user) == (Outcome.SUCCESS, None, "lin")
    assert pair.labels["team"] == "research"
    assert set(pair.nodes) == {"gpu-a", "gpu-b"}
    assert {gpu.model for gpu in pair.gpus} == {"NVIDIA A100-SXM4-80GB", "Tesla T4"}
    assert pair.gpu_count == 2
    assert pair.duration_seconds == pytest.approx(finished.PAIR_SECONDS, abs=140)
    assert pair.waited_seconds is not None
    assert pair.usage is not None
    assert pair.usage.gpu_memory_bytes is not None
    both = 2 * finished.PAIR_MIB * MIB
    assert pair.usage.gpu_memory_bytes.max == pytest.approx(both, rel=0.02)
    assert pair.usage.energy_joules is not None
    assert pair.usage.energy_joules > 0
    job = ended.get("mpijobs.v1.kubeflow.org", "pair")
    said = decode_job({k: v for k, v in annotations(job).items() if is_ours(k)})
    assert said.ignored == ()
    workers = {name: worker for name, worker in said.facts.workers.items() if "worker" in name}
    assert {worker.node for worker in workers.values()} == {"gpu-a", "gpu-b"}
    for worker in workers.values():
        assert worker.gpu_mem_mb == pytest.approx(finished.PAIR_MIB, rel=0.02)
    listed = ended("get", "jobprofiles")
    (row,) = (line for line in listed.splitlines() if line.startswith("pair"))
    assert "MPIJob" in row
    assert "success" in row


@pytest.mark.patient
def test_a_bare_pod_that_used_a_gpu_has_a_profile_and_one_that_did_not_has_none(
    ended: Kubectl,
) -> None:
    bare = finished.complete(ended, "bare", LONG)
    assert (bare.job.kind, bare.outcome, bare.gpu_count) == ("Pod", Outcome.SUCCESS, 1)
    assert bare.duration_seconds == pytest.approx(finished.BARE_SECONDS, abs=70)


@pytest.mark.patient
@pytest.mark.timeout(LONG + 400)
def test_a_cronjob_that_regresses_on_its_fourth_run_is_told(
    begun: finished.Begun, ended: Kubectl
) -> None:
    begun.nightly.result(LONG)

    def worse() -> JobProfile | None:
        profile = finished.profiles(ended).get("nightly-4")
        return profile if profile is not None and profile.regression else None

    found = wait_for("the regression", worse, 180)
    assert found.series == "nightly"
    (duration,) = (one for one in found.regression if one.what == "duration")
    assert duration.now > 1.5 * duration.usual
    assert duration.runs == finished.RUNS
    wait_for("the event", lambda: finished.told_of(ended, "Job", "nightly-4"), 60)


@pytest.mark.patient
def test_nothing_but_annotations_is_ever_put_on_what_users_made(ended: Kubectl) -> None:
    """No finalizer, no label, no bookkeeping of kopf."""
    for kind in ("nodes", "pods", "jobs", "cronjobs", "mpijobs.v1.kubeflow.org"):
        things = ended.items(kind, "--show-managed-fields")
        assert things
        for thing in things:
            metadata = thing["metadata"]
            names = [*metadata.get("finalizers", ()), *metadata.get("labels", ())]
            assert not [name for name in names if is_ours(name)]
            names += annotations(thing)
            assert not [name for name in names if "kopf" in name]
            owners = [entry["manager"] for entry in metadata["managedFields"]]
            assert "kopf" not in " ".join(owners)


@pytest.mark.patient
@pytest.mark.machine
@pytest.mark.timeout(LONG + 300)
def test_profiles_outlive_their_jobs_and_are_read_back_from_postgresql(
    ended: Kubectl, history_url: str
) -> None:
    for name in ALL:
        finished.complete(ended, name, LONG)
    ended("delete", "jobs,cronjobs,pods", "--all", "--timeout=120s")
    ended("delete", "mpijobs.v1.kubeflow.org", "--all", "--timeout=120s")
    with History.open(history_url) as history:

        def differ() -> list[str]:
            """Of how many the history has something else, or nothing."""
            mine = Query(namespace=ended.namespace)
            kept = {one.job.uid: one for one in history.find(mine, limit=1000)}
            standing = finished.profiles(ended)
            assert standing.keys() >= ALL
            return [n for n, profile in standing.items() if kept.get(profile.job.uid) != profile]

        wait_for("all read back as they stand", lambda: not differ(), 180)
