"""What a thousand agents would ask of both servers: measured on some of them, then multiplied.

The thousand Nodes are plain objects with what a kubelet reports. kwok would add only what is not
the agents' doing: leases that are renewed.
"""

import http.client
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from lightkube import Client, KubeConfig
from lightkube.resources.core_v1 import Node

from cepheid.annotations import api
from cepheid.annotations.writer import Kind, Standing, Writer
from cepheid.sources.access import Access
from cepheid.sources.catalog import Source
from cepheid.sources.prometheus import PrometheusClient
from cepheid.sources.selection import Target, selectors, ways
from tests.bench.agent.loads import Past, steady
from tests.stage.api_server import ApiServer
from tests.stage.etcd import Etcd
from tests.stage.prometheus import Prometheus
from tests.stage.world import Pod, World

NODES = 1000
SAMPLE = 10
"""Nodes whose agents write, each with a token of its own."""
ROUNDS = 30
IDLE_SECONDS = 30.0
"""In which it is seen what the API server takes without any agent."""
IMAGES = 50
"""That a kubelet reports by default (--node-status-max-images)."""
VALID_UNTIL = "ai.centaurus.io/valid-until"
IN_USE = "etcd_mvcc_db_total_size_in_use_in_bytes"
LOGGED = "etcd_disk_wal_write_bytes_total"
STEP_SECONDS = 15.0
PAST_STEPS = 8


@dataclass(frozen=True)
class WriteCost:
    """Of one patch of a Node with all annotations, on an API server with a thousand Nodes."""

    object_bytes: int
    """As JSON, which is what each watcher of Nodes is sent."""
    annotation_bytes: int
    api_cpu_seconds: float
    etcd_cpu_seconds: float
    etcd_bytes: float
    """By which the store grows, until it is compacted (every five minutes)."""
    log_bytes: float
    """That etcd appends to its log on disk."""


def write_cost(server: ApiServer, annotations: Mapping[str, str]) -> WriteCost:
    names = [f"node-{number:04}" for number in range(NODES)]
    client = Client(KubeConfig.from_file(server.admin.kubeconfig))
    for name in names:
        made: Any = Node.from_dict(reported(name))
        client.create(made)
    sample = names[:: NODES // SAMPLE]
    kubeconfigs = {name: server.agent_kubeconfig(name) for name in sample}
    writers = [(name, _writer(path)) for name, path in kubeconfigs.items()]
    standing = {name: writer.read(Kind.NODE, name) for name, writer in writers}
    _write(writers, standing, annotations, rounds=1)  # connections, and the first of each
    idle = _Spent.of(server)
    time.sleep(IDLE_SECONDS)
    before = _Spent.of(server)
    _write(writers, standing, annotations, ROUNDS)
    after = _Spent.of(server)
    writes = ROUNDS * len(writers)
    rest = (after.at - before.at) / (before.at - idle.at)
    found = server.admin.get("node", sample[0])
    client.close()
    return WriteCost(
        object_bytes=len(json.dumps(found, separators=(",", ":"))),
        annotation_bytes=sum(len(key) + len(text) for key, text in annotations.items()),
        api_cpu_seconds=(after.api - before.api - rest * (before.api - idle.api)) / writes,
        etcd_cpu_seconds=(after.etcd - before.etcd - rest * (before.etcd - idle.etcd)) / writes,
        etcd_bytes=(after.in_use - before.in_use) / writes,
        log_bytes=(after.logged - before.logged) / writes,
    )


@dataclass(frozen=True)
class _Spent:
    at: float
    api: float
    etcd: float
    in_use: float
    logged: float

    @classmethod
    def of(cls, server: ApiServer) -> "_Spent":
        metrics = etcd_metrics(server.etcd)
        return cls(
            time.monotonic(),
            server.usage().cpu_seconds,
            server.etcd.usage().cpu_seconds,
            metrics[IN_USE],
            metrics[LOGGED],
        )


def _writer(kubeconfig: Path) -> Writer:
    return Writer(api.ApiServer(lambda: api.connect(str(kubeconfig))))


def _write(
    writers: Sequence[tuple[str, Writer]],
    standing: dict[str, Standing],
    annotations: Mapping[str, str],
    rounds: int,
) -> None:
    for number in range(rounds):
        moment = datetime.now(UTC) + timedelta(seconds=600 * number)
        beat = {VALID_UNTIL: moment.strftime("%Y-%m-%dT%H:%M:%SZ")}
        for name, writer in writers:
            standing[name] = writer.apply(standing[name].target, {**annotations, **beat})


def etcd_metrics(etcd: Etcd) -> dict[str, float]:
    connection = http.client.HTTPConnection("127.0.0.1", etcd.port, timeout=10)
    try:
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
    finally:
        connection.close()
    pairs = [line.rpartition(" ") for line in text.splitlines() if not line.startswith("#")]
    return {series: float(value) for series, _, value in pairs if series in {IN_USE, LOGGED}}


def reported(name: str) -> dict[str, object]:
    """A Node with what a kubelet says of it."""
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    kinds = ("MemoryPressure", "DiskPressure", "PIDPressure", "Ready")
    resources = {"cpu": "64", "memory": "512Gi", "nvidia.com/gpu": "8", "pods": "110"}
    image = "registry.example.com/team/project/image-{}"
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux"},
        },
        "status": {
            "capacity": resources,
            "allocatable": resources,
            "conditions": [
                {
                    "type": kind,
                    "status": "False",
                    "reason": f"KubeletHasNo{kind}",
                    "message": f"kubelet has no {kind}",
                    "lastHeartbeatTime": now,
                    "lastTransitionTime": now,
                }
                for kind in kinds
            ],
            "images": [
                {
                    "names": [
                        f"{image.format(number)}@sha256:{number:064x}",
                        f"{image.format(number)}:v1.2.3",
                    ],
                    "sizeBytes": 10_000_000 + number,
                }
                for number in range(IMAGES)
            ],
        },
    }


@dataclass(frozen=True)
class QueryCost:
    """Of one pass of one agent, on a Prometheus that holds the series of so many nodes."""

    nodes: int
    series: int
    prometheus_cpu_seconds: float


def query_cost(folder: Path, nodes: int, gpus: int, pods: int, rounds: int = 60) -> QueryCost:
    """The queries of a steady pass, for one node after the other."""
    world = World(gpus_every_seconds=STEP_SECONDS)
    for number in range(nodes):
        node = world.add_node(f"node-{number:04}", gpus)
        node.pods = [Pod("bench", f"pod-{number}-{one}") for one in range(pods)]
        steady(world, node, node.pods)
    past = Past(world, world.nodes[0], [])
    prometheus = Prometheus(folder / f"index-{nodes}", past, STEP_SECONDS)
    prometheus.backfill(PAST_STEPS * STEP_SECONDS)
    at = time.time()
    prometheus.interval_seconds = 3600.0  # from here on there is nothing to scrape
    with prometheus:
        client = PrometheusClient(Access(url=prometheus.url))
        for number in range(-nodes, rounds):  # each node once before, from files that are cold
            if number == 0:
                before = prometheus.usage().cpu_seconds
            _ask(client, Target(node=f"node-{number % nodes:04}"), at)
        spent = (prometheus.usage().cpu_seconds - before) / rounds
        (counted,) = prometheus.query('count({__name__=~".+"})')
        client.close()
    return QueryCost(nodes, int(counted.value), spent)


def _ask(client: PrometheusClient, target: Target, at: float) -> None:
    """As a pass does: back to the last sample, and as far beyond it as late ones may come."""
    for way in ways(target):
        if (
            way.source is not Source.AMD
            and way.label == "node"
            and way.container_label in {"", "container"}
        ):
            for selector in selectors(target, way):
                client.instant(f"{selector}[75s]", at)
