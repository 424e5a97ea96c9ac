"""A PlacementTrial on a real API server: what it shows, explains, fills in and refuses."""

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest

from cepheid.placementtrial import TrialSpec, spec_from, to_document
from tests.cluster.kubectl import Kubectl
from tests.cluster.progress import ClusterError
from tests.stage.surroundings import Stage

NAMESPACE = "trial-definition"
TRIAL: dict[str, Any] = {
    "apiVersion": "ai.centaurus.io/v1alpha1",
    "kind": "PlacementTrial",
    "metadata": {"name": "bert", "namespace": NAMESPACE},
    "spec": {
        "job": {"apiVersion": "kubeflow.org/v2beta1", "kind": "MPIJob", "name": "bert"},
        "tryOn": {"gpuTypes": ["NVIDIA-A100-SXM4-80GB", "Tesla-T4"], "workers": [1, 2, 4]},
        "optimise": {"prices": {"NVIDIA-A100-SXM4-80GB": 3.5}},
    },
}
STATUS = {
    "phase": "Running",
    "message": "2 of 6 placements tried",
    "summary": {
        "trials": "2/6",
        "best": "4xA100",
        "gain": "3.2x",
        "spent": "0.41h",
        "budget": "1h",
    },
}
INLINE = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "template": {
        "metadata": {"labels": {"app": "x"}},
        "spec": {"parallelism": 2, "template": {"spec": {"containers": [{"name": "main"}]}}},
    },
}


@pytest.fixture(scope="module")
def admin(running: Stage) -> Iterator[Kubectl]:
    running.api.start()
    within = running.api.admin.within(NAMESPACE)
    within.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}, TRIAL)
    yield within
    within("delete", "placementtrials", "--all")


def changed(path: str, value: Any, base: dict[str, Any] = TRIAL) -> dict[str, Any]:
    """Without what is None."""
    made = copy.deepcopy(base)
    *way, last = path.split(".")
    part = made
    for key in way:
        part = part.setdefault(key, {})
    if value is None:
        part.pop(last)
    else:
        part[last] = value
    return made


def named(name: str, thing: dict[str, Any]) -> dict[str, Any]:
    return changed("metadata.name", name, thing)


def create(admin: Kubectl, thing: dict[str, Any]) -> dict[str, Any]:
    command = ("create", "--filename=-", "--output=json", "--dry-run=server")
    made: dict[str, Any] = json.loads(admin(*command, stdin=json.dumps(thing)))
    return made


def test_a_list_of_them_is_a_useful_table(admin: Kubectl) -> None:
    report = json.dumps({"status": STATUS})
    admin("patch", "pt", "bert", "--subresource=status", "--type=merge", f"--patch={report}")
    heading, row = admin("get", "pt", "bert").splitlines()
    names = ["NAME", "PHASE", "TRIALS", "BEST", "GAIN", "SPENT", "BUDGET"]
    assert heading.split() == [*names, "AGE"]
    assert row.split()[:7] == ["bert", "Running", "2/6", "4xA100", "3.2x", "0.41h", "1h"]
    wide, row = admin("get", "pt", "bert", "--output=wide").splitlines()
    assert wide.split() == [*names, "GOAL", "MESSAGE", "AGE"]
    assert "2 of 6 placements tried" in row


@pytest.mark.parametrize(
    ("field", "words"),
    [
        ("placementtrial", "Where does a job run best?"),
        ("placementtrial.spec.limits.gpuHours", "All trials together never hold GPUs for longer."),
        ("placementtrial.spec.job.template", "Instead of a name: the job itself"),
        ("placementtrial.status.trials.reading.periodSeconds", "confirmed: one iteration."),
    ],
)
def test_explain_answers_in_sentences(admin: Kubectl, field: str, words: str) -> None:
    assert words in " ".join(admin("explain", field).split())


def test_what_is_left_out_is_shown_as_it_will_be_taken(admin: Kubectl) -> None:
    """And is what the operator itself would take: the defaults stand in one place."""
    spec = {"job": TRIAL["spec"]["job"]}
    found = create(admin, named("shortest", changed("spec", spec)))["spec"]
    assert found == {
        "job": TRIAL["spec"]["job"],
        "tryOn": {"typeLabel": "nvidia.com/gpu.product"},
        "optimise": {"goal": "throughput", "marginPercent": 5},
        "measure": {"by": "auto", "iteration": "auto"},
        "limits": {
            "gpuHours": 1,
            "trialSeconds": 180,
            "warmupSeconds": 30,
            "pendingSeconds": 300,
            "startSeconds": 120,
            "parallel": 1,
        },
        "suspend": False,
        "abort": False,
    }
    assert spec_from(found) == spec_from(spec)


def test_a_job_that_stands_in_it_is_kept_as_it_was_written(admin: Kubectl) -> None:
    found = create(admin, named("inline", changed("spec.job", INLINE)))
    assert found["spec"]["job"] == INLINE


def test_every_field_that_a_spec_can_have_is_known(admin: Kubectl) -> None:
    spec = to_document(
        spec_from(
            {
                "job": TRIAL["spec"]["job"],
                "tryOn": {
                    "gpuTypes": ["a"],
                    "typeLabel": "x",
                    "gpusPerWorker": [2],
                    "workers": [2],
                    "arrange": ["packed", "spread"],
                },
                "optimise": {
                    "goal": "deadline",
                    "prices": {"a": 1.5},
                    "deadlineSeconds": 60,
                    "work": 10,
                    "marginPercent": 1,
                },
                "measure": {"by": "log", "pattern": "x", "iteration": "whole"},
                "limits": {"gpuHours": 2, "parallel": 2},
                "suspend": True,
                "abort": True,
            }
        )
    )
    assert isinstance(
        spec_from(create(admin, named("full", changed("spec", spec)))["spec"]), TrialSpec
    )


MPI = {"apiVersion": "kubeflow.org/v1", "kind": "MPIJob"}


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("spec.job", MPI, "either name, for a job of this namespace, or template"),
        ("spec.job", INLINE | {"name": "x"}, "either name, for a job of this namespace"),
        ("spec.job.kind", "TFJob", "can be tried: kind MPIJob with apiVersion kubeflow.org/v1 or"),
        ("spec.job.kind", "PyTorchJob", "can be tried: kind MPIJob"),  # of v2beta1 there is none
        ("spec.job.apiVersion", "batch/v1", "can be tried: kind MPIJob"),
        ("spec.job", MPI | {"template": {"kind": "MPIJob"}}, "template.spec: Required value"),
        ("spec.job", MPI | {"template": "x"}, "spec.job.template"),
        ("spec.job.name", "n" * 254, "Too long"),
        ("spec.job", None, "spec.job: Required value"),
        ("spec.tryOn.workers", [2, 2], "Duplicate value: 2"),
        ("spec.tryOn.gpuTypes", ["a", "a"], 'Duplicate value: "a"'),
        ("spec.tryOn.workers", [0], "should be greater than or equal to 1"),
        ("spec.tryOn.gpusPerWorker", [65], "should be less than or equal to 64"),
        ("spec.tryOn.arrange", ["odd"], 'Unsupported value: "odd"'),
        (
            "spec.tryOn",
            {"workers": [*range(1, 15)], "gpusPerWorker": [*range(1, 16)]},
            "the axes make more than 200 placements",
        ),
        ("spec.optimise.goal", "joy", 'Unsupported value: "joy"'),
        ("spec.optimise.goal", "cost", "needs a price of every GPU type that is tried"),
        ("spec.optimise", {"goal": "cost"}, "needs a price of every GPU type that is tried"),
        ("spec.optimise.prices", {"a": 0}, "should be greater than 0"),
        ("spec.optimise.prices", {str(n): 1 for n in range(65)}, "must have at most 64 items"),
        ("spec.optimise", {"goal": "deadline", "work": 1}, "both deadlineSeconds and work"),
        ("spec.optimise", {"goal": "deadline", "deadlineSeconds": 1}, "both deadlineSeconds and"),
        ("spec.measure", {"by": "promql"}, "promql must be given where by is promql"),
        ("spec.measure", {"promql": "x"}, "promql must be given where by is promql, and nowhere"),
        ("spec.measure", {"pattern": "x"}, "pattern is for logs: by must be log"),
        ("spec.measure", {"by": "promql", "promql": "x" * 1001}, "Too long"),
        ("spec.measure", {"by": "log", "pattern": "x" * 1001}, "Too long"),
        ("spec.limits.gpuHours", 0, "should be greater than 0"),
        ("spec.limits.trialSeconds", 5, "should be greater than or equal to 20"),
        ("spec.limits.parallel", 17, "should be less than or equal to 16"),
        ("spec.limits.gpuHours", "much", "must be of type number"),
        ("spec.nonsense", 1, 'unknown field "spec.nonsense"'),
        ("metadata.name", "n" * 64, "the name has at most 63 characters"),
    ],
)
def test_a_bad_one_is_refused_with_a_clear_message(
    admin: Kubectl, path: str, value: Any, words: str
) -> None:
    thing = named("bad", TRIAL) if path != "metadata.name" else TRIAL
    with pytest.raises(ClusterError) as refusal:
        create(admin, changed(path, value, thing))
    assert words in str(refusal.value)


def test_cost_needs_prices_of_those_types_that_are_tried_and_no_others(admin: Kubectl) -> None:
    prices = {"NVIDIA-A100-SXM4-80GB": 3.5, "Tesla-T4": 0.4}
    create(admin, named("cost", changed("spec.optimise", {"goal": "cost", "prices": prices})))


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("spec.job.name", "another", "job cannot be changed: make another PlacementTrial"),
        ("spec.tryOn.workers", [1], "tryOn cannot be changed"),
        ("spec.optimise.goal", "energy", "optimise cannot be changed"),
        ("spec.measure.by", "work", "measure cannot be changed"),
    ],
)
def test_what_was_asked_cannot_be_changed(
    admin: Kubectl, path: str, value: Any, words: str
) -> None:
    with pytest.raises(ClusterError) as refusal:
        admin.apply(changed(path, value))
    assert words in str(refusal.value)


def test_nor_can_a_job_that_stands_in_it(admin: Kubectl) -> None:
    inline = named("kept", changed("spec.job", INLINE))
    admin.apply(inline)
    with pytest.raises(ClusterError) as refusal:
        admin.apply(changed("spec.job.template.spec.parallelism", 3, inline))
    assert "job cannot be changed" in str(refusal.value)
    admin.apply(changed("spec.suspend", True, inline))


def test_it_can_be_suspended_resumed_given_more_and_aborted_once(admin: Kubectl) -> None:
    def patch(spec: dict[str, Any]) -> None:
        admin("patch", "pt", "twice", "--type=merge", f"--patch={json.dumps({'spec': spec})}")

    admin.apply(named("twice", TRIAL))
    for spec in ({"suspend": True}, {"suspend": False}, {"limits": {"gpuHours": 8}}):
        patch(spec)
    patch({"abort": True})
    with pytest.raises(ClusterError, match="what was aborted is not taken up again"):
        patch({"abort": False})
