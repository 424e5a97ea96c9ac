"""How far is one trial, and how did it end? Pure: a trial and the course of its job in, the trial
as it is now out.

    starting      its job is made, as soon as the namespace's quota has room
    pending       its job is there; not all of its pods run
    running       from when they all do: warm-up, then it is measured
    ...           and one of the ways in which it is over, each with words

A trial that is over keeps what it was: only its job is still to be deleted. Until that is seen, it
may go on holding its GPUs, whoever was to delete it: so what it reserved stays reserved.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

import msgspec

from cepheid.jobprofile import Outcome, Reason
from cepheid.jobs.fields import one_line
from cepheid.placementtrial import Limits, Measure, Reading, Ruler, State, Trial
from cepheid_operator.trials.copying.builders import GRACE_SECONDS
from cepheid_operator.trials.following import Course

READ_SECONDS = 90.0
"""So much longer a trial that has run its time is waited for: a scrape may be on its way, and
Prometheus away for a moment."""
PROMPT_SECONDS = 10.0
"""Within so long a job is deleted after its trial was over, if nobody was killed in between."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """What is known of one trial that is not over, beside what its status says."""

    course: Course | None = None
    """None where there is no such job."""
    reading: Reading | None = None
    unread: str | None = None
    """Why it has no reading, in words."""
    refusal: str | None = None
    """What the API server said when its job was to be made."""
    room: str | None = None
    """Why there is no room for it in the quota, or why its job gets no pods."""


def followed(trial: Trial, sight: Sight, now: datetime, limits: Limits, measure: Measure) -> Trial:
    course = sight.course
    if course is None or course.is_going:
        return _without_job(trial, sight, now, limits)
    if trial.uid is None:
        trial = _changed(trial, state=State.PENDING, uid=course.uid, message=None)
    if course.began is not None and trial.began is None:
        trial = _changed(trial, state=State.RUNNING, began=course.began, message=None)
    if is_usable(sight.reading, measure):
        trial = _changed(trial, reading=sight.reading)
    if course.ending.is_over or course.driven_away is not None:
        return _ended(trial, sight, course, now)
    if trial.began is None:
        return _pending(trial, course, course.waits_for or sight.room, now, limits)
    if any(pod.created > trial.began for pod in course.pods):
        # By its controller, and with a deadline that begins anew: more than was reserved for it.
        words = "a pod of it went, and another was made in its place"
        return over(trial, State.LOST, words, course, now)
    if is_due(trial, now, limits):
        return _run_out(trial, sight, course, now, limits)
    return trial


def over(
    trial: Trial, state: State, words: str | None, course: Course | None, now: datetime
) -> Trial:
    """With what it has cost: its pods still hold their GPUs for the time that they get to end."""
    if course is None:
        held, left = _unseen_gpu_seconds(trial, now), 0.0
    else:
        held = course.gpu_seconds(now + timedelta(seconds=GRACE_SECONDS))
        if trial.began is not None:
            # Of a node that was lost the pods may be gone, and with them what they held.
            ran = ((course.ending.ended or now) - trial.began).total_seconds()
            held = max(held, ran * trial.placement.gpus)
        left = max(0.0, trial.reserved_gpu_seconds - held) if course.may_hold else 0.0
    return _changed(
        trial,
        state=state,
        ended=now,
        gpu_seconds=held,
        reserved_gpu_seconds=left,
        message=None if words is None else one_line(words),
    )


def settled(trial: Trial, course: Course | None, now: datetime) -> Trial:
    """One that is over, once its job is gone: it held GPUs until then, at the most."""
    if not trial.reserved_gpu_seconds:
        return trial
    if course is not None and not (course.is_going and trial.state is State.LOST):
        return trial  # pods on a lost node stay until it is back, whatever they do there
    late = max(0.0, (now - (trial.ended or now)).total_seconds() - GRACE_SECONDS)
    if not trial.gpu_seconds and late <= PROMPT_SECONDS:
        late = 0.0  # it had none when it was looked at, a moment before
    more = min(trial.reserved_gpu_seconds, late * trial.placement.gpus)
    return _changed(trial, gpu_seconds=trial.gpu_seconds + more, reserved_gpu_seconds=0.0)


def _unseen_gpu_seconds(trial: Trial, now: datetime) -> float:
    """Of a job that is gone, nobody knows since when: the most that it can have been."""
    if trial.uid is None:
        return 0.0  # it never was
    longest = (now - trial.created).total_seconds() + GRACE_SECONDS
    return min(trial.reserved_gpu_seconds, trial.placement.gpus * max(0.0, longest))


def is_usable(reading: Reading | None, measure: Measure) -> bool:
    if reading is None:
        return False
    match measure.by:
        case Ruler.PULSE:
            return reading.period_seconds is not None
        case Ruler.WORK:
            return reading.teraflops is not None
        case Ruler.PROMQL | Ruler.LOG:
            return reading.rate_per_second is not None
        case _:
            return reading.period_seconds is not None or reading.teraflops is not None


def is_due(trial: Trial, now: datetime, limits: Limits) -> bool:
    """It has run as long as it was meant to."""
    if trial.began is None:
        return False
    ran = (now - trial.began).total_seconds()
    return ran >= limits.warmup_seconds + trial.planned_seconds


def _without_job(trial: Trial, sight: Sight, now: datetime, limits: Limits) -> Trial:
    if trial.state is not State.STARTING:
        return over(trial, State.CUT, "its job was deleted", sight.course, now)
    if sight.refusal is not None:
        return over(trial, State.FAILED, f"its job was refused: {sight.refusal}", None, now)
    if (now - trial.created).total_seconds() > limits.pending_seconds:
        why = sight.room or "its job could not be made"
        return over(trial, State.UNAVAILABLE, f"given up: {why}", None, now)
    return _changed(trial, message=sight.room)


def _pending(trial: Trial, course: Course, why: str | None, now: datetime, limits: Limits) -> Trial:
    held = course.first_held()
    words = why or "its pods do not all run"
    if held is not None and (now - held).total_seconds() > limits.start_seconds:
        words = f"not all pods ran {limits.start_seconds:g} s after the first had its GPUs: {words}"
        return over(trial, State.UNAVAILABLE, words, course, now)
    if (now - trial.created).total_seconds() > limits.pending_seconds:
        words = f"pending for {limits.pending_seconds:g} s: {words}"
        return over(trial, State.UNAVAILABLE, words, course, now)
    return _changed(trial, message=None if why is None else one_line(why))


def _run_out(trial: Trial, sight: Sight, course: Course, now: datetime, limits: Limits) -> Trial:
    began = trial.began or now
    due = limits.warmup_seconds + trial.planned_seconds + READ_SECONDS
    if trial.reading is None and (now - began).total_seconds() < due:
        return trial
    return _measured_or_not(trial, sight, course, now)


def _ended(trial: Trial, sight: Sight, course: Course, now: datetime) -> Trial:
    """By itself, before we ended it."""
    ending = course.ending
    said = f"{ending.reason}: {ending.message}" if ending.message else str(ending.reason)
    if course.lacks_gpu_memory:
        words = "the memory of a GPU is too small for it"
        return over(trial, State.OUT_OF_MEMORY, words, course, now)
    if course.driven_away is not None:
        return over(trial, State.LOST, f"driven away: {course.driven_away}", course, now)
    if ending.outcome is Outcome.SUCCESS or ending.reason is Reason.DEADLINE:
        if trial.began is None and ending.reason is Reason.DEADLINE:
            words = f"its pods did not all run in time: {course.waits_for or said}"
            return over(trial, State.UNAVAILABLE, words, course, now)
        ended = ending.ended or now
        waits = (now - ended).total_seconds() < READ_SECONDS
        if trial.reading is None and waits:
            return trial  # what was scraped last is still on its way
        return _measured_or_not(trial, sight, course, now)
    return over(trial, State.FAILED, said, course, now)


def _measured_or_not(trial: Trial, sight: Sight, course: Course, now: datetime) -> Trial:
    if trial.reading is not None:
        return over(trial, State.MEASURED, None, course, now)
    words = sight.unread or "nothing was measured of it"
    return over(trial, State.UNMEASURED, words, course, now)


def _changed(trial: Trial, **changes: object) -> Trial:
    return msgspec.structs.replace(trial, **changes)
