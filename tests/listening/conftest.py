"""One cluster for all tests: a node with A100s, and one whose only T4 is shared in turns."""

import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests import REPOSITORY
from tests.cluster import lifecycle
from tests.cluster.kubectl import Kubectl
from tests.cluster.layout import INVENTORIES, Cluster
from tests.cluster.progress import wait_for
from tests.cluster.rendered import SCHEDULER

NAME = "listen"
LARGE, TURNS = "gpu-large", "gpu-turns"
NODES = {LARGE: INVENTORIES / "a100x4.json", TURNS: INVENTORIES / "t4-shared.json"}
CERTIFICATES = REPOSITORY / "manifests/scheduler/certificates"
ROLLOUT_SECONDS = 300


@pytest.fixture(scope="package")
def kubectl() -> Iterator[Kubectl]:
    lifecycle.down(NAME)  # what a run that was killed has left
    try:
        found = lifecycle.kubectl(lifecycle.up(Cluster.of(NAME, NODES)))
        switch_on(found)
        yield found
    finally:
        lifecycle.down(NAME)


@pytest.fixture(scope="package")
def team(kubectl: Kubectl) -> Kubectl:
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    metadata = {"name": "team", "labels": labels}
    kubectl.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
    there = kubectl.within("team")
    # Made by a controller, some time after the namespace; until then no pod is admitted.
    wait_for("the default service account", lambda: there.get("serviceaccount", "default"))
    return there


def switch_on(kubectl: Kubectl) -> None:
    """As docs/scheduler.md says; the image is the same program, under the name that it has here."""
    made = subprocess.run([CERTIFICATES], check=True, capture_output=True, text=True, timeout=60)
    kubectl("apply", "--filename=-", stdin=made.stdout)
    kubectl.apply(*(_here(thing) for thing in yaml.safe_load_all(SCHEDULER.read_text())))
    there = kubectl.within("cepheid")
    for name in ("cepheid-extender", "cepheid-scheduler"):
        limit = f"--timeout={ROLLOUT_SECONDS}s"
        there("rollout", "status", f"deployment/{name}", limit)


def _here(thing: dict[str, Any]) -> dict[str, Any]:
    if thing["kind"] == "Deployment" and thing["metadata"]["name"] == "cepheid-scheduler":
        (container,) = thing["spec"]["template"]["spec"]["containers"]
        container["image"] = "localhost/cepheid/kube-scheduler:dev"
    if thing["kind"] == "ConfigMap":
        text = thing["data"]["configuration.yaml"]
        # Two cores for a whole cluster: what is slow here is not the extender.
        thing["data"]["configuration.yaml"] = text.replace("httpTimeout: 500ms", "httpTimeout: 5s")
    return thing
