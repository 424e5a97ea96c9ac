"""`kubectl apply` of a job and the question where it should run best, to the answer."""

import json
from typing import Any

import pytest

from cepheid.annotations.job_codec import decode_job
from cepheid.annotations.job_facts import BestPlacement
from cepheid.placementtrial import Phase, Placement, Ruler, State, TrialStatus
from tests.cluster.kubectl import Kubectl
from tests.cluster.progress import wait_for
from tests.simgpu.silicon import find_model
from tests.simgpu.step_model import modelled_step

pytestmark = [pytest.mark.e2e, pytest.mark.machine, pytest.mark.timeout(3600)]
WORK_SECONDS = 40.0
MODELS = {"NVIDIA-A100-SXM4-80GB": "NVIDIA A100-SXM4-80GB", "Tesla-T4": "Tesla T4"}
PRICES = {"NVIDIA-A100-SXM4-80GB": 3.2, "Tesla-T4": 1.2}
GRID = [
    Placement(gpu_type=gpu_type, workers=workers) for gpu_type in MODELS for workers in (1, 2, 4)
]


def period_seconds(bound: str, placement: Placement) -> float:
    """The truth: what a step of the simulated job takes there."""
    model = find_model(MODELS[placement.gpu_type])
    return modelled_step(WORK_SECONDS, bound, model, placement.gpus).total


def true_best(bound: str) -> Placement:
    if bound == "compute":
        return min(GRID, key=lambda one: period_seconds(bound, one))
    return min(GRID, key=lambda one: period_seconds(bound, one) * one.gpus * PRICES[one.gpu_type])


def told_best(research: Kubectl, job: str) -> BestPlacement | None:
    annotations = research.get("mpijob", job)["metadata"].get("annotations", {})
    return decode_job(annotations).facts.best_placement


@pytest.mark.parametrize("bound", ["compute", "communication"])
def test_the_true_best_placement_is_found_and_said(
    research: Kubectl, answers: dict[str, TrialStatus], bound: str
) -> None:
    status = answers[bound]
    assert status.phase is Phase.DONE, status
    assert status.best is not None
    assert status.best.placement == true_best(bound), status
    assert len(status.trials) < len(GRID)
    assert status.spent_gpu_seconds <= 3600
    # The job is told last, after all else that its trials' end brings.
    best = wait_for("the job's annotation", lambda: told_best(research, bound))
    assert (best.gpu_type, best.workers) == (
        status.best.placement.gpu_type,
        status.best.placement.workers,
    )


def test_the_pulse_is_how_long_a_step_takes(answers: dict[str, TrialStatus]) -> None:
    """On a starved machine one may not be clear in time, and the work is what is measured."""
    by_pulse = [
        (1 / period_seconds(bound, trial.placement), trial.throughput.per_second)
        for bound, status in answers.items()
        for trial in status.trials
        if trial.state is State.MEASURED
        and trial.throughput is not None
        and trial.throughput.by is Ruler.PULSE
    ]
    assert by_pulse, answers
    for true, per_second in by_pulse:
        # A step waits for the slowest rank, and this machine has other work beside.
        assert true * 0.6 <= per_second <= true * 1.05, answers


@pytest.mark.usefixtures("answers")
def test_nothing_of_the_trials_is_left(research: Kubectl) -> None:
    def left() -> list[Any]:
        jobs = research.items("mpijobs", "--selector=ai.centaurus.io/placement-trial")
        return jobs + research.items("pods")

    wait_for("the end of all trial jobs and pods", lambda: not left(), 120)
    assert {job["metadata"]["name"] for job in research.items("mpijobs")} == {
        "compute",
        "communication",
    }


@pytest.mark.usefixtures("answers")
def test_the_table_and_the_events_tell_the_story(research: Kubectl) -> None:
    table = research("get", "placementtrials")
    assert "4xA100" in table
    story = research("describe", "placementtrial", "compute")
    for reason in ("TrialStarted", "TrialMeasured", "Done"):
        assert reason in story


def test_the_patch_places_the_job_and_changes_nothing_else(
    research: Kubectl, answers: dict[str, TrialStatus]
) -> None:
    status = answers["compute"]
    assert status.best is not None
    assert status.best.patch is not None
    before = research.get("mpijob", "compute")["spec"]
    research("patch", "mpijob", "compute", "--type=merge", f"--patch={status.best.patch}")
    after = research.get("mpijob", "compute")["spec"]
    roles, were = after["mpiReplicaSpecs"], before["mpiReplicaSpecs"]
    worker, launcher = roles["Worker"], roles["Launcher"]["template"]["spec"]["containers"][0]
    assert worker["replicas"] == status.best.placement.workers
    selector = worker["template"]["spec"].pop("nodeSelector")
    assert selector == {"nvidia.com/gpu.product": status.best.placement.gpu_type}
    # As many ranks as there are GPUs: else the new ones would have nothing to do.
    command = launcher["command"]
    assert command[:3] == ["mpirun", "-n", str(status.best.placement.gpus)]
    worker["replicas"], command[2] = were["Worker"]["replicas"], "2"
    assert json.dumps(after, sort_keys=True) == json.dumps(before, sort_keys=True)
