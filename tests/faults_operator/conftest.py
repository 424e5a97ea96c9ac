"""Real surroundings for all tests; a namespace and operators of its own for each."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from tests.cluster.progress import wait_for
from tests.faults_operator.submitted import Submitted, submit
from tests.stage.api_server import NAMESPACE
from tests.stage.operator import Operator
from tests.stage.surroundings import Stage, surroundings

SOON: dict[str, object] = {"write_seconds": 0, "live_seconds": 1}
LEASE = {
    "apiVersion": "coordination.k8s.io/v1",
    "kind": "Lease",
    "metadata": {"name": "cepheid-operator", "namespace": NAMESPACE},
    "spec": {"holderIdentity": ""},
}
KINDS = (
    "/apis/batch/v1/namespaces/{}/jobs",
    "/api/v1/namespaces/{}/pods",
    "/apis/ai.centaurus.io/v1alpha1/namespaces/{}/jobprofiles",
)
Start = Callable[..., Operator]
_NUMBERS = count(1)


@pytest.fixture(scope="package")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with surroundings(tmp_path_factory.mktemp("stage")) as made:
        made.world.add_node("gpu-a", gpus=2)  # of which Prometheus is told
        made.world.add_node("gpu-idle", gpus=12)
        made.prometheus.start()
        yield made


@pytest.fixture
def stage(running: Stage, tmp_path: Path) -> Stage:
    """With a folder of this test's. Nobody holds the Lease: the first need not wait for it."""
    running.api.start()  # where the test before left it stopped
    running.api.admin("delete", "lease", "cepheid-operator", "-n", NAMESPACE, "--ignore-not-found")
    running.api.admin.apply(LEASE)
    return replace(running, folder=tmp_path)


@pytest.fixture
def namespace(stage: Stage) -> Iterator[str]:
    name = f"team-{next(_NUMBERS)}"
    yield name
    if stage.api.running:
        for kind in KINDS:
            # In one request: kubectl would send one for each, and not too many a second.
            path = kind.format(name) + "?propagationPolicy=Background&gracePeriodSeconds=0"
            stage.api.admin("delete", "--raw", path)


@pytest.fixture
def start(stage: Stage) -> Iterator[Start]:
    """Starts an operator, which ends with the test; `url` of what stands before the API server."""
    with ExitStack() as stack:

        def begin(name: str = "a", url: str | None = None, **settings: object) -> Operator:
            kubeconfig = stage.api.operator_kubeconfig(f"operator-{name}", url)
            made = Operator(stage.folder, name, stage.prometheus.url, kubeconfig, SOON | settings)
            return stack.enter_context(made)

        yield begin


@pytest.fixture
def operator(start: Start) -> Operator:
    made = start()
    wait_for("an operator that acts", lambda: made.acts)
    return made


@pytest.fixture
def job(stage: Stage, namespace: str) -> Callable[..., Submitted]:
    def make(name: str = "train", **metadata: object) -> Submitted:
        return submit(stage.api, namespace, name, **metadata)

    return make
