"""What a trial has cost when it is over, and when its job is gone."""

from datetime import datetime, timedelta

import msgspec
import pytest

from cepheid.jobprofile import Outcome, Reason
from cepheid.jobs.ending import RUNNING, Ending
from cepheid.jobs.pods import Phase, PodState
from cepheid.placementtrial import Placement, State, Trial
from cepheid_operator.trials.copying.builders import GRACE_SECONDS
from cepheid_operator.trials.fates import PROMPT_SECONDS, over, settled
from cepheid_operator.trials.following import Course
from tests.unit.operator.trials.world import A100, NOON

RESERVED = 1000.0


def at(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def trial(**changes: object) -> Trial:
    made = Trial(
        job="t-1",
        placement=Placement(gpu_type=A100, workers=2, gpus_per_worker=2),
        state=State.RUNNING,
        uid="u-1",
        planned_seconds=60,
        created=NOON,
        reserved_gpu_seconds=RESERVED,
    )
    return msgspec.structs.replace(made, **changes)


def pod(scheduled: float | None, finished: float | None = None) -> PodState:
    return PodState(
        uid="p",
        name="p",
        namespace="team",
        created=NOON,
        phase=Phase.RUNNING,
        scheduled=None if scheduled is None else at(scheduled),
        finished=None if finished is None else at(finished),
        gpu_count=2,
    )


def course(*pods: PodState, ending: Ending = RUNNING, is_going: bool = False) -> Course:
    return Course(
        name="t-1",
        uid="u-1",
        pods=pods,
        began=None,
        ending=ending,
        lacks_gpu_memory=False,
        waits_for=None,
        is_going=is_going,
    )


FAILED = Ending(Outcome.FAILED, Reason.EXIT_CODE, "exit 1", ended=at(50))


@pytest.mark.parametrize(
    ("seen", "held", "left"),
    [
        # Both of its pods still have to end.
        (course(pod(10), pod(20)), 2 * 50 + 2 * 40 + 4 * GRACE_SECONDS, True),
        # One has, the other is not even on a node.
        (course(pod(10, finished=30), pod(None)), 2 * 20, True),
        # All is over.
        (course(pod(10, finished=30), pod(20, finished=30), ending=FAILED), 2 * 20 + 2 * 10, False),
        # It failed, and one of its pods is slow to end.
        (course(pod(10, finished=30), pod(20), ending=FAILED), 40 + 80 + 2 * GRACE_SECONDS, True),
    ],
)
def test_what_it_held_is_counted_and_what_it_may_still_hold_is_reserved(
    seen: Course, held: float, left: bool
) -> None:
    made = over(trial(), State.CUT, None, seen, at(60))
    assert made.gpu_seconds == held
    assert made.reserved_gpu_seconds == (RESERVED - held if left else 0.0)


def test_of_a_job_that_is_gone_the_most_is_counted_that_it_can_have_held() -> None:
    gone = over(trial(), State.CUT, None, None, at(60))
    assert (gone.gpu_seconds, gone.reserved_gpu_seconds) == (4 * (60 + GRACE_SECONDS), 0.0)
    long_gone = over(trial(), State.CUT, None, None, at(6000))
    assert long_gone.gpu_seconds == RESERVED
    never_there = over(trial(uid=None), State.UNAVAILABLE, None, None, at(60))
    assert never_there.gpu_seconds == 0.0


def test_of_a_lost_node_whose_pods_are_gone_it_is_counted_how_long_it_ran() -> None:
    made = over(trial(began=at(10)), State.LOST, None, course(), at(60))
    assert made.gpu_seconds == 4 * 50


def test_until_its_job_is_gone_it_may_hold_gpus_and_then_that_is_counted() -> None:
    there, going = course(pod(0), pod(0)), course(pod(0), is_going=True)
    done = over(trial(), State.MEASURED, None, there, at(60))
    assert settled(done, there, at(90)) == settled(done, going, at(95)) == done
    made = settled(done, None, at(100))
    # The time that its pods get to end is counted already.
    assert made.gpu_seconds == done.gpu_seconds + 4 * (40 - GRACE_SECONDS)
    assert made.reserved_gpu_seconds == 0.0
    assert settled(made, None, at(900)) == made
    assert settled(done, None, at(60 + GRACE_SECONDS)).gpu_seconds == done.gpu_seconds
    assert settled(done, None, at(9000)).gpu_seconds == RESERVED


def test_a_lost_node_is_not_waited_for() -> None:
    done = over(trial(), State.LOST, None, course(pod(0), pod(0)), at(60))
    made = settled(done, course(pod(0), pod(0), is_going=True), at(63))
    assert (made.gpu_seconds, made.reserved_gpu_seconds) == (done.gpu_seconds, 0.0)


def test_one_that_never_had_gpus_costs_nothing_if_it_was_deleted_at_once() -> None:
    waits = over(trial(), State.UNAVAILABLE, None, course(pod(None)), at(60))
    assert (waits.gpu_seconds, waits.reserved_gpu_seconds) == (0.0, RESERVED)
    prompt = 60 + GRACE_SECONDS + PROMPT_SECONDS
    assert settled(waits, None, at(prompt)).gpu_seconds == 0.0
    assert settled(waits, None, at(prompt + 1)).gpu_seconds == 4 * (PROMPT_SECONDS + 1)
