"""What a cluster's Nodes have: GPUs, cores, memory. Read in pages, as far as one may."""

from collections.abc import Callable, Mapping
from typing import TypeVar

from lightkube import Client
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.core_v1 import Node

from cepheid.annotations.api import ApiServer
from cepheid.annotations.codec import decode_node
from cepheid.errors import ForbiddenError
from cepheid.history.in_cluster import connect_to
from cepheid.jobs.gpu_names import MOST_GPUS, is_gpu
from cepheid.reports.contention.holding import WHOLE
from cepheid.reports.contention.moving import NodeType
from cepheid.units import quantity

T = TypeVar("T")
PAGE = 500
PRODUCT = "nvidia.com/gpu.product"
"""Where GPU feature discovery writes the model, for nodes that no agent has annotated."""


Allocatable = Mapping[str, object]
"""What of it pods may have, by the name of the resource."""


def node_types(context: str | None) -> tuple[NodeType, ...] | None:
    """None where they may not be listed."""
    try:
        return tuple(_listed(context, _type_of))
    except ForbiddenError:
        return None


def gpu_count(context: str | None) -> int:
    """Devices, MIG slices and shares of all nodes, also of those that take no pods now."""
    return sum(_listed(context, lambda node: _gpus(_allocatable(node))))


def _listed(context: str | None, read: Callable[[Node], T]) -> list[T]:
    def ask(client: Client) -> list[T]:
        return [read(node) for node in client.list(Node, chunk_size=PAGE)]

    with ApiServer(lambda: connect_to(context)) as server:
        return server.ask("listing Nodes", ask)


def _type_of(node: Node) -> NodeType:
    metadata = node.metadata or ObjectMeta()
    return node_type(
        metadata.name or "", _allocatable(node), metadata.labels or {}, metadata.annotations or {}
    )


def _allocatable(node: Node) -> Allocatable:
    return (node.status.allocatable if node.status is not None else None) or {}


def _gpus(allocatable: Allocatable) -> int:
    amounts = (_amount(amount) for name, amount in allocatable.items() if is_gpu(name))
    return sum(int(amount) for amount in amounts if amount is not None)


def node_type(
    name: str,
    allocatable: Allocatable,
    labels: Mapping[str, str],
    annotations: Mapping[str, str],
) -> NodeType:
    static = decode_node(annotations).facts.static
    # Slices and shares of GPUs are something else: how many there are, those who hold them tell.
    gpus = [key for key in allocatable if is_gpu(key) and key.endswith(WHOLE)]
    count = sum(_amount(allocatable[key]) or 0.0 for key in gpus)
    model = labels.get(PRODUCT) if static is None else static.model or labels.get(PRODUCT)
    return NodeType(
        name=name,
        gpu_model=model,
        gpu_count=int(min(count, MOST_GPUS)),
        cpu_cores=_amount(allocatable.get("cpu")),
        memory_bytes=_amount(allocatable.get("memory")),
    )


def _amount(given: object) -> float | None:
    return None if given is None else quantity(str(given))
