"""What a cluster's Nodes have: GPUs, cores, memory. Read in pages, as far as one may."""

from collections.abc import Mapping

from lightkube import Client
from lightkube.resources.core_v1 import Node

from cepheid.annotations.api import ApiServer
from cepheid.annotations.codec import decode_node
from cepheid.errors import ForbiddenError
from cepheid.history.in_cluster import connect_to
from cepheid.jobs.pods import MOST_GPUS, is_gpu
from cepheid.reports.contention.holding import WHOLE
from cepheid.reports.contention.moving import NodeType
from cepheid.units import quantity

PAGE = 500
PRODUCT = "nvidia.com/gpu.product"
"""Where GPU feature discovery writes the model, for nodes that no agent has annotated."""


def nodes_of(context: str | None) -> tuple[NodeType, ...] | None:
    """None where they may not be listed."""
    with ApiServer(lambda: connect_to(context)) as server:
        try:
            return server.ask("listing Nodes", _listed)
        except ForbiddenError:
            return None


def _listed(client: Client) -> tuple[NodeType, ...]:
    found = []
    for node in client.list(Node, chunk_size=PAGE):
        metadata, status = node.metadata, node.status
        if metadata is not None and metadata.name:
            has = (status.allocatable if status is not None else None) or {}
            labels, said = metadata.labels or {}, metadata.annotations or {}
            found.append(node_type(metadata.name, has, labels, said))
    return tuple(found)


def node_type(
    name: str,
    allocatable: Mapping[str, object],
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
