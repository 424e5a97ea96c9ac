"""Jobs with every vice there is run together, and each is told its own; the honest one none.

What is looked at was said by the program on a real cluster: see scene.py for the jobs, play.py for
the order. The node is the scene's alone, which is why it takes our own machine.
"""

from typing import Any

import pytest

from cepheid.annotations.job_codec import decode_job
from cepheid.jobprofile import Outcome
from cepheid.reports.contention.findings import Kind
from cepheid.reports.contention.hogs import Verdict
from cepheid_operator.idle.deciding import Told
from tests.cluster.progress import wait_for
from tests.e2e import scene
from tests.e2e.play import ACT_SECONDS, ALL_SECONDS, Heard, Playing, asked, hogs, said, suspended

pytestmark = [pytest.mark.patient, pytest.mark.machine, pytest.mark.timeout(2 * ALL_SECONDS)]
MIB = 2**20


@pytest.fixture(scope="module")
def heard(playing: Playing) -> Heard:
    return playing.heard.result(ALL_SECONDS)


@pytest.fixture(scope="module")
def checked(playing: Playing, heard: Heard) -> dict[str, dict[str, str]]:
    """What `check` finds in each job, when all that end have ended: resource and verdict."""
    for name in (*scene.HELD.keys() - {scene.IDLE}, scene.WAITER, heard.patched):
        playing.ended(name)
    found: dict[str, dict[str, str]] = {}
    for row in asked(playing.namespace, "check"):
        found.setdefault(row["job"], {})[row["resource"]] = row["verdict"]
    return found


def named(rows: list[dict[str, Any]]) -> dict[str, str]:
    return {row["who"]: row["kind"] for row in rows if row["verdict"] == Verdict.HOG}


def test_a_hog_is_named_while_another_waits_and_so_is_who_holds_idle_gpus(heard: Heard) -> None:
    hog, idle = scene.USERS[scene.HOG], scene.USERS[scene.IDLE]
    assert named(heard.contended) == {hog: Kind.BEYOND, idle: Kind.IDLE}
    (row,) = (row for row in heard.contended if row["who"] == hog)
    assert (row["job"], row["held"]) == (scene.HOG, scene.HELD[scene.HOG])
    assert row["fair_share"] == scene.WANTED
    assert (row["waiting_jobs"], row["waiting_users"]) == (1, 1)


def test_when_all_have_ended_the_same_two_are_named(
    playing: Playing, heard: Heard, checked: dict[str, dict[str, str]]
) -> None:
    """By then it is known what held whom back, and so who else was short of something."""
    assert checked
    assert named(hogs(playing.namespace)) == named(heard.contended)


def test_the_same_jobs_name_no_hog_while_nobody_waits(heard: Heard) -> None:
    assert named(heard.quiet) == {}
    told = {row["who"]: row["verdict"] for row in heard.quiet}
    for name in (scene.HOG, scene.IDLE):
        assert told[scene.USERS[name]] == Verdict.NOBODY_WAITED


def test_check_finds_what_is_wrong_with_each_job_and_nothing_else(
    checked: dict[str, dict[str, str]], heard: Heard
) -> None:
    too_much = dict.fromkeys(("memory", "GPU load", "GPU memory"), "too much")
    before = {row["job"] for row in heard.nightly}
    assert len(before) >= scene.RUNS
    assert checked == {
        scene.WASTER: too_much,
        scene.IDLE: {"GPU": "not used"},
        **{run: {"memory": "too much"} for run in before},
    }


def test_a_leak_is_told_with_its_speed_and_nobody_else_has_one(playing: Playing) -> None:
    told = {name: playing.ended(name).leak for name in scene.HELD.keys() - {scene.IDLE}}
    leak = told.pop(scene.LEAKER)
    assert leak is not None
    assert 60 * leak.bytes_per_second == pytest.approx(scene.LEAK_MIB_PER_MINUTE * MIB, rel=0.1)
    assert set(told.values()) == {None}
    assert "Its memory grew by" in said(playing.namespace, "job", scene.LEAKER)


@pytest.mark.parametrize(
    ("name", "held_back_by", "helps"),
    [(scene.SCALER, "gpu", {"yes"}), (scene.TALKER, "network", {"little", "no"})],
)
def test_more_gpus_would_help_who_computes_and_not_who_exchanges(
    playing: Playing, name: str, held_back_by: str, helps: set[str]
) -> None:
    seen = playing.ended(name).held_back_by
    assert seen is not None
    assert seen.kind == held_back_by
    assert asked(playing.namespace, "scale", name)["helps"] in helps


def test_nothing_is_said_against_the_honest_one(
    playing: Playing, heard: Heard, checked: dict[str, dict[str, str]]
) -> None:
    honest = playing.ended(scene.HONEST)
    assert honest.outcome is Outcome.SUCCESS
    assert scene.HONEST not in checked
    assert scene.USERS[scene.HONEST] not in {row["who"] for row in heard.contended}
    assert honest.leak is None
    assert not honest.regression
    assert not [worker for worker in honest.workers if worker.straggles]
    # What limits it is what it asked for: all is well.
    assert honest.verdict == "gpu is the limit"


@pytest.mark.usefixtures("checked")
def test_the_idle_policy_suspends_exactly_the_idle_holder(playing: Playing) -> None:
    """Everything else has run to its end by now, beside it."""
    namespace = playing.namespace
    wait_for("its suspension", lambda: suspended(namespace), ACT_SECONDS)
    assert suspended(namespace) == {scene.IDLE}
    events = [
        event["reason"]
        for event in namespace.items("events", "--sort-by=.firstTimestamp")
        if event["reason"] in {*Told}
    ]
    assert events == ["GpusIdle", "IdleSuspended"]
    selector = f"--selector=training.kubeflow.org/job-name={scene.IDLE}"
    wait_for("its GPUs to be free", lambda: not namespace.items("pods", selector))
    (job,) = (
        job
        for job in namespace.items("mpijobs.kubeflow.org")
        if job["metadata"]["name"] == scene.IDLE
    )
    told = decode_job(job["metadata"]["annotations"]).facts.idle
    assert told is not None
    assert (told.gpus, told.act, told.done) == (scene.HELD[scene.IDLE], "suspend", True)


def test_the_patch_of_rightsize_is_applied_and_the_next_run_passes_check(
    playing: Playing, heard: Heard, checked: dict[str, dict[str, str]]
) -> None:
    assert {row["verdict"] for row in heard.nightly} == {"too much"}
    after = playing.ended(heard.patched)
    assert after.outcome is Outcome.SUCCESS
    (asked_for,) = after.asked
    assert asked_for.limits["memory"] != scene.NIGHTLY_MEMORY
    rows = asked(playing.namespace, "check", "--run", heard.patched, "--all")
    (memory,) = (row for row in rows if row["resource"] == "memory")
    assert memory["verdict"] == "fits"
    assert heard.patched not in checked
