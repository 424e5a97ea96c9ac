"""The cluster that is looked at, and what can be done to it.

No controller acts in it: what the status of our agents and operator says is what a test writes
there. What becomes of the exporter and of Prometheus is `played`.
"""

import json
import os
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import yaml

from cepheid.doctor.exporter import RESTART
from cepheid.doctor.finding import Finding, Level, Rule
from cepheid.doctor.rights import ROLE
from tests import REPOSITORY
from tests.cli.conftest import Ran, Run
from tests.cluster.progress import ClusterError, wait_for
from tests.doctor.played import MONITORING, Played
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
    played: Played
    found: set[Rule] = field(default_factory=set)
    """What a test has found so far."""

    def ask(self, cepheid: Run, *more: str, kubeconfig: Path | None = None) -> Ran:
        config = str(kubeconfig or self.stage.api.admin.kubeconfig)
        given = ("doctor", "--prometheus", self.stage.prometheus.url, *more)
        return cepheid(*given, KUBECONFIG=config)

    def troubles(self, cepheid: Run, *more: str, kubeconfig: Path | None = None) -> list[Finding]:
        """All that is not well."""
        said = self.ask(cepheid, "--output", "json", *more, kubeconfig=kubeconfig)
        assert said.returncode == 0, said.stderr
        found = [
            Finding(
                **row | {"level": Level(row["level"]), "rule": row["rule"] and Rule(row["rule"])}
            )
            for row in json.loads(said.stdout)
        ]
        return [one for one in found if one.level is not Level.OK]

    def is_well(self, cepheid: Run, *more: str, kubeconfig: Path | None = None) -> None:
        """Waits for a scrape or two, until nothing is wrong."""

        def looked() -> bool:
            return not self.troubles(cepheid, *more, kubeconfig=kubeconfig)

        wait_for("that all is well", looked, PATIENCE_SECONDS)

    def finds(
        self,
        cepheid: Run,
        rule: Rule,
        words: str,
        *more: str,
        beside: Sequence[Rule] = (),
        kubeconfig: Path | None = None,
    ) -> Finding:
        """That, and nothing else but what is `beside` it.

        A moment after a change there are other troubles, or none: not all is scraped yet, and the
        API server takes its time until rights and policies hold.
        """

        wanted = sorted([rule, *beside])
        found: list[Finding] = []

        def looked() -> Finding | None:
            found[:] = self.troubles(cepheid, *more, kubeconfig=kubeconfig)
            if sorted(one.rule for one in found if one.rule) != wanted:
                return None
            return next((one for one in found if one.rule is rule and words in one.words), None)

        try:
            made = wait_for(f"{rule}: {words}", looked, PATIENCE_SECONDS)
        except ClusterError as problem:
            raise AssertionError(f"instead of {rule}: {words_of(found)}") from problem
        self.found.add(rule)
        return made

    def type(self, command: str) -> str:
        """A command of a finding, as an administrator types it; what it says."""
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
        self.played.obey()
        return done.stdout

    def take_grants_back(self) -> None:
        for kind in ("clusterrolebinding", "clusterrole"):
            names = [one["metadata"]["name"] for one in self.stage.api.admin.items(kind)]
            granted = [name for name in names if name.startswith(ROLE)]
            self.stage.api.admin("delete", kind, *granted)

    def reconfigure(self, change: Callable[[Any], object]) -> None:
        """Another configuration of Prometheus than ours, as somebody's own edit makes it."""
        within = self.stage.api.admin.within(MONITORING)
        config = yaml.safe_load(within.get("configmap", "prometheus")["data"]["prometheus.yml"])
        change(config)
        patch = json.dumps({"data": {"prometheus.yml": yaml.safe_dump(config, sort_keys=False)}})
        within("patch", "configmap", "prometheus", "--type=merge", f"--patch={patch}")
        self.type(RESTART)

    def annotate(self, node: str, until: datetime | None = None) -> None:
        when = (until or datetime.now(UTC) + VALID).strftime("%Y-%m-%dT%H:%M:%SZ")
        key = "ai.centaurus.io/valid-until"
        self.stage.api.admin("annotate", "--overwrite", "node", node, f"{key}={when}")

    def offer(self, node: str, gpus: int) -> None:
        """As its device plugin does."""
        capacity = json.dumps({"status": {"capacity": {"nvidia.com/gpu": str(gpus)}}})
        self.stage.api.admin(
            "patch", "node", node, "--subresource=status", "--type=merge", f"--patch={capacity}"
        )

    def run_agents(
        self, ready: int = len(NODES), trouble: str = "", wanted: int = len(NODES)
    ) -> None:
        """As far as a status says so."""
        self._status(
            AGENT,
            {
                "desiredNumberScheduled": wanted,
                "currentNumberScheduled": wanted,
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


def admit(stage: Stage) -> Patient:
    """All is well with it."""
    nodes = []
    for name in NODES:
        node = stage.add_node(name, gpus=1)
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
    patient = Patient(stage, tuple(nodes), Played(stage))
    patient.run_agents()
    patient.run_operator()
    for name in NODES:
        patient.offer(name, 1)
        patient.annotate(name)
    patient.played.install()
    return patient


def words_of(found: Sequence[Finding]) -> list[str]:
    return [one.words for one in found]
