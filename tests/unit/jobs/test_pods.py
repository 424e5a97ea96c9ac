"""What of a raw pod is kept."""

import sys
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given

from cepheid.annotations.facts import PodFacts
from cepheid.jobprofile import Reason
from cepheid.jobs.gpu_names import is_gpu
from cepheid.jobs.owners import Reference
from cepheid.jobs.pods import Container, Phase, applied_keys, pod_state
from tests.unit.jobs.strategies import HOSTILE_PODS

PREFIX = "ai.centaurus.io/"


def entry(manager: str, *keys: str, operation: str = "Apply", **more: str) -> dict[str, Any]:
    named: dict[str, Any] = {f"f:{PREFIX}{key}": {} for key in keys}
    return {
        "manager": manager,
        "operation": operation,
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:metadata": {"f:annotations": {".": {}, **named}}},
        **more,
    }


def pod(**changes: Any) -> dict[str, Any]:
    raw: dict[str, Any] = {
        "metadata": {
            "name": "train-worker-0",
            "namespace": "team-a",
            "uid": "u1",
            "creationTimestamp": "2026-03-01T10:00:00Z",
            "labels": {"training.kubeflow.org/replica-type": "worker"},
            "annotations": {f"{PREFIX}cpu_mem_mb": "6200", f"{PREFIX}gpu-a-gpu-0_util": "88"},
            "managedFields": [entry("cepheid-agent", "cpu_mem_mb", "gpu-a-gpu-0_util")],
            "ownerReferences": [
                {
                    "apiVersion": "kubeflow.org/v1",
                    "kind": "MPIJob",
                    "name": "train",
                    "uid": "m1",
                    "controller": True,
                }
            ],
        },
        "spec": {
            "nodeName": "gpu-a",
            "serviceAccountName": "trainer",
            "containers": [
                {
                    "name": "main",
                    "resources": {
                        "requests": {"cpu": "500m", "memory": "1Gi"},
                        "limits": {"memory": "2Gi", "nvidia.com/gpu": 2},
                    },
                }
            ],
        },
        "status": {
            "phase": "Running",
            "conditions": [
                {
                    "type": "PodScheduled",
                    "status": "True",
                    "lastTransitionTime": "2026-03-01T10:00:01Z",
                }
            ],
            "containerStatuses": [
                {
                    "name": "main",
                    "restartCount": 1,
                    "state": {"running": {"startedAt": "2026-03-01T10:05:00Z"}},
                    "lastState": {
                        "terminated": {
                            "exitCode": 137,
                            "reason": "OOMKilled",
                            "startedAt": "2026-03-01T10:00:10Z",
                            "finishedAt": "2026-03-01T10:04:50Z",
                        }
                    },
                }
            ],
        },
    }
    for path, value in changes.items():
        place, last = raw, path.split("__")
        for step in last[:-1]:
            place = place[step]
        place[last[-1]] = value
    return raw


def test_what_concerns_its_job_is_kept() -> None:
    state = pod_state(pod())
    assert state is not None
    assert (state.name, state.namespace, state.node, state.role) == (
        *("train-worker-0", "team-a", "gpu-a", "Worker"),
    )
    assert state.owner == Reference("kubeflow.org/v1", "MPIJob", "train", "m1")
    assert state.phase is Phase.RUNNING
    assert state.scheduled == datetime(2026, 3, 1, 10, 0, 1, tzinfo=UTC)
    assert state.started == datetime(2026, 3, 1, 10, 0, 10, tzinfo=UTC)
    assert state.finished is None
    assert state.restarts == 1
    assert state.gpu_count == 2
    assert state.containers == (
        Container(
            "main",
            (("cpu", "500m"), ("memory", "1Gi")),
            (("memory", "2Gi"), ("nvidia.com/gpu", "2")),
        ),
    )
    assert (state.total("memory"), state.total("memory", limit=True)) == (2**30, 2**31)
    assert state.total("cpu", limit=True) is None
    assert state.failure is not None
    assert (state.failure.reason, state.failure.exit_code) == (Reason.OOM_KILLED, 137)
    assert state.facts.cpu_mem_mb == 6200
    assert state.facts.gpus[0].util_percent == 88


@pytest.mark.parametrize(
    "entries",
    [
        [],
        [entry("kubectl", "cpu_mem_mb")],
        [entry("cepheid-agent", "cpu_mem_mb", operation="Update")],
        [entry("cepheid-agent", "cpu_mem_mb", subresource="status")],
        [entry("cepheid-agent", "disk_io_mbps")],
        "cepheid-agent",
        [{"manager": "cepheid-agent", "operation": "Apply", "fieldsV1": {"f:metadata": 3}}],
    ],
)
def test_what_the_agent_did_not_apply_does_not_count(entries: object) -> None:
    state = pod_state(pod(metadata__managedFields=entries))
    assert state is not None
    assert state.facts == PodFacts()


def test_keys_of_several_entries_are_all_applied() -> None:
    raw = pod(metadata__managedFields=[entry("m", "a"), entry("x", "b"), entry("m", "c")])
    assert applied_keys(raw, "m") == {f"{PREFIX}a", f"{PREFIX}c"}


@pytest.mark.parametrize("missing", ["name", "namespace", "uid", "creationTimestamp"])
def test_what_lacks_an_identity_is_no_pod(missing: str) -> None:
    raw = pod()
    del raw["metadata"][missing]
    assert pod_state(raw) is None


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        ({"phase": "Failed", "reason": "Evicted"}, Reason.EVICTED),
        ({"phase": "Failed", "reason": "OutOfnvidia.com/gpu"}, Reason.UNSCHEDULABLE),
        ({"phase": "Failed", "reason": "NodeLost"}, Reason.NODE_LOST),
        ({"phase": "Failed", "reason": "DeadlineExceeded"}, Reason.DEADLINE),
        (
            {
                "phase": "Running",
                "conditions": [
                    {
                        "type": "DisruptionTarget",
                        "status": "True",
                        "reason": "PreemptionByScheduler",
                    }
                ],
            },
            Reason.PREEMPTED,
        ),
        (
            {
                "phase": "Pending",
                "initContainerStatuses": [
                    {"state": {"waiting": {"reason": "ErrImagePull", "message": "x"}}}
                ],
            },
            Reason.IMAGE,
        ),
        (
            {
                "phase": "Pending",
                "containerStatuses": [
                    {"state": {"waiting": {"reason": "CreateContainerConfigError"}}}
                ],
            },
            Reason.CONFIG,
        ),
        (
            {
                "phase": "Failed",
                "containerStatuses": [
                    {"state": {"terminated": {"exitCode": 0}}, "lastState": {}},
                    {"state": {"terminated": {"exitCode": 9}}},
                ],
            },
            Reason.EXIT_CODE,
        ),
        # It came right in the end.
        (
            {
                "phase": "Running",
                "containerStatuses": [
                    {
                        "state": {"terminated": {"exitCode": 0}},
                        "lastState": {"terminated": {"exitCode": 9}},
                    },
                ],
            },
            None,
        ),
        (
            {
                "phase": "Succeeded",
                "containerStatuses": [{"state": {"terminated": {"exitCode": 143}}}],
            },
            None,
        ),
        ({"phase": "Running"}, None),
    ],
)
def test_what_went_wrong_is_told(status: dict[str, Any], reason: Reason | None) -> None:
    state = pod_state(pod(status=status))
    assert state is not None
    assert (None if state.failure is None else state.failure.reason) == reason


@pytest.mark.parametrize(
    ("resource", "is_one"),
    [
        ("nvidia.com/gpu", True),
        ("amd.com/gpu", True),
        ("nvidia.com/gpu.shared", True),
        ("nvidia.com/mig-1g.5gb", True),
        ("gpu", False),
        ("example.com/gpus-worth", False),
        ("memory", False),
    ],
)
def test_gpus_are_told_by_their_resource(resource: str, *, is_one: bool) -> None:
    assert is_gpu(resource) is is_one


def test_pods_of_one_job_share_what_is_the_same() -> None:
    one, two = pod_state(pod()), pod_state(pod(metadata__uid="u2"))
    assert one is not None
    assert two is not None
    assert one.containers[0] is two.containers[0]
    assert one.owner is two.owner
    assert one.node is two.node
    assert sys.getsizeof(one) <= 400


@given(HOSTILE_PODS)
def test_hostile_pods_are_pods_or_none(raw: dict[str, object]) -> None:
    state = pod_state(raw)
    assert state is None or (state.gpu_count >= 0 and state.restarts >= 0)
