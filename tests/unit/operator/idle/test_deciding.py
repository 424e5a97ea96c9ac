"""One step at a time: what is known goes in, what is to be done comes out."""

import json
import shlex
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.annotations.job_codec import decode_job, encode_job
from cepheid.annotations.job_facts import IdleFacts, JobFacts
from cepheid.jobs.kinds import JOB, MPI_JOB
from cepheid_operator.eventing import About
from cepheid_operator.idle.deciding import Seen, Step, Told, decide
from cepheid_operator.idle.keeping import Kept
from cepheid_operator.idle.telling import Subject, word
from cepheid_operator.idle.terms import Do, Policy
from cepheid_operator.idle.use import Use

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
HALF, HOUR = timedelta(minutes=30), timedelta(hours=1)
POLICY = Policy(Do.SUSPEND, HALF.total_seconds(), HOUR.total_seconds())
RUNNING = Seen(gpus=8, can_be_suspended=True, is_suspended=False, by_us=False)
SINCE = NOON - HALF
NAMED = IdleFacts(since=SINCE, gpus=8, act="suspend", at=NOON + HOUR)
IDLE = Use(SINCE.timestamp())


def unused_for(time: timedelta, now: datetime = NOON) -> Use:
    return Use((now - time).timestamp())


def test_it_is_named_when_it_was_idle_for_long_enough() -> None:
    almost = decide(POLICY, RUNNING, unused_for(HALF - timedelta(seconds=1)), NOON)
    assert almost == Step(None)
    assert decide(POLICY, RUNNING, IDLE, NOON) == Step(NAMED, (Told.IDLE,))


def test_it_is_suspended_when_the_time_has_come_and_not_before() -> None:
    named = replace(RUNNING, standing=NAMED)
    assert decide(POLICY, named, IDLE, NOON + HOUR - HALF) == Step(NAMED)
    assert decide(POLICY, named, IDLE, NOON + HOUR) == Step(NAMED, suspend=True)


def test_that_it_was_suspended_is_told_once() -> None:
    suspended = replace(RUNNING, is_suspended=True, by_us=True, standing=NAMED)
    step = decide(POLICY, suspended, None, NOON + HOUR)
    assert step == Step(replace(NAMED, done=True), (Told.SUSPENDED,))
    told = replace(suspended, standing=step.standing)
    assert decide(POLICY, told, None, NOON + HOUR) == Step(step.standing)


def test_who_lets_it_go_on_has_all_the_time_again() -> None:
    resumed = replace(RUNNING, standing=replace(NAMED, done=True))
    assert decide(POLICY, resumed, IDLE, NOON + HOUR) == Step(None, (Told.RESUMED,))
    assert decide(POLICY, resumed, None, NOON + HOUR) == Step(None, (Told.RESUMED,))


def test_what_people_suspend_themselves_is_theirs() -> None:
    theirs = replace(RUNNING, is_suspended=True, standing=NAMED)
    assert decide(POLICY, theirs, None, NOON) == Step(None)
    assert decide(POLICY, replace(theirs, standing=None), None, NOON) == Step(None)


def test_once_used_it_is_no_longer_idle() -> None:
    named = replace(RUNNING, standing=NAMED)
    used = Use(SINCE.timestamp(), (NOON + HALF).timestamp())
    assert decide(POLICY, named, used, NOON + HOUR) == Step(None, (Told.USED,))


def test_after_a_gap_it_is_no_longer_called_idle() -> None:
    named = replace(RUNNING, standing=NAMED)
    step = decide(POLICY, named, unused_for(HALF, NOON + HOUR), NOON + HOUR)
    assert step == Step(None, (Told.UNSEEN,))


def test_while_nothing_is_known_nothing_is_done() -> None:
    named = replace(RUNNING, standing=NAMED)
    assert decide(POLICY, named, None, NOON + 9 * HOUR) == Step(NAMED)
    assert decide(POLICY, RUNNING, None, NOON) == Step(None)


def test_without_a_policy_it_is_as_if_there_never_was_one() -> None:
    for standing in (None, NAMED):
        named = replace(RUNNING, standing=standing)
        assert decide(None, named, IDLE, NOON + HOUR) == Step(None)


def test_a_dry_run_suspends_nobody() -> None:
    dry = replace(POLICY, do=Do.DRY_RUN)
    named = replace(NAMED, act="dry-run")
    assert decide(dry, RUNNING, IDLE, NOON) == Step(named, (Told.IDLE,))
    later = decide(dry, replace(RUNNING, standing=named), IDLE, NOON + HOUR)
    assert later == Step(replace(named, done=True), (Told.WOULD_SUSPEND,))
    rest = decide(dry, replace(RUNNING, standing=later.standing), IDLE, NOON + 9 * HOUR)
    assert rest == Step(later.standing)


def test_when_it_becomes_earnest_people_are_warned_again() -> None:
    rehearsed = replace(NAMED, act="dry-run", done=True)
    step = decide(POLICY, replace(RUNNING, standing=rehearsed), IDLE, NOON + 2 * HOUR)
    assert step == Step(replace(NAMED, at=NOON + 3 * HOUR), (Told.IDLE,))


def test_what_cannot_be_suspended_is_told_and_no_more() -> None:
    stuck = replace(RUNNING, can_be_suspended=False)
    step = decide(POLICY, stuck, IDLE, NOON)
    assert step == Step(IdleFacts(since=SINCE, gpus=8, act="none"), (Told.IDLE,))
    rest = decide(POLICY, replace(stuck, standing=step.standing), IDLE, NOON + 9 * HOUR)
    assert rest == Step(step.standing)


def test_kept_it_waits_as_long_as_it_is_kept() -> None:
    keep = Kept("8h", NOON + 8 * HOUR)
    named = replace(RUNNING, standing=NAMED, kept=keep)
    step = decide(POLICY, named, IDLE, NOON + HOUR)
    assert step == Step(replace(NAMED, at=keep.until), (Told.KEPT,))
    kept = replace(named, standing=step.standing)
    assert decide(POLICY, kept, IDLE, NOON + 7 * HOUR) == Step(step.standing)
    assert decide(POLICY, kept, IDLE, NOON + 8 * HOUR) == Step(step.standing, suspend=True)


def test_kept_for_less_than_it_has_anyway_changes_nothing() -> None:
    named = replace(RUNNING, standing=NAMED, kept=Kept("1min", NOON))
    assert decide(POLICY, named, IDLE, NOON) == Step(NAMED)


def test_a_word_that_cannot_be_read_is_told_with_the_warning_and_before_the_suspension() -> None:
    vague = replace(RUNNING, kept=Kept("for ever", None))
    assert decide(POLICY, vague, IDLE, NOON) == Step(NAMED, (Told.IDLE, Told.NOT_KEPT))
    named = replace(vague, standing=NAMED)
    assert decide(POLICY, named, IDLE, NOON) == Step(NAMED, (Told.NOT_KEPT,))
    over = decide(POLICY, named, IDLE, NOON + HOUR)
    assert over == Step(NAMED, (Told.NOT_KEPT,), suspend=True)


def test_a_dry_run_tells_of_it_too() -> None:
    named = replace(NAMED, act="dry-run")
    vague = replace(RUNNING, standing=named, kept=Kept("for ever", None))
    over = decide(replace(POLICY, do=Do.DRY_RUN), vague, IDLE, NOON + HOUR)
    assert over == Step(replace(named, done=True), (Told.NOT_KEPT, Told.WOULD_SUSPEND))


@given(
    st.sampled_from(Do),
    st.integers(0, 100_000),
    st.none() | st.integers(0, 100_000),
    st.booleans(),
    st.none() | st.integers(-100_000, 100_000),
    st.booleans(),
)
def test_only_in_earnest_and_only_after_a_warning_is_anybody_suspended(
    do: Do, seen: int, used: int | None, can: bool, kept: int | None, is_named: bool
) -> None:
    policy = replace(POLICY, do=do)
    until = None if kept is None else Kept("x", NOON + timedelta(seconds=kept))
    job = replace(RUNNING, can_be_suspended=can, kept=until, standing=NAMED if is_named else None)
    use = Use(NOON.timestamp() - seen, None if used is None else NOON.timestamp() - used)
    now = NOON + 2 * HOUR
    step = decide(policy, job, use, now)
    if step.suspend:
        assert do is Do.SUSPEND
        assert can
        assert is_named
        assert use.idle_seconds <= NAMED.since.timestamp() + 1
        assert until is None or until.until is None or until.until <= NOON + HOUR
    # What is to stand there can be written, and means the same when it is read.
    facts = JobFacts(idle=step.standing)
    assert decode_job(encode_job(facts)).facts == facts


ABOUT = About(
    api_version="kubeflow.org/v1", kind="MPIJob", namespace="research", name="bert", uid="u"
)
BERT = Subject(ABOUT, MPI_JOB, "mpijobs.kubeflow.org")


@pytest.mark.parametrize("told", Told)
def test_every_word_says_enough_and_fits(told: Told) -> None:
    said = word(told, BERT, NAMED, Kept("8h", NOON + 8 * HOUR), NOON + HOUR)
    assert said.reason == told.value
    assert 20 < len(said.words) < 500
    assert "None" not in said.words


def test_a_warning_says_what_it_rests_on_and_what_to_type() -> None:
    said = word(Told.IDLE, BERT, NAMED, None, NOON)
    assert said.words == (
        "8 GPUs not used since 2026-03-01 11:30:00 UTC, for 30m. Unless it uses them, it is"
        " suspended at 2026-03-01 13:00:00 UTC. To keep it: kubectl annotate mpijobs.kubeflow.org"
        " bert --namespace=research --overwrite ai.centaurus.io/keep-for=8h"
    )


def test_one_gpu_is_one_gpu() -> None:
    assert word(Told.IDLE, BERT, replace(NAMED, gpus=1), None, NOON).words.startswith("1 GPU not")


@pytest.mark.parametrize(
    ("subject", "patch"),
    [
        (BERT, {"spec": {"runPolicy": {"suspend": False}}}),
        (replace(BERT, kind=JOB), {"spec": {"suspend": False}}),
    ],
)
def test_the_way_back_is_one_command(subject: Subject, patch: dict[str, object]) -> None:
    said = word(Told.SUSPENDED, subject, NAMED, None, NOON + HOUR).words
    command = shlex.split(said.partition("To go on: ")[2])
    assert command[:2] == ["kubectl", "patch"]
    (given,) = (part for part in command if part.startswith("--patch="))
    assert json.loads(given.removeprefix("--patch=")) == patch


def test_another_promise_is_told_anew_and_the_same_is_not() -> None:
    first = word(Told.IDLE, BERT, NAMED, None, NOON)
    again = word(Told.IDLE, BERT, NAMED, None, NOON + HALF)
    later = word(Told.IDLE, BERT, replace(NAMED, at=NOON + 2 * HOUR), None, NOON)
    assert first.key == again.key != later.key
