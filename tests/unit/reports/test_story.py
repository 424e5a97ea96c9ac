"""What happened is said in plain words first, and nothing is said that is not known."""

import pytest
from hypothesis import HealthCheck, given, settings
from msgspec.structs import replace

from cepheid.jobprofile import (
    HeldBackBy,
    JobProfile,
    MemoryLeak,
    Outcome,
    Reason,
    Regressed,
    Spread,
    Usage,
    Worker,
)
from cepheid.reports.story import tell
from tests.unit.history.strategies import PROFILES
from tests.unit.reports.runs import GIB, MIB, pod_job, process, series


def fact(profile: JobProfile, label: str, *earlier: JobProfile) -> str:
    told = tell(profile, earlier)
    return next((one.words for one in told.facts if one.label == label), "")


def test_success_says_how_long_on_what_and_where() -> None:
    assert tell(pod_job()).headline.startswith(
        "bert-nightly-28 succeeded in 2 h 14 min on 4 x A100-80 (gpu-a, gpu-b)."
    )
    assert tell(process()).headline == "train.py succeeded in 12 min on 1 x RTX3090 (wolf)."


@pytest.mark.parametrize(
    ("outcome", "reason", "others", "said"),
    [
        (Outcome.FAILED, Reason.OOM_KILLED, {}, "was killed at its memory limit of 256 GiB after"),
        (Outcome.FAILED, Reason.EXIT_CODE, {"exit_code": 3}, "failed with exit code 3 after 2 h"),
        (Outcome.TIMEOUT, Reason.DEADLINE, {}, "was stopped by its deadline after 2 h 14 min"),
        (Outcome.ERROR, Reason.EVICTED, {"message": "disk"}, "was evicted from its node after"),
        (Outcome.ERROR, Reason.IMAGE, {}, "could not pull its image on 4 x"),
        (Outcome.FAILED, None, {}, "failed after 2 h 14 min"),
        (Outcome.RUNNING, None, {"ended": None}, "is running, 2 h 14 min so far"),
    ],
)
def test_an_end_is_told_with_its_reason(
    outcome: Outcome, reason: Reason | None, others: dict[str, object], said: str
) -> None:
    ended = replace(pod_job(), outcome=outcome, reason=reason, **others)
    assert said in tell(ended).headline


@pytest.mark.parametrize("reason", [None, *Reason])
@pytest.mark.parametrize("outcome", Outcome)
def test_every_end_has_words(outcome: Outcome, reason: Reason | None) -> None:
    headline = tell(replace(process(), outcome=outcome, reason=reason)).headline
    assert headline.startswith("train.py ")
    assert "None" not in headline


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (
            {"leak": MemoryLeak(bytes_per_second=MIB, confidence=0.9)},
            "Its memory grew by 60 MiB a minute and was never given back.",
        ),
        (
            {"usage": Usage(gpu_util_percent=Spread(mean=0.0, max=1.0))},
            "Its 4 GPUs were never used.",
        ),
        (
            {"workers": (Worker(name="worker-2", straggles="6 % slower"),)},
            "worker-2 lags behind the others.",
        ),
        (
            {"held_back_by": HeldBackBy(kind="input", share_percent=22.0)},
            "It waited for input 22 % of the time.",
        ),
    ],
)
def test_the_foremost_finding_follows_the_end(found: dict[str, object], said: str) -> None:
    assert tell(replace(pod_job(), **found)).headline.endswith(said)


def test_a_run_without_findings_has_none() -> None:
    assert tell(process()).headline.count(".") == len(["train.py", "wolf)."])


def test_what_held_it_back_comes_with_evidence() -> None:
    held = process(held_back_by=HeldBackBy(kind="input", share_percent=22.0))
    assert fact(held, "held back by") == (
        "it waited for input 22 % of the time; GPU 71 %, CPU p95 6 of 8 cores"
    )


def test_a_leak_says_when_it_would_hit_the_limit() -> None:
    leaks = process(leak=MemoryLeak(bytes_per_second=GIB / 3600, confidence=0.97))
    assert "it would reach 32 GiB in another 1 d 2 h" in fact(leaks, "leak")
    slow = process(leak=MemoryLeak(bytes_per_second=1.0, confidence=0.97))
    assert "would reach" not in fact(slow, "leak")


def test_what_is_usual_is_said_of_enough_earlier_runs() -> None:
    earlier = [process(number, seconds=700 + 10 * number) for number in range(1, 5)]
    assert (
        fact(process(), "usual?", *earlier) == "yes: 11 min 50 s to 12 min 20 s in the last 4 runs"
    )
    assert fact(process(), "usual?", *earlier[:2]).startswith("not known: 2 earlier runs")
    assert fact(process(), "usual?").startswith("not known: no earlier run of train.py")
    failed = process(outcome=Outcome.FAILED, reason=Reason.EXIT_CODE)
    assert fact(failed, "usual?", *earlier).startswith("no: it took 11 min 50 s")


def test_what_is_worse_than_usual_is_named() -> None:
    worse = Regressed(what="duration", now=1000.0, usual=700.0, change_percent=42.9, runs=9)
    told = tell(process(), [], [], [worse])
    assert "no: it took 16 min 40 s, usually 11 min 40 s, +43 %" in [
        one.words for one in told.facts
    ]


def test_figures_are_of_how_much_and_have_a_course_where_series_were_kept() -> None:
    told = {one.label: one for one in tell(process(), [], series()).figures}
    assert told["CPU"].amount == "3.9 of 8 cores"
    assert told["memory"].amount == "6 of 32 GiB"
    assert told["disk"].amount == "9 GiB read"
    assert told["CPU"].course[-1] == "█"
    assert told["memory"].course == ""
    cluster = {one.label: one for one in tell(pod_job()).figures}
    assert cluster["memory"].amount == "152 of 256 GiB"
    assert cluster["GPU memory"].amount == "244 of 320 GiB"
    assert cluster["GPU"].remark == "repeats every 42.1 s"


def test_phases_and_what_was_left_behind_are_facts() -> None:
    seen = process().process
    assert seen is not None
    left = process(process=replace(seen, left_running=2, skipped=("gpu: no driver",)))
    assert fact(left, "phases") == "start-up 31 s (1 core), steady 11 min 29 s (4.1 cores)"
    assert fact(left, "left behind").startswith("2 processes of it still ran")
    assert fact(left, "not measured") == "gpu: no driver"


@given(PROFILES)
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_every_profile_has_a_story(profile: JobProfile) -> None:
    told = tell(profile, [profile])
    assert told.headline
    assert all(one.amount for one in told.figures)
