"""What is made of an API server's answers: objects as they are, and as nobody would write them."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import httpx2
import pytest
from lightkube import Client
from lightkube.config.kubeconfig import KubeConfig
from lightkube.config.models import Cluster, User

from cepheid.annotations.api import ApiServer
from cepheid.doctor import belongings, looks, removing
from cepheid.doctor.facts import AgentPod, NodeSeen, Right, Unseen
from cepheid.doctor.rights import AGENT, OPERATOR
from tests.unit.manifests.files import AGENT as AGENTS
from tests.unit.manifests.files import INSTALL, objects, of_kind

Answers = dict[str, Any]
APPS = "/apis/apps/v1/namespaces/cepheid"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
GONE = {"kind": "Status", "status": "Failure", "code": 404, "message": "not found"}
NO = {"kind": "Status", "status": "Failure", "code": 403, "message": "not you"}


@contextmanager
def answering(
    answers: Answers, review: Callable[[Any], Any] | None = None, seen: list[str] | None = None
) -> Iterator[ApiServer]:
    """By path; what is not there is a 404, an integer that status, a list a list of objects."""

    def reply(request: httpx2.Request) -> httpx2.Response:
        if seen is not None:
            seen.append(f"{request.method} {request.url.path}")
        if request.method == "POST" and review is not None:
            return httpx2.Response(201, json=review(json.loads(request.content)))
        found = answers.get(request.url.path, 404)
        if isinstance(found, int):
            return httpx2.Response(found, json=NO if found == 403 else GONE)
        if isinstance(found, list):
            found = {"kind": "List", "metadata": {}, "items": found}
        return httpx2.Response(200, json=found)

    def connect() -> Client:
        config = KubeConfig.from_one(cluster=Cluster(server="http://127.0.0.1:9"), user=User())
        return Client(config, transport=httpx2.MockTransport(reply))

    with ApiServer(connect) as server:
        yield server


def test_the_agents_as_the_manifest_installs_them() -> None:
    counts = {"currentNumberScheduled": 3, "numberMisscheduled": 0}
    there = AGENTS | {"status": {**counts, "desiredNumberScheduled": 3, "numberReady": 2}}
    with answering({f"{APPS}/daemonsets/{AGENT}": there}) as server:
        found = looks.workload(server, AGENT, looks.DAEMON_SET)
        assert looks.workload(server, OPERATOR, looks.DEPLOYMENT) is None
    assert found is not None
    assert (found.wanted, found.ready, found.container) == (3, 2, "agent")
    assert found.image == "localhost/cepheid/agent:0.1.0"
    # The name of its node comes from the kubelet: it has no plain value.
    assert list(found.settings) == ["CEPHEID_PROMETHEUS_URL"]


def test_a_workload_without_a_status_is_ready_nowhere() -> None:
    with answering({f"{APPS}/daemonsets/{AGENT}": AGENTS}) as server:
        found = looks.workload(server, AGENT, looks.DAEMON_SET)
    assert found is not None
    assert (found.wanted, found.ready) == (0, 0)


def test_what_is_forbidden_is_unseen_with_the_reason() -> None:
    with answering({"/api/v1/nodes": 403}) as server:
        found = looks.seen(lambda: looks.nodes(server))
    assert isinstance(found, Unseen)
    assert found.is_forbidden
    assert "listing nodes: 403" in found.why


def test_pods_of_agents_say_why_they_do_not_run() -> None:
    def pod(name: str, status: dict[str, Any], node: str | None = None) -> dict[str, Any]:
        spec: dict[str, Any] = {"containers": [{"name": "agent"}]}
        return {
            "metadata": {"name": name},
            "spec": spec | ({} if node is None else {"nodeName": node}),
            "status": status,
        }

    ready = {"conditions": [{"type": "Ready", "status": "True"}]}
    state = {"waiting": {"reason": "ImagePullBackOff"}}
    container = {"name": "a", "image": "", "imageID": "", "ready": False, "restartCount": 0}
    pulling = {"containerStatuses": [container | {"state": state}]}
    refused = {"conditions": [{"type": "PodScheduled", "status": "False", "message": "no room"}]}
    there = [pod("a", ready, "gpu-a"), pod("b", pulling, "gpu-b"), pod("c", refused), pod("d", {})]
    with answering({"/api/v1/namespaces/cepheid/pods": there}) as server:
        assert looks.agent_pods(server) == (
            AgentPod("a", "gpu-a", True),
            AgentPod("b", "gpu-b", False, "ImagePullBackOff"),
            AgentPod("c", "", False, "no room"),
            AgentPod("d", "", False),
        )


def test_nodes_with_what_they_offer_and_until_when_they_count() -> None:
    until = {"ai.centaurus.io/valid-until": "2026-03-01T10:20:00Z"}
    there = [
        {
            "metadata": {"name": "gpu-a", "annotations": until},
            "status": {
                "capacity": {"nvidia.com/gpu": "4", "amd.com/gpu": "2"},
                "addresses": [{"type": "InternalIP", "address": "192.0.2.7"}],
            },
        },
        {"metadata": {"name": "odd", "annotations": {**until, next(iter(until)): "soon"}}},
        {"metadata": {"name": "odder"}, "status": {"capacity": {"nvidia.com/gpu": "1e99"}}},
    ]
    with answering({"/api/v1/nodes": there}) as server:
        assert looks.nodes(server) == (
            NodeSeen("gpu-a", 6, ("192.0.2.7",), datetime(2026, 3, 1, 10, 20, tzinfo=UTC)),
            NodeSeen("odd"),
            NodeSeen("odder"),
        )


@pytest.mark.parametrize(("limits", "name"), [({"nvidia.com/gpu": "1"}, "team/b"), ({}, None)])
def test_a_pod_that_holds_a_gpu(limits: dict[str, str], name: str | None) -> None:
    def pod(one: str, resources: dict[str, Any] | None) -> dict[str, Any]:
        container = {"name": "c"} | ({} if resources is None else {"resources": resources})
        return {"metadata": {"name": one, "namespace": "team"}, "spec": {"containers": [container]}}

    there = [pod("a", None), pod("b", {"limits": limits})]
    with answering({"/api/v1/pods": there}) as server:
        assert looks.gpu_pod(server) == name


def test_a_definition_as_it_is_installed_and_as_nobody_would_write_it() -> None:
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    well = of_kind(INSTALL, "CustomResourceDefinition")[0]
    established = {"conditions": [{"type": "Established", "status": "True"}]}
    odd = {"metadata": {"name": "b"}, "spec": {"versions": [{"name": "v1alpha1", "served": True}]}}
    answers = {f"{path}/a": well | {"status": established}, f"{path}/b": odd}
    with answering(answers) as server:
        found, other = looks.definition(server, "a"), looks.definition(server, "b")
        assert looks.definition(server, "c") is None
    assert found is not None
    assert (found.served, found.is_established) == (("v1alpha1",), True)
    assert {"job.name", "outcome"} <= found.fields
    assert other is not None
    assert (other.is_established, other.fields) == (False, frozenset())


def test_only_policies_that_are_bound_and_deny_count() -> None:
    base = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolic"
    there = [{"metadata": {"name": name}} for name in "abc"]
    bound = [
        {"metadata": {"name": "x"}, "spec": {"policyName": "a", "validationActions": ["Deny"]}},
        {"metadata": {"name": "y"}, "spec": {"policyName": "b", "validationActions": ["Audit"]}},
    ]
    with answering({f"{base}ies": there, f"{base}ybindings": bound}) as server:
        assert looks.policies(server) == {"a"}


def test_rights_are_asked_one_by_one_with_the_groups_of_an_account() -> None:
    asked: list[Any] = []

    def review(body: Any) -> Any:
        asked.append(body)
        what = body["spec"]["resourceAttributes"]
        return body | {"status": {"allowed": what["resource"] != "services"}}

    wanted = [Right("list", "", "nodes"), Right("get", "", "services/proxy", "watching")]
    with answering({}, review) as server:
        assert looks.missing(server, wanted, AGENT) == (wanted[1],)
        assert looks.missing(server, wanted) == (wanted[1],)
    assert [one["kind"] for one in asked] == ["SubjectAccessReview"] * 2 + [
        "SelfSubjectAccessReview"
    ] * 2
    assert asked[0]["spec"]["user"] == "system:serviceaccount:cepheid:cepheid-agent"
    assert "system:serviceaccounts:cepheid" in asked[0]["spec"]["groups"]
    assert asked[1]["spec"]["resourceAttributes"] == {
        "verb": "get",
        "group": "",
        "resource": "services",
        "subresource": "proxy",
        "namespace": "watching",
    }


def test_who_asks_is_named_by_the_server() -> None:
    with answering({}, lambda body: body | {"status": {"userInfo": {"username": "ann"}}}) as server:
        assert looks.user(server) == "ann"


def test_a_date_that_is_none_says_nothing_of_a_clock() -> None:
    assert looks._ahead("Sun, 01 Mar 2026 10:00:00 GMT", 1772359200.0) == 0.5  # noqa: SLF001
    for odd in ("", "soon", "Sun, 99 Mar 2026 10:00:00 GMT"):
        assert looks._ahead(odd, 0.0) is None  # noqa: SLF001


def as_installed() -> Answers:
    """All objects of the manifest, as lists of their kind."""
    answers: Answers = {}
    for one in objects(INSTALL):
        group, _, version = one["apiVersion"].rpartition("/")
        base = f"/apis/{group}/{version}" if group else f"/api/{version}"
        space = one["metadata"].get("namespace")
        kind = one["kind"].lower()
        plural = f"{kind[:-1]}ies" if kind.endswith("y") else f"{kind}{'es' * kind.endswith('ss')}"
        plural = plural if plural.endswith("s") else f"{plural}s"
        within = "" if space is None else f"/namespaces/{space}"
        answers.setdefault(f"{base}{within}/{plural}", []).append(one)
    (space,) = answers["/api/v1/namespaces"]
    return answers | {f"/api/v1/namespaces/{space['metadata']['name']}": space}


def test_a_plan_has_every_object_of_the_manifest_the_workloads_first() -> None:
    answers = as_installed() | {"/api/v1/namespaces/cepheid/pods": []}
    with answering(answers) as server:
        plan = belongings.plan(server)
    named = [f"{one.kind.__name__}/{one.name}" for one in (*plan.workloads, *plan.rest)]
    assert sorted(named) == sorted(f"{o['kind']}/{o['metadata']['name']}" for o in objects(INSTALL))
    assert {one.kind.__name__ for one in plan.workloads} == {"DaemonSet", "Deployment"}
    assert named[-1] == "Namespace/cepheid"
    assert plan.kept == ()


def test_a_namespace_without_our_label_stays_and_what_is_ours_in_it_goes() -> None:
    answers = as_installed() | {"/api/v1/namespaces/cepheid/pods": []}
    answers["/api/v1/namespaces/cepheid"] = {"metadata": {"name": "cepheid"}}
    with answering(answers) as server:
        plan = belongings.plan(server)
    assert plan.kept == ("Namespace cepheid: it has not our label",)
    assert len(plan.workloads) == 2
    assert "Namespace" not in {one.kind.__name__ for one in plan.rest}


def test_what_may_not_be_listed_is_said_and_the_rest_is_planned() -> None:
    answers = as_installed() | {
        f"{RBAC}/clusterroles": 403,
        "/api/v1/namespaces/cepheid/pods": [],
    }
    with answering(answers) as server:
        plan = belongings.plan(server)
    assert len(plan.unseen) == 1
    assert "listing ClusterRoles: 403" in plan.unseen[0]
    assert "ClusterRole" not in {one.kind.__name__ for one in plan.rest}
    assert "ClusterRoleBinding" in {one.kind.__name__ for one in plan.rest}


def test_one_that_cannot_be_deleted_does_not_keep_the_others() -> None:
    answers = as_installed() | {"/api/v1/namespaces/cepheid/pods": [], "/api/v1/nodes": []}
    answers |= {"/api/v1/pods": []}
    requests: list[str] = []
    with answering(answers, seen=requests) as server:
        plan = belongings.plan(server)
        refused = plan.rest[0]
        # To delete is to ask for a path that is not there, which is gone; this one says no.
        answers[_path(refused)] = 403
        done = removing.carry_out(server, plan, [])
    assert [words.partition(":")[0] for words in done.failed] == [
        "asking which kinds there are",  # of jobs: nobody answers that here
        f"deleting {refused}",
    ]
    deleted = [one for one in requests if one.startswith("DELETE")]
    assert len(deleted) == len(plan.workloads) + len(plan.rest)
    assert (done.cleared, done.still_there) == (0, [])
    assert done.deleted == 1  # the namespace, the one path that is there


def _path(one: belongings.Belonging) -> str:
    assert one.kind.__name__ == "PodDisruptionBudget"
    return f"/apis/policy/v1/namespaces/{one.namespace}/poddisruptionbudgets/{one.name}"
