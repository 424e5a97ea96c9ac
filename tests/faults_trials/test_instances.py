"""Operators killed in the middle of it: another one goes on, as if nothing had happened."""

import random
import time
from collections import Counter

from cepheid.placementtrial import Phase, TrialStatus
from tests.faults_operator.test_instances import acting, never_two
from tests.faults_trials.conftest import Theatre
from tests.faults_trials.tried import Team, Tried, plays
from tests.stage.operator import Operator

KILLS = 3
GPU_HOURS = 0.1
"""Little more than two trials can hold at the most."""


def test_killed_again_and_again_it_tries_nothing_twice_and_loses_nothing(
    theatre: Theatre, operator: Operator
) -> None:
    chance = random.Random(7)  # noqa: S311 # no secret
    with theatre.operator("b") as other, never_two(operator, other):
        searches = [_begin(theatre.team(), delay) for delay in (0, 3, 6)]
        for _ in range(KILLS):
            now = acting(operator, other)
            _watch(searches, chance.uniform(3, 12))
            now.kill()
            now.start()
        acting(operator, other)
        for tried, seen in searches:
            _nothing_lost(tried.over(), seen)
            _as_if_nothing_had_happened(tried)


def _begin(team: Team, delay_seconds: float) -> tuple[Tried, dict[str, float]]:
    """Not all at once, so that a kill hits each of them in another moment."""
    time.sleep(delay_seconds)
    team.play(plays())
    team.submit()
    # Nothing is given up because who was to make its job was killed again and again.
    limits = {"gpuHours": GPU_HOURS, "pendingSeconds": 600}
    return team.tries(limits=limits, optimise={"marginPercent": 1}), {}


def _as_if_nothing_had_happened(tried: Tried) -> None:
    tried.all_gone()
    status = tried.settled()
    assert status.phase is Phase.DONE
    assert status.best is not None
    assert {held.job for held in tried.team.held()} == {trial.job for trial in status.trials}
    assert max(Counter(trial.placement for trial in status.trials).values()) == 1
    held = tried.team.held_gpu_seconds()
    slack = 2 * sum(trial.placement.gpus for trial in status.trials)
    assert held - slack <= status.spent_gpu_seconds <= 3600 * GPU_HOURS
    assert held <= 3600 * GPU_HOURS
    # The status is written first: a word may be lost with who was to say it, and is not said twice.
    told = Counter(tried.events())
    assert set(told.values()) == {1}
    reasons = Counter(reason for reason, _ in told)
    assert 0 < reasons["TrialStarted"] <= len(status.trials)
    assert reasons["Done"] <= 1


def _watch(searches: list[tuple[Tried, dict[str, float]]], seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for tried, seen in searches:
            status = tried.status()
            _nothing_lost(status, seen)
            for trial in status.trials:
                if trial.reading is not None and trial.reading.period_seconds is not None:
                    seen[trial.job] = trial.reading.period_seconds
        time.sleep(0.5)


def _nothing_lost(status: TrialStatus, seen: dict[str, float]) -> None:
    """What was measured once stands as it was."""
    readings = {trial.job: trial.reading for trial in status.trials}
    for job, period in seen.items():
        reading = readings[job]
        assert reading is not None
        assert reading.period_seconds == period
