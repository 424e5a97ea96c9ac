"""The wires between the machines of a cluster, and the one to the host.

A bridge in the control plane's network namespace is the switch; a veth pair leads from it to
each node and one to the host, so that kubectl, a browser and the tests reach it. When the
machines end, the kernel takes all of it away.
"""

import ipaddress
import json

from tests.cluster.layout import MACHINE_NETWORKS, Cluster
from tests.cluster.progress import ClusterError, run

SWITCH = "switch"
NODE_INTERFACE = "eth0"


def free_index() -> int:
    """The first of our /24s that no route of the host, however wide, leads to."""
    routes = [route["dst"] for route in json.loads(run(["ip", "-json", "route"]))]
    taken = [ipaddress.ip_network(dst, strict=False) for dst in routes if dst != "default"]
    for index, network in enumerate(MACHINE_NETWORKS.subnets(new_prefix=24)):
        if not any(network.overlaps(other) for other in taken):
            return index
    raise ClusterError(
        f"every /24 of {MACHINE_NETWORKS} has a route already",
        hint="`ip route` shows them, `.venv/bin/python -m tests.cluster status` which are clusters",
    )


def reserve(cluster: Cluster) -> None:
    """Joins the host to the control plane; from here on the network is taken."""
    plane, interface = cluster.control_plane, cluster.host_interface
    run(["ip", "link", "add", interface, "type", "veth", "peer", "host", "netns", str(plane.pid)])
    run(["ip", "address", "add", f"{cluster.host_address}/24", "dev", interface])
    run(["ip", "link", "set", interface, "up"])
    plane.run("ip", "link", "add", SWITCH, "type", "bridge")
    plane.run("ip", "address", "add", f"{cluster.control_plane_address}/24", "dev", SWITCH)
    plane.run("ip", "link", "set", SWITCH, "up")
    _plug("host", cluster)


def connect_nodes(cluster: Cluster) -> None:
    plane = cluster.control_plane
    for node in cluster.nodes:
        machine = cluster.machine(node.name)
        # By pid, so in the host's process namespace: only the network is entered.
        run(
            ["nsenter", f"--target={plane.pid}", "--net", "ip", "link", "add", f"node{node.index}"]
            + ["type", "veth", "peer", NODE_INTERFACE, "netns", str(machine.pid)]
        )
        _plug(f"node{node.index}", cluster)
        address = cluster.node_address(node)
        machine.run("ip", "address", "add", f"{address}/24", "dev", NODE_INTERFACE)
        machine.run("ip", "link", "set", NODE_INTERFACE, "up")
        # Nothing answers beyond the control plane; but a packet to a service needs a route
        # before kube-proxy's rules can turn it.
        machine.run("ip", "route", "add", "default", "via", str(cluster.control_plane_address))
        for other in cluster.nodes:
            if other is not node:
                via = str(cluster.node_address(other))
                machine.run("ip", "route", "add", str(other.pod_network), "via", via)
        # The API server calls webhooks and proxies to pods.
        plane.run("ip", "route", "add", str(node.pod_network), "via", str(address))


def _plug(interface: str, cluster: Cluster) -> None:
    cluster.control_plane.run("ip", "link", "set", interface, "master", SWITCH, "up")
