"""What kubelets make of other people's objects: an exporter and a Prometheus, as those say.

So a remedy is typed as it is printed: `kubectl set env daemonset/dcgm-exporter ...` changes an
object of the API server, and the simulated exporter then does what NVIDIA's does with that
variable. Prometheus is the real one. Its jobs and its interval are those of the ConfigMap from when
its Deployment was last restarted on, and its volume is empty after that, as an emptyDir is. Fifteen
seconds of that interval are one here.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import yaml

from tests import REPOSITORY
from tests.cluster.progress import ClusterError
from tests.simgpu.faults import OLD_INT64, OMIT, GpuFaults
from tests.stage.exporters import page_of
from tests.stage.surroundings import Stage
from tests.stage.world import Node
from tests.unit.manifests.files import Object
from tests.unit.sources.servers import Reply, answer

PROMETHEUS = REPOSITORY / "prometheus/prometheus.yaml"
SPACE, EXPORTER = "gpus", "dcgm-exporter"
MONITORING = "cepheid-monitoring"
PRESENT = "nvidia.com/gpu.present"
QUICKER = 15.0
OWN_NAME = f"{EXPORTER}-x7k2p"
"""Of a pod of the exporter: what it takes for the host's name, where it is told no other."""
ALL_COUNTERS = "/etc/dcgm-exporter/dcp-metrics-included.csv"
WITHOUT: dict[str, str] = {
    ALL_COUNTERS: "nothing",
    "/etc/dcgm-exporter/default-counters.csv": "DCGM_FI_PROF_",
    "/etc/mine/counters.csv": "TOTAL_ENERGY",
}
"""Lists of counters and what is not in them: of NVIDIA's image, version 2, and one of a user's."""
NOT_OFFERED = "DCGM_FI_DEV_MEM_COPY_UTIL"
"""By the first GPU of each node: its value is blank, or left out."""
LEAVES_BLANKS_OUT = 3
"""From this version of the exporter on."""
_HOLDER = re.compile(r',container="[^"]*",namespace="[^"]*",pod="[^"]*"')
_HOSTNAME = re.compile(r'Hostname="[^"]*"')


def exporter() -> Object:
    """As NVIDIA's chart has it, measuring every second."""
    name = {"app.kubernetes.io/name": EXPORTER}
    variables: list[Object] = [
        {"name": "DCGM_EXPORTER_KUBERNETES", "value": "true"},
        {"name": "DCGM_EXPORTER_COLLECTORS", "value": ALL_COUNTERS},
        {"name": "DCGM_EXPORTER_INTERVAL", "value": "1000"},
        {"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
    ]
    container = {
        "name": "exporter",
        "image": "nvcr.io/nvidia/k8s/dcgm-exporter:4.4.2-4.7.1-ubuntu22.04",
        "env": variables,
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": EXPORTER, "namespace": SPACE, "labels": name},
        "spec": {
            "selector": {"matchLabels": name},
            "template": {
                "metadata": {"labels": name},
                "spec": {"nodeSelector": {PRESENT: "true"}, "containers": [container]},
            },
        },
    }


class Played:
    """`obey` after every change of the objects."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._running: Object | None = None
        """The pod of Prometheus, as its Deployment had it when it was started."""

    def install(self) -> None:
        space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}}
        self._stage.api.admin.apply(space)
        self._stage.api.admin("apply", f"--filename={PROMETHEUS}")
        for node in self._stage.world.nodes:
            self._stage.api.admin("label", "node", node.name, f"{PRESENT}=true")
        self.install_exporter(exporter())

    def install_exporter(self, made: Object) -> None:
        """In place of the one that there is, whoever changed that."""
        within = self._stage.api.admin.within(SPACE)
        within("delete", "daemonset", EXPORTER, "--ignore-not-found")
        within.apply(made)
        self.obey()

    def obey(self) -> None:
        self._export()
        self._scrape()

    def _export(self) -> None:
        found = self._get("daemonset", EXPORTER, SPACE)
        pod = None if found is None else found["spec"]["template"]["spec"]
        nodes = {one["metadata"]["name"]: one for one in self._stage.api.admin.items("nodes")}
        for node in self._stage.world.nodes:
            path = self._stage.exporters.dcgm_path(node.name)
            labels = nodes[node.name]["metadata"].get("labels", {})
            if pod is None or not pod.get("nodeSelector", {}).items() <= labels.items():
                self._stage.exporters.instead[path] = answer(503, b"nobody listens there")
            else:
                self._stage.exporters.instead[path] = self._page(node, path, pod["containers"][0])

    def _page(self, node: Node, path: str, container: Object) -> Reply:
        variables = {one["name"]: one.get("value") for one in container.get("env", ())}
        arguments = container.get("args", ())
        told = dict(zip(arguments[::2], arguments[1::2], strict=True))
        milliseconds = told.get("-c") or variables.get("DCGM_EXPORTER_INTERVAL") or "30000"
        self._stage.world.gpus_every_seconds = int(milliseconds) / 1000
        major = int(container["image"].rpartition(":")[2].partition(".")[0])
        blank = OLD_INT64 if major < LEAVES_BLANKS_OUT else OMIT
        node.gpus[0].faults = GpuFaults(blank={NOT_OFFERED: blank})

        def reply(handler: Any) -> None:
            text = self._stage.exporters.page(path, datetime.now(UTC).timestamp()) or ""
            page_of(as_told(text, variables))(handler)

        return reply

    def _scrape(self) -> None:
        prometheus = self._stage.prometheus
        deployment = self._get("deployment", "prometheus", MONITORING)
        if deployment is None or deployment["spec"]["replicas"] == 0:
            prometheus.kill()
            self._running = None
            return
        pod = deployment["spec"]["template"]
        if pod == self._running:
            return
        self._running = pod
        config_map = self._get("configmap", "prometheus", MONITORING)
        assert config_map is not None
        config = yaml.safe_load(config_map["data"]["prometheus.yml"])
        prometheus.jobs = config["scrape_configs"]
        every = config["global"]["scrape_interval"]
        prometheus.interval_seconds = float(every.removesuffix("s")) / QUICKER
        if prometheus.data.exists() and prometheus.running:
            prometheus.wipe()
        else:
            prometheus.start()

    def _get(self, kind: str, name: str, namespace: str) -> Object | None:
        try:
            found: Object = self._stage.api.admin.within(namespace).get(kind, name)
        except ClusterError as problem:
            if "NotFound" in str(problem):
                return None
            raise
        return found


def as_told(text: str, variables: Mapping[str, str | None]) -> str:
    """A page of the exporter with these variables; one from a field of its pod has no value."""
    left_out = WITHOUT[variables.get("DCGM_EXPORTER_COLLECTORS") or ALL_COUNTERS]
    text = "".join(line for line in text.splitlines(keepends=True) if left_out not in line)
    if variables.get("DCGM_EXPORTER_KUBERNETES") != "true":
        text = _HOLDER.sub("", text)
    if "NODE_NAME" not in variables:
        text = _HOSTNAME.sub(f'Hostname="{OWN_NAME}"', text)
    return text
