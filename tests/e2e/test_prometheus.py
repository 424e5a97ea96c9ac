"""Prometheus from the manifest that users apply."""

import json
import re

import pytest
import yaml

from tests import REPOSITORY
from tests.cluster.kubectl import Kubectl
from tests.cluster.layout import Cluster
from tests.cluster.progress import wait_for
from tests.e2e.prometheus import Prometheus
from tests.e2e.workloads import pod, pod_spec

MANIFEST = REPOSITORY / "prometheus/prometheus.yaml"
ACCOUNT = "system:serviceaccount:cepheid-monitoring:prometheus"


def test_every_target_is_up(kubectl: Kubectl, prometheus: Prometheus) -> None:
    nodes = {node["metadata"]["name"] for node in kubectl.items("nodes")}
    with_gpus = kubectl.items("nodes", "--selector=nvidia.com/gpu.present=true")
    operators = "--selector=app.kubernetes.io/name=cepheid-operator"
    there = kubectl.within("cepheid").items("pods", operators)
    expected = [(job, node) for node in nodes for job in ("cadvisor", "cepheid-agent")]
    expected += [("dcgm-exporter", node["metadata"]["name"]) for node in with_gpus]
    expected += [("cepheid-operator", pod["spec"]["nodeName"]) for pod in there]

    def targets() -> list[tuple[str, str, str]]:
        active = prometheus.api("targets", state="active")["activeTargets"]
        return sorted(
            (t["labels"]["job"], t["labels"]["node"], t["health"])
            for t in active
            if t["labels"]["job"] != "prometheus"
        )

    # Each once, though two discoveries look for exporters.
    wait_for("all targets up", lambda: targets() == sorted((*e, "up") for e in expected))


def test_the_server_is_of_the_version_that_the_manifest_pins(prometheus: Prometheus) -> None:
    pinned = re.search(r"image: \S+/prometheus:v(\S+)", MANIFEST.read_text())
    assert pinned
    assert prometheus.api("status/buildinfo")["version"] == pinned[1]


def cadvisor_names() -> set[str]:
    """The names that the manifest keeps."""
    objects = yaml.safe_load_all(MANIFEST.read_text())
    (config,) = (o["data"]["prometheus.yml"] for o in objects if o["kind"] == "ConfigMap")
    jobs = {job["job_name"]: job for job in yaml.safe_load(config)["scrape_configs"]}
    rules = jobs["cadvisor"]["metric_relabel_configs"]
    (names,) = (rule["regex"] for rule in rules if rule["action"] == "keep")
    return set(names.split("|"))


def test_a_pod_that_computes_and_writes_has_every_series_of_cadvisor_that_is_kept(
    namespace: Kubectl, prometheus: Prometheus
) -> None:
    # Written past the cache: with cgroup v1 a later write-back counts for nobody.
    busy = "while dd if=/dev/zero of=/tmp/x bs=1M count=8 oflag=direct; do sleep 0.2; done"
    spec = pod_spec(["-c", busy], gpus=0, command=["sh"])
    spec["containers"][0]["resources"]["limits"]["cpu"] = "500m"  # else no throttling to count
    namespace.apply(pod("writer", spec))
    # Network is counted for the pod, the rest for the container; the machine's for the node.
    own = f'job="cadvisor", namespace="{namespace.namespace}", pod="writer"'

    def missing() -> set[str]:
        found = prometheus.query(f"{{{own}}}") + prometheus.query('{__name__=~"machine_.*"}')
        return cadvisor_names() - {sample.labels["__name__"] for sample in found}

    wait_for("every series", lambda: not missing(), every_seconds=3)
    # The first sample may be from between the program's start, which reads, and its first write.
    written = f'container_fs_writes_bytes_total{{{own}, container="main"}} > 0'
    wait_for("bytes written", lambda: prometheus.query(written), every_seconds=3)
    kept = prometheus.query('count by (__name__) ({job="cadvisor", __name__!~"scrape_.*|up"})')
    assert {sample.labels["__name__"] for sample in kept} == cadvisor_names()


@pytest.mark.parametrize(
    ("verb", "resource", "subresource", "allowed"),
    [
        ("list", "pods", "", True),
        ("get", "nodes", "metrics", True),
        ("get", "nodes", "proxy", False),
        ("get", "secrets", "", False),
        ("patch", "nodes", "", False),
        ("create", "pods", "", False),
    ],
)
def test_its_account_may_read_metrics_and_nothing_else(
    kubectl: Kubectl, verb: str, resource: str, subresource: str, *, allowed: bool
) -> None:
    asked = {"verb": verb, "resource": resource, "subresource": subresource}
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {"user": ACCOUNT, "resourceAttributes": asked},
    }
    answer = kubectl("create", "--filename=-", "--output=json", stdin=json.dumps(review))
    assert json.loads(answer)["status"]["allowed"] is allowed


@pytest.mark.machine
def test_the_web_pages_answer_on_the_printed_address(cluster: Cluster) -> None:
    printed = Prometheus(cluster.prometheus_url.removeprefix("http://"))
    # The port of the service opens when kube-proxy comes to it, some time after its pod is ready.
    status, page = wait_for("Prometheus at its printed address", lambda: printed.get("/query"))
    assert status == 200
    assert "<title>Prometheus Time Series Collection" in page
    script = re.search(r'src="\.?(/assets/[^"]+\.js)"', page)
    assert script, page
    assert printed.get(script[1])[0] == 200
