"""The cluster that is looked at, and what can be done to it.

No controller acts in it: what a DaemonSet's status says is what a test writes there.
"""

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import yaml

from cepheid.doctor.finding import Finding, Level
from tests import REPOSITORY
from tests.cli.conftest import Ran, Run
from tests.cluster.progress import wait_for
from tests.stage.exporters import page_of
from tests.stage.surroundings import Stage
from tests.stage.world import Node, Pod
from tests.unit.manifests.files import AGENT, OPERATOR, Object

NODES = ("gpu-a", "gpu-b")
TEAM, HOLDER = "research", "train"
VALID = timedelta(minutes=12)
PATIENCE_SECONDS = 90.0


@dataclass(frozen=True)
class Patient:
    stage: Stage
    nodes: tuple[Node, ...]

    def ask(self, cepheid: Run, *more: str, kubeconfig: Path | None = None) -> Ran:
        config = str(kubeconfig or self.stage.api.admin.kubeconfig)
        given = ("doctor", "--prometheus", self.stage.prometheus.url, *more)
        return cepheid(*given, KUBECONFIG=config)

    def troubles(self, cepheid: Run, *more: str, kubeconfig: Path | None = None) -> list[Finding]:
        """All that is not well."""
        said = self.ask(cepheid, "--output", "json", *more, kubeconfig=kubeconfig)
        assert said.returncode == 0, said.stderr
        found = [
            Finding(**{**row, "level": Level(row["level"])}) for row in json.loads(said.stdout)
        ]
        return [one for one in found if one.level is not Level.OK]

    def is_well(self, cepheid: Run) -> None:
        """Waits for a scrape or two, until nothing is wrong."""
        wait_for("that all is well", lambda: not self.troubles(cepheid), PATIENCE_SECONDS)

    def becomes(self, cepheid: Run, words: str, *more: str, count: int = 1) -> list[Finding]:
        """All troubles, as soon as that is one of so many.

        A moment after Prometheus was started there are others: not all is scraped yet.
        """

        def looked() -> list[Finding] | None:
            found = self.troubles(cepheid, *more)
            fits = len(found) == count and any(words in one.words for one in found)
            return found if fits else None

        return wait_for(words, looked, PATIENCE_SECONDS)

    def type(self, command: str) -> None:
        """A command of a finding, as an administrator types it."""
        api = self.stage.api.admin
        path = f"{api.program.parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=REPOSITORY,
            env={**os.environ, "PATH": path, "KUBECONFIG": str(api.kubeconfig)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{command}: {done.stderr}"

    def annotate(self, node: str, until: datetime | None = None) -> None:
        when = (until or datetime.now(UTC) + VALID).strftime("%Y-%m-%dT%H:%M:%SZ")
        key = "ai.centaurus.io/valid-until"
        self.stage.api.admin("annotate", "--overwrite", "node", node, f"{key}={when}")

    def run_agents(self, ready: int = len(NODES), trouble: str = "") -> None:
        """As far as a status says so."""
        self._status(
            AGENT,
            {
                "desiredNumberScheduled": len(NODES),
                "currentNumberScheduled": len(NODES),
                "numberMisscheduled": 0,
                "numberReady": ready,
            },
        )
        for place, node in enumerate(NODES):
            self._agent_pod(node, "" if place < ready else trouble or "ContainerCreating")

    def run_operator(self, ready: int = 2) -> None:
        self._status(OPERATOR, {"replicas": 2, "readyReplicas": ready})

    def _status(self, thing: Object, status: Object) -> None:
        patch = json.dumps({"status": status})
        metadata = thing["metadata"]
        self.stage.api.admin.within(metadata["namespace"])(
            *("patch", thing["kind"], metadata["name"], "--subresource=status", "--type=merge"),
            f"--patch={patch}",
        )

    def _agent_pod(self, node: str, trouble: str) -> None:
        name = f"cepheid-agent-{node}"
        within = self.stage.api.admin.within("cepheid")
        template = AGENT["spec"]["template"]
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {**template["metadata"], "name": name},
        }
        within.apply(pod | {"spec": {**template["spec"], "nodeName": node}})
        state = {"waiting": {"reason": trouble}} if trouble else {"running": {}}
        container = {
            "name": "agent",
            "ready": not trouble,
            "restartCount": 0,
            "state": state,
            "image": "",
            "imageID": "",
        }
        is_ready = "False" if trouble else "True"
        status = {
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": is_ready}],
            "containerStatuses": [container],
        }
        within(
            *("apply", "--server-side", "--subresource=status", "--filename=-"),
            stdin=yaml.safe_dump(pod | {"status": status}),
        )

    def exporter_says(self, change: Any) -> None:
        """What every page of the GPUs' exporters becomes, until `exporter_recovers`."""
        for node in self.nodes:
            path = self.stage.exporters.dcgm_path(node.name)

            def reply(handler: Any, path: str = path) -> None:
                text = self.stage.exporters.page(path, datetime.now(UTC).timestamp()) or ""
                page_of(change(text))(handler)

            self.stage.exporters.instead[path] = reply

    def exporter_recovers(self) -> None:
        self.stage.exporters.instead.clear()


def admit(stage: Stage) -> Patient:
    """All is well with it."""
    nodes = []
    for name in NODES:
        node = stage.add_node(name, gpus=1)
        capacity = json.dumps({"status": {"capacity": {"nvidia.com/gpu": "1"}}})
        stage.api.admin(
            "patch", "node", name, "--subresource=status", "--type=merge", f"--patch={capacity}"
        )
        wanted = {"nvidia.com/gpu": "1"}
        spec = {
            "containers": [
                {"name": "main", "image": "work", "resources": {"limits": wanted}},
            ]
        }
        uid = stage.api.pod(TEAM, f"{HOLDER}-{name}", name, spec)
        pod = Pod(TEAM, f"{HOLDER}-{name}", uid)
        node.pods.append(pod)
        node.gpus[0].hold(pod, busy=0.8, memory_mib=4096, since=0)
        nodes.append(node)
    stage.api.admin.apply(AGENT, OPERATOR)
    patient = Patient(stage, tuple(nodes))
    patient.run_agents()
    patient.run_operator()
    for name in NODES:
        patient.annotate(name)
    stage.prometheus.backfill(60)
    stage.prometheus.start()
    return patient


def words_of(found: Sequence[Finding]) -> list[str]:
    return [one.words for one in found]
