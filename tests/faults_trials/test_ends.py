"""Suspended, aborted, deleted, or without its job: nothing of the trials is left, at any time."""

import json

import pytest

from cepheid.placementtrial import Phase, Placement, State
from tests.cluster.progress import ClusterError, wait_for
from tests.faults_trials.tried import A100, LASTING, T4, Team, Tried, begins, plays
from tests.stage.trainers import Fate


def running(team: Team) -> Tried:
    """For as long as it is let."""
    team.play(plays(period_seconds=None))
    team.submit()
    return team.tries(**LASTING)


def suspended(team: Team) -> Tried:
    return running(team)


@begins(suspended)
def test_suspended_it_holds_nothing_and_goes_on_when_it_is_resumed(tried: Tried) -> None:
    tried.runs()
    tried.patch(suspend=True)
    status = tried.until("suspended", lambda status: status.phase is Phase.SUSPENDED)
    assert status.trials[-1].state is State.CUT
    tried.all_gone()
    spent = tried.settled()
    tried.wait_passes()
    assert tried.status() == spent
    assert spent.spent_gpu_seconds >= tried.team.held_gpu_seconds() - 2
    before = len(spent.trials)
    tried.patch(suspend=False)
    again = tried.until("another trial", lambda status: len(status.trials) > before)
    assert again.phase is Phase.RUNNING
    tried.patch(abort=True)
    over = tried.over()
    assert (over.phase, over.reason) == (Phase.ABORTED, "Aborted")
    tried.all_gone()
    reasons = [reason for reason, _ in tried.events()]
    assert [one for one in reasons if not one.startswith("Trial")] == [
        "Running",
        "Suspended",
        "Running",
        "Aborted",
    ]


def aborted(team: Team) -> Tried:
    """Of two at once: one is soon measured, the other goes on."""

    def play(placement: Placement, _: int) -> Fate:
        period = 6.0 if placement.gpu_type == A100 else None
        return Fate(period_seconds=period, ignores_signals=True)

    team.play(play)
    team.submit()
    limits = LASTING["limits"] | {"parallel": 2}
    axes = {"gpuTypes": [A100, T4], "workers": [1]}
    return team.tries(tryOn=axes, limits=limits, measure=LASTING["measure"])


@begins(aborted)
def test_aborted_it_says_what_was_found_and_pods_that_ignore_signals_go_too(tried: Tried) -> None:
    tried.until("something measured", lambda s: any(t.throughput for t in s.trials))
    tried.patch(abort=True)
    status = tried.over()
    assert status.phase is Phase.ABORTED
    assert status.best is not None
    tried.all_gone()
    settled = tried.settled()
    assert settled.spent_gpu_seconds >= tried.team.held_gpu_seconds() - 4
    with pytest.raises(ClusterError, match="what was aborted is not taken up again"):
        tried.patch(abort=False)


def deleted(team: Team) -> Tried:
    return running(team)


@begins(deleted)
def test_deleted_it_takes_its_trials_with_it(tried: Tried) -> None:
    tried.runs()
    assert tried.left()
    tried.delete()
    tried.all_gone()
    tried.wait_passes()
    assert tried.left() == []


def changed(team: Team) -> Tried:
    return running(team)


@begins(changed)
def test_a_job_that_was_changed_is_not_compared_with_what_it_was(tried: Tried) -> None:
    tried.runs()
    key = {"key": "zone", "operator": "Exists"}
    patch = json.dumps({"spec": {"template": {"spec": {"tolerations": [key]}}}})
    tried.team.admin("patch", "job", "train", "--type=merge", f"--patch={patch}")
    status = tried.over()
    assert (status.phase, status.reason) == (Phase.FAILED, "TemplateChanged")
    assert "delete this PlacementTrial and apply it anew" in (status.message or "")
    tried.all_gone()
    tried.wait_passes()
    assert tried.annotation() is None


def gone(team: Team) -> Tried:
    return running(team)


@begins(gone)
def test_without_its_job_it_ends(tried: Tried) -> None:
    tried.runs()
    tried.team.admin("delete", "job", "train")
    status = tried.over()
    assert (status.phase, status.reason) == (Phase.FAILED, "TemplateGone")
    assert [trial.state for trial in status.trials] == [State.CUT]
    tried.all_gone()


def tampered(team: Team) -> Tried:
    return running(team)


@begins(tampered)
def test_a_trial_that_somebody_deletes_is_repeated_and_what_it_held_is_counted(
    tried: Tried,
) -> None:
    job = tried.runs().trials[0].job
    tried.team.admin("delete", "job", job, "--wait=false")
    status = tried.until("a second", lambda status: len(status.trials) == 2)
    first, second = status.trials
    assert (first.state, first.message) == (State.CUT, "its job was deleted")
    assert first.gpu_seconds > 0
    assert (second.placement, second.attempt) == (first.placement, 2)
    assert second.job != first.job
    wait_for("it to be there", tried.left)
