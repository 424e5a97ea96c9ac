"""What an agent may do to a cluster, tried from inside of real pods with its own account.

The pods are those of the DaemonSet, with a sleep in place of the agent. They are given far more
rights by RBAC than the manifest gives, so that what refuses them is the admission policy alone.
"""

import json
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
import yaml

from tests import REPOSITORY
from tests.cluster.kubectl import Kubectl
from tests.cluster.progress import wait_for
from tests.e2e.workloads import IMAGE, Manifest, pod, pod_spec

MANIFESTS = REPOSITORY / "manifests"
ACCOUNT = "system:serviceaccount:cepheid:cepheid-agent"
UNINSTALL = "system:serviceaccount:cepheid-uninstall:cepheid-uninstall"
OURS, FOREIGN = "ai.centaurus.io/policy-test", "policy.test/foreign"
REFUSED = 422  # by a policy; RBAC would say 403
FAR_TOO_MUCH = "cepheid-policy-test"
EVERYTHING = (  # RBAC knows no pods/*
    *("nodes", "nodes/proxy", "nodes/status"),
    *("pods", "pods/binding", "pods/ephemeralcontainers", "pods/eviction", "pods/exec"),
    *("pods/portforward", "pods/proxy", "pods/resize", "pods/status"),
)

APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"

# With nothing but what every image with Python has. Says what the API server answered.
REQUEST = """
import http.client, json, os, ssl, sys
method, path, kind, body, token = json.load(sys.stdin)
folder = "/var/run/secrets/kubernetes.io/serviceaccount"
token = token or open(folder + "/token").read()
server = http.client.HTTPSConnection(
    os.environ["KUBERNETES_SERVICE_HOST"], int(os.environ["KUBERNETES_SERVICE_PORT"]),
    timeout=30, context=ssl.create_default_context(cafile=folder + "/ca.crt"))
headers = {"Authorization": "Bearer " + token, "Content-Type": kind}
server.request(method, path, body=json.dumps(body) if body else None, headers=headers)
answer = server.getresponse()
json.dump([answer.status, answer.read().decode(errors="replace")], sys.stdout)
"""


@dataclass(frozen=True)
class Answer:
    status: int
    text: str

    @property
    def refused_by_policy(self) -> bool:
        return self.status == REFUSED and "ValidatingAdmissionPolicy 'cepheid-" in self.text


@dataclass(frozen=True)
class Thing:
    """A Node or a Pod, and where the API server has it."""

    kind: str
    name: str
    path: str


@dataclass(frozen=True)
class Agent:
    """A pod of the agent's account, and the token that it shows: its own, or another."""

    kubectl: Kubectl
    pod: str
    token: str = ""

    def ask(self, method: str, path: str, kind: str = MERGE, body: Any = None) -> Answer:
        said = self.kubectl(
            *("exec", "--stdin", self.pod, "--", "python3", "-c", REQUEST),
            stdin=json.dumps([method, path, kind, body, self.token]),
        )
        return Answer(*json.loads(said))

    def annotate(self, thing: Thing, notes: dict[str, str | None]) -> Answer:
        """As the agent does it: server-side apply, by force."""
        body = {"apiVersion": "v1", "kind": thing.kind, "metadata": {"annotations": notes}}
        query = "?fieldManager=cepheid-policy-test&force=true"
        return self.ask("PATCH", thing.path + query, APPLY, body)

    def try_patch(self, thing: Thing, body: Any, kind: str = MERGE) -> Answer:
        """Whether it would be allowed: nothing is broken where it should not have been."""
        return self.ask("PATCH", f"{thing.path}?dryRun=All", kind, body)


@dataclass(frozen=True)
class Stage:
    here: Agent
    there: Agent  # the same on another node
    node: Thing
    other_node: Thing
    pod: Thing
    other_pod: Thing  # on that other node
    waiting_pod: Thing  # on none
    namespace: Kubectl


def node_thing(name: str) -> Thing:
    return Thing("Node", name, f"/api/v1/nodes/{name}")


def pod_thing(name: str, namespace: Kubectl) -> Thing:
    return Thing("Pod", name, f"/api/v1/namespaces/{namespace.namespace}/pods/{name}")


def documents(name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((MANIFESTS / name).read_text()))


def without_workloads(name: str) -> list[dict[str, Any]]:
    """Accounts, rights and policies; the namespace first."""
    return [thing for thing in documents(name) if thing["kind"] not in ("DaemonSet", "Job")]


@pytest.fixture(scope="module")
def installed(kubectl: Kubectl) -> Kubectl:
    """What users apply, but for the agent itself. It stays, as all that is installed."""
    kubectl.apply(*without_workloads("cepheid.yaml"))
    return kubectl.within("cepheid")


@pytest.fixture(scope="module")
def far_too_much(kubectl: Kubectl) -> Iterator[None]:
    """Every right on nodes and pods, for all accounts of both namespaces."""
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": FAR_TOO_MUCH},
        "rules": [{"apiGroups": [""], "resources": [*EVERYTHING], "verbs": ["*"]}],
    }
    # To the group, so that what the manifest gives to the account itself can still be asked.
    groups = ["system:serviceaccounts:cepheid", "system:serviceaccounts:cepheid-uninstall"]
    api = "rbac.authorization.k8s.io"
    binding = {
        "apiVersion": f"{api}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": FAR_TOO_MUCH},
        "roleRef": {"apiGroup": api, "kind": "ClusterRole", "name": FAR_TOO_MUCH},
        "subjects": [{"kind": "Group", "apiGroup": api, "name": group} for group in groups],
    }
    kubectl.apply(role, binding)
    yield
    kubectl("delete", f"clusterrole/{FAR_TOO_MUCH}", f"clusterrolebinding/{FAR_TOO_MUCH}")


def agent_pod(name: str, node: str) -> dict[str, Any]:
    """The DaemonSet's own pod on a node, asleep; without its labels, so that nobody scrapes it."""
    (daemon_set,) = (d for d in documents("cepheid.yaml") if d["kind"] == "DaemonSet")
    spec = daemon_set["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    spec["nodeSelector"] = {"kubernetes.io/hostname": node}
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
def stage(kubectl: Kubectl, installed: Kubectl, far_too_much: None) -> Iterator[Stage]:
    del far_too_much
    nodes = kubectl.items("nodes", "--selector=nvidia.com/gpu.present=true")
    names = [node["metadata"]["name"] for node in nodes][:2]
    suffix = secrets.token_hex(3)
    victims = kubectl.within(f"policy-{suffix}")
    kubectl("create", "namespace", str(victims.namespace))
    wait_for("the default service account", lambda: victims.get("serviceaccount", "default"))
    agents = [f"policy-{node}-{suffix}" for node in names]
    kubectl.apply(*(agent_pod(agent, node) for agent, node in zip(agents, names, strict=True)))
    places = {"here": names[0], "there": names[1], "nowhere": "no-such-node"}
    for name, node in places.items():
        sleeper = pod_spec(
            ["infinity"], gpus=0, command=["sleep"], selector={"kubernetes.io/hostname": node}
        )
        victim = pod(name, sleeper)
        victim["metadata"]["annotations"] = {FOREIGN: "kept"}
        victims.apply(victim)
    for node in names:
        kubectl("annotate", "node", node, f"{FOREIGN}=kept", "--overwrite")
    installed("wait", "--for=condition=Ready", "--timeout=120s", *(f"pod/{a}" for a in agents))
    victims("wait", "--for=condition=Ready", "--timeout=120s", "pod/here", "pod/there")
    ready = Stage(
        here=Agent(installed, agents[0]),
        there=Agent(installed, agents[1]),
        node=node_thing(names[0]),
        other_node=node_thing(names[1]),
        pod=pod_thing("here", victims),
        other_pod=pod_thing("there", victims),
        waiting_pod=pod_thing("nowhere", victims),
        namespace=victims,
    )
    label = {"metadata": {"labels": {"policy.test/in-force": "yes"}}}
    for thing in (ready.node, ready.pod):
        # An API server takes a policy into use a moment after it was written.
        wait_for("the policies", lambda: ready.here.try_patch(thing, label).refused_by_policy)  # noqa: B023
    yield ready
    for node in names:
        kubectl("annotate", "node", node, f"{FOREIGN}-", f"{OURS}-")
    kubectl("delete", "namespace", str(victims.namespace), "--wait=false")
    installed("delete", "pod", *agents, "--wait=false")


def named(stage: Stage, name: str) -> Thing:
    thing: Thing = getattr(stage, name)
    return thing


def annotations(kubectl: Kubectl, thing: Thing) -> dict[str, str]:
    found: dict[str, str] = kubectl.get(thing.kind, thing.name)["metadata"].get("annotations", {})
    return found


BOTH = pytest.mark.parametrize("own", ["node", "pod"])


@BOTH
def test_an_agent_annotates_its_own_node_and_the_pods_on_it_and_takes_it_back(
    stage: Stage, own: str
) -> None:
    thing = named(stage, own)
    assert stage.here.annotate(thing, {OURS: "1"}).status == 200
    assert annotations(stage.namespace, thing)[OURS] == "1"
    assert stage.here.annotate(thing, {OURS: '{"changed":true}'}).status == 200
    assert stage.here.annotate(thing, {}).status == 200
    left = annotations(stage.namespace, thing)
    assert OURS not in left
    assert left[FOREIGN] == "kept"


@pytest.mark.parametrize("other", ["other_node", "other_pod", "waiting_pod"])
def test_an_agent_is_refused_what_is_not_on_its_node(stage: Stage, other: str) -> None:
    answer = stage.here.annotate(named(stage, other), {OURS: "1"})
    assert answer.refused_by_policy, answer
    assert "that the agent's token is bound to" in answer.text


def test_a_stolen_token_is_worth_no_more_than_where_it_was_stolen(stage: Stage) -> None:
    """A thief on one node, with the token of another node's agent."""
    account = ["create", "token", "cepheid-agent", "--bound-object-kind=Pod"]
    loot = stage.there.kubectl(*account, f"--bound-object-name={stage.there.pod}").strip()
    thief = replace(stage.here, token=loot)
    for thing in (stage.node, stage.pod):
        assert thief.annotate(thing, {OURS: "1"}).refused_by_policy
    label = {"metadata": {"labels": {"policy.test/lure": "yes"}}}
    for thing in (stage.other_node, stage.other_pod):
        assert thief.try_patch(thing, label).refused_by_policy
        assert thief.annotate(thing, {OURS: "1"}).status == 200  # all that it is worth


@BOTH
def test_a_token_that_is_bound_to_no_pod_is_refused_everywhere(stage: Stage, own: str) -> None:
    unbound = stage.here.kubectl("create", "token", "cepheid-agent").strip()
    answer = replace(stage.here, token=unbound).annotate(named(stage, own), {OURS: "1"})
    assert answer.refused_by_policy, answer


OWNER = {"apiVersion": "v1", "kind": "Node", "name": "x", "uid": "x"}
FORBIDDEN_METADATA = {
    "a label": {"labels": {"policy.test/lure": "yes"}},
    "a label of our own domain": {"labels": {"ai.centaurus.io/lure": "yes"}},
    "a label taken away": {"labels": None},
    "a finalizer": {"finalizers": ["policy.test/never"]},
    "an owner": {"ownerReferences": [OWNER]},
    "a generateName": {"generateName": "lure-"},
    "a foreign annotation": {"annotations": {"policy.test/new": "yes"}},
    "a foreign annotation changed": {"annotations": {FOREIGN: "changed"}},
    "a foreign annotation removed": {"annotations": {FOREIGN: None}},
    "all annotations removed": {"annotations": None},
    "a subdomain that looks like ours": {"annotations": {"ai.centaurus.io.evil.test/x": "1"}},
    "a domain that ends like ours": {"annotations": {"evil-ai.centaurus.io/x": "1"}},
    "ours, and a label with it": {"annotations": {OURS: "1"}, "labels": {"policy.test/x": "y"}},
    "an annotation that is too long": {"annotations": {OURS: "x" * (139 - len(OURS))}},
    "too many annotations": {"annotations": {f"ai.centaurus.io/n{i}": "1" for i in range(701)}},
}


@BOTH
@pytest.mark.parametrize("what", FORBIDDEN_METADATA)
def test_an_agent_changes_no_other_metadata(stage: Stage, own: str, what: str) -> None:
    answer = stage.here.try_patch(named(stage, own), {"metadata": FORBIDDEN_METADATA[what]})
    if what == "a label taken away" and own == "pod":
        assert answer.status == 200  # it had none
    else:
        assert answer.refused_by_policy, answer


@BOTH
def test_an_annotation_as_long_as_the_contract_allows_is_accepted(stage: Stage, own: str) -> None:
    longest = {"metadata": {"annotations": {OURS: "x" * (138 - len(OURS))}}}
    assert stage.here.try_patch(named(stage, own), longest).status == 200


EXTRA_TOLERATION = [{"key": "policy.test/x", "operator": "Exists"}]
FORBIDDEN_SPEC: dict[str, tuple[str, Any]] = {
    "an image": ("pod", {"containers": [{"name": "main", "image": "evil"}]}),
    "a deadline": ("pod", {"activeDeadlineSeconds": 1}),
    "unschedulable": ("node", {"unschedulable": True}),
    "a taint": ("node", {"taints": [{"key": "policy.test/x", "effect": "NoExecute"}]}),
    "a provider": ("node", {"providerID": "evil://x"}),
}


@pytest.mark.parametrize("what", FORBIDDEN_SPEC)
def test_an_agent_changes_no_spec(stage: Stage, what: str) -> None:
    own, spec = FORBIDDEN_SPEC[what]
    answer = stage.here.try_patch(named(stage, own), {"spec": spec}, STRATEGIC)
    assert answer.refused_by_policy, answer


def test_an_agent_adds_no_toleration_to_a_pod(stage: Stage) -> None:
    (found,) = stage.namespace.items("pods", "--field-selector=metadata.name=here")
    tolerations = found["spec"]["tolerations"] + EXTRA_TOLERATION
    answer = stage.here.try_patch(stage.pod, {"spec": {"tolerations": tolerations}})
    assert answer.refused_by_policy, answer


@BOTH
def test_status_that_is_sent_along_stays_as_it_was(stage: Stage, own: str) -> None:
    """The API server drops it before the policy sees it; the way to it is the subresource."""
    thing = named(stage, own)
    answer = stage.here.ask("PATCH", thing.path, MERGE, {"status": {"phase": "Lured"}})
    assert answer.status == 200
    assert stage.namespace.get(thing.kind, thing.name)["status"].get("phase") != "Lured"


EPHEMERAL = {"spec": {"ephemeralContainers": [{"name": "x", "image": "evil"}]}}
BINDING = {"apiVersion": "v1", "kind": "Binding", "target": {"kind": "Node", "name": "x"}}
EVICTION = {"apiVersion": "policy/v1", "kind": "Eviction"}
CPU = {"spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "20m"}}}]}}
FORBIDDEN_SUBRESOURCES: Sequence[tuple[str, str, str, str, Any]] = (
    ("node", "PATCH", "/status?dryRun=All", MERGE, {"metadata": {"annotations": {OURS: "1"}}}),
    (
        "node",
        "PATCH",
        "/status?dryRun=All",
        MERGE,
        {"status": {"capacity": {"policy.test/x": "1"}}},
    ),
    ("node", "GET", "/proxy/pods", MERGE, None),
    ("pod", "PATCH", "/status?dryRun=All", MERGE, {"metadata": {"annotations": {OURS: "1"}}}),
    ("pod", "PATCH", "/status?dryRun=All", MERGE, {"status": {"phase": "Failed"}}),
    ("pod", "PATCH", "/ephemeralcontainers?dryRun=All", STRATEGIC, EPHEMERAL),
    ("pod", "PATCH", "/resize?dryRun=All", STRATEGIC, CPU),
    ("pod", "POST", "/eviction?dryRun=All", "application/json", EVICTION),
    ("pod", "POST", "/binding?dryRun=All", "application/json", BINDING),
    ("pod", "POST", "/exec?command=true&stdout=true", MERGE, None),
    ("pod", "POST", "/portforward?ports=80", MERGE, None),
    ("pod", "GET", "/proxy/", MERGE, None),
)


@pytest.mark.parametrize(
    ("own", "method", "path", "kind", "body"),
    FORBIDDEN_SUBRESOURCES,
    ids=[f"{own}{path.split('?')[0]}" for own, _, path, *_ in FORBIDDEN_SUBRESOURCES],
)
def test_an_agent_has_no_subresource(
    stage: Stage, own: str, method: str, path: str, kind: str, body: Any
) -> None:
    thing = named(stage, own)
    if body and method == "POST":
        body = body | {"metadata": {"name": thing.name}}
    answer = stage.here.ask(method, thing.path + path, kind, body)
    assert answer.refused_by_policy, answer


@BOTH
def test_an_agent_deletes_nothing(stage: Stage, own: str) -> None:
    answer = stage.here.ask("DELETE", f"{named(stage, own).path}?dryRun=All")
    assert answer.refused_by_policy, answer


def test_an_agent_creates_nothing(stage: Stage) -> None:
    new_pod = pod("new", pod_spec(["1"], gpus=0, command=["sleep"]))
    pods = stage.pod.path.rpartition("/")[0]
    new_node: Manifest = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "policy-test"}}
    for path, body in ((pods, new_pod), ("/api/v1/nodes", new_node)):
        answer = stage.here.ask("POST", f"{path}?dryRun=All", "application/json", body)
        assert answer.refused_by_policy, answer
        # And not by server-side apply to a name that is not there, as of a pod just deleted.
        there = f"{path}/{body['metadata']['name']}?dryRun=All&fieldManager=x&force=true"
        answer = stage.here.ask("PATCH", there, APPLY, body)
        assert answer.refused_by_policy, answer


@pytest.mark.parametrize(
    "notes",
    [
        {"policy.test/large": "x" * 200 * 1024},
        {f"policy.test/n{i}": "1" for i in range(8000)},
    ],
    ids=["200 KiB in one", "8,000 small ones"],
)
def test_a_pod_with_many_foreign_annotations_can_still_be_annotated(
    stage: Stage, notes: dict[str, str]
) -> None:
    """What an expression may cost is limited, and beyond that it refuses."""
    sleeper = pod_spec(
        ["infinity"],
        gpus=0,
        command=["sleep"],
        selector={"kubernetes.io/hostname": stage.node.name},
    )
    # Twice the same variable, which Kubernetes allows: an unchanged spec is still an equal one.
    sleeper["containers"][0]["env"] = [{"name": "A", "value": v} for v in ("1", "2")]
    name = f"large-{secrets.token_hex(3)}"
    crowded = pod(name, sleeper)
    crowded["metadata"]["annotations"] = notes
    there = stage.namespace
    there("create", "--filename=-", stdin=json.dumps(crowded))
    wait_for("its node", lambda: there.get("pod", name)["spec"].get("nodeName"))
    thing = pod_thing(name, there)
    answer = stage.here.annotate(thing, {OURS: "1"})
    assert answer.status == 200, answer.text[:500]
    label = {"metadata": {"labels": {"policy.test/x": "y"}}}
    assert stage.here.try_patch(thing, label).refused_by_policy


@pytest.mark.parametrize("policy", ["cepheid-agent-nodes", "cepheid-agent-pods"])
def test_the_api_server_finds_no_mistake_in_the_types_of_a_policy(
    installed: Kubectl, policy: str
) -> None:
    def status() -> Any:
        found = installed.get("validatingadmissionpolicy", policy)
        seen = found.get("status", {})
        same = seen.get("observedGeneration") == found["metadata"]["generation"]
        return seen if same else None

    assert wait_for("a look at the policy", status)["typeChecking"] == {}


@pytest.mark.parametrize("account", [ACCOUNT, UNINSTALL])
@pytest.mark.parametrize(
    ("verb", "resource", "subresource", "of_agent", "of_uninstall"),
    [
        ("get", "nodes", "", True, False),
        ("list", "nodes", "", False, True),
        ("patch", "nodes", "", True, True),
        ("update", "nodes", "", False, False),
        ("patch", "nodes", "status", False, False),
        ("get", "nodes", "proxy", False, False),
        ("list", "pods", "", False, True),
        ("watch", "pods", "", False, False),
        ("patch", "pods", "", True, True),
        ("create", "pods", "", False, False),
        ("delete", "pods", "", False, False),
        ("create", "pods", "exec", False, False),
        ("create", "pods", "eviction", False, False),
        ("patch", "pods", "ephemeralcontainers", False, False),
        ("get", "secrets", "", False, False),
        ("create", "serviceaccounts", "token", False, False),
    ],
)
def test_an_account_has_no_right_that_it_does_not_need(
    uninstaller: Agent,
    account: str,
    verb: str,
    resource: str,
    subresource: str,
    *,
    of_agent: bool,
    of_uninstall: bool,
) -> None:
    asked = {"verb": verb, "resource": resource, "subresource": subresource}
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {"user": account, "resourceAttributes": asked},
    }
    ask = ["create", "--filename=-", "--output=json"]
    answer = json.loads(uninstaller.kubectl(*ask, stdin=json.dumps(review)))
    assert answer["status"]["allowed"] is (of_agent if account == ACCOUNT else of_uninstall)


@pytest.fixture(scope="module")
def uninstaller(kubectl: Kubectl, stage: Stage) -> Iterator[Agent]:
    """With the account of the Job that takes the annotations away."""
    things = without_workloads("uninstall.yaml")
    kubectl.apply(*things)
    there = kubectl.within("cepheid-uninstall")
    token = wait_for("its token", lambda: there("create", "token", "cepheid-uninstall").strip())
    asking = replace(stage.here, token=token)
    label = {"metadata": {"labels": {"policy.test/in-force": "yes"}}}
    wait_for("its policy", lambda: asking.try_patch(stage.pod, label).refused_by_policy)
    yield asking
    kubectl("delete", "--filename=-", "--wait=false", stdin=yaml.safe_dump_all(things))


@pytest.mark.parametrize("which", ["node", "other_node", "pod", "other_pod"])
def test_the_uninstall_takes_our_annotations_off_everything_and_changes_nothing_else(
    stage: Stage, uninstaller: Agent, which: str
) -> None:
    thing = named(stage, which)
    owner = stage.there if which.startswith("other") else stage.here
    assert owner.annotate(thing, {OURS: "1"}).status == 200
    forbidden: list[dict[str, Any]] = [
        {"annotations": {OURS: "2"}},
        {"annotations": {"ai.centaurus.io/new": "1"}},
        {"annotations": {FOREIGN: None}},
        {"annotations": {OURS: None, FOREIGN: "changed"}},
        {"annotations": {OURS: None}, "labels": {"policy.test/x": "y"}},
        {"finalizers": ["policy.test/never"]},
    ]
    for metadata in forbidden:
        answer = uninstaller.try_patch(thing, {"metadata": metadata})
        assert answer.refused_by_policy, (metadata, answer)
    assert uninstaller.ask("DELETE", f"{thing.path}?dryRun=All").refused_by_policy
    status = {"metadata": {"annotations": {OURS: None}}}
    path = f"{thing.path}/status?dryRun=All"
    assert uninstaller.ask("PATCH", path, MERGE, status).refused_by_policy
    removal = {"metadata": {"annotations": {OURS: None}}}
    assert uninstaller.ask("PATCH", thing.path, MERGE, removal).status == 200
    left = annotations(stage.namespace, thing)
    assert OURS not in left
    assert left[FOREIGN] == "kept"


def test_everybody_else_is_left_alone(stage: Stage) -> None:
    stage.namespace("label", "pod", stage.pod.name, "policy.test/free=yes")
    labels = stage.namespace.get("pod", stage.pod.name)["metadata"]["labels"]
    assert labels == {"policy.test/free": "yes"}
    stage.namespace("label", "pod", stage.pod.name, "policy.test/free-")
