"""The manifest: what promtool says of it, what it may do, what it measures."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests import REPOSITORY
from tests.cluster.binaries import binaries

MANIFEST = REPOSITORY / "prometheus/prometheus.yaml"
OBJECTS = list(yaml.safe_load_all(MANIFEST.read_text()))
TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount/token"  # noqa: S105  # a path


def only(kind: str) -> dict[str, Any]:
    (found,) = (thing for thing in OBJECTS if thing["kind"] == kind)
    return dict(found)


CONFIGURATION: str = only("ConfigMap")["data"]["prometheus.yml"]
JOBS = {job["job_name"]: job for job in yaml.safe_load(CONFIGURATION)["scrape_configs"]}
POD = only("Deployment")["spec"]["template"]
(CONTAINER,) = POD["spec"]["containers"]


@pytest.fixture(scope="session")
def promtool() -> Path:
    """Of the version that the manifest pins; Debian's does not know Kubernetes discovery."""
    return binaries() / "bin/promtool"


def check(promtool: Path, configuration: str, folder: Path) -> subprocess.CompletedProcess[str]:
    token = folder / "token"  # promtool wants the file to exist, and here is no service account
    token.touch()
    file = folder / "prometheus.yml"
    file.write_text(configuration.replace(TOKEN, str(token)))
    (folder / "rules.yml").write_text(only("ConfigMap")["data"]["rules.yml"])
    return subprocess.run(
        [promtool, "check", "config", file], check=False, capture_output=True, text=True
    )


def test_promtool_accepts_the_configuration(promtool: Path, tmp_path: Path) -> None:
    assert TOKEN in CONFIGURATION
    result = check(promtool, CONFIGURATION, tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr


def test_promtool_would_notice_a_mistake(promtool: Path, tmp_path: Path) -> None:
    result = check(promtool, CONFIGURATION.replace("role: node", "role: nodes"), tmp_path)
    assert result.returncode != 0
    assert "nodes" in result.stdout + result.stderr


def test_the_scrape_interval_is_15_seconds() -> None:
    assert yaml.safe_load(CONFIGURATION)["global"]["scrape_interval"] == "15s"
    assert not any("scrape_interval" in job for job in JOBS.values())


def test_the_kubelet_is_read_with_the_service_account_token() -> None:
    job = JOBS["cadvisor"]
    assert (job["scheme"], job["metrics_path"]) == ("https", "/metrics/cadvisor")
    assert job["authorization"] == {"credentials_file": TOKEN}


@pytest.mark.parametrize(
    ("metric", "kept"),
    [
        ("container_cpu_usage_seconds_total", True),
        ("container_network_transmit_bytes_total", True),
        ("machine_memory_bytes", True),
        ("container_tasks_state", False),
        ("container_cpu_usage_seconds_total_of_another", False),
    ],
)
def test_only_what_cepheid_reads_of_cadvisor_is_kept(metric: str, kept: bool) -> None:
    (rule,) = JOBS["cadvisor"]["metric_relabel_configs"]
    assert (rule["action"], rule["source_labels"]) == ("keep", ["__name__"])
    assert bool(re.fullmatch(rule["regex"], metric)) is kept


@pytest.mark.parametrize("name", ["dcgm-exporter", "amd-device-metrics-exporter"])
def test_a_gpu_keeps_the_labels_of_the_pod_that_holds_it(name: str) -> None:
    """And never gets those of the exporter: no target label is called namespace, pod, container."""
    assert JOBS[name]["honor_labels"] is True
    added = {rule.get("target_label") for rule in JOBS[name]["relabel_configs"]}
    assert added == {None, "node"}


@pytest.mark.parametrize("name", sorted(set(JOBS) - {"prometheus"}))
def test_every_series_says_which_node_it_is_of(name: str) -> None:
    assert "node" in {rule.get("target_label") for rule in JOBS[name]["relabel_configs"]}


def test_the_service_account_may_find_targets_and_read_metrics_and_no_more() -> None:
    rights = {
        (group, resource, verb)
        for rule in only("ClusterRole")["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
    assert rights == {
        ("", "nodes", "list"),
        ("", "nodes", "watch"),
        ("", "pods", "list"),
        ("", "pods", "watch"),
        ("", "nodes/metrics", "get"),
    }
    assert not any(set(rule) - {"apiGroups", "resources", "verbs"} for rule in role_rules())


def role_rules() -> list[dict[str, Any]]:
    """Of every role in the file, so that no second one slips in."""
    roles = [thing for thing in OBJECTS if thing["kind"] in {"ClusterRole", "Role"}]
    return [rule for role in roles for rule in role["rules"]]


def test_no_role_has_wildcards_secrets_or_the_proxy_of_a_node() -> None:
    named = {name for rule in role_rules() for names in rule.values() for name in names}
    assert not {"*", "secrets", "nodes/proxy"} & named


def test_the_binding_binds_that_role_to_that_service_account() -> None:
    binding, account = only("ClusterRoleBinding"), only("ServiceAccount")["metadata"]
    assert binding["roleRef"]["name"] == only("ClusterRole")["metadata"]["name"]
    assert binding["subjects"] == [
        {"kind": "ServiceAccount", "name": account["name"], "namespace": account["namespace"]}
    ]
    assert POD["spec"]["serviceAccountName"] == account["name"]


def test_the_image_is_pinned_to_a_version() -> None:
    assert re.fullmatch(r"quay\.io/prometheus/prometheus:v\d+\.\d+\.\d+", CONTAINER["image"])


def test_the_namespace_enforces_restricted_pod_security() -> None:
    labels = only("Namespace")["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "restricted"


def test_the_pod_keeps_the_restricted_pod_security_standard() -> None:
    """Field by field, as the standard lists them; the cluster's admission has the last word."""
    spec, pod, container = POD["spec"], POD["spec"]["securityContext"], CONTAINER["securityContext"]
    assert not {"hostNetwork", "hostPID", "hostIPC", "initContainers"} & set(spec)
    assert not any("hostPort" in port for port in CONTAINER["ports"])
    assert pod["runAsNonRoot"] is True
    assert pod["runAsUser"] == 65534
    assert pod["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    kinds = {kind for volume in spec["volumes"] for kind in volume if kind != "name"}
    assert kinds <= {"configMap", "emptyDir", "projected", "persistentVolumeClaim"}


def test_the_pod_is_bounded_in_cpu_memory_and_disk() -> None:
    assert {"cpu", "memory", "ephemeral-storage"} == set(CONTAINER["resources"]["limits"])
    assert set(CONTAINER["resources"]["requests"]) == set(CONTAINER["resources"]["limits"])
    (data,) = (v for v in POD["spec"]["volumes"] if "emptyDir" in v)
    assert "sizeLimit" in data["emptyDir"]


def test_the_service_and_the_policy_select_the_pod() -> None:
    labels = POD["metadata"]["labels"].items()
    assert only("Service")["spec"]["selector"].items() <= labels
    assert only("NetworkPolicy")["spec"]["podSelector"]["matchLabels"].items() <= labels


def test_the_policy_lets_prometheus_reach_every_port_that_it_scrapes() -> None:
    (rule,) = only("NetworkPolicy")["spec"]["egress"]
    assert {10250, 9400, 5000} <= {entry["port"] for entry in rule["ports"]}


def test_every_object_lives_in_the_namespace_that_the_file_makes() -> None:
    cluster_wide = {"Namespace", "ClusterRole", "ClusterRoleBinding"}
    places = {t["metadata"]["namespace"] for t in OBJECTS if t["kind"] not in cluster_wide}
    assert places == {only("Namespace")["metadata"]["name"]}
