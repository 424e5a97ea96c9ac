"""Quotas, full nodes, lost nodes: what says nothing of a placement is not held against it."""

from cepheid.placementtrial import Phase, State
from cepheid_operator.trials.fates import PROMPT_SECONDS
from tests.faults_trials.tried import (
    A100,
    DOOMED,
    LASTING,
    Team,
    Tried,
    begins,
    plays,
    while_others_are_looked_at,
)

ONE = {"gpuTypes": [A100], "workers": [1]}
TWO = {"gpuTypes": [A100], "workers": [2]}


def without_quota_left(team: Team) -> Tried:
    team.play(plays())
    team.submit()
    team.quota(gpus="2")
    team.block(1, team.nodes[A100])
    return team.tries(tryOn=TWO)


@begins(without_quota_left)
def test_a_quota_that_others_use_is_waited_for_said_and_given_up(tried: Tried) -> None:
    words = "the namespace's quota has 1 GPUs left of 2, and it needs 2"
    status = tried.until("words", lambda s: s.trials and s.trials[0].message)
    if not status.trials[0].state.is_over:
        assert (status.phase, status.trials[0].message) == (Phase.RUNNING, words)
        assert words in (status.message or "")
    over = tried.over()
    assert [trial.state for trial in over.trials] == [State.UNAVAILABLE]
    assert over.trials[0].message == f"given up: {words}"
    assert over.trials[0].gpu_seconds == 0
    assert (over.phase, over.reason) == (Phase.FAILED, "NothingMeasured")
    assert len(tried.team.held()) == 1  # the other's


def with_quota_later(team: Team) -> Tried:
    team.play(plays())
    team.submit()
    team.quota(gpus="2")
    team.block(1, team.nodes[A100])
    return team.tries(tryOn=TWO, limits={"pendingSeconds": 3600})


@begins(with_quota_later)
def test_when_the_quota_has_room_it_begins(tried: Tried) -> None:
    status = tried.until("a trial", lambda status: status.trials)
    assert status.trials[0].state is State.STARTING
    tried.team.admin("delete", "pod", "other", "--wait=false")
    tried.runs()


def beyond_the_quota(team: Team) -> Tried:
    team.submit()
    team.quota(gpus="1")
    return team.tries(tryOn=TWO)


@begins(beyond_the_quota)
def test_what_the_quota_never_allows_is_no_placement(tried: Tried) -> None:
    status = tried.over()
    assert (status.phase, status.reason, status.trials) == (Phase.FAILED, "NoPlacement", ())
    assert "the namespace's quota is 1 nvidia.com/gpu, and this needs 2" in (status.message or "")


def refused_by_quota(team: Team) -> Tried:
    team.submit()
    team.quota(pods="0")
    return team.tries(tryOn=ONE)


@begins(refused_by_quota)
def test_a_quota_of_something_else_is_said_in_its_own_words(tried: Tried) -> None:
    status = tried.over()
    assert [trial.state for trial in status.trials] == [State.UNAVAILABLE]
    assert "exceeded quota: quota" in (status.trials[0].message or "")
    tried.all_gone()


def full(team: Team) -> Tried:
    team.play(plays())
    team.submit()
    team.block(4, team.nodes[A100])
    return team.tries(tryOn=ONE)


@begins(full)
def test_one_that_gets_no_gpus_is_unavailable_in_the_schedulers_words(tried: Tried) -> None:
    status = tried.over()
    assert [trial.state for trial in status.trials] == [State.UNAVAILABLE]
    assert "Insufficient nvidia.com/gpu" in (status.trials[0].message or "")
    assert status.best is None
    tried.all_gone()
    # Where its job was deleted late, it is taken to have had them meanwhile.
    cost = tried.settled().spent_gpu_seconds
    assert cost == 0 or cost > PROMPT_SECONDS


def never_starting(team: Team) -> Tried:
    team.play(plays(starts_after_seconds=float("inf")))
    team.submit()
    return team.tries(tryOn=ONE)


@begins(never_starting)
def test_gpus_are_not_held_for_long_by_pods_that_do_not_start(tried: Tried) -> None:
    status = tried.over()
    assert [trial.state for trial in status.trials] == [State.UNAVAILABLE]
    assert "not all pods ran 45 s after the first had its GPUs" in (status.trials[0].message or "")
    tried.all_gone()
    settled = tried.settled()
    assert settled.spent_gpu_seconds >= tried.team.held_gpu_seconds() - 2 > 10


def failing(team: Team) -> Tried:
    team.play(plays(fails_after_seconds=3, exit_code=3, message="no such file: /data"))
    team.submit()
    return team.tries(tryOn=ONE)


@begins(failing)
def test_one_that_fails_by_itself_says_how(tried: Tried) -> None:
    status = tried.over()
    assert [trial.state for trial in status.trials] == [State.FAILED]
    assert "no such file: /data" in (status.trials[0].message or "")
    assert (status.phase, status.reason) == (Phase.FAILED, "NothingMeasured")
    assert "no such file: /data" in (status.message or "")
    tried.all_gone()


def on_doomed_nodes(team: Team) -> Tried:
    team.play(plays(period_seconds=None))
    team.submit()
    limits = LASTING["limits"] | {"pendingSeconds": 120}
    tried = team.tries(tryOn=ONE, limits=limits, measure=LASTING["measure"])
    tried.meanwhile = while_others_are_looked_at(lambda: _lose_twice(tried))
    return tried


def _lose_twice(tried: Tried) -> None:
    for before in ([], [State.LOST]):
        tried.becomes([*before, State.RUNNING])
        tried.team.lose_nodes()
        tried.becomes([*before, State.LOST])
        tried.team.return_nodes()


@begins(on_doomed_nodes, beats=DOOMED)
def test_a_lost_node_costs_one_more_try_and_not_more(tried: Tried) -> None:
    assert tried.meanwhile is not None
    tried.meanwhile.result()
    status = tried.over()
    assert [(trial.state, trial.attempt) for trial in status.trials] == [
        (State.LOST, 1),
        (State.LOST, 2),
    ]
    assert "deleting due to NoExecute taint" in (status.trials[0].message or "")
    assert (status.phase, status.reason) == (Phase.FAILED, "NothingMeasured")
    tried.all_gone()
