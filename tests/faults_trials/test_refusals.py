"""What cannot be tried is said at once, in the words of whoever refuses it."""

from typing import Any

import pytest

from cepheid.placementtrial import Phase
from tests.cluster.progress import ClusterError
from tests.faults_trials.conftest import Theatre
from tests.faults_trials.tried import IMAGE, LASTING, Team, Tried, begins, plays
from tests.stage.operator import Operator

RESTRICTED = {"pod-security.kubernetes.io/enforce": "restricted"}
LIMITS = {"nvidia.com/gpu": "1"}


def privileged(team: Team) -> Tried:
    context = {"privileged": True}
    limits = {"limits": LIMITS}
    container = {"name": "main", "image": IMAGE, "resources": limits, "securityContext": context}
    team.submit(containers=[container])
    return team.tries()


def reaching_the_host(team: Team) -> Tried:
    """And else as good as can be."""
    context = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    limits = {"limits": LIMITS}
    container = {"name": "main", "image": IMAGE, "resources": limits, "securityContext": context}
    team.submit(
        containers=[container],
        securityContext={"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        volumes=[{"name": "host", "hostPath": {"path": "/etc"}}],
    )
    return team.tries()


def of_another_namespace(team: Team) -> Tried:
    template = team.job() | {"metadata": {"name": "train", "namespace": "default"}}
    return team.tries(job={"apiVersion": "batch/v1", "kind": "Job", "template": template})


def of_an_unknown_kind(team: Team) -> Tried:
    return team.tries(job={"apiVersion": "kubeflow.org/v2beta1", "kind": "MPIJob", "name": "train"})


def without_gpus(team: Team) -> Tried:
    team.submit(containers=[{"name": "main", "image": IMAGE}])
    return team.tries()


@begins(privileged, labels=RESTRICTED)
def test_what_pod_security_forbids_is_refused_in_its_words(tried: Tried) -> None:
    _refused(tried, 'violates PodSecurity "restricted:latest": privileged')


@begins(reaching_the_host, labels=RESTRICTED)
def test_so_are_volumes_of_the_host(tried: Tried) -> None:
    _refused(
        tried, 'restricted volume types (volume "host" uses restricted volume type "hostPath")'
    )


@begins(of_another_namespace)
def test_a_job_of_another_namespace_is_refused(tried: Tried) -> None:
    _refused(tried, "is of another namespace", reason="CannotBeTried")


@begins(of_an_unknown_kind)
def test_a_kind_that_the_cluster_does_not_know_is_said_to_be_missing(tried: Tried) -> None:
    _refused(tried, "the cluster has no MPIJob of kubeflow.org/v2beta1", reason="CannotBeTried")


@begins(without_gpus)
def test_a_job_without_gpus_is_refused_with_a_hint(tried: Tried) -> None:
    _refused(tried, "no worker of the job asks for a GPU", reason="CannotBeTried")
    assert "hint: set resources.limits" in (tried.status().message or "")


def _refused(tried: Tried, words: str, reason: str = "Refused") -> None:
    status = tried.over()
    assert (status.phase, status.reason, status.trials) == (Phase.FAILED, reason, ())
    assert words in (status.message or "")
    assert [reason for reason, _ in tried.told("Failed")] == ["Failed"]
    assert tried.left() == []
    assert tried.team.held() == []


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"limits": {"trialSeconds": 5}}, "spec.limits.trialSeconds"),
        ({"limits": {"gpuHours": 0}}, "spec.limits.gpuHours"),
        ({"measure": {"by": "guess"}}, "spec.measure.by"),
        ({"job": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}, "can be tried:"),
        ({"optimise": {"goal": "cost"}}, "needs a price of every GPU type"),
    ],
)
def test_a_spec_that_makes_no_sense_is_refused_by_the_definition(
    theatre: Theatre, spec: dict[str, Any], words: str
) -> None:
    team = Team(theatre.stage, theatre.trainers, "default")
    with pytest.raises(ClusterError, match=words):
        team.tries(**spec)


def test_a_job_may_be_applied_a_moment_later(theatre: Theatre, operator: Operator) -> None:
    assert operator.running
    team = theatre.team()
    team.play(plays(period_seconds=None))
    tried = team.tries(**LASTING)
    waits = tried.until("waiting", lambda status: status.phase is Phase.WAITING)
    assert waits.message == "Job train is not there yet"
    team.submit()
    assert tried.runs().phase is Phase.RUNNING
    tried.delete()
    tried.all_gone()


def without_a_job(team: Team) -> Tried:
    return team.tries()


@begins(without_a_job)
def test_a_job_that_never_comes_is_said_to_be_missing(tried: Tried) -> None:
    status = tried.over()
    assert (status.phase, status.reason) == (Phase.FAILED, "TemplateGone")
    assert status.message == f"there is no Job train in {tried.team.name}"
