"""What is done for a run, moment by moment."""

from datetime import timedelta
from typing import Any

import pytest

from cepheid.annotations.job_facts import JobFacts
from cepheid.jobprofile import Outcome, Reason
from cepheid_operator.cluster import Run
from cepheid_operator.composing import Figures
from cepheid_operator.discovery import PODS, Served
from cepheid_operator.measuring import Answer
from cepheid_operator.plan import (
    LINGER_SECONDS,
    LIVE_AFTER_SECONDS,
    REFUSED_SECONDS,
    SETTLE_SECONDS,
    Now,
    Paces,
    Plan,
    Work,
    plan,
)
from tests.unit.operator.stories import NOON, make_cluster, raw_job, raw_pod, run_of

PACES = Paces(write_seconds=60.0, live_seconds=300.0)
USED = {"cpu_util": "40", "cpu_mem_mb": "900"}


def planned(run: Run, work: Work, seconds: float) -> Plan:
    """`seconds` after the job was made, by both clocks."""
    now = Now(seconds, NOON + timedelta(seconds=seconds))
    return plan(run, list(run.pods.values()), work, now, PACES)


def fresh(**more: Any) -> Work:
    return Work(JobFacts(), 0.0, **more)


def test_a_young_job_gets_annotations_and_no_profile_yet() -> None:
    run = run_of(raw_job(), raw_pod(**USED))
    made = planned(run, fresh(), 20)
    assert made.annotations is not None
    assert {"ai.centaurus.io/train-0", "ai.centaurus.io/job-usage"} <= made.annotations.keys()
    assert made.profile is None
    assert made.again_seconds == pytest.approx(LIVE_AFTER_SECONDS)


def test_a_patch_comes_at_most_once_a_minute_and_not_for_nothing() -> None:
    run = run_of(raw_job(), raw_pod(**USED))
    work = fresh(annotated_seconds=20.0)
    waiting = planned(run, work, 30)
    assert waiting.annotations is None
    assert waiting.again_seconds == pytest.approx(60.0)
    due = planned(run, work, 80)
    assert due.annotations is not None
    run.standing = due.annotations
    assert planned(run, work, 200).annotations is None


def test_what_was_annotated_once_never_shrinks() -> None:
    run = run_of(raw_job(), raw_pod(cpu_util="90", cpu_mem_mb="900"))
    work = fresh()
    before = planned(run, work, 20).annotations
    later = run_of(raw_job(annotations=before), raw_pod(cpu_util="5", cpu_mem_mb="10"))
    after = planned(later, Work(later.facts(), 0.0), 200)
    assert after.annotations is None
    assert work.facts.workers == later.facts().workers


def test_a_running_job_has_a_live_profile_every_few_minutes_if_there_is_news() -> None:
    run = run_of(raw_job(), raw_pod(**USED))
    work = fresh()
    first = planned(run, work, 61)
    assert first.profile is not None
    assert first.profile.outcome is Outcome.RUNNING
    work.live, work.live_seconds = first.profile, 61.0
    assert planned(run, work, 100).profile is None
    # It has run long enough to be judged.
    told = planned(run, work, 361).profile
    assert told is not None
    work.live, work.live_seconds = told, 361.0
    # It ran on, and that is all: not worth a write.
    assert planned(run, work, 661).profile is None
    more = run_of(raw_job(), raw_pod(**USED), raw_pod("train-1", **USED))
    assert planned(more, work, 970).profile is not None


def test_what_ended_is_written_at_once_then_measured_then_written_once_more() -> None:
    run = run_of(raw_job("Complete"), raw_pod(phase="Succeeded", **USED))
    work = fresh()
    first = planned(run, work, 102)
    assert first.profile is not None
    assert (first.profile.outcome, first.ask, first.complete) == (Outcome.SUCCESS, True, False)
    work.stands = work.asked = True
    waiting = planned(run, work, 104)
    assert (waiting.profile, waiting.ask) == (None, False)
    work.answer = Answer(Figures(None))
    last = planned(run, work, 130)
    assert last.profile is not None
    assert last.complete


def test_what_could_not_be_written_is_planned_again() -> None:
    run = run_of(raw_job("Complete"))
    work = fresh(asked=True)
    assert planned(run, work, 102).profile is not None
    assert planned(run, work, 104).profile is not None


def test_a_complete_one_lingers_and_is_forgotten() -> None:
    run = run_of(raw_job("Complete"), raw_pod(phase="Succeeded", **USED))
    work = fresh(stands=True, asked=True, complete_seconds=130.0)
    made = planned(run, work, 140)
    assert (made.profile, made.forget, made.again_seconds) == (None, False, 130 + LINGER_SECONDS)
    assert made.annotations is not None  # an agent's last word still counts
    assert planned(run, work, 130 + LINGER_SECONDS).forget


def test_a_deleted_one_waits_for_its_pods_last_word_and_is_not_annotated() -> None:
    run = run_of(raw_job(), raw_pod(**USED), deleted=True)
    work = fresh()
    waiting = planned(run, work, 50)
    assert (waiting.annotations, waiting.profile) == (None, None)
    assert waiting.again_seconds == pytest.approx(50 + SETTLE_SECONDS)
    made = planned(run, work, 50 + SETTLE_SECONDS)
    assert made.profile is not None
    assert (made.profile.outcome, made.profile.reason) == (Outcome.ERROR, Reason.DELETED)


def test_a_deleted_one_without_pods_is_told_at_once() -> None:
    run = run_of(raw_job(), deleted=True)
    assert planned(run, fresh(), 50).profile is not None


def test_how_it_ended_is_decided_once() -> None:
    work = fresh()
    ended = run_of(raw_job("Failed"))
    planned(ended, work, 102)
    again = planned(run_of(raw_job()), work, 110)
    assert again.profile is not None
    assert again.profile.outcome is Outcome.FAILED


def test_what_was_refused_rests() -> None:
    run = run_of(raw_job("Complete"))
    work = fresh(refused_until_seconds=102 + REFUSED_SECONDS)
    made = planned(run, work, 110)
    assert (made.profile, made.again_seconds) == (None, 102 + REFUSED_SECONDS)


def test_a_job_that_only_its_pods_know_of_is_taken_for_deleted_after_a_moment() -> None:
    pod = raw_pod(**USED)
    pod["metadata"]["ownerReferences"][0] |= {"kind": "MPIJob", "apiVersion": "kubeflow.org/v1"}
    cluster = make_cluster()
    cluster.relisted(Served("kubeflow.org", "v1", "MPIJob", "mpijobs"), frozenset(), set())
    cluster.see(PODS, pod, False)
    (run,) = cluster.runs.values()
    work = fresh()
    assert planned(run, work, 1).profile is None
    made = planned(run, work, 1 + SETTLE_SECONDS)
    assert made.profile is not None
    assert made.profile.job.kind == "MPIJob"


def test_clocks_that_disagree_do_not_end_a_job_before_it_began() -> None:
    job = raw_job("Complete")
    job["status"]["conditions"][0]["lastTransitionTime"] = "2026-03-01T11:59:00Z"
    made = planned(run_of(job, raw_pod(**USED)), fresh(), 102)
    assert made.profile is not None
    assert made.profile.started is not None
    assert made.profile.ended is not None
    assert made.profile.ended >= made.profile.started
