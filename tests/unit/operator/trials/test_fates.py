"""One trial, from the course of its job to how it ended."""

from dataclasses import replace
from datetime import timedelta

import pytest

from cepheid.jobprofile import Outcome, Reason
from cepheid.jobs.ending import RUNNING, Ending
from cepheid.jobs.pods import Phase, PodState
from cepheid.placementtrial import Limits, Measure, Placement, Reading, Ruler, State, Trial
from cepheid_operator.trials.fates import Sight, followed
from cepheid_operator.trials.following import Course
from tests.unit.operator.trials.world import A100, NOON

LIMITS = Limits(trial_seconds=100, warmup_seconds=10, pending_seconds=300, start_seconds=60)
BEGAN = NOON + timedelta(seconds=20)
READING = Reading(seconds=60, period_seconds=10, period_error_percent=1, teraflops=50)
TRIAL = Trial(
    job="t-1",
    placement=Placement(gpu_type=A100, workers=2),
    state=State.RUNNING,
    uid="u-1",
    planned_seconds=100,
    created=NOON,
    began=BEGAN,
    reserved_gpu_seconds=400,
)
POD = PodState(
    uid="p-1",
    name="t-1-0",
    namespace="team",
    created=NOON,
    phase=Phase.RUNNING,
    scheduled=NOON + timedelta(seconds=5),
    started=BEGAN,
    gpu_count=2,
)
COURSE = Course(
    name="t-1",
    uid="u-1",
    pods=(POD,),
    began=BEGAN,
    ending=RUNNING,
    lacks_gpu_memory=False,
    waits_for=None,
    is_going=False,
)


def after(seconds: float, sight: Sight, measure: Measure | None = None) -> Trial:
    """Since it was decided on."""
    now = NOON + timedelta(seconds=seconds)
    return followed(TRIAL, sight, now, LIMITS, measure or Measure())


def ended(outcome: Outcome, reason: Reason | None, seconds: float) -> Course:
    at = NOON + timedelta(seconds=seconds)
    return replace(COURSE, ending=Ending(outcome, reason, "said", ended=at))


def test_it_is_measured_when_its_time_has_come_and_not_before() -> None:
    sight = Sight(course=COURSE, reading=READING)
    assert after(129, sight).state is State.RUNNING
    done = after(131, sight)
    assert (done.state, done.reading) == (State.MEASURED, READING)
    assert done.gpu_seconds >= 2 * (131 - 5)


def test_what_could_not_be_read_yet_is_waited_for_a_while() -> None:
    sight = Sight(course=COURSE, unread="Prometheus is away")
    assert after(140, sight).state is State.RUNNING
    given_up = after(230, sight)
    assert (given_up.state, given_up.message) == (State.UNMEASURED, "Prometheus is away")


@pytest.mark.parametrize(
    ("by", "state"),
    [
        (Ruler.AUTO, State.MEASURED),
        (Ruler.PULSE, State.MEASURED),
        (Ruler.WORK, State.MEASURED),
        (Ruler.LOG, State.UNMEASURED),
        (Ruler.PROMQL, State.UNMEASURED),
    ],
)
def test_only_what_was_asked_for_counts_as_measured(by: Ruler, state: State) -> None:
    assert after(300, Sight(course=COURSE, reading=READING), Measure(by=by)).state is state


@pytest.mark.parametrize(
    ("course", "state"),
    [
        (ended(Outcome.ERROR, Reason.NODE_LOST, 60), State.LOST),
        (ended(Outcome.ERROR, Reason.PREEMPTED, 60), State.LOST),
        (ended(Outcome.FAILED, Reason.EXIT_CODE, 60), State.FAILED),
        (ended(Outcome.FAILED, Reason.OOM_KILLED, 60), State.FAILED),
        (replace(ended(Outcome.FAILED, Reason.EXIT_CODE, 60), lacks_gpu_memory=True), "oom"),
        (ended(Outcome.SUCCESS, None, 60), State.MEASURED),
        (ended(Outcome.TIMEOUT, Reason.DEADLINE, 60), State.MEASURED),
        (replace(COURSE, is_going=True), State.CUT),
        (None, State.CUT),
    ],
)
def test_each_way_to_end_has_its_name(course: Course | None, state: State | str) -> None:
    found = after(61, Sight(course=course, reading=READING)).state
    assert found is (State.OUT_OF_MEMORY if state == "oom" else state)


def test_a_pod_that_was_made_again_would_hold_gpus_for_longer_than_was_reserved() -> None:
    other = replace(POD, uid="p-2", created=BEGAN + timedelta(seconds=9))
    trial = after(40, Sight(course=replace(COURSE, pods=(POD, other)), reading=READING))
    assert trial.state is State.LOST
