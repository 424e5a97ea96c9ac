"""Runs, as the cluster would hold them."""

from datetime import UTC, datetime, timedelta
from typing import Any

from cepheid.jobprofile import JobIdentity, JobProfile, Outcome
from cepheid_operator.cluster import Cluster, Run
from cepheid_operator.discovery import PODS, Served

JOBS = Served("batch", "v1", "Job", "jobs")
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
UID = "0a0a0a0a-0000-4000-8000-000000000001"


def at(seconds: float) -> str:
    return (NOON + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def raw_job(*conditions: str, annotations: dict[str, str] | None = None) -> dict[str, Any]:
    metadata: dict[str, Any] = {
        "name": "train",
        "namespace": "team",
        "uid": UID,
        "creationTimestamp": at(0),
        "annotations": annotations or {},
        "managedFields": [
            {
                "manager": "cepheid-operator",
                "operation": "Apply",
                "fieldsV1": {
                    "f:metadata": {"f:annotations": {f"f:{key}": {} for key in annotations or {}}}
                },
            }
        ],
    }
    told = [{"type": one, "status": "True", "lastTransitionTime": at(100)} for one in conditions]
    spec = {"template": {"spec": {"containers": [{"name": "main", "image": "x"}]}}}
    return {"metadata": metadata, "spec": spec, "status": {"conditions": told}}


def raw_pod(name: str = "train-0", phase: str = "Running", **figures: str) -> dict[str, Any]:
    annotations = {f"ai.centaurus.io/{key}": text for key, text in figures.items()}
    fields: dict[str, Any] = {
        "f:metadata": {"f:annotations": {f"f:{key}": {} for key in annotations}}
    }
    owner = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "name": "train",
        "uid": UID,
        "controller": True,
    }
    return {
        "metadata": {
            "name": name,
            "namespace": "team",
            "uid": f"uid-{name}",
            "creationTimestamp": at(5),
            "ownerReferences": [owner],
            "annotations": annotations,
            "managedFields": [
                {"manager": "cepheid-agent", "operation": "Apply", "fieldsV1": fields}
            ],
        },
        "spec": {"nodeName": "gpu-a", "containers": [{"name": "main"}]},
        "status": {
            "phase": phase,
            "containerStatuses": [{"name": "main", "state": {"running": {"startedAt": at(10)}}}],
        },
    }


def make_cluster() -> Cluster:
    made = Cluster(clock=lambda: 0.0, wall=lambda: NOON)
    for served in (JOBS, PODS):
        made.relisted(served, frozenset(), set())
    return made


def run_of(job: dict[str, Any] | None, *pods: dict[str, Any], deleted: bool = False) -> Run:
    cluster = make_cluster()
    if job is not None:
        cluster.see(JOBS, job, deleted)
    for pod in pods:
        cluster.see(PODS, pod, False)
    cluster.look_again()
    (run,) = cluster.runs.values()
    return run


def profile(uid: str = UID, **more: Any) -> JobProfile:
    identity = JobIdentity(
        api_version="batch/v1", kind="Job", namespace="team", name="train", uid=uid
    )
    known: dict[str, Any] = {
        "job": identity,
        "series": "train",
        "created": NOON,
        "started": NOON,
        "ended": NOON + timedelta(hours=1),
        "duration_seconds": 3600.0,
        "outcome": Outcome.SUCCESS,
        **more,
    }
    return JobProfile(**known)
