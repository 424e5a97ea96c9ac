"""Real servers for all tests; a yard of nodes of its own for each."""

import base64
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests import REPOSITORY
from tests.cluster.progress import ClusterError, wait_for
from tests.cluster.rendered import SCHEDULER
from tests.scheduling.yard import DEFAULT, Yard
from tests.stage.api_server import ApiServer
from tests.stage.controllers import ControllerManager, Scheduler
from tests.stage.kwok import Kwok
from tests.stage.ours import Ours
from tests.stage.processes import free_port
from tests.stage.proxy import Proxy

CERTIFICATES = REPOSITORY / "manifests/scheduler/certificates"
ACCOUNT = "cepheid-extender"
CONTROLLERS = ("node-lifecycle-controller",)
"""Without it nobody would take off a new node's taint that it is not ready. Not that of Jobs: it
would take a pod that we made away from the Job that it is of."""
KINDS = {"nodes": "nodes", "pods": "pods", "jobs": "jobs", "runs": "jobprofiles"}
"""What is kept, and what it is kept of."""
_NUMBERS = count(1)


@dataclass(frozen=True)
class Stage:
    api: ApiServer
    extender: Ours
    scheduler: Scheduler
    way: Proxy
    """From the scheduler to the extender."""
    serves: int
    """The port at which the extender answers."""
    tls: Path
    """A folder with the certificates of both."""

    def heard(self) -> None:
        """The extender knows of all that there is in the cluster, and of nothing else."""
        wait_for("the extender to know it all", self._knows_it_all, 60, 0.2)

    def _knows_it_all(self) -> bool:
        kept, there = self._kept(), self._there()
        if kept != there:
            raise ClusterError(f"it knows of {kept}, and there are {there}")
        return True

    def _kept(self) -> dict[str, float]:
        figures = self.extender.metrics()
        return {kind: figures[f'cepheid_extender_kept{{kind="{kind}"}}'] for kind in KINDS}

    def _there(self) -> dict[str, float]:
        found = {kind: self.api.admin.items(what, "-A") for kind, what in KINDS.items()}
        found["pods"] = [pod for pod in found["pods"] if _holds_gpus(pod["spec"])]
        found["runs"] = [run for run in found["runs"] if "usage" in run]
        return {kind: len(things) for kind, things in found.items()}


@pytest.fixture(scope="package")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    folder = tmp_path_factory.mktemp("scheduling")
    tls = _certificates(folder / "tls")
    port = free_port()
    with ApiServer(folder) as api, Kwok(folder, api.admin.kubeconfig), Proxy(port) as way:
        api.install(SCHEDULER)
        extender = Ours(
            "extender",
            folder / "extender.log",
            api.account_kubeconfig("extender", ACCOUNT),
            {
                "serve": f"127.0.0.1:{port}",
                "certificate_file": tls / "tls.crt",
                "key_file": tls / "tls.key",
                "client_ca_file": tls / "ca.crt",
                "relist_seconds": 20,
            },
        )
        scheduler = Scheduler(folder, api.admin.kubeconfig, _configuration(tls, way.port))
        controllers = ControllerManager(folder, api.admin.kubeconfig, CONTROLLERS)
        with controllers, extender, scheduler:
            ready(extender)
            yield Stage(api, extender, scheduler, way, port, tls)


@pytest.fixture
def yard(stage: Stage) -> Iterator[Yard]:
    stage.api.start()
    stage.extender.start()
    ready(stage.extender)
    name = f"y{next(_NUMBERS)}"
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    stage.api.admin.apply(space)
    yield Yard(stage.api.admin, name)
    if stage.api.running:
        stage.api.admin("delete", "--raw", f"/api/v1/namespaces/{name}/pods?gracePeriodSeconds=0")
        stage.api.admin("delete", "nodes", f"--selector=yard={name}", "--wait=false")


def ready(extender: Ours) -> None:
    wait_for("the extender", lambda: extender.get("/readyz")[0] == 200, 120, 0.1)


def _holds_gpus(spec: dict[str, Any]) -> bool:
    (container,) = spec["containers"]
    return "nodeName" in spec and "nvidia.com/gpu" in container["resources"].get("limits", {})


def _certificates(folder: Path) -> Path:
    """Made as a user makes them."""
    made = subprocess.run(
        [CERTIFICATES, "127.0.0.1"], check=True, capture_output=True, text=True, timeout=60
    ).stdout
    folder.mkdir()
    for name, text in yaml.safe_load(made)["data"].items():
        (folder / name).write_bytes(base64.b64decode(text))
    return folder


def _configuration(tls: Path, port: int) -> dict[str, Any]:
    """The one of the manifests, but for what is elsewhere here."""
    things = yaml.safe_load_all(SCHEDULER.read_text())
    (map_of_files,) = (thing for thing in things if thing["kind"] == "ConfigMap")
    text = map_of_files["data"]["configuration.yaml"]
    configuration: dict[str, Any] = yaml.safe_load(text.replace("/etc/cepheid-tls", str(tls)))
    # As where the profile is added to the cluster's own scheduler.
    configuration["profiles"].append({"schedulerName": DEFAULT})
    configuration["leaderElection"] = {"leaderElect": False}
    (extender,) = configuration["extenders"]
    extender["urlPrefix"] = f"https://127.0.0.1:{port}"
    extender["httpTimeout"] = "3s"  # a busy machine is no fault of the extender's
    return configuration
