"""How jobs of every kind ended, and which of several failures it was."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.jobprofile import Outcome, Reason
from cepheid.jobs.ending import RUNNING, ending_of, first_cause
from cepheid.jobs.failures import Failure
from cepheid.jobs.kinds import KINDS, kind_of
from cepheid.jobs.pods import Phase, PodState
from tests.unit.jobs.samples import NAMES, at, load
from tests.unit.jobs.strategies import HOSTILE, POD_STATES

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def pod(name: str, failure: Failure | None, created: datetime = NOON) -> PodState:
    return PodState(name, name, "ns", created, Phase.FAILED, failure=failure)


def after(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


@pytest.mark.parametrize("name", NAMES)
def test_a_job_ended_as_it_is_told_to_have(name: str) -> None:
    sample = load(name)
    ending = ending_of(sample.job, sample.pods, deleted=sample.deleted)
    expected = sample.expected["ending"]
    assert ending.outcome == expected["outcome"]
    assert ending.reason == expected.get("reason")
    assert ending.exit_code == expected.get("exit_code")
    assert ending.ended == at(expected.get("ended"))
    assert ending.message == expected.get("message")


def test_every_kind_has_a_sample_of_its_success() -> None:
    succeeded = {
        kind_of(load(name).job)
        for name in NAMES
        if load(name).expected["ending"]["outcome"] == "success"
    }
    assert succeeded == set(KINDS.values())


@pytest.mark.parametrize("name", NAMES)
def test_a_job_without_its_status_runs(name: str) -> None:
    job = {key: value for key, value in load(name).job.items() if key != "status"}
    assert ending_of(job, []) == RUNNING


def test_an_unknown_kind_is_never_over_unless_it_is_deleted() -> None:
    job = {"apiVersion": "v1", "kind": "Elephant", "status": {"phase": "Succeeded"}}
    assert ending_of(job, []) == RUNNING
    assert ending_of(job, [], deleted=NOON).reason is Reason.DELETED


@pytest.mark.parametrize(
    ("failures", "first"),
    [
        # The first in time.
        ([("a", Reason.EXIT_CODE, 9, 1), ("b", Reason.EXIT_CODE, 3, 2)], "b"),
        # The killer, also if it is noticed later.
        ([("a", Reason.EXIT_CODE, 0, 1), ("b", Reason.NODE_LOST, 350, None)], "b"),
        ([("a", Reason.EXIT_CODE, 0, 1), ("b", Reason.NODE_LOST, 900, None)], "a"),
        # In the same second.
        ([("a", Reason.EXIT_CODE, 0, 143), ("b", Reason.EXIT_CODE, 0, 7)], "b"),
        ([("a", Reason.EXIT_CODE, 0, 1), ("b", Reason.OOM_KILLED, 0, 137)], "b"),
        ([("a", Reason.DELETED, 0, None), ("b", Reason.EXIT_CODE, 0, 137)], "b"),
        # A worker that somebody deleted, and the launcher that missed it.
        ([("a", Reason.DELETED, 0, None), ("b", Reason.EXIT_CODE, 2, 1)], "a"),
        # One that waited for its image beside one that ran and failed.
        ([("a", Reason.IMAGE, None, None), ("b", Reason.EXIT_CODE, 5, 1)], "b"),
        ([("a", Reason.EXIT_CODE, None, 1), ("b", Reason.EXIT_CODE, 5, 2)], "b"),
    ],
)
def test_of_several_failures_the_one_that_began_it_counts(
    failures: list[tuple[str, Reason, int | None, int | None]], first: str
) -> None:
    pods = [
        pod(name, Failure(reason, None if when is None else after(when), code, name))
        for name, reason, when, code in failures
    ]
    for order in (pods, pods[::-1]):
        cause = first_cause(order, after(1000))
        assert cause is not None
        assert cause.message == first


def test_what_a_job_survived_did_not_end_it() -> None:
    survived = pod("a", Failure(Reason.EVICTED, after(10)))
    last = pod("b", Failure(Reason.EXIT_CODE, after(99), 1), created=after(12))
    cause = first_cause([survived, last], after(100))
    assert cause is not None
    assert cause.reason is Reason.EXIT_CODE


def test_what_happens_to_pods_after_the_end_is_tidying() -> None:
    tidied = pod("a", Failure(Reason.EXIT_CODE, after(60), 143))
    assert first_cause([tidied], after(10)) is None


def test_a_deleted_bare_pod_tells_who_drove_it_away() -> None:
    preempted = pod("a", Failure(Reason.PREEMPTED, after(1)))
    job = {"apiVersion": "v1", "kind": "Pod", "status": {"phase": "Running"}}
    running = replace(preempted, phase=Phase.RUNNING, started=NOON)
    assert ending_of(job, [running], deleted=after(5)).reason is Reason.PREEMPTED


@given(HOSTILE, st.lists(POD_STATES, max_size=4), st.none() | st.just(NOON))
def test_hostile_objects_end_or_run_and_never_raise(
    job: dict[str, object], pods: list[PodState], deleted: datetime | None
) -> None:
    ending = ending_of(job, pods, deleted=deleted)
    assert ending.is_over == (ending.outcome is not Outcome.RUNNING)
    assert ending.reason is None or ending.outcome not in (Outcome.SUCCESS, Outcome.RUNNING)
    assert deleted is None or ending.is_over
