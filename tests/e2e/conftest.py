"""One cluster a run, a namespace a test."""

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster import addons, lifecycle
from tests.cluster.binaries import binaries
from tests.cluster.kubectl import Kubectl
from tests.cluster.layout import DEFAULT_NODES, Cluster
from tests.e2e.prometheus import Prometheus

EXISTING = os.environ.get("CEPHEID_E2E_KUBECONFIG")  # set by `make e2e KUBECONFIG=...`
NAME = "test"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.e2e)
            if EXISTING and item.get_closest_marker("machine"):
                reason = "needs the machine that the nodes run on, and this cluster existed already"
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """Our own cluster, fresh; for tests that look behind Kubernetes, marked `machine`."""
    lifecycle.down(NAME)  # what a run that was killed has left
    yield lifecycle.up(Cluster.of(NAME, DEFAULT_NODES))
    lifecycle.down(NAME)


@pytest.fixture(scope="session")
def kubectl(request: pytest.FixtureRequest) -> Kubectl:
    if EXISTING is None:
        return lifecycle.kubectl(request.getfixturevalue("cluster"))
    existing = Kubectl(binaries() / "bin/kubectl", Path(EXISTING))
    addons.install(existing, binaries() / "share")
    return existing


def _namespace(kubectl: Kubectl, test: str, security: str) -> Iterator[Kubectl]:
    name = re.sub(r"[^a-z0-9]+", "-", test.removeprefix("test_").lower())[:60].strip("-")
    labels = {"pod-security.kubernetes.io/enforce": security}
    kubectl.apply(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}
    )
    yield kubectl.within(name)
    kubectl("delete", "namespace", name, "--wait=false")


@pytest.fixture
def namespace(kubectl: Kubectl, request: pytest.FixtureRequest) -> Iterator[Kubectl]:
    """A namespace of the test's own that admits restricted pods only."""
    yield from _namespace(kubectl, request.node.name, "restricted")


@pytest.fixture
def baseline_namespace(kubectl: Kubectl, request: pytest.FixtureRequest) -> Iterator[Kubectl]:
    """For MPIJobs: the init container that the training operator adds is not restricted."""
    yield from _namespace(kubectl, request.node.name, "baseline")


@pytest.fixture(scope="session")
def prometheus(kubectl: Kubectl) -> Iterator[Prometheus]:
    """By port-forward, which works on every cluster and passes every network policy."""
    there = kubectl.within("cepheid-monitoring")
    with subprocess.Popen(
        [str(there.program), "--namespace=cepheid-monitoring"]
        + ["port-forward", "service/prometheus", ":9090", "--address=127.0.0.1"],
        env={**os.environ, "KUBECONFIG": str(there.kubeconfig)},
        stdout=subprocess.PIPE,
        text=True,
    ) as forwarder:
        assert forwarder.stdout is not None
        said = forwarder.stdout.readline()
        address = re.search(r"127\.0\.0\.1:\d+", said)
        assert address, f"kubectl port-forward said {said!r}"
        yield Prometheus(address[0])
        forwarder.terminate()
