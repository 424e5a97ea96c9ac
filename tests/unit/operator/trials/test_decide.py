"""A PlacementTrial from its beginning to its end, whatever happens in between."""

from collections import Counter
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cepheid.jobprofile import Outcome, Reason
from cepheid.placementtrial import Phase, Placement, State
from cepheid_operator.trials.copying.candidates import Quota
from cepheid_operator.trials.decide import Trouble
from tests.unit.operator.trials.world import (
    A100,
    NOON,
    PLACEMENTS,
    T4,
    TEMPLATE,
    Killed,
    World,
    ended,
    period_seconds,
    spec_of,
)

BEST = Placement(gpu_type=A100, workers=4)


def states(world: World) -> Counter[State]:
    return Counter(trial.state for trial in world.read_status().trials)


def test_the_best_placement_is_found_with_fewer_trials_than_there_are_placements() -> None:
    assert min(PLACEMENTS, key=period_seconds) == BEST
    world = World(spec_of())
    status = world.run()
    assert status.phase is Phase.DONE
    assert status.best is not None
    assert status.best.placement == BEST
    assert len(status.trials) < len(PLACEMENTS)
    assert world.jobs == {}
    assert status.spent_gpu_seconds >= world.held_gpu_seconds() > 0


def test_a_trial_ends_as_soon_as_its_pulse_is_clear() -> None:
    world = World(spec_of(limits={"trialSeconds": 3000, "gpuHours": 20}))
    status = world.run()
    assert status.phase is Phase.DONE
    assert all(trial.gpu_seconds < 600 * trial.placement.gpus for trial in status.trials)


@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=15)
@given(
    deaths=st.lists(st.integers(0, 30), max_size=12),
    hours=st.sampled_from([0.3, 0.6, 2.0]),
    parallel=st.integers(1, 3),
)
def test_an_operator_killed_at_any_point_goes_on_where_it_was(
    deaths: list[int], hours: float, parallel: int
) -> None:
    """Nothing is started twice, no measurement is lost, the budget holds, nothing is left."""
    world = World(spec_of(limits={"gpuHours": hours, "parallel": parallel, "trialSeconds": 150}))
    until = iter(deaths)
    left = next(until, None)

    def die(_: str) -> bool:
        nonlocal left
        if left is None:
            return False
        if left > 0:
            left -= 1
            return False
        left = next(until, None)
        return True

    measured: set[str] = set()
    status = world.read_status()
    for _ in range(1500):
        try:
            status = world.step(die)
        except Killed:
            world.now += timedelta(seconds=17)  # until another one acts
            continue
        known = {trial.job for trial in world.read_status().trials if trial.throughput is not None}
        assert measured <= known
        measured = known
        assert world.held_gpu_seconds() <= 3600 * hours
        assert len(world.jobs) <= parallel
        if status.phase is not None and status.phase.is_over and not world.jobs:
            break
        world.now += timedelta(seconds=5)
    assert status.phase is not None
    assert status.phase.is_over
    assert world.jobs == {}
    assert len(world.made) == len(set(world.made)) == len(status.trials)


def test_one_that_does_not_get_its_gpus_is_given_up_and_not_held_against_the_placement() -> None:
    def fate(placement: Placement, _: int) -> dict[str, object]:
        return {"starts_after_seconds": float("inf")} if placement.workers == 4 else {}

    world = World(spec_of(limits={"pendingSeconds": 60}), fate=fate)
    status = world.run()
    assert status.phase is Phase.DONE
    given_up = [trial for trial in status.trials if trial.state is State.UNAVAILABLE]
    assert given_up
    assert all("Insufficient nvidia.com/gpu" in (trial.message or "") for trial in given_up)
    assert len({trial.placement for trial in given_up}) == len(given_up)
    assert all(trial.gpu_seconds == 0 for trial in given_up)
    assert status.best is not None
    assert status.best.placement.workers == 2


def test_one_whose_gpu_is_too_small_teaches_which_others_are() -> None:
    def fate(placement: Placement, _: int) -> dict[str, object]:
        if placement.gpu_type != T4:
            return {}
        at = NOON + timedelta(seconds=1)
        return {"ending": ended(Outcome.FAILED, Reason.EXIT_CODE, at), "lacks_gpu_memory": True}

    world = World(spec_of(optimise={"goal": "cost", "prices": {A100: 3.0, T4: 0.2}}), fate=fate)
    status = world.run()
    assert status.phase is Phase.DONE
    assert states(world)[State.OUT_OF_MEMORY] >= 1
    assert status.best is not None
    assert status.best.placement.gpu_type == A100


def test_a_lost_node_costs_one_more_try_and_not_more() -> None:
    def fate(placement: Placement, number: int) -> dict[str, object]:
        lost = number == 1 or placement.workers == 1
        at = world.now + timedelta(seconds=20)
        return {"ending": ended(Outcome.ERROR, Reason.NODE_LOST, at)} if lost else {}

    world = World(spec_of(limits={"gpuHours": 5}), fate=fate)
    status = world.run()
    tries = Counter(trial.placement for trial in status.trials)
    assert status.phase is Phase.DONE
    assert max(tries.values()) == 2
    assert states(world)[State.MEASURED] >= 1
    assert states(world)[State.LOST] >= 1


def test_a_job_that_fails_everywhere_is_no_answer() -> None:
    def fate(_: Placement, __: int) -> dict[str, object]:
        at = world.now + timedelta(seconds=9)
        return {"ending": ended(Outcome.FAILED, Reason.EXIT_CODE, at)}

    world = World(spec_of(), fate=fate)
    status = world.run()
    assert (status.phase, status.reason, status.best) == (Phase.FAILED, "NothingMeasured", None)
    assert "ExitCode" in (status.message or "")


def test_suspended_it_holds_nothing_and_goes_on_later() -> None:
    world = World(spec_of())
    for _ in range(4):
        world.step()
        world.now += timedelta(seconds=5)
    assert len(world.jobs) == 1
    world.spec = spec_of(suspend=True)
    world.step()
    assert world.jobs == {}
    assert world.read_status().phase is Phase.SUSPENDED
    assert states(world) == {State.CUT: 1}
    world.now += timedelta(seconds=5)
    world.step()
    spent = world.read_status().spent_gpu_seconds
    assert spent > 0
    world.now += timedelta(hours=2)
    world.step()
    assert world.read_status().spent_gpu_seconds == spent
    world.spec = spec_of()
    status = world.run()
    assert status.phase is Phase.DONE
    assert status.best is not None
    assert status.best.placement == BEST


def test_aborted_it_says_what_was_found_so_far() -> None:
    close = {A100: 1.0, T4: 0.2}
    goal = {"goal": "cost", "prices": close}
    world = World(spec_of(optimise=goal))
    while states(world)[State.MEASURED] == 0:
        world.step()
        world.now += timedelta(seconds=5)
    world.step()
    world.spec = spec_of(optimise=goal, abort=True)
    status = world.step()
    assert world.jobs == {}
    assert status.phase is Phase.ABORTED
    assert status.best is not None
    world.spec = spec_of(optimise=goal)
    assert world.step().phase is Phase.ABORTED  # for good


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"template": replace(TEMPLATE, digest="fedcba9876543210")}, "TemplateChanged"),
        ({"trouble": Trouble("TemplateGone", "there is no Job train")}, "TemplateGone"),
    ],
)
def test_without_the_job_that_it_began_with_it_ends(change: dict[str, object], reason: str) -> None:
    world = World(spec_of())
    for _ in range(3):
        world.step()
        world.now += timedelta(seconds=5)
    for name, value in change.items():
        setattr(world, name, value)
    status = world.step()
    assert (status.phase, status.reason) == (Phase.FAILED, reason)
    assert world.jobs == {}
    assert status.message


def test_it_waits_for_another_one_of_the_same_job() -> None:
    world = World(spec_of(), waits="PlacementTrial other tries the same job")
    assert world.step().phase is Phase.WAITING
    assert world.jobs == {}
    assert "other" in (world.read_status().message or "")
    world.waits = None
    assert world.run().phase is Phase.DONE


def test_a_full_quota_is_waited_for_and_then_said() -> None:
    world = World(spec_of(limits={"pendingSeconds": 60}), quota=Quota(hard=4, free=0))
    world.step()
    assert world.jobs == {}
    world.quota = Quota(hard=4, free=4)
    world.now += timedelta(seconds=30)
    world.step()
    assert len(world.jobs) == 1


def test_a_spec_without_any_placement_says_why() -> None:
    world = World(spec_of(), placements=())
    status = world.step()
    assert (status.phase, status.reason) == (Phase.FAILED, "NoPlacement")


def test_a_job_that_somebody_deletes_is_tried_again_but_not_for_ever() -> None:
    world = World(spec_of(limits={"gpuHours": 20}), placements=PLACEMENTS[:1])
    for _ in range(200):
        status = world.step()
        if status.phase is not None and status.phase.is_over:
            break
        for name in list(world.jobs):
            if status.trials and status.trials[-1].state is not State.STARTING:
                world.gone.append(world.jobs.pop(name))
        world.now += timedelta(seconds=5)
    assert status.phase is Phase.FAILED
    assert states(world) == {State.CUT: 3}
