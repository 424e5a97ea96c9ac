"""What a job's own object says: who wrote what, and when."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given

from cepheid.annotations.job_codec import encode_job
from cepheid.annotations.job_facts import IdleFacts, JobFacts
from cepheid.jobs.kinds import JOB, KINDS, MPI_JOB, RAY_JOB, VOLCANO_JOB, Kind
from cepheid_operator.idle.keeping import Kept, is_exempt, kept
from cepheid_operator.idle.looking import is_over, is_trial, seen
from tests.unit.jobs.strategies import HOSTILE

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
US = "cepheid-idle"
KEEP_FOR = "ai.centaurus.io/keep-for"
FACTS = IdleFacts(
    since=NOON, gpus=8, act="suspend", at=NOON + timedelta(hours=1, minutes=30), done=True
)
(IDLE,) = encode_job(JobFacts(idle=FACTS)).items()


def entry(manager: str, operation: str, fields: Any, hour: int = 12) -> dict[str, Any]:
    time = f"2026-03-01T{hour:02}:00:00Z"
    return {"manager": manager, "operation": operation, "time": time, "fieldsV1": fields}


def annotated(*keys: str) -> dict[str, Any]:
    return {"f:annotations": {f"f:{key}": {} for key in keys}}


def job(*entries: dict[str, Any], spec: Any = None, labels: Any = None, **annotations: str) -> Any:
    return {
        "metadata": {
            "name": "train",
            "creationTimestamp": "2026-03-01T06:00:00Z",
            "labels": labels or {},
            "annotations": {**{f"ai.centaurus.io/{k}": v for k, v in annotations.items()}},
            "managedFields": list(entries),
        },
        "spec": spec or {},
    }


def keeping(text: str, *entries: dict[str, Any]) -> Kept | None:
    made = job(*entries)
    made["metadata"]["annotations"][KEEP_FOR] = text
    return kept(made)


def test_it_is_kept_from_when_that_was_written() -> None:
    written = entry("kubectl-annotate", "Update", {"f:metadata": annotated(KEEP_FOR)}, 11)
    other = entry("kubectl-label", "Update", {"f:metadata": annotated("other")}, 13)
    assert keeping("8h", written, other) == Kept("8h", NOON + timedelta(hours=7))


def test_of_several_the_last_to_write_counts() -> None:
    entries = [
        entry("helm", "Apply", {"f:metadata": annotated(KEEP_FOR)}, 9),
        entry("kubectl-annotate", "Update", {"f:metadata": annotated(KEEP_FOR)}, 11),
    ]
    assert keeping("30min", *entries) == Kept("30min", NOON - timedelta(minutes=30))


def test_without_a_record_it_counts_from_the_beginning() -> None:
    assert keeping("8h") == Kept("8h", NOON + timedelta(hours=2))


@pytest.mark.parametrize("text", ["", "for ever", "8", "h", "-8h", "999999d", "8h\n8h"])
def test_what_cannot_be_read_does_not_keep_it(text: str) -> None:
    found = keeping(text)
    assert found is not None
    assert found.until is None
    assert "\n" not in found.text


def test_nobody_asked() -> None:
    assert kept(job()) is None
    assert kept({}) is None


@pytest.mark.parametrize("where", ["labels", "annotations"])
def test_who_is_to_be_no_hog_is_left_alone(where: str) -> None:
    key = "ai.centaurus.io/hog-exempt"
    assert is_exempt({"metadata": {where: {key: "true"}}})
    assert not is_exempt({"metadata": {where: {key: "false"}}})
    assert not is_exempt(job())


def test_what_we_wrote_is_read_again() -> None:
    key, text = IDLE
    made = job(entry(US, "Apply", {"f:metadata": annotated(key)}))
    made["metadata"]["annotations"][key] = text
    assert seen(made, JOB, 8, US).standing == FACTS


@pytest.mark.parametrize(
    ("manager", "operation"),
    [("kubectl-annotate", "Update"), (US, "Update"), ("cepheid-operator", "Apply")],
)
def test_what_others_wrote_in_our_name_is_not(manager: str, operation: str) -> None:
    key, text = IDLE
    made = job(entry(manager, operation, {"f:metadata": annotated(key)}))
    made["metadata"]["annotations"][key] = text
    assert seen(made, JOB, 8, US).standing is None


def suspending(manager: str, *path: str) -> dict[str, Any]:
    inner: dict[str, Any] = {}
    for part in reversed(path):
        inner = {f"f:{part}": inner}
    return entry(manager, "Update", inner)


def test_whose_doing_it_is_that_it_is_suspended() -> None:
    ours = job(suspending(US, "spec", "suspend"), spec={"suspend": True})
    theirs = job(suspending("kubectl-patch", "spec", "suspend"), spec={"suspend": True})
    assert (seen(ours, JOB, 1, US).is_suspended, seen(ours, JOB, 1, US).by_us) == (True, True)
    assert (seen(theirs, JOB, 1, US).is_suspended, seen(theirs, JOB, 1, US).by_us) == (True, False)
    path = ("spec", "runPolicy", "suspend")
    mpi = job(suspending(US, *path), spec={"runPolicy": {"suspend": True}})
    assert (seen(mpi, MPI_JOB, 1, US).is_suspended, seen(mpi, MPI_JOB, 1, US).by_us) == (True, True)


def test_what_can_be_suspended() -> None:
    able = {kind.name for kind in KINDS.values() if seen(job(), kind, 1, US).can_be_suspended}
    assert able == {"MPIJob", "PyTorchJob", "TrainJob", "JobSet", "Job"}
    assert not seen(job(), VOLCANO_JOB, 1, US).can_be_suspended
    ray = job(spec={"shutdownAfterJobFinishes": True})
    assert seen(ray, RAY_JOB, 1, US).can_be_suspended
    queued = job(labels={"kueue.x-k8s.io/queue-name": "team"})
    assert not seen(queued, JOB, 1, US).can_be_suspended


@pytest.mark.parametrize(
    ("kind", "word"), [(JOB, "Complete"), (JOB, "Failed"), (MPI_JOB, "Succeeded")]
)
def test_one_that_is_over_has_nothing_to_suspend(kind: Kind, word: str) -> None:
    """The workers of an MPIJob may still hold their GPUs then."""
    names = {"apiVersion": "kubeflow.org/v1" if kind is MPI_JOB else "batch/v1", "kind": kind.name}
    ended = {"conditions": [{"type": word, "status": "True"}]}
    assert is_over({**job(), **names, "status": ended}, kind)
    assert not is_over({**job(), **names, "status": {"conditions": []}}, kind)


def test_a_trial_ends_by_itself() -> None:
    owner = {
        "apiVersion": "ai.centaurus.io/v1alpha1",
        "kind": "PlacementTrial",
        "name": "bert",
        "uid": "u",
        "controller": True,
    }
    assert is_trial({"metadata": {"ownerReferences": [owner]}})
    assert not is_trial({"metadata": {"ownerReferences": [{**owner, "apiVersion": "batch/v1"}]}})
    assert not is_trial(job())


@given(HOSTILE)
def test_anything_in_an_object_is_read(thing: Any) -> None:
    kept(thing)
    is_exempt(thing)
    is_trial(thing)
    for kind in KINDS.values():
        found = seen(thing, kind, 1, US)
        assert found.standing is None or found.standing.gpus >= 1
