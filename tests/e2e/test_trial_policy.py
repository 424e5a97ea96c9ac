"""What the operator may do for PlacementTrials, and so may whoever stole its token.

Tried from inside of a real pod with the operator's own account: the Deployment's, with a sleep in
place of the operator. It is given far more rights by RBAC than the manifest gives, so that what
refuses it is the admission policy alone.
"""

import copy
import json
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import yaml

from cepheid.placementtrial import Placement
from cepheid_operator.trials.copying.builders import Owner, trial_job, trial_pods
from cepheid_operator.trials.copying.template import read
from tests import REPOSITORY
from tests.cluster.kubectl import Kubectl
from tests.cluster.progress import ClusterError, wait_for
from tests.e2e.test_policy import APPLY, MERGE, Agent, Answer
from tests.e2e.workloads import IMAGE, T4, Manifest, mpi_job, pod_spec

MANIFEST = REPOSITORY / "manifests/cepheid.yaml"
TYPE = "nvidia.com/gpu.product"
JSON = "application/json"
FAR_TOO_MUCH = "cepheid-trial-policy-test"
EVERYTHING = {
    "": ("pods", "pods/eviction", "pods/exec", "pods/status", "pods/ephemeralcontainers"),
    "batch": ("jobs", "jobs/status"),
    "kubeflow.org": ("mpijobs", "mpijobs/status", "pytorchjobs", "pytorchjobs/status"),
}
PLACES = {
    "Job": "/apis/batch/v1/namespaces/{}/jobs",
    "MPIJob": "/apis/kubeflow.org/v1/namespaces/{}/mpijobs",
    "PyTorchJob": "/apis/kubeflow.org/v1/namespaces/{}/pytorchjobs",
}
ALL = pytest.mark.parametrize("kind", PLACES)


def plain_job(name: str) -> Manifest:
    template = {"spec": pod_spec(["1"], command=["sleep"])}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"suspend": True, "template": template},
    }


def pytorch_job(name: str) -> Manifest:
    replica = {
        "replicas": 1,
        "template": {"spec": pod_spec(["1"], command=["sleep"], name="pytorch")},
    }
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": name},
        "spec": {
            "runPolicy": {"suspend": True},
            "pytorchReplicaSpecs": {"Master": replica, "Worker": copy.deepcopy(replica)},
        },
    }


def suspended_mpi_job(name: str) -> Manifest:
    job = mpi_job(name, ["1"], workers=2)
    job["spec"]["runPolicy"]["suspend"] = True
    return job


JOBS = {"Job": plain_job, "MPIJob": suspended_mpi_job, "PyTorchJob": pytorch_job}


def trial(name: str = "bert", kind: str = "Job", **spec: Any) -> Manifest:
    job = {"apiVersion": JOBS[kind]("bert")["apiVersion"], "kind": kind, "name": "bert"}
    return {
        "apiVersion": "ai.centaurus.io/v1alpha1",
        "kind": "PlacementTrial",
        "metadata": {"name": name},
        "spec": {"job": job, "suspend": False, **spec},
    }


@dataclass(frozen=True)
class Stage:
    operator: Agent
    there: Kubectl
    uid: str

    def owner(self, namespace: str | None = None) -> Owner:
        return Owner(namespace=namespace or str(self.there.namespace), name="bert", uid=self.uid)

    def owner_that_tries(self, kind: str) -> Owner:
        name = f"tries-{kind.lower()}"
        self.there.apply(trial(name, kind))
        uid = self.there.get("placementtrial", name)["metadata"]["uid"]
        return Owner(namespace=str(self.there.namespace), name=name, uid=uid)

    def copied(self, kind: str, owner: Owner | None = None) -> Manifest:
        """A trial as the operator makes it, but that it stays suspended: nothing has to run."""
        made = trial_job(
            read(JOBS[kind]("bert"), type_label=TYPE),
            Placement(gpu_type=T4, workers=2),
            name=f"trial-{secrets.token_hex(3)}",
            owner=owner or self.owner(),
            type_label=TYPE,
            one_node=True,
            deadline_seconds=60,
            pending_seconds=60,
        )
        made["spec"].get("runPolicy", made["spec"])["suspend"] = True
        return made

    def make(self, job: Manifest, *, for_real: bool = False) -> Answer:
        """Whether it would be made; dry runs are admitted, or not, by the same policies."""
        path = PLACES[job["kind"]].format(job["metadata"]["namespace"])
        return self.operator.ask("POST", path + ("" if for_real else "?dryRun=All"), JSON, job)


def operator_pod(name: str) -> Manifest:
    """The Deployment's own pod, asleep; without its labels, so that nobody takes it for one."""
    documents = yaml.safe_load_all(MANIFEST.read_text())
    (deployment,) = (one for one in documents if one["kind"] == "Deployment")
    spec = deployment["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    spec["terminationGracePeriodSeconds"] = 0
    container |= {"image": IMAGE, "command": ["sleep", "infinity"]}
    container["resources"] = {"limits": {"memory": "64Mi"}}
    for probe in ("readinessProbe", "livenessProbe"):
        del container[probe]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "cepheid"},
        "spec": spec,
    }


@pytest.fixture(scope="module")
def installed(kubectl: Kubectl) -> Iterator[Kubectl]:
    """What users apply, but for what runs; and far too many rights. The former stays."""
    documents = yaml.safe_load_all(MANIFEST.read_text())
    kubectl.apply(*(one for one in documents if one["kind"] not in ("DaemonSet", "Deployment")))
    api = "rbac.authorization.k8s.io"
    rules = [
        {"apiGroups": [group], "resources": [*kinds], "verbs": ["*"]}
        for group, kinds in EVERYTHING.items()
    ]
    role = {"apiGroup": api, "kind": "ClusterRole", "name": FAR_TOO_MUCH}
    group = {"kind": "Group", "apiGroup": api, "name": "system:serviceaccounts:cepheid"}
    metadata = {"name": FAR_TOO_MUCH}
    kubectl.apply(
        {"apiVersion": f"{api}/v1", "kind": "ClusterRole", "metadata": metadata, "rules": rules},
        {
            "apiVersion": f"{api}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": metadata,
            "roleRef": role,
            "subjects": [group],
        },
    )
    yield kubectl.within("cepheid")
    kubectl("delete", f"clusterrole/{FAR_TOO_MUCH}", f"clusterrolebinding/{FAR_TOO_MUCH}")


@pytest.fixture(scope="module")
def stage(kubectl: Kubectl, installed: Kubectl) -> Iterator[Stage]:
    suffix = secrets.token_hex(3)
    there = kubectl.within(f"trials-{suffix}")
    metadata = {
        "name": there.namespace,
        "labels": {"pod-security.kubernetes.io/enforce": "restricted"},
    }
    kubectl.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
    wait_for("the default service account", lambda: there.get("serviceaccount", "default"))
    there.apply(trial())
    pod = f"trial-policy-{suffix}"
    kubectl.apply(operator_pod(pod))
    installed("wait", "--for=condition=Ready", "--timeout=120s", f"pod/{pod}")
    uid = there.get("placementtrial", "bert")["metadata"]["uid"]
    ready = Stage(Agent(installed, pod), there, uid)
    # An API server takes a policy into use a moment after it was written.
    owned = ready.copied("Job")
    wait_for("the policy of trials", lambda: ready.make(owned).status == 201)
    del owned["metadata"]["ownerReferences"]
    wait_for("the policy of trials", lambda: ready.make(owned).refused_by_policy)
    yield ready
    kubectl("delete", "namespace", str(there.namespace), "--wait=false")
    installed("delete", "pod", pod, "--wait=false")


@ALL
def test_the_operator_makes_a_trial_annotates_it_and_deletes_it(stage: Stage, kind: str) -> None:
    # The cluster's own operator deletes, of the kind that a PlacementTrial tries, what it did not
    # make itself; of other kinds it looks at none.
    made = stage.copied(kind, stage.owner_that_tries("MPIJob" if kind == "Job" else "Job"))
    answer = stage.make(made, for_real=True)
    assert answer.status == 201, answer
    path = f"{PLACES[kind].format(stage.there.namespace)}/{made['metadata']['name']}"
    notes = {
        "apiVersion": made["apiVersion"],
        "kind": kind,
        "metadata": {"annotations": {"ai.centaurus.io/job-type": "training"}},
    }
    query = "?fieldManager=cepheid-policy-test&force=true"
    assert stage.operator.ask("PATCH", path + query, APPLY, notes).status == 200
    changes: list[Manifest] = [
        {"spec": {"activeDeadlineSeconds": 9, "runPolicy": {"activeDeadlineSeconds": 9}}},
        {"metadata": {"ownerReferences": []}},
    ]
    for change in changes:
        answer = stage.operator.ask("PATCH", f"{path}?dryRun=All", MERGE, change)
        assert answer.refused_by_policy, answer
    answer = stage.operator.ask("DELETE", f"{path}?propagationPolicy=Background")
    assert answer.status == 200, answer


OTHER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "x"}
NOT_TRIALS: dict[str, tuple[str, Any, str]] = {
    "without an owner": ("ownerReferences", [], "no jobs but those of a PlacementTrial"),
    "of another kind": ("ownerReferences.0.kind", "ConfigMap", "no jobs but those of"),
    "of another group": ("ownerReferences.0.apiVersion", "v1", "no jobs but those of"),
    "not controlled by it": ("ownerReferences.0.controller", False, "no jobs but those of"),
    "of one that was made anew": ("ownerReferences.0.uid", "other", "another one has its name"),
    # A Job without any label would get those of its pods.
    "without the label": ("labels", {"x": "y"}, "has the label ai.centaurus.io/placement-trial"),
    "with the label of another": (
        "labels",
        {"ai.centaurus.io/placement-trial": "other"},
        "has the label",
    ),
}


@ALL
@pytest.mark.parametrize("what", NOT_TRIALS)
def test_the_operator_makes_no_job_that_is_no_trial(stage: Stage, kind: str, what: str) -> None:
    path, value, words = NOT_TRIALS[what]
    made = stage.copied(kind)
    part: Any = made["metadata"]
    *way, last = path.split(".")
    for key in way:
        part = part[int(key)] if key.isdigit() else part[key]
    part[last] = value
    answer = stage.make(made)
    assert answer.refused_by_policy, answer
    assert words in answer.text


@ALL
def test_a_second_owner_is_refused(stage: Stage, kind: str) -> None:
    made = stage.copied(kind)
    made["metadata"]["ownerReferences"].append(OTHER)
    assert stage.make(made).refused_by_policy


HEAVY: dict[str, dict[str, Any]] = {
    "a priority": {"priorityClassName": "system-cluster-critical"},
    "no priority class": {"priorityClassName": None},
    "no deadline": {"activeDeadlineSeconds": None},
    "a deadline that is none": {"activeDeadlineSeconds": 100_001},
    "a node": {"nodeName": "gpu-a"},
}


def pod_templates(job: Manifest) -> list[Manifest]:
    spec = job["spec"]
    roles = spec.get("mpiReplicaSpecs") or spec.get("pytorchReplicaSpecs")
    return [one["template"] for one in roles.values()] if roles else [spec["template"]]


@ALL
@pytest.mark.parametrize("what", HEAVY)
def test_no_pod_of_a_trial_has_precedence_or_is_without_end(
    stage: Stage, kind: str, what: str
) -> None:
    for at in range(len(pod_templates(stage.copied(kind)))):
        made = stage.copied(kind)
        spec = pod_templates(made)[at]["spec"]
        spec |= HEAVY[what]
        for key in [key for key, value in spec.items() if value is None]:
            del spec[key]
        answer = stage.make(made)
        assert answer.refused_by_policy, answer
        assert "priority class cepheid-trials" in answer.text


@ALL
def test_a_namespace_without_a_placementtrial_is_closed(stage: Stage, kind: str) -> None:
    made = stage.copied(kind, stage.owner("kube-system"))
    answer = stage.make(made)
    assert answer.status == 422, answer
    assert "no params found for policy binding" in answer.text


def test_what_is_suspended_or_aborted_gets_no_trials(kubectl: Kubectl, stage: Stage) -> None:
    name = f"stopped-{secrets.token_hex(3)}"
    kubectl("create", "namespace", name)
    there = kubectl.within(name)
    try:
        there.apply(trial(suspend=True))
        owner = Owner(
            namespace=name,
            name="bert",
            uid=there.get("placementtrial", "bert")["metadata"]["uid"],
        )

        def refused(words: str) -> bool:
            answer = stage.make(stage.copied("Job", owner))
            return answer.refused_by_policy and words in answer.text

        wait_for("the policy to see it", lambda: refused("is suspended or aborted"))
        there("patch", "pt", "bert", "--type=merge", '--patch={"spec":{"suspend":false}}')
        job = stage.copied("Job", owner)
        wait_for("the policy to see it", lambda: stage.make(job).status == 201)
        there("patch", "pt", "bert", "--type=merge", '--patch={"spec":{"abort":true}}')
        wait_for("the policy to see it", lambda: refused("is suspended or aborted"))
    finally:
        kubectl("delete", "namespace", name, "--wait=false")


@ALL
def test_the_operator_deletes_no_job_of_a_user(stage: Stage, kind: str) -> None:
    name = f"users-{kind.lower()}"
    stage.there.apply(JOBS[kind](name))
    path = f"{PLACES[kind].format(stage.there.namespace)}/{name}"
    answer = stage.operator.ask("DELETE", f"{path}?dryRun=All")
    assert answer.refused_by_policy, answer
    assert "deletes no jobs but those of a PlacementTrial" in answer.text
    status = {"status": {"active": 1}}
    answer = stage.operator.ask("PATCH", f"{path}/status?dryRun=All", MERGE, status)
    assert answer.refused_by_policy, answer


def pods_path(stage: Stage) -> str:
    return f"/api/v1/namespaces/{stage.there.namespace}/pods"


@ALL
def test_the_operator_asks_whether_pods_would_be_taken_and_makes_none(
    stage: Stage, kind: str
) -> None:
    for pod in trial_pods(stage.copied(kind)):
        answer = stage.operator.ask("POST", f"{pods_path(stage)}?dryRun=All", JSON, pod)
        assert answer.status == 201, answer
        answer = stage.operator.ask("POST", pods_path(stage), JSON, pod)
        assert answer.refused_by_policy, answer
    assert not stage.there.items("pods", "--selector=ai.centaurus.io/placement-trial")


def test_a_forbidden_pod_is_refused_as_the_namespace_would(stage: Stage) -> None:
    (pod,) = trial_pods(stage.copied("Job"))
    pod["spec"]["containers"][0]["securityContext"] = {"privileged": True}
    pod["spec"]["volumes"] = [{"name": "x", "hostPath": {"path": "/"}}]
    answer = stage.operator.ask("POST", f"{pods_path(stage)}?dryRun=All", JSON, pod)
    assert answer.status == 403, answer
    assert 'violates PodSecurity \\"restricted:latest\\"' in answer.text
    assert "privileged" in answer.text
    assert "hostPath" in answer.text


def test_nothing_is_done_to_a_pod(stage: Stage) -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "users"},
        "spec": pod_spec(["infinity"], gpus=0, command=["sleep"]),
    }
    stage.there.apply(pod)
    path = f"{pods_path(stage)}/users"
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "users"}}
    notes = {"metadata": {"annotations": {"ai.centaurus.io/x": "1"}}}
    for method, where, kind, body in (
        ("DELETE", "?dryRun=All", MERGE, None),
        ("PATCH", "?dryRun=All", MERGE, notes),
        ("PATCH", "/status?dryRun=All", MERGE, notes),
        ("POST", "/eviction?dryRun=All", JSON, eviction),
        ("POST", "/exec?command=true&stdout=true", MERGE, None),
    ):
        answer = stage.operator.ask(method, path + where, kind, body)
        assert answer.refused_by_policy, (where, answer)


@pytest.mark.parametrize(
    "policy",
    [
        "cepheid-operator-jobs",
        "cepheid-operator-pods",
        "cepheid-operator-trials",
        "cepheid-operator-trials-end",
    ],
)
def test_the_api_server_finds_no_mistake_in_the_types_of_a_policy(
    installed: Kubectl, policy: str
) -> None:
    def status() -> Any:
        found = installed.get("validatingadmissionpolicy", policy)
        seen = found.get("status", {})
        same = seen.get("observedGeneration") == found["metadata"]["generation"]
        return seen if same else None

    assert wait_for("a look at the policy", status)["typeChecking"] == {}


@pytest.mark.parametrize(
    ("role", "verbs"),
    [
        ("admin", {"get", "list", "watch", "create", "update", "patch", "delete"}),
        ("edit", {"get", "list", "watch", "create", "update", "patch", "delete"}),
        ("view", {"get", "list", "watch"}),
    ],
)
def test_who_may_make_pods_in_a_namespace_may_make_placementtrials(
    stage: Stage, role: str, verbs: set[str]
) -> None:
    user = f"{role}-{secrets.token_hex(3)}"
    stage.there("create", "rolebinding", user, f"--clusterrole={role}", f"--user={user}")

    def may(verb: str, what: str = "placementtrials", *more: str) -> bool:
        command = ("auth", "can-i", verb, what, *more, f"--as={user}")
        try:
            return stage.there(*command).strip() == "yes"
        except ClusterError:
            return False  # it says no by how it ends

    # The sum of the parts of a role is made by a controller.
    wait_for("the rights", lambda: may("list"))
    asked = ("get", "list", "watch", "create", "update", "patch", "delete")
    assert {verb for verb in asked if may(verb)} == verbs
    assert may("create", "pods") is ("create" in verbs)
    assert not may("patch", "placementtrials", "--subresource=status")
    thing = json.dumps(trial(user))
    create = ("create", "--filename=-", "--dry-run=server", f"--as={user}")
    if "create" in verbs:
        stage.there(*create, stdin=thing)
    else:
        with pytest.raises(ClusterError, match="is forbidden"):
            stage.there(*create, stdin=thing)
