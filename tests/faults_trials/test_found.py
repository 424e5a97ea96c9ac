"""A search from `kubectl apply` to the annotation on the job; what it may not do meanwhile."""

import json
import time
from collections import Counter

from cepheid.placementtrial import Phase, Placement, Ruler, State
from tests.faults_trials.conftest import Theatre
from tests.faults_trials.tried import A100, T4, Team, Tried, begins, periods, plays
from tests.stage.trainers import Fate

GRID = [Placement(gpu_type=kind, workers=n) for kind in (A100, T4) for n in (1, 2)]
BEST = Placement(gpu_type=A100, workers=2)
MOST_WRITES = 6
"""Of the status, for each trial: decided, there, running, over, and what it waits for."""


def usual(team: Team) -> Tried:
    team.play(plays())
    team.submit()
    return team.tries()


@begins(usual)
def test_the_best_is_found_with_fewer_trials_than_the_grid_and_told_to_the_job(
    tried: Tried,
) -> None:
    assert min(GRID, key=periods) == BEST
    status = tried.over()
    assert (status.phase, status.reason) == (Phase.DONE, "Done")
    assert status.best is not None
    assert status.best.placement == BEST
    assert len(status.trials) < len(GRID)
    for trial in status.trials:
        assert trial.throughput is not None
        # On a starved machine a pulse may not be clear in time: then the work is what is measured.
        if trial.throughput.by is Ruler.PULSE:
            expected = 1 / periods(trial.placement)
            assert abs(trial.throughput.per_second / expected - 1) < 0.05
    marked = tried.marked()
    assert (marked["type"], marked["workers"]) == (A100, 2)
    tried.all_gone()


@begins(usual)
def test_people_are_told_the_story_and_shown_a_row(tried: Tried) -> None:
    status = tried.over()
    reasons = [reason for reason, _ in tried.told("Done")]
    each = ["TrialStarted", "TrialMeasured"] * len(status.trials)
    assert Counter(reasons) == Counter([*each, "Running", "Done"])
    assert [one for one in reasons if one.startswith("Trial")] == each
    assert reasons[-1] == "Done"
    header, row = tried.team.admin("get", "placementtrials").splitlines()
    for column in ("PHASE", "TRIALS", "BEST", "GAIN", "SPENT", "BUDGET"):
        shown = row[header.index(column) :].split("  ")[0]
        assert shown.strip(), column
    assert "Done" in row


@begins(usual)
def test_the_patch_places_the_job_there(tried: Tried) -> None:
    tried.over()
    status = tried.settled()
    assert status.best is not None
    assert status.best.patch is not None
    admin = tried.team.admin
    path = "--output=jsonpath={.status.best.patch}"
    patch = admin("get", "placementtrial", tried.name, path)
    admin("patch", "job", "train", "--type=merge", f"--patch={patch}")
    spec = admin.get("job", "train")["spec"]
    assert spec["parallelism"] == 2
    assert A100 in json.dumps(spec["template"]["spec"])
    # Whoever writes to the job changes nothing of what was found.
    tried.wait_passes()
    assert tried.status() == status


@begins(usual)
def test_what_is_said_to_be_spent_is_what_was_held(tried: Tried) -> None:
    tried.over()
    tried.all_gone()
    settled = tried.settled()
    held = tried.team.held_gpu_seconds()
    assert held > 0
    gpus = sum(trial.placement.gpus for trial in settled.trials)
    # Rounded to seconds by kubelets; a pod may take its grace period, and a busy machine see that
    # late. What was reserved for it would be more.
    assert -2 * gpus <= settled.spent_gpu_seconds - held <= 20 * gpus


@begins(usual)
def test_little_is_written_and_nothing_while_nothing_changes(
    tried: Tried, theatre: Theatre
) -> None:
    tried.over()
    tried.all_gone()
    status = tried.settled()
    writes = theatre.writes(tried)
    assert writes
    assert len(writes) <= MOST_WRITES * len(status.trials) + 2
    version = tried.document()["metadata"]["resourceVersion"]
    tried.wait_passes()
    assert tried.document()["metadata"]["resourceVersion"] == version


def two_of_one_job(team: Team) -> Tried:
    team.play(plays())
    team.submit()
    axes = {"gpuTypes": [A100], "workers": [1]}
    first = team.tries("first", tryOn=axes)
    time.sleep(1)  # the API server counts age in seconds, and of the same the uid decides
    team.tries("second", tryOn=axes)
    return first


@begins(two_of_one_job)
def test_the_second_of_one_job_waits_says_why_and_then_runs(tried: Tried) -> None:
    second = Tried(tried.team, "second")
    waits = second.until("waiting", lambda status: status.phase)
    if tried.status().phase is not Phase.DONE:
        assert waits.phase is Phase.WAITING
        assert "PlacementTrial first tries the same job" in (waits.message or "")
    one, two = tried.over(), second.over()
    assert one.phase is two.phase is Phase.DONE
    ended = max(trial.ended for trial in one.trials if trial.ended)
    assert all(trial.created >= ended for trial in two.trials)
    assert "Waiting" in [reason for reason, _ in second.told("Done")]
    second.marked()


def too_small(team: Team) -> Tried:
    def play(placement: Placement, _: int) -> Fate:
        usual = Fate(period_seconds=periods(placement), memory_mib=30_000)
        if placement.gpu_type == A100:
            return usual
        words = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"
        return Fate(period_seconds=6, fails_after_seconds=4, message=words)

    team.play(play)
    team.submit()
    prices = {A100: 4.0, T4: 0.3}
    return team.tries(optimise={"goal": "cost", "prices": prices})


@begins(too_small)
def test_where_the_memory_of_one_type_is_too_small_no_other_of_it_is_tried(tried: Tried) -> None:
    status = tried.over()
    assert status.phase is Phase.DONE
    on_small = [trial for trial in status.trials if trial.placement.gpu_type == T4]
    assert [trial.state for trial in on_small] == [State.OUT_OF_MEMORY]
    assert "the memory of a GPU is too small" in (on_small[0].message or "")
    assert status.best is not None
    assert status.best.placement.gpu_type == A100
    tried.all_gone()
