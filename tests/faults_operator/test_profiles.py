"""What stands when nothing goes wrong, and what never lands on a user's object."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from cepheid.jobprofile import from_document, to_json
from tests.cluster.progress import wait_for
from tests.faults_operator.submitted import Submitted, computing, used
from tests.stage.operator import Operator
from tests.stage.surroundings import Stage
from tests.stage.world import GIB

Make = Callable[..., Submitted]
OURS = {"cepheid-operator"}
FOREIGN = "kopf.zalando.org/KopfFinalizerMarker"
"""What another operator's kopf puts on its objects: not ours to take away."""


def test_annotations_hold_every_workers_maximum_after_its_pods_are_gone(
    operator: Operator, job: Make
) -> None:
    train = job()
    train.add_pod("train-0", usage=used(40, 900))
    train.add_pod("train-1", node="gpu-b", usage=used(60, 700))
    wait_for("both workers", lambda: {"train-0", "train-1"} <= train.annotations().keys())
    train.annotate("train-0", used(10, 1200))
    train.annotate("train-1", used(20, 100))
    wait_for("a new maximum", lambda: '"mem_mb":1200' in train.annotations()["train-0"])
    train.succeed()
    train.finished()
    for pod in train.pods:
        train.api.delete_pod(train.namespace, pod)
    assert '"cpu":40,"mem_mb":1200' in train.annotations()["train-0"]
    assert '"cpu":60,"mem_mb":700' in train.annotations()["train-1"]
    operator.untroubled()


def test_a_profile_says_how_the_job_ended_and_outlives_it(operator: Operator, job: Make) -> None:
    train = job(labels={"team": "vision", "user": "ada", "other": "not-kept"})
    train.add_pod("train-0", gpus=2, usage=used(40, 900))
    train.tell_pod("train-0", "Failed", exit_code=137)
    train.fail()
    profile = train.finished()
    assert (profile["outcome"], profile["reason"], profile["exitCode"]) == (
        "failed",
        "OOMKilled",
        137,
    )
    assert (profile["user"], profile["gpuCount"], profile["nodes"]) == ("ada", 2, ["gpu-a"])
    assert profile["labels"] == {"team": "vision", "user": "ada"}
    assert profile["workers"][0]["memoryBytes"] == 900 * 2**20
    train.delete()
    wait_for("no job", lambda: not train.admin.items("jobs"))
    assert train.profile() is not None
    operator.untroubled()


def test_a_running_job_has_a_live_profile_that_becomes_the_last_one(
    operator: Operator, job: Make
) -> None:
    train = job()
    train.add_pod("train-0", usage=used(40, 900))
    (live,) = wait_for("a live profile", train.profiles, timeout_seconds=150)
    assert live["outcome"] == "running"
    assert "ended" not in live
    train.succeed()
    profile = train.finished()
    assert profile["metadata"]["uid"] == live["metadata"]["uid"]
    assert profile["outcome"] == "success"
    operator.untroubled()


def test_the_figures_of_prometheus_are_what_the_workload_was_told_to_do(
    operator: Operator, stage: Stage, job: Make
) -> None:
    train = job()
    train.add_pod("train-0", gpus=1, seconds_ago=0)
    with computing(stage, train, "train-0"):
        time.sleep(20)  # what a short job takes
        train.succeed()
        assert "samples" not in train.finished()  # at once, from what is known
        wait_for("the figures", lambda: "samples" in (train.profile() or {}))
    profile = train.profile()
    assert profile is not None
    usage = profile["usage"]
    assert usage["memoryBytes"]["max"] == 3 * GIB
    assert usage["cpuCores"]["mean"] == pytest.approx(1.5, rel=0.1)
    assert usage["gpuMemoryBytes"]["max"] == 8192 * 2**20
    assert usage["gpuUtilPercent"]["mean"] == pytest.approx(90, abs=10)
    assert usage["energyJoules"] > 0
    assert [(held["node"], held["index"]) for held in profile["gpus"]] == [("gpu-a", 1)]
    assert profile["summary"]["gpus"].startswith("1x")
    operator.untroubled()


def test_a_run_that_needs_clearly_more_than_those_before_it_says_so_and_an_event_does(
    operator: Operator, job: Make
) -> None:
    for number in range(1, 5):
        run = job(f"nightly-{number}")
        run.add_pod(f"nightly-{number}-0", seconds_ago=600 if number == 4 else 100 + number)
        run.succeed()
        run.finished()
    wait_for("the regression", lambda: "regression" in (run.profile() or {}))
    profile = run.profile()
    assert profile is not None
    (worse,) = profile["regression"]
    assert (worse["what"], worse["runs"]) == ("duration", 3)
    assert worse["now"] == pytest.approx(600, abs=20)
    assert worse["usual"] == pytest.approx(102, abs=20)
    (event,) = wait_for("the Event", lambda: run.admin.items("events"))
    assert (event["reason"], event["involvedObject"]["uid"]) == ("JobRegressed", run.uid)
    assert "more duration than usual" in event["message"]
    assert "JobRegressed" in run.admin("describe", "job", run.name)
    operator.untroubled()


def test_a_bare_pod_with_a_gpu_has_a_profile_and_one_without_has_none(
    operator: Operator, stage: Stage, namespace: str, job: Make
) -> None:
    marker = job("marker")
    limits = {"limits": {"nvidia.com/gpu": "1"}}
    for name, resources in (("with", limits), ("without", {})):
        container = {"name": "main", "image": "x/y:1", "resources": resources}
        stage.api.pod(namespace, name, "gpu-a", {"containers": [container]})
    pods = Submitted(stage.api, namespace, "pods")
    for name in ("with", "without"):
        pods.tell_pod(name, "Succeeded")
    marker.succeed()
    marker.finished()
    wait_for("a profile of the pod", lambda: "Pod" in _kinds(marker))
    assert sorted(_kinds(marker)) == ["Job", "Pod"]
    operator.untroubled()


def _kinds(job: Submitted) -> list[str]:
    return [one["job"]["kind"] for one in job.admin.items("jobprofiles")]


def test_no_finalizer_and_no_bookkeeping_ever_lands_on_a_users_object(
    operator: Operator, job: Make
) -> None:
    refused = refused_patches(train := job(finalizers=[FOREIGN]))
    train.add_pod("train-0", usage=used(40, 900))
    wait_for("annotations", train.annotations)
    before = train.admin.get("pod", "train-0", "--show-managed-fields")["metadata"]
    train.succeed()
    train.finished()
    found = train.admin.get("job", train.name, "--show-managed-fields")
    metadata = found["metadata"]
    assert metadata["finalizers"] == [FOREIGN]
    assert all(key.startswith("ai.centaurus.io/") for key in metadata["annotations"])
    ours = [entry for entry in metadata["managedFields"] if entry["manager"] in OURS]
    assert [(entry["operation"], _fields(entry)) for entry in ours] == [("Apply", ["annotations"])]
    assert not any("kopf" in entry["manager"].lower() for entry in metadata["managedFields"])
    after = train.admin.get("pod", "train-0", "--show-managed-fields")["metadata"]
    assert (after.get("finalizers"), after["annotations"]) == (
        before.get("finalizers"),
        before["annotations"],
    )
    operator.untroubled()
    # Not even tried: our own policy would have refused it.
    assert refused_patches(train) == refused
    release = '--patch=[{"op":"remove","path":"/metadata/finalizers"}]'
    train.admin("patch", "job", train.name, "--type=json", release)


def refused_patches(job: Submitted) -> float:
    """Of jobs and pods, since the API server began."""
    lines = job.admin("get", "--raw", "/metrics").splitlines()
    patches = [
        line
        for line in lines
        if line.startswith("apiserver_request_total{")
        and 'verb="PATCH"' in line
        and ('resource="jobs"' in line or 'resource="pods"' in line)
        and 'code="200"' not in line
    ]
    return sum(float(line.rpartition(" ")[2]) for line in patches)


def _fields(entry: dict[str, Any]) -> list[str]:
    assert list(entry["fieldsV1"]) == ["f:metadata"]
    return [name.removeprefix("f:") for name in entry["fieldsV1"]["f:metadata"]]


def test_a_kind_that_is_not_known_is_left_alone_and_counted(
    operator: Operator, stage: Stage, namespace: str, job: Make
) -> None:
    marker = job("marker")
    owner = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Workflow",
        "name": "flow",
        "uid": "0f0f0f0f-0000-0000-0000-000000000000",
        "controller": True,
    }
    container = {"name": "main", "image": "x/y:1", "resources": {"limits": {"nvidia.com/gpu": "1"}}}
    stage.api.admin.within(namespace).apply(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "step", "ownerReferences": [owner]},
            "spec": {"containers": [container], "nodeName": "gpu-a"},
        }
    )
    Submitted(stage.api, namespace, "flow").tell_pod("step", "Succeeded")
    series = 'cepheid_operator_left_alone{kind="Workflow.argoproj.io",why="unknown-kind"}'
    wait_for("the count", lambda: operator.metrics().get(series) == 1)
    marker.succeed()
    marker.finished()
    assert _kinds(marker) == ["Job"]


def test_two_hundred_that_end_at_once_have_their_profiles_within_half_a_minute(
    operator: Operator, stage: Stage, namespace: str, job: Make
) -> None:
    first = job("job-0")
    names = [f"job-{number}" for number in range(200)]
    spec = first.admin.get("job", "job-0")["spec"]["template"]["spec"]
    template = {"spec": {"restartPolicy": "Never", "containers": spec["containers"]}}
    things = [
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": name},
            "spec": {"template": template},
        }
        for name in names[1:]
    ]
    first.admin.apply(*things)
    jobs = [Submitted(stage.api, namespace, name) for name in names]
    begun = time.monotonic()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(Submitted.succeed, jobs))
    took_seconds = time.monotonic() - begun
    wait_for("all profiles", lambda: len(first.admin.items("jobprofiles")) == 200)
    # A machine on which it takes longer to end them all is too busy to be held to that.
    limit = next(edge for edge in (30.0, 60.0, 300.0, 1800.0) if edge >= 2 * took_seconds)
    within = f'cepheid_operator_profile_delay_seconds_bucket{{le="{limit}"}}'
    every = "cepheid_operator_profile_delay_seconds_count"
    # A profile stands a moment before it is counted.
    wait_for("all delays", lambda: operator.metrics()[every] >= 200)
    figures = operator.metrics()
    assert figures[within] == figures[every] == 200


def test_a_record_stays_small_also_of_a_large_job(operator: Operator, job: Make) -> None:
    train = job("n" * 63)
    for number in range(12):
        name = f"worker-{number}-{'p' * 40}"
        train.add_pod(
            name, node=f"node-{'x' * 50}-{number}", gpus=8, usage=used(number, 100 * number)
        )
    train.succeed()
    profile = train.finished()
    document = {k: v for k, v in profile.items() if k not in ("apiVersion", "kind", "metadata")}
    assert 1000 < len(to_json(from_document(document))) <= 5000
    assert profile["workerCount"] == 12
    operator.untroubled()
