"""What is written of a run, when it is compared, and when it was lost."""

from datetime import timedelta

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from cepheid.annotations.job_facts import JobFacts
from cepheid.jobprofile import (
    GpuHeld,
    JobProfile,
    Outcome,
    Reason,
    Spread,
    Usage,
    from_json,
    to_json,
)
from cepheid.jobs.ending import Ending
from cepheid.jobs.measure import Measured
from cepheid.jobs.profile import Kept
from cepheid.jobs.usage import merge
from cepheid_operator.comparing import regression
from cepheid_operator.composing import (
    Figures,
    Story,
    compared,
    given_up,
    regression_words,
    same_but_for_time,
)
from cepheid_operator.eventing import event_of
from tests.faults_operator.largest import LARGEST
from tests.unit.jobs.strategies import POD_STATES
from tests.unit.operator.stories import NOON, profile, raw_job

GIB = 2.0**30


def runs(*hours: float) -> list[JobProfile]:
    return [
        profile(uid=f"u-{number}", duration_seconds=3600 * each, created=NOON - timedelta(days=9))
        for number, each in enumerate(hours)
    ]


def test_a_run_that_took_much_longer_says_so_with_the_figures() -> None:
    worse = compared(profile(uid="now", duration_seconds=9000.0), runs(1, 1.01, 0.99))
    (one,) = worse.regression
    assert (one.what, one.now, one.usual, one.runs) == ("duration", 9000.0, 3600.0, 3)
    assert worse.verdict == "150 % more duration than usual"
    words = regression_words(worse)
    assert words == "Job train needed 150 % more duration than usual (9000, in 3 runs 3600)"


def test_a_run_as_usual_or_with_few_before_it_says_nothing() -> None:
    assert compared(profile(uid="now"), runs(1, 1.01, 0.99)).regression == ()
    assert compared(profile(uid="now", duration_seconds=9000.0), runs(1, 1)).regression == ()


def test_runs_on_other_numbers_of_gpus_say_whether_more_would_help() -> None:
    before = profile(
        uid="u-1", gpu_count=2, duration_seconds=7100.0, created=NOON - timedelta(days=9)
    )
    now = profile(uid="now", gpu_count=4, duration_seconds=3650.0, advice=("feed it",))
    told = compared(now, [before])
    assert told.advice[0] == "feed it"
    assert told.advice[1].startswith(
        "twice the GPUs would help: a run took 1h 58m on 2, 1h 50s on 4: 8 would do 1."
    )
    same = msgspec.structs.replace(before, gpu_count=4)
    failed = msgspec.structs.replace(before, outcome=Outcome.FAILED)
    for others in ([], [same], [failed]):
        assert compared(now, others).advice == ("feed it",)
    full = msgspec.structs.replace(now, advice=("x",) * 6)
    assert compared(full, [before]).advice == ("x",) * 6


def test_the_event_is_on_the_job_and_the_same_however_often_it_is_told() -> None:
    worse = compared(profile(uid="now", duration_seconds=9000.0), runs(1, 1.01, 0.99))
    event = event_of(*regression(worse), NOON)
    assert event["involvedObject"]["uid"] == "now"
    assert event["involvedObject"]["kind"] == "Job"
    assert (event["type"], event["reason"]) == ("Warning", "JobRegressed")
    again = event_of(*regression(worse), NOON + timedelta(hours=1))
    assert event["metadata"] == again["metadata"]
    assert len(event_of(*regression(LARGEST), NOON)["message"]) <= 1024
    assert len(event_of(*regression(LARGEST), NOON)["metadata"]["name"]) <= 253


def test_one_that_vanished_ends_when_it_was_last_seen() -> None:
    live = profile(outcome=Outcome.RUNNING, ended=None, duration_seconds=600.0)
    over = given_up(live)
    assert (over.outcome, over.reason) == (Outcome.ERROR, Reason.DELETED)
    assert over.ended == NOON + timedelta(seconds=600)
    waiting = profile(outcome=Outcome.RUNNING, ended=None, started=None, duration_seconds=None)
    assert given_up(waiting).ended == NOON


def test_that_it_still_runs_is_no_news() -> None:
    one, two = profile(duration_seconds=60.0), profile(duration_seconds=90.0)
    assert same_but_for_time(one, two)
    assert not same_but_for_time(one, profile(duration_seconds=60.0, restarts=1))


def test_gpus_that_no_agent_named_are_those_that_prometheus_has() -> None:
    held = (GpuHeld(node="gpu-a", index=3, model="Tesla T4"),)
    measured = Measured(Usage(cpu_cores=Spread(max=1.0)), samples=5, interval_seconds=15.0)
    job = {"apiVersion": "batch/v1", "kind": "Job", **raw_job("Complete")}
    story = Story(job, [], JobFacts(), figures=Figures(measured, held))
    made = story.profile(Ending(Outcome.SUCCESS, ended=NOON), NOON, Kept())
    assert made.gpus == held
    assert made.samples == 5
    assert made.summary is not None


ENDINGS = st.builds(
    Ending,
    st.sampled_from(Outcome),
    st.none() | st.sampled_from(Reason),
    st.none() | st.text(max_size=300),
    ended=st.just(NOON),
)


@settings(max_examples=50)
@given(st.lists(POD_STATES, max_size=20), ENDINGS)
def test_whatever_is_known_the_record_is_small_and_can_be_read_back(
    pods: list[object], ending: Ending
) -> None:
    job = {"apiVersion": "batch/v1", "kind": "Job", **raw_job()}
    story = Story(job, pods, merge(JobFacts(), pods))  # type: ignore[arg-type]
    made = story.profile(ending, NOON, Kept())
    text = to_json(made)
    assert len(text) <= 4700
    assert from_json(text) == made
    if made.ended is not None and made.started is not None:
        assert made.ended >= made.started
    assert isinstance(msgspec.structs.asdict(made), dict)
