"""One cluster, and the same trials, for all tests."""

from collections.abc import Iterator

import pytest

from cepheid.placementtrial import TrialStatus, status_from
from tests import REPOSITORY
from tests.cluster import lifecycle
from tests.cluster.kubectl import Kubectl
from tests.cluster.layout import DEFAULT_NODES, Cluster
from tests.cluster.progress import wait_for

NAME = "trials"
DONE_SECONDS = 1500
SAMPLES = REPOSITORY / "tests/samples/trials"
MONITORING = "cepheid-monitoring"
JOB = "- job_name: dcgm-exporter\n"
EVERY_SECONDS = 2
OFTEN = f"    scrape_interval: {EVERY_SECONDS}s\n    scrape_timeout: {EVERY_SECONDS}s\n"


@pytest.fixture(scope="package")
def kubectl() -> Iterator[Kubectl]:
    lifecycle.down(NAME)  # what a run that was killed has left
    try:
        found = lifecycle.kubectl(lifecycle.up(Cluster.of(NAME, DEFAULT_NODES)))
        _collect_often(found)
        _scrape_often(found)
        yield found
    finally:
        lifecycle.down(NAME)


@pytest.fixture(scope="package")
def research(kubectl: Kubectl) -> Kubectl:
    """The namespace in which everything of the samples is."""
    kubectl("apply", "--server-side", f"--filename={SAMPLES / 'namespace.yaml'}")
    there = kubectl.within("research")
    # Made by a controller, some time after the namespace; until then no pod is admitted.
    wait_for("the default service account", lambda: there.get("serviceaccount", "default"))
    return there


@pytest.fixture(scope="package")
def answers(research: Kubectl) -> dict[str, TrialStatus]:
    """What came of the samples, one after the other: each wants all GPUs of a node."""
    return {bound: _answer(research, bound) for bound in ("compute", "communication")}


def _answer(research: Kubectl, name: str) -> TrialStatus:
    research("apply", "--server-side", f"--filename={SAMPLES / name}.yaml")

    def over() -> TrialStatus | None:
        status = status_from(research.get("placementtrial", name).get("status"))
        return status if status.phase is not None and status.phase.is_over else None

    return wait_for(f"the end of PlacementTrial {name}", over, DONE_SECONDS, 3)


def _collect_often(kubectl: Kubectl) -> None:
    there, exporter = kubectl.within("gpu"), "daemonset/dcgm-exporter"
    there("set", "env", exporter, f"DCGM_EXPORTER_INTERVAL={1000 * EVERY_SECONDS}")
    there("rollout", "status", exporter, "--timeout=180s")


def _scrape_often(kubectl: Kubectl) -> None:
    there = kubectl.within(MONITORING)
    config = there.get("configmap", "prometheus")["data"]
    text = config["prometheus.yml"]
    assert text.count(JOB) == 1
    changed = config | {"prometheus.yml": text.replace(JOB, JOB + OFTEN)}
    metadata = {"name": "prometheus"}
    there.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": changed})
    there("rollout", "restart", "deployment/prometheus")
    there("rollout", "status", "deployment/prometheus", "--timeout=180s")
