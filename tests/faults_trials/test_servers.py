"""Prometheus or the API server away in the middle of a trial."""

import time
from datetime import UTC, datetime

import pytest

from cepheid.placementtrial import Phase, Ruler, State, TrialStatus
from tests.cluster.progress import wait_for
from tests.faults_trials.conftest import Theatre
from tests.faults_trials.tried import A100, SOON, Tried, periods, plays
from tests.stage.levels import Square
from tests.stage.operator import Operator
from tests.stage.trainers import LOW
from tests.stage.world import TRAINING

TERAFLOPS = 312 * TRAINING.tensor * Square(1.0, low=LOW).integral(0, 1)
"""Of an A100 while a trainer runs."""
AXES = {"gpuTypes": [A100], "workers": [1]}
TRIAL_SECONDS = 30


@pytest.fixture
def tried(theatre: Theatre, operator: Operator) -> Tried:
    """A trial of it runs."""
    wait_for("an operator that acts", lambda: operator.acts)
    team = theatre.team()
    team.play(plays())
    team.submit()
    # Also where all of it is slow, its pods do not pass their own deadline before it is looked at.
    limits = {"trialSeconds": TRIAL_SECONDS, "startSeconds": 180, "pendingSeconds": 180}
    made = team.tries(tryOn=AXES, limits=limits)
    made.runs()
    return made


def _has_run(status: TrialStatus) -> float:
    """Seconds, the warm-up not among them."""
    (trial,) = status.trials
    assert trial.began is not None
    return (datetime.now(UTC) - trial.began).total_seconds() - SOON["warmupSeconds"]


def test_without_prometheus_nothing_is_made_up(tried: Tried, theatre: Theatre) -> None:
    theatre.stage.prometheus.kill()
    wait_for("the end of its time", lambda: _has_run(tried.status()) > TRIAL_SECONDS)
    tried.wait_passes()
    (trial,) = tried.status().trials
    # It waits for what is missing; or it has seen enough before.
    assert trial.state is State.RUNNING or trial.reading is not None
    theatre.stage.prometheus.start()
    status = tried.over()
    (trial,) = status.trials
    if trial.state is State.MEASURED:
        # From what it had seen before, and sees of the rest.
        assert trial.throughput is not None
        truth = 1 / periods(trial.placement) if trial.throughput.by is Ruler.PULSE else TERAFLOPS
        error = 3 * trial.throughput.error_percent / 100
        assert trial.throughput.per_second == pytest.approx(truth, rel=error)
    else:
        assert (trial.state, trial.reading) == (State.UNMEASURED, None)
        assert trial.message
        assert status.phase is Phase.FAILED
    tried.all_gone()


def test_an_api_server_that_is_away_for_20_s_is_waited_for(
    tried: Tried, theatre: Theatre, operator: Operator
) -> None:
    theatre.stage.api.kill()
    # Whoever cannot renew the Lease ends, and its kubelet starts it again.
    wait_for("the end of the operator", lambda: not operator.running)
    time.sleep(8)
    theatre.stage.api.start()
    operator.start()
    status = tried.over()
    assert status.phase is Phase.DONE
    (trial,) = status.trials
    assert trial.state is State.MEASURED
    assert trial.throughput is not None
    assert trial.throughput.per_second == pytest.approx(1 / periods(trial.placement), rel=0.05)
    tried.all_gone()
    assert len({held.job for held in tried.team.held()}) == 1
