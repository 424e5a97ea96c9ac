"""The custom resource on a real API server: what it shows, explains and refuses."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from cepheid.jobprofile import from_document, to_document, to_json
from tests.cluster.kubectl import Kubectl
from tests.cluster.progress import ClusterError
from tests.faults_operator.largest import LARGEST
from tests.stage.surroundings import Stage

JOB = {
    "apiVersion": "kubeflow.org/v2beta1",
    "kind": "MPIJob",
    "namespace": "definition",
    "name": "bert",
    "uid": "1e2a",
}
PROFILE: dict[str, Any] = {
    "apiVersion": "ai.centaurus.io/v1alpha1",
    "kind": "JobProfile",
    "metadata": {"name": "bert-1", "namespace": "definition"},
    "job": JOB,
    "series": "bert",
    "created": "2026-03-01T10:00:00Z",
    "started": "2026-03-01T10:00:30Z",
    "ended": "2026-03-01T12:14:30Z",
    "outcome": "failed",
    "reason": "OOMKilled",
    "verdict": "killed at its memory limit of 64Gi",
    "summary": {
        "duration": "2h14m",
        "gpus": "4xA100-80",
        "gpuUtil": "87%",
        "gpuMemory": "61/80Gi",
        "memory": "64/64Gi",
        "period": "42.1s",
    },
}


@pytest.fixture(scope="module")
def admin(running: Stage) -> Iterator[Kubectl]:
    running.api.start()
    within = running.api.admin.within("definition")
    within.apply(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "definition"}}, PROFILE
    )
    yield within
    within("delete", "jobprofiles", "--all")


def test_a_list_of_them_is_a_useful_table(admin: Kubectl) -> None:
    heading, row = admin("get", "jp", "bert-1").splitlines()
    names = ["NAME", "KIND", "STATUS", "REASON", "DURATION", "GPUS", "GPU%", "GPUMEM", "MEM"]
    assert heading.split() == [*names, "PERIOD", "VERDICT", "AGE"]
    shown = "bert-1 MPIJob failed OOMKilled 2h14m 4xA100-80 87% 61/80Gi 64/64Gi 42.1s killed at"
    assert " ".join(row.split()).startswith(shown)


@pytest.mark.parametrize(
    ("field", "words"),
    [
        ("jobprofile", "What one run of a job asked for, what it used, and how it ended."),
        ("jobprofile.outcome", "failed (its program ended it)"),
        ("jobprofile.usage.memoryBytes", "Working set, which is what the OOM killer looks at."),
        ("jobprofile.workers.straggles", "In which way it lags behind the others."),
    ],
)
def test_explain_answers_in_sentences(admin: Kubectl, field: str, words: str) -> None:
    assert words in " ".join(admin("explain", field).split())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"outcome": "odd"}, 'outcome: Unsupported value: "odd"'),
        ({"reason": "Bored"}, 'reason: Unsupported value: "Bored"'),
        ({"ended": "2026-03-01T10:00:00Z"}, "a job does not end before it started"),
        ({"ended": None}, "one that is over has one"),
        ({"outcome": "running", "ended": None}, "a job that is over does not run again"),
        ({"job": JOB | {"uid": "another"}}, "whose profile it is never changes"),
        ({"job": JOB | {"name": "n" * 254}}, "Too long"),
        ({"restarts": -1}, "should be greater than or equal to 0"),
        ({"created": "yesterday"}, "created"),
        ({"series": None}, "series: Required value"),
        ({"usage": {"tensorPercent": {"mean": "much"}}}, "usage.tensorPercent.mean"),
        ({"verdict": "v" * 61}, "Too long"),
        ({"nonsense": 1}, "field not declared in schema"),
    ],
)
def test_a_bad_one_is_refused_with_a_clear_message(
    admin: Kubectl, change: dict[str, Any], words: str
) -> None:
    merged = {key: value for key, value in (PROFILE | change).items() if value is not None}
    with pytest.raises(ClusterError) as refusal:
        admin.apply(merged)
    assert words in str(refusal.value)
    assert admin.get("jobprofile", "bert-1")["outcome"] == "failed"


def test_the_largest_record_is_small_and_comes_back_as_it_was(admin: Kubectl) -> None:
    assert 4000 < len(to_json(LARGEST)) <= 5000
    metadata = {"name": "largest", "namespace": "definition"}
    thing = {**PROFILE, "metadata": metadata, **to_document(LARGEST)}
    admin.apply(json.loads(json.dumps(thing)))
    found = admin.get("jobprofile", "largest")
    rest = {k: v for k, v in found.items() if k not in ("apiVersion", "kind", "metadata")}
    assert from_document(rest) == LARGEST
