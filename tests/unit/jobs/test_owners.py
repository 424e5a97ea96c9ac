"""From a pod to its job, along the chains that there are, and along those that should not be."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given

from cepheid.jobs.fields import Raw
from cepheid.jobs.owners import LeftAlone, Lookup, Owned, Reference, Unknown, Why, job_of, top_of
from tests.unit.jobs.strategies import HOSTILE, HOSTILE_PODS


def owner(version: str, kind: str, name: str, *, controller: bool = True) -> dict[str, Any]:
    return {
        "apiVersion": version,
        "kind": kind,
        "name": name,
        "uid": f"uid-{name}",
        "controller": controller,
    }


def thing(version: str, kind: str, name: str, *owners: dict[str, Any]) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "ns", "uid": f"uid-{name}"}
    return {
        "apiVersion": version,
        "kind": kind,
        "metadata": {**metadata, "ownerReferences": list(owners)},
    }


def among(*things: dict[str, Any]) -> Lookup:
    by_uid = {one["metadata"]["uid"]: one for one in things}
    return lambda reference, _: by_uid.get(reference.uid)


MPI = owner("kubeflow.org/v2beta1", "MPIJob", "mpi")
LAUNCHER = owner("batch/v1", "Job", "mpi-launcher")
JOB = owner("batch/v1", "Job", "job")
SET = owner("jobset.x-k8s.io/v1alpha2", "JobSet", "set")
TRAIN = owner("trainer.kubeflow.org/v1alpha1", "TrainJob", "train")
CLUSTER = owner("ray.io/v1", "RayCluster", "cluster")
RAY = owner("ray.io/v1", "RayJob", "ray")
CRON = owner("batch/v1", "CronJob", "nightly")
VOLCANO = owner("batch.volcano.sh/v1alpha1", "Job", "vc")
WORKFLOW = owner("argoproj.io/v1alpha1", "Workflow", "flow")
REPLICAS = owner("apps/v1", "ReplicaSet", "web")


def made(by: dict[str, Any], *owners: dict[str, Any]) -> dict[str, Any]:
    return thing(by["apiVersion"], by["kind"], by["name"], *owners)


THERE = among(
    made(MPI),
    made(LAUNCHER, MPI),
    made(JOB, SET),
    made(SET, TRAIN),
    made(TRAIN),
    made(CLUSTER, RAY),
    made(RAY),
    made(VOLCANO),
    made(owner("batch/v1", "Job", "nightly-29384756"), CRON),
    made(owner("batch/v1", "Job", "step"), WORKFLOW),
    made(owner("ray.io/v1", "RayCluster", "shared")),
)


@pytest.mark.parametrize(
    ("owners", "kind", "name", "series"),
    [
        ([MPI], "MPIJob", "mpi", None),
        ([LAUNCHER], "MPIJob", "mpi", None),
        ([JOB], "TrainJob", "train", None),
        ([CLUSTER], "RayJob", "ray", None),
        ([VOLCANO], "Job", "vc", None),
        ([owner("batch/v1", "Job", "nightly-29384756")], "Job", "nightly-29384756", "nightly"),
        # What made the job is not known, but the job is.
        ([owner("batch/v1", "Job", "step")], "Job", "step", None),
        # Owned by others, managed by one.
        ([owner("v1", "ConfigMap", "x", controller=False), MPI], "MPIJob", "mpi", None),
        ([owner("v1", "ConfigMap", "x", controller=False)], "Pod", "pod", None),
        ([], "Pod", "pod", None),
    ],
)
def test_a_pod_belongs_to_the_highest_job_above_it(
    owners: list[dict[str, Any]], kind: str, name: str, series: str | None
) -> None:
    found = job_of(thing("v1", "Pod", "pod", *owners), THERE)
    assert isinstance(found, Owned)
    assert (found.job.kind, found.job.name) == (kind, name)
    assert found.namespace == "ns"
    assert (found.series.name if found.series else None) == series
    assert (found.found is None) == (kind == "Pod")


@pytest.mark.parametrize(
    ("owners", "why", "kind"),
    [
        ([REPLICAS], Why.SERVICE, "ReplicaSet.apps"),
        ([owner("apps/v1", "StatefulSet", "db")], Why.SERVICE, "StatefulSet.apps"),
        ([owner("apps/v1", "DaemonSet", "agent")], Why.SERVICE, "DaemonSet.apps"),
        ([owner("v1", "Node", "n")], Why.SERVICE, "Node"),
        ([WORKFLOW], Why.UNKNOWN_KIND, "Workflow.argoproj.io"),
        ([CRON], Why.UNKNOWN_KIND, "CronJob.batch"),
        # A cluster that no RayJob made serves whoever comes.
        ([owner("ray.io/v1", "RayCluster", "shared")], Why.UNKNOWN_KIND, "RayCluster.ray.io"),
        ([owner("batch/v1", "Job", "away")], Why.GONE, "Job.batch"),
    ],
)
def test_what_is_no_job_is_left_alone(owners: list[dict[str, Any]], why: Why, kind: str) -> None:
    assert job_of(thing("v1", "Pod", "pod", *owners), THERE) == LeftAlone(why, kind)


def test_of_a_gone_kind_that_nothing_owns_the_reference_is_enough() -> None:
    found = job_of(thing("v1", "Pod", "pod", MPI), lambda *_: None)
    assert found == Owned(Reference("kubeflow.org/v2beta1", "MPIJob", "mpi", "uid-mpi"), "ns")


def test_an_object_that_was_made_again_is_not_the_owner() -> None:
    again = made(JOB)
    again["metadata"]["uid"] = "another"
    found = job_of(thing("v1", "Pod", "pod", JOB), lambda *_: again)
    assert found == LeftAlone(Why.GONE, "Job.batch")


def test_an_owner_that_may_not_be_read_is_left_alone() -> None:
    def lookup(reference: Reference, namespace: str) -> Raw | Unknown | None:
        return Unknown.FORBIDDEN if reference.kind == "MPIJob" else THERE(reference, namespace)

    found = job_of(thing("v1", "Pod", "pod", LAUNCHER), lookup)
    assert found == LeftAlone(Why.FORBIDDEN, "MPIJob.kubeflow.org")


def test_owners_that_own_each_other_end() -> None:
    circle = among(made(JOB, SET), made(SET, JOB))
    assert job_of(thing("v1", "Pod", "pod", JOB), circle) == LeftAlone(Why.ENDLESS, "Job.batch")


def test_too_many_owners_end() -> None:
    ladder = [owner("batch/v1", "Job", f"j{i}") for i in range(20)]
    rungs = among(*(made(low, high) for low, high in pairwise(ladder)))
    found = job_of(thing("v1", "Pod", "pod", ladder[0]), rungs)
    assert found == LeftAlone(Why.ENDLESS, "Job.batch")


def test_a_job_of_a_job_is_not_the_top() -> None:
    found = top_of(made(LAUNCHER, MPI), THERE)
    assert isinstance(found, Owned)
    assert found.job.kind == "MPIJob"
    own = top_of(made(VOLCANO), THERE)
    assert isinstance(own, Owned)
    assert own.job.name == "vc"


@given(HOSTILE_PODS, HOSTILE)
def test_hostile_objects_are_owned_or_left_alone(
    pod: dict[str, object], job: dict[str, object]
) -> None:
    for found in (job_of(pod, lambda *_: job), top_of(job, lambda *_: pod)):
        assert isinstance(found, Owned | LeftAlone)
