"""One cluster a run, a namespace a test."""

import os
import re
import secrets
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster import addons, lifecycle
from tests.cluster.binaries import binaries
from tests.cluster.kubectl import Kubectl
from tests.cluster.layout import DEFAULT_NODES, INVENTORIES, Cluster
from tests.cluster.progress import wait_for
from tests.e2e import finished, play, scene
from tests.e2e.prometheus import Prometheus
from tests.e2e.traces import Traces
from tests.e2e.watched import watched_pods

EXISTING = os.environ.get("CEPHEID_E2E_KUBECONFIG")  # set by `make e2e KUBECONFIG=...`
NAME = "test"
NODES = DEFAULT_NODES | {scene.NODE: INVENTORIES / f"h100x{scene.GPUS}.json"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    items.sort(key=_is_patient)
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.e2e)
            if EXISTING and item.get_closest_marker("machine"):
                reason = "needs the machine that the nodes run on, and this cluster existed already"
                item.add_marker(pytest.mark.skip(reason=reason))


def _is_patient(item: pytest.Item) -> bool:
    return item.get_closest_marker("patient") is not None


@pytest.fixture(scope="package")
def cluster() -> Iterator[Cluster]:
    """Our own cluster, fresh; for tests that look behind Kubernetes, marked `machine`."""
    lifecycle.down(NAME)  # what a run that was killed has left
    others = _foreign()
    before = Traces.now(without=others)
    try:
        cluster = lifecycle.up(Cluster.of(NAME, NODES))
        lifecycle.kubectl(cluster)("taint", "node", scene.NODE, scene.TAINT)
        yield cluster
    finally:
        lifecycle.down(NAME)
    before.assert_nothing_added(without=lambda: others | _foreign())


def _foreign() -> set[str]:
    """Clusters that are not of these tests: other people's come and go meanwhile."""
    return set(lifecycle.all_names()) - {NAME}


@pytest.fixture(scope="package")
def kubectl(request: pytest.FixtureRequest) -> Kubectl:
    if EXISTING is None:
        return lifecycle.kubectl(request.getfixturevalue("cluster"))
    existing = Kubectl(binaries() / "bin/kubectl", Path(EXISTING))
    addons.install(existing, binaries() / "share")
    return existing


@pytest.fixture(scope="package", autouse=True)
def _begin_first(request: pytest.FixtureRequest) -> None:
    """What patient tests look at last is begun before all others."""
    wanted = {
        name
        for item in request.session.items
        if _is_patient(item) and not (EXISTING and item.get_closest_marker("machine"))
        for name in getattr(item, "fixturenames", ())
    }
    for name in ("playing", "watched", "ended"):
        if name in wanted:
            request.getfixturevalue(name)


@pytest.fixture(scope="package")
def watched(kubectl: Kubectl) -> Iterator[Kubectl]:
    """The jobs that an agent watches from the first test to the last."""
    for namespace in _namespace(kubectl, "watched", "restricted"):
        namespace.apply(*watched_pods())
        yield namespace


@pytest.fixture(scope="package")
def begun(kubectl: Kubectl) -> Iterator[finished.Begun]:
    """Jobs that are begun with the first test, and have ended by the last."""
    for namespace in _namespace(kubectl, "ended", "baseline"):
        with finished.begun(namespace) as jobs:
            yield jobs


@pytest.fixture(scope="package")
def ended(begun: finished.Begun) -> Kubectl:
    """Where they are."""
    return begun.namespace


@pytest.fixture(scope="package")
def playing(kubectl: Kubectl) -> Iterator[play.Playing]:
    """The jobs of the scene, each with its vice, from the first test to the last."""
    for namespace in _namespace(kubectl, "scene", "baseline"):
        with play.played(namespace) as begun:
            yield begun


def _namespace(kubectl: Kubectl, test: str, security: str) -> Iterator[Kubectl]:
    words = re.sub(r"[^a-z0-9]+", "-", test.removeprefix("test_").lower())[:50].strip("-")
    name = f"{words}-{secrets.token_hex(3)}"  # the one of an earlier run may still be ending
    labels = {"pod-security.kubernetes.io/enforce": security}
    kubectl.apply(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}
    )
    there = kubectl.within(name)
    # Made by a controller, some time after the namespace; until then no pod is admitted.
    wait_for("the default service account", lambda: there.get("serviceaccount", "default"))
    yield there
    kubectl("delete", "namespace", name, "--wait=false")


@pytest.fixture
def namespace(kubectl: Kubectl, request: pytest.FixtureRequest) -> Iterator[Kubectl]:
    """A namespace of the test's own that admits restricted pods only."""
    yield from _namespace(kubectl, request.node.name, "restricted")


@pytest.fixture
def baseline_namespace(kubectl: Kubectl, request: pytest.FixtureRequest) -> Iterator[Kubectl]:
    """For MPIJobs: the init container that the training operator adds is not restricted."""
    yield from _namespace(kubectl, request.node.name, "baseline")


@pytest.fixture(scope="package")
def prometheus(kubectl: Kubectl, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """By port-forward, which works on every cluster and passes every network policy."""
    forward = ["port-forward", "service/prometheus", ":9090", "--address=127.0.0.1"]
    # Into a file: it says a line for each connection, and a full pipe would stop it.
    log = tmp_path_factory.mktemp("port-forward") / "log"
    with (
        log.open("w") as output,
        subprocess.Popen(
            [str(kubectl.program), "--namespace=cepheid-monitoring", *forward],
            env={**os.environ, "KUBECONFIG": str(kubectl.kubeconfig)},
            stdout=output,
        ) as forwarder,
    ):
        try:
            address = wait_for(
                "kubectl port-forward", lambda: re.search(r"127\.0\.0\.1:\d+", log.read_text())
            )
            yield Prometheus(address[0])
        finally:
            forwarder.terminate()  # else leaving the block would wait for it for ever
