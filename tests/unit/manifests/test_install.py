"""The manifests: that they are current, what they grant, and how the pods are held."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from cepheid import __version__
from cepheid_operator.trials.copying.sizing import PRIORITY_CLASS
from tests import REPOSITORY
from tests.cluster.binaries import binaries
from tests.cluster.images import IMAGES
from tests.cluster.rendered import CEPHEID, PROMETHEUS, cepheid_manifest, prometheus_manifest
from tests.unit.manifests.files import (
    AGENT,
    EXTENDER,
    INSTALL,
    JOB,
    LOGS,
    MANIFESTS,
    OPERATOR,
    UNINSTALL,
    Object,
    objects,
    of_kind,
    only,
)

HINT = "hint: `make manifests`"
PODS = {
    "agent": AGENT["spec"]["template"],
    "operator": OPERATOR["spec"]["template"],
    "uninstall": JOB["spec"]["template"],
}
FILES = {"agent": INSTALL, "operator": INSTALL, "uninstall": UNINSTALL}
IMAGE = {"agent": "agent", "operator": "operator", "uninstall": "agent"}
JOBS = {
    ("batch", "jobs"),
    ("batch.volcano.sh", "jobs"),
    ("jobset.x-k8s.io", "jobsets"),
    ("kubeflow.org", "mpijobs"),
    ("kubeflow.org", "pytorchjobs"),
    ("ray.io", "rayjobs"),
    ("trainer.kubeflow.org", "trainjobs"),
}
TRIED = {("batch", "jobs"), ("kubeflow.org", "mpijobs"), ("kubeflow.org", "pytorchjobs")}
"""Of which trials are made."""
ALL_PODS = pytest.mark.parametrize("pod", PODS.values(), ids=PODS.keys())
ALL_NAMES = pytest.mark.parametrize("name", PODS)
BOTH_FILES = pytest.mark.parametrize("path", [INSTALL, UNINSTALL], ids=lambda path: path.name)
LABELS = {"app.kubernetes.io/name", "app.kubernetes.io/part-of"}


def container(pod: Object) -> Object:
    (found,) = pod["spec"]["containers"]
    return dict(found)


def test_the_committed_manifest_is_what_its_parts_give() -> None:
    assert CEPHEID.read_text() == cepheid_manifest(), HINT


def test_the_rules_in_the_manifest_of_prometheus_are_those_of_their_file() -> None:
    assert PROMETHEUS.read_text() == prometheus_manifest(), HINT


def test_every_part_is_assembled() -> None:
    parts = {path.parent.name for path in MANIFESTS.glob("*/kustomization.yaml")}
    parts -= {"default", "scheduler"}  # the second is for those who want it
    default = yaml.safe_load((MANIFESTS / "default/kustomization.yaml").read_text())
    assert {Path(part).name for part in default["resources"]} == parts
    for part in parts:
        kustomization = yaml.safe_load((MANIFESTS / part / "kustomization.yaml").read_text())
        present = {path.name for path in (MANIFESTS / part).glob("*.yaml")}
        assert set(kustomization["resources"]) == present - {"kustomization.yaml"}


def test_an_image_can_be_replaced_as_the_readme_says(tmp_path: Path) -> None:
    """By a kustomization of the user's own on top of the one file."""
    (tmp_path / "cepheid.yaml").write_text(INSTALL.read_text())
    shown = re.search(r"```yaml\n(# kustomization\.yaml\n.*?)```", readme(), re.DOTALL)
    assert shown
    (tmp_path / "kustomization.yaml").write_text(shown[1])
    rendered = subprocess.run(
        [binaries() / "bin/kubectl", "kustomize", tmp_path],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert "image: registry.example.org/cepheid/agent:" in rendered
    assert "image: localhost/" not in rendered


def readme() -> str:
    return (MANIFESTS / "README.md").read_text()


@BOTH_FILES
def test_every_object_says_whose_it_is(path: Path) -> None:
    for thing in objects(path):
        labels = thing["metadata"]["labels"]
        assert labels["app.kubernetes.io/part-of"] == "cepheid"
        assert thing["kind"] == "Namespace" or labels.keys() >= LABELS


@BOTH_FILES
def test_the_namespace_is_restricted_and_prometheus_lets_it_in(path: Path) -> None:
    labels = only(path, "Namespace")["metadata"]["labels"]
    assert {
        labels[f"pod-security.kubernetes.io/{mode}"] for mode in ("enforce", "audit", "warn")
    } == {"restricted"}
    (entry,) = only(PROMETHEUS, "NetworkPolicy")["spec"]["ingress"]
    (source,) = entry["from"]
    assert source["namespaceSelector"]["matchLabels"].items() <= labels.items()


def rights(name: str, kind: str = "ClusterRole") -> set[tuple[str, str, str]]:
    rules = only(FILES[name], kind, f"cepheid-{name}")["rules"]
    assert all(
        {"apiGroups", "resources", "verbs"} <= set(rule) <= {*rule, "resourceNames"}
        for rule in rules
    )
    return {
        (group, resource, verb)
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def test_the_agent_reads_and_patches_nodes_and_pods_and_has_no_other_right() -> None:
    assert rights("agent") == {
        ("", "nodes", "get"),
        ("", "nodes", "patch"),
        ("", "pods", "get"),
        ("", "pods", "patch"),
    }


def test_the_operator_reads_pods_annotates_jobs_and_has_profiles_and_trials_of_its_own() -> None:
    watched = {(*kind, verb) for kind in JOBS for verb in ("get", "list", "watch", "patch")}
    trials = {(*kind, verb) for kind in TRIED for verb in ("create", "delete")}
    profiles = {
        ("ai.centaurus.io", "jobprofiles", verb)
        for verb in ("get", "list", "create", "patch", "delete")
    }
    asked = {("ai.centaurus.io", "placementtrials", verb) for verb in ("list", "watch")}
    assert rights("operator") == watched | trials | profiles | asked | {
        ("ai.centaurus.io", "placementtrials/status", "patch"),
        ("ai.centaurus.io", "placementtrials/finalizers", "update"),
        ("", "nodes", "list"),
        ("", "pods", "list"),
        ("", "pods", "watch"),
        ("", "pods", "create"),
        ("", "resourcequotas", "list"),
        ("ray.io", "rayclusters", "list"),
        ("ray.io", "rayclusters", "watch"),
        ("", "events", "create"),
        ("", "namespaces", "list"),
    }


def test_who_may_edit_a_namespace_may_ask_for_trials_and_who_may_view_it_may_look() -> None:
    edit, view = (
        only(INSTALL, "ClusterRole", name)
        for name in ("cepheid-edit-trials", "cepheid-jobprofiles-view")
    )
    aggregated = "rbac.authorization.k8s.io/aggregate-to-"
    assert {key for key in edit["metadata"]["labels"] if key.startswith(aggregated)} == {
        f"{aggregated}edit",
        f"{aggregated}admin",
    }
    (rule,) = edit["rules"]
    assert rule["resources"] == ["placementtrials"]  # its status is the operator's
    assert view["metadata"]["labels"][f"{aggregated}view"] == "true"
    (rule,) = view["rules"]
    assert "placementtrials" in rule["resources"]
    assert set(rule["verbs"]) == {"get", "list", "watch"}


def test_the_right_to_read_logs_is_not_installed_and_is_no_other_right() -> None:
    role = only(LOGS, "ClusterRole")
    assert role["rules"] == [{"apiGroups": [""], "resources": ["pods/log"], "verbs": ["get"]}]
    binding = only(LOGS, "ClusterRoleBinding")
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    assert (
        binding["subjects"] == only(INSTALL, "ClusterRoleBinding", "cepheid-operator")["subjects"]
    )
    assert "pods/log" not in INSTALL.read_text()


def test_trials_have_the_priority_class_that_they_name_and_it_preempts_nobody() -> None:
    found = only(INSTALL, "PriorityClass", PRIORITY_CLASS)
    assert found["value"] < 0
    assert found["preemptionPolicy"] == "Never"
    assert found["globalDefault"] is False


def test_the_operator_has_one_lease_and_may_make_it() -> None:
    role = only(INSTALL, "Role", "cepheid-operator")
    assert role["metadata"]["namespace"] == OPERATOR["metadata"]["namespace"]
    named = [rule for rule in role["rules"] if rule["resources"] == ["leases"]]
    for rule in named:
        # A create has no name yet when it is authorised.
        assert rule.get("resourceNames") == (
            None if rule["verbs"] == ["create"] else ["cepheid-operator"]
        )
    assert {verb for rule in named for verb in rule["verbs"]} <= {"get", "create", "update"}
    assert named == role["rules"]


def test_the_uninstall_lists_and_patches_what_was_annotated_and_has_no_other_right() -> None:
    kinds = {("", "nodes"), ("", "pods")}
    groups, names = {group for group, _ in JOBS}, {name for _, name in JOBS}
    kinds |= {(group, name) for group in groups for name in names}
    assert rights("uninstall") == {(*kind, verb) for kind in kinds for verb in ("list", "patch")}


@pytest.mark.parametrize("name", ["agent", "operator"])
def test_every_verb_has_its_reason(name: str) -> None:
    """A right that nobody can explain is one too many."""
    text = (MANIFESTS / f"rbac/{name}.yaml").read_text()
    verbs = re.findall(r"(?m)^      - (get|list|watch|patch|create|update|delete)\b(.*)$", text)
    assert verbs
    assert all(re.match(r" # \S", reason) for _, reason in verbs)
    assert not re.search(r"verbs: \[", text)


@ALL_NAMES
def test_rights_go_to_the_account_of_the_pod_alone(name: str) -> None:
    path, whole = FILES[name], f"cepheid-{name}"
    account = only(path, "ServiceAccount", whole)
    pod = PODS[name]
    namespace = account["metadata"]["namespace"]
    binding = only(path, "ClusterRoleBinding", whole)
    assert binding["subjects"] == [
        {"kind": "ServiceAccount", "name": whole, "namespace": namespace}
    ]
    assert binding["roleRef"]["name"] == whole
    assert pod["spec"]["serviceAccountName"] == whole
    # Nobody gets a token by accident: not by default, only by the volume that asks for it.
    assert account["automountServiceAccountToken"] is False
    assert pod["spec"]["automountServiceAccountToken"] is False


@ALL_NAMES
def test_the_policies_hold_that_very_account(name: str) -> None:
    path, whole = FILES[name], f"cepheid-{name}"
    account = only(path, "ServiceAccount", whole)["metadata"]
    user = f"system:serviceaccount:{account['namespace']}:{account['name']}"
    held: dict[tuple[str, str], set[str]] = {}
    for policy in of_kind(path, "ValidatingAdmissionPolicy"):
        if policy["metadata"]["labels"]["app.kubernetes.io/name"] != whole:
            continue
        condition = policy["spec"]["matchConditions"][0]
        assert condition["expression"].strip() == f"request.userInfo.username == '{user}'"
        for rule in policy["spec"]["matchConstraints"]["resourceRules"]:
            for group in rule["apiGroups"]:
                for one in rule["resources"]:
                    held.setdefault((group, one), set()).update(rule["operations"])
        assert policy["spec"]["failurePolicy"] == "Fail"
    # Whatever it has a right to patch or make, and every subresource of it; profiles, the status
    # of PlacementTrials and Events are its own.
    kinds = {(group, kind) for group, kind, verb in rights(name) if verb in ("patch", "create")}
    kinds -= {("ai.centaurus.io", "jobprofiles"), ("ai.centaurus.io", "placementtrials/status")}
    kinds -= {("", "events")}
    assert held.keys() == kinds | {(group, f"{kind}/*") for group, kind in kinds}
    assert all("*" in operations for operations in held.values())


def test_what_one_policy_leaves_to_another_is_held_by_that() -> None:
    """Making and deleting of those jobs that are tried: by trials.yaml instead of jobs.yaml."""
    jobs = only(INSTALL, "ValidatingAdmissionPolicy", "cepheid-operator-jobs")["spec"]
    _, condition = jobs["matchConditions"]
    left = {
        tuple(one.split("/")) for one in re.findall(r"'([a-z.]+/[a-z]+)'", condition["expression"])
    }
    assert left == TRIED
    assert "['CREATE', 'DELETE']" in condition["expression"]
    for name, operation in (("trials", "CREATE"), ("trials-end", "DELETE")):
        policy = only(INSTALL, "ValidatingAdmissionPolicy", f"cepheid-operator-{name}")["spec"]
        assert len(policy["matchConditions"]) == 1
        rules = policy["matchConstraints"]["resourceRules"]
        assert all(rule["operations"] == [operation] for rule in rules)
        assert {
            (g, one) for rule in rules for g in rule["apiGroups"] for one in rule["resources"]
        } == TRIED


@BOTH_FILES
def test_every_policy_is_bound_and_denies(path: Path) -> None:
    policies = {p["metadata"]["name"] for p in of_kind(path, "ValidatingAdmissionPolicy")}
    bindings = of_kind(path, "ValidatingAdmissionPolicyBinding")
    assert {binding["spec"]["policyName"] for binding in bindings} == policies
    assert all("Deny" in binding["spec"]["validationActions"] for binding in bindings)
    # No selector: a binding that leaves a namespace out leaves it unprotected. One that looks at
    # PlacementTrials refuses where there are none.
    for binding in bindings:
        looked_at = binding["spec"].pop("paramRef", None)
        assert looked_at in (None, {"selector": {}, "parameterNotFoundAction": "Deny"})
        assert set(binding["spec"]) == {"policyName", "validationActions"}


def test_nodes_and_pods_are_held_by_the_same_words_but_for_whose_they_are() -> None:
    nodes, pods = (
        only(INSTALL, "ValidatingAdmissionPolicy", f"cepheid-agent-{kind}")["spec"]["validations"]
        for kind in ("nodes", "pods")
    )
    different = [
        a["expression"]
        for a, b in zip(nodes, pods, strict=True)
        if a["expression"] != b["expression"]
    ]
    assert different == ["variables.node == [object.metadata.name]"]


@ALL_PODS
def test_a_pod_keeps_the_restricted_pod_security_standard(pod: Object) -> None:
    spec, only_one = pod["spec"], container(pod)
    assert not {"hostNetwork", "hostPID", "hostIPC", "initContainers"} & set(spec)
    assert not any("hostPort" in port for port in only_one.get("ports", ()))
    assert spec["securityContext"] == {
        "runAsNonRoot": True,
        "runAsUser": 65532,
        "runAsGroup": 65532,
        "fsGroup": 65532,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    assert only_one["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert {kind for volume in spec["volumes"] for kind in volume} == {"name", "projected"}


@ALL_PODS
def test_a_token_is_bound_to_its_pod_and_short_lived(pod: Object) -> None:
    (volume,) = pod["spec"]["volumes"]
    sources: dict[str, Any] = {k: v for s in volume["projected"]["sources"] for k, v in s.items()}
    # 3607 is what automounting asks for, and what the API server takes for a year.
    assert sources["serviceAccountToken"] == {"path": "token", "expirationSeconds": 3600}
    assert sources.keys() == {"serviceAccountToken", "configMap", "downwardAPI"}
    assert container(pod)["volumeMounts"] == [
        {
            "name": volume["name"],
            "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
            "readOnly": True,
        }
    ]


@ALL_NAMES
def test_a_pod_runs_the_image_that_is_built_for_this_version(name: str) -> None:
    (image,) = (image for image in IMAGES if image.name == IMAGE[name])
    assert container(PODS[name])["image"] == image.reference
    assert image.reference.endswith(f":{__version__}")


@pytest.mark.parametrize("name", ["agent", "uninstall"])
def test_a_pod_comes_to_gpu_nodes_and_to_no_control_plane(name: str) -> None:
    tolerated = {t["key"]: set(t) for t in PODS[name]["spec"]["tolerations"]}
    # Without an effect: NoSchedule and NoExecute both.
    assert tolerated == {key: {"key", "operator"} for key in ("nvidia.com/gpu", "amd.com/gpu")}


def test_the_agent_is_small_and_bounded() -> None:
    resources = container(PODS["agent"])["resources"]
    assert resources["requests"] == {"cpu": "10m", "memory": "64Mi", "ephemeral-storage": "16Mi"}
    assert resources["limits"] == {"memory": "192Mi", "ephemeral-storage": "128Mi"}
    assert AGENT["spec"]["updateStrategy"] == {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxUnavailable": "10%"},
    }


@pytest.mark.parametrize(
    ("name", "variable", "field"),
    [
        ("agent", "CEPHEID_NODE_NAME", "spec.nodeName"),
        ("operator", "CEPHEID_NAMESPACE", "metadata.namespace"),
        ("operator", "CEPHEID_IDENTITY", "metadata.name"),
    ],
)
def test_a_pod_asks_the_prometheus_of_the_other_manifest_and_knows_itself(
    name: str, variable: str, field: str
) -> None:
    service = only(PROMETHEUS, "Service")
    (port,) = service["spec"]["ports"]
    place = f"{service['metadata']['name']}.{service['metadata']['namespace']}.svc"
    env = {entry["name"]: entry for entry in container(PODS[name])["env"]}
    assert env["CEPHEID_PROMETHEUS_URL"]["value"] == f"http://{place}:{port['port']}"
    assert env[variable]["valueFrom"] == {"fieldRef": {"fieldPath": field}}


@pytest.mark.parametrize("name", ["agent", "operator"])
def test_the_network_policy_lets_it_reach_prometheus_names_and_the_api_server(name: str) -> None:
    policy = only(INSTALL, "NetworkPolicy", f"cepheid-{name}")["spec"]
    labels = PODS[name]["metadata"]["labels"]
    assert policy["podSelector"]["matchLabels"].items() <= labels.items()
    to_prometheus, by_port = policy["egress"]
    (peer,) = to_prometheus["to"]
    there = only(PROMETHEUS, "Deployment")
    assert peer["podSelector"]["matchLabels"].items() <= there["metadata"]["labels"].items()
    namespace = peer["namespaceSelector"]["matchLabels"]["kubernetes.io/metadata.name"]
    assert namespace == there["metadata"]["namespace"]
    database = {5432} if name == "operator" else set()
    assert {entry["port"] for entry in by_port["ports"]} == {53, 443, 6443, 16443} | database
    (entry,) = policy["ingress"]
    (port,) = container(PODS[name])["ports"]
    assert entry["ports"] == [{"port": port["name"]}]


@pytest.mark.parametrize("name", ["agent", "operator", "extender"])
def test_prometheus_finds_it(name: str) -> None:
    config = yaml.safe_load(only(PROMETHEUS, "ConfigMap")["data"]["prometheus.yml"])
    (job,) = (job for job in config["scrape_configs"] if job["job_name"] == f"cepheid-{name}")
    (discovery,) = job["kubernetes_sd_configs"]
    assert discovery["namespaces"] == {"names": [AGENT["metadata"]["namespace"]]}
    (selector,) = discovery["selectors"]
    key, _, value = selector["label"].partition("=")
    pod = EXTENDER["spec"]["template"] if name == "extender" else PODS[name]
    assert pod["metadata"]["labels"][key] == value
    kept = {r["source_labels"][0]: r["regex"] for r in job["relabel_configs"] if "regex" in r}
    (port,) = (port for port in container(pod)["ports"] if port["name"] == "metrics")
    assert kept["__meta_kubernetes_pod_container_port_name"] == port["name"]
    (egress,) = only(PROMETHEUS, "NetworkPolicy")["spec"]["egress"]
    assert port["containerPort"] in {entry["port"] for entry in egress["ports"]}


@pytest.mark.parametrize(("name", "number"), [("agent", 9402), ("operator", 9403)])
def test_probes_ask_what_is_answered(name: str, number: int) -> None:
    one = container(PODS[name])
    for probe, path in (("readinessProbe", "/readyz"), ("livenessProbe", "/healthz")):
        assert one[probe]["httpGet"] == {"path": path, "port": "metrics"}
    assert one["ports"] == [{"name": "metrics", "containerPort": number}]


def test_the_readme_names_every_file_that_its_commands_apply() -> None:
    named = set(re.findall(r"-f (\S+\.yaml)", readme()))
    assert named == {
        "prometheus/prometheus.yaml",
        "manifests/cepheid.yaml",
        "manifests/scheduler.yaml",
        "manifests/trial-logs.yaml",
        "manifests/uninstall.yaml",
    }
    assert all((REPOSITORY / name).exists() for name in named)
