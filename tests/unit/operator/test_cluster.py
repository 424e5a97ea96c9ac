"""What is remembered of events and lists, in whatever order they come."""

import json
from datetime import UTC, datetime
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid_operator import cluster as module
from cepheid_operator.cluster import Cluster
from cepheid_operator.discovery import PODS, Served
from tests.unit.jobs.strategies import HOSTILE, HOSTILE_PODS

JOBS = Served("batch", "v1", "Job", "jobs")
MPI = Served("kubeflow.org", "v2beta1", "MPIJob", "mpijobs")
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
AT = "2026-03-01T11:00:00Z"


def make(**more: Any) -> Cluster:
    made = Cluster(clock=lambda: 0.0, wall=lambda: NOON, **more)
    for served in (JOBS, MPI, PODS):
        made.relisted(served, frozenset(), set())
    return made


def thing(name: str, owner: dict[str, Any] | None = None, version: int = 1, **more: Any) -> Any:
    metadata: dict[str, Any] = {
        "name": name,
        "namespace": "team",
        "uid": f"uid-{name}",
        "creationTimestamp": AT,
        "resourceVersion": str(version),
    }
    if owner is not None:
        metadata["ownerReferences"] = [owner]
    return {"metadata": metadata, **more}


def owned_by(name: str, kind: str = "Job", api_version: str = "batch/v1") -> dict[str, Any]:
    return {
        "apiVersion": api_version,
        "kind": kind,
        "name": name,
        "uid": f"uid-{name}",
        "controller": True,
    }


MPI_OWNER = owned_by("bert", "MPIJob", "kubeflow.org/v2beta1")
EVENTS = [
    (MPI, thing("bert", spec={"mpiReplicaSpecs": {}}), False),
    (JOBS, thing("bert-launcher", MPI_OWNER, spec={}), False),
    (PODS, thing("bert-worker-0", MPI_OWNER, status={"phase": "Running"}), False),
    (PODS, thing("bert-launcher-x", owned_by("bert-launcher"), status={"phase": "Running"}), False),
]


@pytest.mark.parametrize("order", list(permutations(range(4))))
def test_pods_find_their_job_in_whatever_order_they_are_seen(order: tuple[int, ...]) -> None:
    cluster = make()
    for place in order:
        cluster.see(*EVENTS[place])
    cluster.look_again()
    (run,) = cluster.runs.values()
    assert (run.job.kind, run.job.name) == ("MPIJob", "bert")
    assert sorted(pod.name for pod in run.pods.values()) == ["bert-launcher-x", "bert-worker-0"]
    assert not cluster.left_alone()


def test_a_pod_whose_owner_never_shows_up_is_not_waited_for_for_ever() -> None:
    now = [0.0]
    cluster = Cluster(clock=lambda: now[0], wall=lambda: NOON)
    cluster.relisted(JOBS, frozenset(), set())
    cluster.see(PODS, thing("a-0", owned_by("a")), False)
    for _ in range(3):
        now[0] += module.FORGET_SECONDS / 2
        cluster.look_again()
    cluster.see(JOBS, thing("a"), False)
    cluster.look_again()
    (run,) = cluster.runs.values()
    assert not run.pods


def test_what_a_list_says_is_not_believed_where_a_watch_knew_better_before() -> None:
    cluster = make()
    cluster.see(JOBS, thing("a", version=9, status={"succeeded": 1}), False)
    cluster.see(JOBS, thing("a", version=5, status={}), False)
    (run,) = cluster.runs.values()
    assert (run.raw() or {})["status"] == {"succeeded": 1}


def test_what_a_list_does_not_have_any_more_is_gone_and_keeps_its_last_state() -> None:
    cluster = make()
    cluster.see(JOBS, thing("a"), False)
    cluster.see(PODS, thing("a-0", owned_by("a"), status={"phase": "Running"}), False)
    for served in (JOBS, PODS):
        assert cluster.relisted(served, cluster.known(served), set()) == 1
    (run,) = cluster.runs.values()
    assert (run.deleted, run.there, len(run.pods)) == (NOON, set(), 1)


def test_what_came_while_the_list_was_made_is_not_gone() -> None:
    cluster = make()
    before = cluster.known(JOBS)
    cluster.see(JOBS, thing("a"), False)
    assert cluster.relisted(JOBS, before, set()) == 0
    assert [run.deleted for run in cluster.runs.values()] == [None]


def test_a_job_that_is_done_does_not_begin_anew() -> None:
    cluster = make(is_done=lambda uid: uid == "uid-a")
    cluster.see(JOBS, thing("a"), False)
    cluster.see(PODS, thing("a-0", owned_by("a")), False)
    assert not cluster.runs


@pytest.mark.parametrize(
    ("owner", "why"),
    [
        (owned_by("web", "ReplicaSet", "apps/v1"), "service"),
        (owned_by("flow", "Workflow", "argoproj.io/v1alpha1"), "unknown-kind"),
        (owned_by("ray", "RayCluster", "ray.io/v1"), "forbidden"),
    ],
)
def test_what_is_none_of_ours_is_counted_until_it_is_gone(owner: Any, why: str) -> None:
    cluster = make()
    pod = thing("it", owner)
    cluster.see(PODS, pod, False)
    cluster.see(PODS, pod, False)
    assert {str(cause): count for (cause, _), count in cluster.left_alone().items()} == {why: 1}
    assert not cluster.runs
    cluster.see(PODS, pod, True)
    assert not cluster.left_alone()


def test_a_job_without_end_keeps_the_last_of_its_pods(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_PODS", 3)
    cluster = make()
    cluster.see(JOBS, thing("a"), False)
    for number in range(6):
        pod = thing(f"a-{number}", owned_by("a"))
        pod["metadata"]["creationTimestamp"] = f"2026-03-01T11:0{number}:00Z"
        cluster.see(PODS, pod, True)
    (run,) = cluster.runs.values()
    assert sorted(pod.name for pod in run.pods.values()) == ["a-3", "a-4", "a-5"]


@pytest.mark.parametrize(
    ("served", "things"),
    [(PODS, HOSTILE_PODS), (JOBS, HOSTILE), (MPI, HOSTILE)],
    ids=lambda one: getattr(one, "plural", ""),
)
@given(data=st.data())
def test_nothing_that_anybody_can_write_stops_it(
    served: Served, things: st.SearchStrategy[dict[str, Any]], data: st.DataObject
) -> None:
    cluster = make()
    for hostile in data.draw(st.lists(things, max_size=3)):
        cluster.see(served, hostile, data.draw(st.booleans()))
    cluster.look_again()
    for run in cluster.changed():
        run.facts()
        json.dumps(run.raw())
    cluster.left_alone()
