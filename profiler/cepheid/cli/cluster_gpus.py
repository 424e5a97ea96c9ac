"""How many GPUs has a cluster? As its Nodes offer them to pods."""

from collections.abc import Mapping
from typing import Any

from lightkube import Client
from lightkube.resources.core_v1 import Node

from cepheid.annotations.api import ApiServer
from cepheid.history.in_cluster import PAGE, connect_to
from cepheid.jobs.pods import is_gpu
from cepheid.units import quantity


def cluster_gpus(context: str | None) -> int:
    """Devices, MIG slices and shares of all nodes, also of those that take no pods now."""

    def ask(client: Client) -> list[Mapping[str, Any]]:
        nodes = client.list(Node, chunk_size=PAGE)
        return [(node.status and node.status.allocatable) or {} for node in nodes]

    with ApiServer(lambda: connect_to(context)) as server:
        offered = server.ask("listing Nodes", ask)
    return sum(_gpus(one) for one in offered)


def _gpus(allocatable: Mapping[str, Any]) -> int:
    amounts = (quantity(str(amount)) for name, amount in allocatable.items() if is_gpu(name))
    return sum(int(amount) for amount in amounts if amount is not None)
