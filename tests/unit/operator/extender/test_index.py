"""What is kept of what watches and lists tell, in whatever order they do."""

from itertools import permutations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cepheid.annotations.job_codec import OF_PEOPLE
from cepheid.annotations.job_facts import BestPlacement
from cepheid.jobprofile import HeldBackBy, Outcome
from cepheid.jobs.lineage import template_of
from cepheid_operator.discovery import PODS, Served
from cepheid_operator.extender.index import NODES, PROFILES, Index, Unknowns
from cepheid_operator.extender.judging import Judged, Verdict
from cepheid_operator.extender.needs import NEXT_BEST, Needs
from tests.unit.jobs.strategies import ANYTHING, HOSTILE, HOSTILE_PODS, spoilt
from tests.unit.operator.extender.world import (
    A10,
    A100,
    INPUT_BOUND,
    JOBS,
    KEY,
    MPI,
    NOW,
    PULSE,
    T4,
    applied,
    facts,
    gpu,
    job,
    node,
    owned_by,
    pod,
    profile,
    record,
)


def filled(*seen: tuple[Served, dict[str, Any]]) -> Index:
    index = Index()
    for served, thing in seen:
        index.see(served, thing, False)
    return index


def judged(index: Index, *names: str, asks: int = 1, **more: Any) -> Judged:
    return index.judge(list(names), Needs(asks, **more), NOW)


def packed(index: Index, name: str = "gpu-a", asks: int = 1) -> float:
    """Tells how many of the node's GPUs are held: 1 - (left - asked) / allocatable. That is half of
    `pack`; the other half is 1, but for a node that is entirely free."""
    pack = float(judged(index, name, asks=asks).parts["pack"][0])
    return 2 * pack - (1.0 if pack >= 0.5 else 0.0)


def spared(index: Index, name: str = "gpu-a") -> float:
    """Share of the time in which nobody on the node draws on it."""
    return float(judged(index, name, draws=1.0).parts["apart"][0])


FOUR = node("gpu-a", facts(*map(gpu, range(4))))


# Pods hold GPUs.


def test_a_pod_holds_its_gpus_from_when_it_has_a_node_until_it_is_over() -> None:
    index = filled((NODES, FOUR))
    story = [
        (pod(gpus=2), 0),
        (pod(gpus=2, on="gpu-a"), 2),
        (pod(gpus=2, on="gpu-a", phase="Running"), 2),
        (pod(gpus=2, on="gpu-a", phase="Unknown"), 2),
        (pod(gpus=2, on="gpu-a", phase="Succeeded"), 0),
    ]
    for thing, held in story:
        index.see(PODS, thing, False)
        assert packed(index) == 1 - (4 - held - 1) / 4, thing["status"]


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_that_is_over_holds_nothing(phase: str) -> None:
    index = filled((NODES, FOUR), (PODS, pod(gpus=2, on="gpu-a", phase=phase)))
    assert packed(index) == 1 - 3 / 4
    assert index.counts()["pods"] == 0


def test_a_pod_that_is_deleted_holds_nothing() -> None:
    index = filled((NODES, FOUR), (PODS, pod(gpus=2, on="gpu-a")))
    index.see(PODS, pod(gpus=2, on="gpu-a", phase="Running"), True)
    assert packed(index) == 1 - 3 / 4


def test_a_pod_without_gpus_holds_none() -> None:
    index = filled((NODES, FOUR), (PODS, pod(gpus=0, on="gpu-a")))
    assert (packed(index), index.counts()["pods"]) == (1 - 3 / 4, 0)


def test_pods_that_are_seen_again_and_again_hold_their_gpus_once() -> None:
    index = filled((NODES, FOUR))
    for _ in range(3):
        for name in ("a", "b"):
            index.see(PODS, pod(name, on="gpu-a", phase="Running"), False)
    assert packed(index) == 1 - 1 / 4
    assert index.counts()["pods"] == 2


def test_a_pod_holds_what_was_said_of_it_last_and_nothing_beside() -> None:
    index = filled((NODES, FOUR), (NODES, node("gpu-b", facts(*map(gpu, range(4))))))
    for gpus, on in ((2, "gpu-a"), (3, "gpu-a"), (3, "gpu-b")):
        index.see(PODS, pod(gpus=gpus, on=on), False)
    assert (packed(index, "gpu-a"), packed(index, "gpu-b")) == (1 - 3 / 4, 1.0)


def test_a_node_that_is_seen_after_its_pods_knows_what_they_hold() -> None:
    index = filled((PODS, pod(gpus=2, on="gpu-a")), (NODES, FOUR))
    assert packed(index) == 1 - 1 / 4


def test_a_node_that_is_deleted_and_made_again_knows_what_its_pods_hold() -> None:
    index = filled((NODES, FOUR), (PODS, pod(gpus=2, on="gpu-a")))
    index.see(NODES, FOUR, True)
    assert index.counts()["nodes"] == 0
    index.see(NODES, node("gpu-a", facts(*map(gpu, range(4))), uid="another"), False)
    assert packed(index) == 1 - 1 / 4


@pytest.mark.parametrize("by", ["list", "watch"])
def test_a_node_that_was_made_again_stays_when_the_old_one_goes_later(by: str) -> None:
    index = filled((NODES, FOUR), (PODS, pod(gpus=2, on="gpu-a")))
    before = index.known(NODES)
    again = node("gpu-a", facts(*map(gpu, range(4))), uid="another")
    index.see(NODES, again, False)
    if by == "list":
        assert index.relisted(NODES, before, {"another"}) == 1
    else:
        index.see(NODES, FOUR, True)
    assert index.counts()["nodes"] == 1
    assert packed(index) == 1 - 1 / 4
    index.see(NODES, again, True)
    assert index.counts()["nodes"] == 0


def test_a_node_that_has_no_gpus_any_more_is_forgotten() -> None:
    index = filled((NODES, FOUR))
    index.see(NODES, node("gpu-a", kind=None), False)
    assert index.counts()["nodes"] == 0
    index.see(NODES, FOUR, True)
    assert index.counts()["nodes"] == 0


def test_a_node_as_it_was_seen_last_is_what_counts() -> None:
    index = filled((NODES, FOUR))
    assert judged(index, "gpu-a", memory_gb=40.0).verdicts.tolist() == [Verdict.TAKES]
    index.see(NODES, node("gpu-a", facts(gpu(free=16.0))), False)
    assert judged(index, "gpu-a", memory_gb=40.0).verdicts.tolist() == [Verdict.NO_ROOM]


# Who is told that a pod has its node.


def test_that_a_pod_got_its_node_is_told_once() -> None:
    index = filled((NODES, FOUR))
    told: list[tuple[str, str]] = []
    index.bound = lambda uid, name: told.append((uid, name))
    for thing in (
        pod("a"),
        pod("a", on="gpu-a"),
        pod("a", on="gpu-a", phase="Running"),
        pod("none", gpus=0, on="gpu-a"),
        pod("over", on="gpu-a", phase="Failed"),
    ):
        index.see(PODS, thing, False)
    assert told == [("uid-a", "gpu-a")]


# Events and lists.


def test_what_a_list_does_not_have_is_gone() -> None:
    index = filled((NODES, FOUR), (PODS, pod("a", on="gpu-a")), (PODS, pod("b", on="gpu-a")))
    before = index.known(PODS)
    assert before == {"uid-a", "uid-b"}
    index.see(PODS, pod("c", on="gpu-a"), False)  # meanwhile
    assert index.relisted(PODS, before, {"uid-b"}) == 1
    assert index.known(PODS) == {"uid-b", "uid-c"}
    assert packed(index) == 1 - 1 / 4
    assert index.relisted(NODES, index.known(PODS), set()) == 0  # of another kind


def test_what_a_watch_saw_go_while_a_list_was_made_does_not_come_back() -> None:
    index = filled((NODES, FOUR), (PODS, pod("a", gpus=2, on="gpu-a")))
    before = index.known(PODS)
    index.see(PODS, pod("a", gpus=2, on="gpu-a"), True)
    index.see(PODS, pod("a", gpus=2, on="gpu-a"), False)  # the list is from before that
    index.relisted(PODS, before, {"uid-a"})
    assert packed(index) == 1 - 3 / 4
    assert index.known(PODS) == frozenset()


def test_an_older_state_of_an_object_is_no_news() -> None:
    index = filled((NODES, FOUR), (PODS, pod(on="gpu-a", phase="Succeeded", version=12)))
    index.see(PODS, pod(on="gpu-a", phase="Running", version=9), False)
    assert packed(index) == 1 - 3 / 4
    index.see(PODS, pod(on="gpu-a", phase="Running", version=12), False)
    assert packed(index) == 1 - 2 / 4


def test_versions_that_are_none_are_no_hindrance() -> None:
    index = filled((NODES, FOUR))
    for gpus, version in enumerate(("x", "9" * 5000, "9" * 40, "", "²", "7"), start=1):
        thing = pod(gpus=gpus, on="gpu-a", phase="Running")
        thing["metadata"]["resourceVersion"] = version
        index.see(PODS, thing, False)
        assert packed(index, asks=0) == 1 - max(0, 4 - gpus) / 4


@pytest.mark.parametrize("phase", [[], {}, None, 7])
def test_a_phase_that_is_no_word_is_none(phase: Any) -> None:
    thing = pod(on="gpu-a")
    thing["status"]["phase"] = phase
    assert packed(filled((NODES, FOUR), (PODS, thing))) == 1 - 2 / 4


def test_jobs_of_a_kind_that_may_not_be_read_any_more_are_not_known() -> None:
    index = filled((JOBS, job()), (MPI, job("mpi")))
    index.unreadable(JOBS)
    assert index.asked(pod(owner=owned_by("train"))).unknown is Unknowns.NO_JOB
    assert index.known(MPI) == {"uid-mpi"}


@pytest.mark.parametrize("order", list(permutations(range(4))))
def test_in_whatever_order_things_are_seen_the_same_is_known(order: tuple[int, ...]) -> None:
    events = [
        (NODES, FOUR),
        (JOBS, job("train-7")),
        (PROFILES, profile(record(back=INPUT_BOUND, cycle=PULSE))),
        (PODS, pod("train-7-0", on="gpu-a", owner=owned_by("train-7"))),
    ]
    index = filled(*(events[place] for place in order))
    index.see(*events[3], False)  # as a list, in which pods come last, does
    assert packed(index) == 1 - 2 / 4
    assert spared(index) == pytest.approx(0.4)
    assert index.counts() == {"nodes": 1, "pods": 1, "jobs": 1, "runs": 1}


def test_after_all_is_deleted_nothing_is_left() -> None:
    index = Index()
    events = [
        (NODES, FOUR),
        (JOBS, job("train", best=A10)),
        (MPI, job("mpi")),
        (PROFILES, profile(record(template="abc", back=INPUT_BOUND))),
        (PROFILES, profile(record("train-2"))),
        (PODS, pod("train-0", on="gpu-a", owner=owned_by("train"))),
        (PODS, pod("alone", on="gpu-a")),
        (PODS, pod("waits")),
    ]
    for _ in range(2):
        for served, thing in events:
            index.see(served, thing, False)
        assert sum(index.counts().values()) == 7
        for served, thing in events:
            before = index.known(served)
            index.see(served, thing, True)
            index.relisted(served, before, set())
        assert not any(index.counts().values())
        kept = {name: found for name, found in vars(index).items() if hasattr(found, "__len__")}
        assert {name: len(found) for name, found in kept.items()} == dict.fromkeys(kept, 0)
        assert not any(
            vars(index._runs).values()  # noqa: SLF001
        )


@settings(max_examples=30)
@given(
    st.lists(
        st.tuples(
            st.sampled_from("abc"),
            st.sampled_from([None, "gpu-a", "gpu-b"]),
            st.sampled_from(["Pending", "Running", "Succeeded"]),
            st.integers(0, 3),
            st.booleans(),
        ),
        max_size=12,
    )
)
def test_held_is_what_the_last_word_on_each_pod_says(events: list[Any]) -> None:
    index = filled((NODES, FOUR), (NODES, node("gpu-b", facts(*map(gpu, range(4))))))
    last: dict[str, tuple[str, int]] = {}
    for name, on, phase, gpus, deleted in events:
        index.see(PODS, pod(name, gpus, on=on, phase=phase), deleted)
        last.pop(name, None)
        if on and phase != "Succeeded" and not deleted:
            last[name] = (on, gpus)
    for place in ("gpu-a", "gpu-b"):
        held = sum(gpus for on, gpus in last.values() if on == place)
        assert packed(index, place, asks=0) == 1 - max(0, 4 - held) / 4


# What is known of a pod that has not started yet.


def test_a_pod_of_a_job_is_known_by_runs_of_the_same_name() -> None:
    runs = [profile(record("train-1", memory_gb=30.0)), profile(record("train-2", seconds=60.0))]
    index = filled((JOBS, job("train-3")), *((PROFILES, one) for one in runs))
    asked = index.asked(pod(gpus=2, owner=owned_by("train-3")))
    assert (asked.unknown, asked.forged, asked.best) == (None, False, None)
    assert str(asked.lineage) == "team/train"
    assert (asked.needs.gpus, asked.needs.runs, asked.needs.memory_gb) == (2, 2, 40.0)
    assert asked.needs.seconds == 1830.0


def test_runs_of_the_same_template_are_found_whatever_they_are_called() -> None:
    made = job("new-name")
    template = template_of({**made, "apiVersion": "batch/v1", "kind": "Job"})
    assert template is not None
    index = filled(
        (JOBS, made),
        (PROFILES, profile(record("other", series="other", template=template, memory_gb=7.0))),
        (PROFILES, profile(record("new-name-0", series="new-name", memory_gb=9.0))),
    )
    assert index.asked(pod(owner=owned_by("new-name"))).needs.memory_gb == 7.0
    index.see(PROFILES, profile(record("other", series="other", template=template)), True)
    assert index.asked(pod(owner=owned_by("new-name"))).needs.memory_gb == 9.0


def test_runs_of_another_namespace_tell_nothing() -> None:
    other = record(namespace="others")
    index = filled((JOBS, job()), (PROFILES, profile(other)))
    asked = index.asked(pod(owner=owned_by("train")))
    assert (asked.unknown, asked.needs) == (Unknowns.NO_RUNS, Needs(1))


def test_a_profile_in_one_namespace_says_nothing_of_jobs_in_another() -> None:
    forged = profile(record())
    forged["metadata"]["namespace"] = "others"
    index = filled((JOBS, job()), (PROFILES, forged))
    assert index.asked(pod(owner=owned_by("train"))).unknown is Unknowns.NO_RUNS


@pytest.mark.parametrize("served", [JOBS, MPI])
def test_a_pod_that_names_a_job_of_another_namespace_learns_nothing_of_it(served: Served) -> None:
    index = filled((served, job(best=A10)), (PROFILES, profile(record())))
    asked = index.asked(pod(owner=owned_by("train", served), namespace="others"))
    assert (asked.unknown, asked.lineage, asked.needs) == (Unknowns.NO_JOB, None, Needs(1))


def test_a_run_of_a_cron_job_is_known_by_its_others() -> None:
    cron = owned_by("nightly", Served("batch", "v1", "CronJob", "cronjobs"))
    index = filled(
        (JOBS, job("nightly-xyz", owner=cron)),
        (PROFILES, profile(record("nightly-1", series="nightly"))),
    )
    assert index.asked(pod(owner=owned_by("nightly-xyz"))).needs.runs == 1


def test_a_pod_of_a_launcher_is_of_the_job_that_made_it() -> None:
    index = filled(
        (MPI, job("bert")),
        (JOBS, job("bert-launcher", owner=owned_by("bert", MPI))),
        (PROFILES, profile(record("bert-1", series="bert"))),
    )
    asked = index.asked(pod(owner=owned_by("bert-launcher")))
    assert (str(asked.lineage), asked.needs.runs) == ("team/bert", 1)


def test_a_pod_of_nobody_is_known_by_others_of_its_name() -> None:
    index = filled((PROFILES, profile(record("probe-1", series="probe"))))
    asked = index.asked(pod("probe-2"))
    assert (str(asked.lineage), asked.needs.runs) == ("team/probe", 1)


@pytest.mark.parametrize(
    "thing",
    [
        pod(owner=owned_by("nobody-saw-it")),
        pod(owner=owned_by("web", Served("apps", "v1", "ReplicaSet", "replicasets"))),
        pod(owner=owned_by("flow", Served("argoproj.io", "v1", "Workflow", "workflows"))),
        {},
        {"metadata": {"name": "x"}},
    ],
)
def test_of_a_pod_of_no_job_that_is_known_nothing_is(thing: dict[str, Any]) -> None:
    asked = filled((PROFILES, profile(record()))).asked(thing)
    assert (asked.unknown, asked.lineage, asked.needs.runs) == (Unknowns.NO_JOB, None, 0)


def test_of_a_job_that_never_ran_nothing_is_known() -> None:
    asked = filled((JOBS, job())).asked(pod(gpus=4, owner=owned_by("train")))
    assert (asked.unknown, asked.needs) == (Unknowns.NO_RUNS, Needs(4))


# What trials found.


def test_where_a_trial_says_that_it_runs_best() -> None:
    index = filled(
        (NODES, node("a", kind=A100)), (NODES, node("b", kind=A10)), (JOBS, job(best=A10))
    )
    asked = index.asked(pod(owner=owned_by("train")))
    assert (asked.best, asked.unknown, asked.forged) == (BestPlacement(A10, 1, 1), None, False)
    assert asked.needs.speeds == {A10: 1.0, A100: NEXT_BEST}
    scores = index.judge(["a", "b"], asked.needs, NOW).score
    assert scores[1] > scores[0]


@pytest.mark.parametrize("manager", ["kubectl", "cepheid-agent", "cepheid-operator", ""])
def test_a_best_placement_that_no_trial_wrote_changes_nothing_and_is_told(manager: str) -> None:
    index = filled((NODES, node(kind=A10)), (JOBS, job(best=A10, manager=manager)))
    honest = filled((NODES, node(kind=A10)), (JOBS, job()))
    asked, plain = (one.asked(pod(owner=owned_by("train"))) for one in (index, honest))
    assert (asked.best, asked.forged, asked.needs) == (None, True, plain.needs)


def test_one_that_was_changed_by_somebody_else_afterwards_counts_as_theirs() -> None:
    made = job(best=A10)
    made["metadata"]["managedFields"][0]["operation"] = "Update"
    asked = filled((JOBS, made)).asked(pod(owner=owned_by("train")))
    assert (asked.best, asked.forged) == (None, True)


@pytest.mark.parametrize("text", ["?", '{"type":"A10"}', '{"type":"A10","workers":0,"gpus":1}'])
def test_a_best_placement_that_is_none_changes_nothing(text: str) -> None:
    made = job(annotations={f"{KEY}best-placement": text})
    asked = filled((JOBS, made)).asked(pod(owner=owned_by("train")))
    assert (asked.best, asked.forged, asked.needs) == (None, False, Needs(1))


def test_what_the_operator_wrote_on_a_job_is_no_forgery() -> None:
    made = job(annotations={f"{KEY}job-type": "training"}, manager="cepheid-operator")
    assert not filled((JOBS, made)).asked(pod(owner=owned_by("train"))).forged


def test_what_a_pod_claims_of_itself_changes_nothing_and_is_told() -> None:
    index = filled((NODES, node(kind=A10)), (JOBS, job()), (PROFILES, profile(record())))
    honest = index.asked(pod(owner=owned_by("train")))
    claims = {
        f"{KEY}best-placement": '{"type":"NVIDIA-A10","workers":1,"gpus":1}',
        f"{KEY}forecast": '{"horizon_s":600,"mem_peak_gb":0.1}',
        f"{KEY}gpu-0-health": "{}",
    }
    liar = pod(owner=owned_by("train"), annotations=claims)
    liar["metadata"]["managedFields"] = applied(claims, "cepheid-agent")
    found = index.asked(liar)
    assert (honest.forged, found.forged) == (False, True)
    assert (found.needs, found.best, found.unknown) == (honest.needs, None, None)


@pytest.mark.parametrize("key", sorted(OF_PEOPLE))
def test_what_people_are_asked_to_write_is_no_claim(key: str) -> None:
    asked = filled((JOBS, job())).asked(
        pod(owner=owned_by("train"), annotations={f"{KEY}{key}": "true"})
    )
    assert not asked.forged


def test_labels_and_others_annotations_are_no_claims() -> None:
    thing = pod(annotations={"example.com/ai.centaurus.io": "x", "ai.centaurus.iox/y": "z"})
    thing["metadata"]["labels"] = {f"{KEY}hog-exempt": "true"}
    assert not Index().asked(thing).forged


# What the pods of a node draw on it.


def hosts(*backs: HeldBackBy | None, cycle: Any = PULSE) -> Index:
    """Jobs beside each other, each by an earlier run of its own."""
    index = filled((NODES, FOUR))
    for name, back in zip("abcd", backs, strict=False):
        index.see(
            PROFILES, profile(record(f"{name}-1", series=name, back=back, cycle=cycle)), False
        )
        index.see(JOBS, job(f"{name}-2"), False)
        index.see(PODS, pod(f"{name}-2-0", on="gpu-a", owner=owned_by(f"{name}-2")), False)
    return index


def test_what_is_spared_is_the_time_in_which_none_of_them_draws() -> None:
    assert spared(hosts()) == 1.0
    assert spared(hosts(None, None)) == 1.0
    assert spared(hosts(INPUT_BOUND)) == pytest.approx(0.4)
    assert spared(hosts(INPUT_BOUND, None, INPUT_BOUND)) == pytest.approx(0.16)
    assert spared(hosts(INPUT_BOUND, cycle=None)) == 0.0


def test_pods_of_one_job_draw_together() -> None:
    index = hosts(INPUT_BOUND)
    index.see(PODS, pod("a-2-1", on="gpu-a", owner=owned_by("a-2")), False)
    assert spared(index) == pytest.approx(0.4)


def test_the_last_run_tells_how_a_job_draws_now() -> None:
    index = hosts(INPUT_BOUND)
    now = record("a-2", series="a", ended=None, outcome=Outcome.RUNNING)
    index.see(PROFILES, profile(now), False)
    assert spared(index) == 1.0
    index.see(PROFILES, profile(now), True)
    assert spared(index) == pytest.approx(0.4)


def test_who_ends_draws_no_more() -> None:
    index = hosts(INPUT_BOUND)
    index.see(PODS, pod("a-2-0", on="gpu-a", phase="Succeeded", owner=owned_by("a-2")), False)
    assert spared(index) == 1.0


def test_a_run_of_the_same_template_tells_also_if_it_comes_later() -> None:
    index = filled((NODES, FOUR), (JOBS, job()))
    index.see(PODS, pod(on="gpu-a", owner=owned_by("train")), False)
    template = template_of({**job(), "apiVersion": "batch/v1", "kind": "Job"})
    known = record("other", series="other", template=template, back=INPUT_BOUND, cycle=PULSE)
    index.see(PROFILES, profile(known), False)
    assert spared(index) == pytest.approx(0.4)


@pytest.mark.parametrize(
    "spoil",
    [
        {"gpuCount": 0},
        {"gpuCount": "many"},
        {"usage": None},
        {"outcome": "of a later version"},
        {"series": "another"},
    ],
)
def test_a_profile_that_changes_to_what_tells_nothing_of_the_job_is_forgotten(spoil: Any) -> None:
    index = hosts(INPUT_BOUND)
    known = profile(record("a-1", series="a", back=INPUT_BOUND, cycle=PULSE))
    index.see(PROFILES, known, False)
    index.see(PROFILES, {**known, **spoil}, False)
    assert spared(index) == 1.0
    assert index.asked(pod(owner=owned_by("a-2"))).unknown is Unknowns.NO_RUNS


def test_two_that_wait_for_data_are_kept_apart_while_pulses_that_leave_room_may_share() -> None:
    """From profiles to scores."""
    index = Index()
    short = HeldBackBy(kind="input", share_percent=20.0)
    jobs = {"always": (INPUT_BOUND, None), "pulse": (short, PULSE), "never": (None, None)}
    for name, (back, cycle) in jobs.items():
        index.see(NODES, node(f"on-{name}", facts(*map(gpu, range(4)))), False)
        known = record(f"{name}-1", series=name, back=back, cycle=cycle)
        index.see(PROFILES, profile(known), False)
        index.see(JOBS, job(f"{name}-2"), False)
        owner = owned_by(f"{name}-2")
        index.see(PODS, pod(f"{name}-2-0", on=f"on-{name}", owner=owner), False)
    names = [f"on-{name}" for name in jobs]
    scores = {}
    for name in jobs:
        asked = index.asked(pod("new", owner=owned_by(f"{name}-2")))
        scores[name] = index.judge(names, asked.needs, NOW).score.tolist()
    assert scores["always"][0] < scores["always"][1] < scores["always"][2]
    assert scores["never"][0] == scores["never"][1] == scores["never"][2]
    lost_by_sharing = scores["pulse"][2] - scores["pulse"][1]
    assert 0 < lost_by_sharing < (scores["always"][2] - scores["always"][0]) / 10


# Whatever anybody can write.

HOSTILE_PROFILES = spoilt(
    profile(record(template="a", back=INPUT_BOUND, cycle=PULSE)), profile(record("other"))
)
HOSTILE_NODES = spoilt(node("gpu-a", facts(gpu(0, pods=1, peak=50, util=40), gpu(1), cpu=10)))
THINGS = {
    NODES: HOSTILE_NODES,
    PODS: HOSTILE_PODS | spoilt(pod(on="gpu-a", owner=owned_by("train"))),
    PROFILES: HOSTILE_PROFILES,
    JOBS: HOSTILE | spoilt(job(best=T4)),
    MPI: HOSTILE,
}
QUESTIONS = (
    HOSTILE_PODS
    | spoilt(pod(owner=owned_by("train"), annotations={f"{KEY}x": "y"}))
    | st.dictionaries(st.text(max_size=8), ANYTHING, max_size=4)
)


@settings(max_examples=60)
@given(st.data())
def test_nothing_that_anybody_can_write_stops_it(data: st.DataObject) -> None:
    index = filled((NODES, FOUR), (JOBS, job()), (PROFILES, profile(record())))
    for _ in range(data.draw(st.integers(0, 4))):
        served = data.draw(st.sampled_from(list(THINGS)))
        index.see(served, data.draw(THINGS[served]), data.draw(st.booleans()))
    asked = index.asked(data.draw(QUESTIONS))
    found = index.judge(["gpu-a", "nowhere"], asked.needs, NOW)
    assert all(0 <= score <= 10 for score in found.scores.tolist())
    index.ignored(NOW)
    index.counts()


def test_what_a_trial_of_another_run_of_the_same_job_found_counts_until_that_is_gone() -> None:
    tried, later = job("train-1", best=A10), job("train-2")
    index = filled((NODES, node(kind=A10)), (JOBS, tried), (JOBS, later))
    pod_of_it = pod(owner=owned_by("train-2"))
    assert index.asked(pod_of_it).best == BestPlacement(A10, 1, 1)
    index.see(JOBS, tried, True)
    assert index.asked(pod_of_it).best is None


@pytest.mark.parametrize(("first", "second"), [("train-1", "train-2"), ("train-2", "train-1")])
def test_of_two_trials_the_one_of_the_later_run_counts(first: str, second: str) -> None:
    earlier, later = job(first, best=A100), job(second, best=A10)
    earlier["metadata"]["creationTimestamp"] = "2025-03-01T12:00:00Z"
    later["metadata"]["creationTimestamp"] = "2026-03-01T09:00:00Z"
    index = filled((NODES, node(kind=A10)), (JOBS, earlier), (JOBS, later), (JOBS, job("train-3")))
    assert index.asked(pod(owner=owned_by("train-3"))).best == BestPlacement(A10, 1, 1)


def test_profiles_and_placements_that_cannot_be_read_are_counted_while_they_stand() -> None:
    broken = {"metadata": {"name": "x", "namespace": "team", "uid": "u"}, "job": 7}
    odd = job("odd")
    keys = {f"{KEY}best-placement": "{'type': 'T4'}"}
    odd["metadata"] |= {"annotations": keys, "managedFields": applied(keys, "cepheid-trials")}
    index = filled((PROFILES, broken), (JOBS, odd))
    assert (index.unreadable_profiles(), index.malformed_placements()) == (1, 1)
    index.see(PROFILES, broken, True)
    index.see(JOBS, odd, True)
    assert (index.unreadable_profiles(), index.malformed_placements()) == (0, 0)
