"""The course of a trial's job, from objects as the API server sends them."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from cepheid_operator.trials.following import course_of

NOON = datetime(2026, 11, 17, 12, tzinfo=UTC)


def at(seconds: float) -> str:
    return (NOON + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def job(**status: Any) -> dict[str, Any]:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "t-1", "namespace": "team", "uid": "u-1"},
        "spec": {"parallelism": 2, "template": {"spec": {"containers": [{"name": "main"}]}}},
        "status": status,
    }


def pod(
    name: str, *, started: float | None, message: str | None = None, of: str = "t-1"
) -> dict[str, Any]:
    state: dict[str, Any] = {"waiting": {"reason": "ContainerCreating"}}
    phase = "Pending"
    if started is not None:
        state, phase = {"running": {"startedAt": at(started)}}, "Running"
    if message is not None:
        ended = {"startedAt": at(started or 0), "finishedAt": at(60), "exitCode": 1}
        state, phase = {"terminated": {**ended, "reason": "Error", "message": message}}, "Failed"
    limits = {"nvidia.com/gpu": "2"}
    return {
        "metadata": {
            "name": name,
            "namespace": "team",
            "uid": f"uid-{name}",
            "creationTimestamp": at(0),
            "labels": {"ai.centaurus.io/trial-job": of},
        },
        "spec": {"containers": [{"name": "main", "resources": {"limits": limits}}]},
        "status": {
            "phase": phase,
            "conditions": [{"type": "PodScheduled", "status": "True", "lastTransitionTime": at(1)}],
            "containerStatuses": [{"name": "main", "restartCount": 0, "state": state}],
        },
    }


def test_it_began_when_the_last_of_its_pods_did() -> None:
    pods = [pod("a", started=5), pod("b", started=9), pod("c", started=30, of="t-2")]
    course = course_of(job(), pods)
    assert course is not None
    assert course.began == NOON + timedelta(seconds=9)
    assert [one.name for one in course.pods] == ["a", "b"]
    assert course.gpu_seconds(NOON + timedelta(seconds=11)) == 2 * 2 * 10


def test_it_has_not_begun_before_all_of_them_run() -> None:
    course = course_of(job(), [pod("a", started=5), pod("b", started=None)])
    assert course is not None
    assert course.began is None
    assert course.first_held() == NOON + timedelta(seconds=1)
    few = course_of(job(), [pod("a", started=5)])
    assert few is not None
    assert few.began is None


@pytest.mark.parametrize(
    ("last_words", "lacks"),
    [
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB", True),
        ("x\n" * 900 + "RuntimeError: HIP out of memory.\n", True),
        ("jaxlib: RESOURCE_EXHAUSTED: Out of memory while trying to allocate", True),
        ("CUDA error: CUDA_ERROR_OUT_OF_MEMORY", True),
        ("Killed: out of memory on the host", False),
        ("ValueError: CUDA is not available", False),
    ],
)
def test_a_gpu_without_enough_memory_is_told_by_the_last_words(
    last_words: str, lacks: bool
) -> None:
    failed = {"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded"}
    over = job(conditions=[{**failed, "lastTransitionTime": at(61)}])
    course = course_of(over, [pod("a", started=5, message=last_words)])
    assert course is not None
    assert course.ending.is_over
    assert course.lacks_gpu_memory is lacks


def test_what_is_no_job_has_no_course() -> None:
    assert course_of({"kind": "Job", "apiVersion": "batch/v1", "metadata": []}, []) is None
    assert course_of({}, [{"metadata": None}]) is None


def test_pods_of_a_lost_node_are_driven_away_although_the_job_waits_for_them() -> None:
    lost = pod("a", started=5)
    lost["metadata"] |= {"deletionTimestamp": at(95), "deletionGracePeriodSeconds": 5}
    lost["status"]["conditions"].append(
        {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "DeletionByTaintManager",
            "message": "Taint manager: deleting due to NoExecute taint",
            "lastTransitionTime": at(90),
        }
    )
    failing = {"type": "FailureTarget", "status": "True", "reason": "BackoffLimitExceeded"}
    course = course_of(job(conditions=[failing]), [lost, pod("b", started=5)])
    assert course is not None
    assert not course.ending.is_over
    assert course.driven_away == "NodeLost: Taint manager: deleting due to NoExecute taint"
    assert course.may_hold
