"""Where a cluster's files, addresses and names are."""

import hashlib
import ipaddress
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from tests import REPOSITORY
from tests.cluster.machine import Machine
from tests.cluster.progress import ClusterError
from tests.simgpu.inventory import parse_inventory

INVENTORIES = REPOSITORY / "tests/simgpu/inventories"

# The machines of a cluster share a /24 out of this; only these addresses reach the host.
# Services and pods live in the machines' own network namespaces, the same in every cluster.
MACHINE_NETWORKS = ipaddress.IPv4Network("10.213.0.0/16")
SERVICE_NETWORK = ipaddress.IPv4Network("10.96.0.0/16")
POD_NETWORK = ipaddress.IPv4Network("10.244.0.0/16")
API_SERVICE_ADDRESS = SERVICE_NETWORK[1]
DNS_SERVICE_ADDRESS = SERVICE_NETWORK[10]
API_PORT = 6443
PROMETHEUS_NODE_PORT = 30090

DEFAULT_NAME = "demo"
DEFAULT_NODES = {"gpu-a": INVENTORIES / "a100x4.json", "gpu-b": INVENTORIES / "t4x4.json"}
CONTROL_PLANE = "control-plane"
MOST_NODES = 50
USES = "uses"


def cache_directory() -> Path:
    """What takes minutes to make and serves every cluster of this user."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("CEPHEID_CACHE") or Path(base) / "cepheid").resolve()


def state_directory() -> Path:
    """The running clusters. On an ordinary disk: overlayfs cannot be stacked on overlayfs."""
    return Path(os.environ.get("CEPHEID_CLUSTERS") or "/var/lib/cepheid-clusters").resolve()


@dataclass(frozen=True)
class Node:
    """A real node: its place in the cluster and the hardware that it pretends to have."""

    index: int
    name: str
    hardware: dict[str, Any]  # the simulated GPU's inventory.json

    def __post_init__(self) -> None:
        check_name("node", self.name)
        if self.name == CONTROL_PLANE:
            raise ClusterError(f"{CONTROL_PLANE} is the name of another machine of each cluster")
        parse_inventory(self.hardware, self.name)

    @property
    def pod_network(self) -> ipaddress.IPv4Network:
        return list(POD_NETWORK.subnets(new_prefix=24))[self.index + 1]

    @property
    def labels(self) -> dict[str, str]:
        return parse_inventory(self.hardware, self.name).node_labels()


def _read_inventory(path: Path) -> dict[str, Any]:
    try:
        hardware: dict[str, Any] = json.loads(path.read_text())
    except (OSError, ValueError) as problem:
        raise ClusterError(
            f"cannot read the inventory {path}: {problem}",
            hint=f"JSON files to start from are in {INVENTORIES}",
        ) from problem
    return hardware


def interface_of(cluster: str) -> str:
    """The host's end of the wire, by the cluster's name alone, so that `down` can find it."""
    return f"cepheid-{hashlib.sha256(cluster.encode()).hexdigest()[:6]}"


def check_name(what: str, name: str) -> None:
    """Names become folders, cgroups and host names."""
    if not re.fullmatch(r"[a-z][a-z0-9-]{0,18}[a-z0-9]", name):
        raise ClusterError(
            f"{what} name {name!r} is not usable",
            hint="2 to 20 of a-z, 0-9 and -, a letter first, no - at the end",
        )


@dataclass(frozen=True)
class Cluster:
    name: str
    nodes: tuple[Node, ...]
    kwok_nodes: int = 0
    network_index: int = 0

    def __post_init__(self) -> None:
        check_name("cluster", self.name)
        if not 1 <= len(self.nodes) <= MOST_NODES or self.kwok_nodes < 0:
            asked = f"{len(self.nodes)} and {self.kwok_nodes} of kwok's"
            raise ClusterError(f"a cluster has 1 to {MOST_NODES} nodes, not {asked}")

    @classmethod
    def of(cls, name: str, inventories: Mapping[str, Path], kwok_nodes: int = 0) -> Self:
        nodes = tuple(
            Node(index, node, _read_inventory(path))
            for index, (node, path) in enumerate(inventories.items())
        )
        return cls(name, nodes, kwok_nodes)

    @property
    def directory(self) -> Path:
        return state_directory() / self.name

    @property
    def kubeconfig(self) -> Path:
        return self.directory / "kubeconfig"

    @property
    def uses(self) -> Path:
        """Links to what it runs on in the cache, which therefore must not be forgotten."""
        return self.directory / USES

    @property
    def programs(self) -> Path:
        """A link to kubectl and the other binaries, at a path that people can remember."""
        return self.directory / "bin"

    @property
    def pki(self) -> Path:
        return self.directory / "pki"

    @property
    def network(self) -> ipaddress.IPv4Network:
        return list(MACHINE_NETWORKS.subnets(new_prefix=24))[self.network_index]

    @property
    def host_interface(self) -> str:
        return interface_of(self.name)

    @property
    def host_address(self) -> ipaddress.IPv4Address:
        return self.network[254]

    @property
    def control_plane_address(self) -> ipaddress.IPv4Address:
        return self.network[1]

    @property
    def api_url(self) -> str:
        return f"https://{self.control_plane_address}:{API_PORT}"

    @property
    def prometheus_url(self) -> str:
        return f"http://{self.node_address(self.nodes[0])}:{PROMETHEUS_NODE_PORT}"

    def node_address(self, node: Node) -> ipaddress.IPv4Address:
        return self.network[10 + node.index]

    @property
    def control_plane(self) -> Machine:
        return self.machine(CONTROL_PLANE)

    def machine(self, name: str) -> Machine:
        return Machine(name, self.name, self.directory / "machines" / name)

    @property
    def machines(self) -> list[Machine]:
        return [self.control_plane, *(self.machine(node.name) for node in self.nodes)]

    def on_network(self, index: int) -> Self:
        return replace(self, network_index=index)

    def save(self) -> None:
        saved = {
            "nodes": {node.name: node.hardware for node in self.nodes},
            "kwok_nodes": self.kwok_nodes,
            "network_index": self.network_index,
        }
        # In one step: `down` must be able to read it whenever `up` was killed.
        new = self.directory / "cluster.json.new"
        new.write_text(json.dumps(saved, indent=2))
        new.rename(self.directory / "cluster.json")

    @classmethod
    def load(cls, name: str) -> Self:
        """The cluster as it was started; raises where there is none of that name."""
        check_name("cluster", name)
        path = state_directory() / name / "cluster.json"
        try:
            saved: dict[str, Any] = json.loads(path.read_text())
        except FileNotFoundError:
            known = ", ".join(cluster_names()) or "none"
            raise ClusterError(
                f"there is no cluster {name!r} (running here: {known})",
                hint=f".venv/bin/python -m tests.cluster up --name {name}",
            ) from None
        nodes = tuple(
            Node(index, node, hardware)
            for index, (node, hardware) in enumerate(saved["nodes"].items())
        )
        return cls(name, nodes, saved["kwok_nodes"], saved["network_index"])


def cluster_names() -> list[str]:
    root = state_directory()
    return sorted(d.name for d in root.iterdir() if d.is_dir()) if root.exists() else []


def in_use(cached: Path) -> bool:
    """Whether a cluster runs on this result of the cache."""
    links = [link.resolve() for link in state_directory().glob(f"*/{USES}/*")]
    return cached in links
