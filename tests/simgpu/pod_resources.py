"""Which pod holds which device, asked from the kubelet as dcgm-exporter asks it."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import grpc

from .exposition import Owner
from .inventory import GPU_RESOURCE, MIG_RESOURCE_PREFIX
from .kubelet_api import LIST_POD_RESOURCES, POD_RESOURCES_MESSAGES, call

DEFAULT_SOCKET = Path("/var/lib/kubelet/pod-resources/kubelet.sock")
TIMEOUT_SECONDS = 10.0  # dcgm-exporter's own

log = logging.getLogger("simgpu.pod_resources")


def list_owners(socket: Path) -> dict[str, list[Owner]]:
    """Owners by device UUID; none where the kubelet does not answer: a page without pod labels
    is better than none."""
    if not socket.exists():
        return {}
    messages = POD_RESOURCES_MESSAGES
    try:
        answer = call(
            str(socket),
            LIST_POD_RESOURCES,
            messages["ListPodResourcesRequest"](),
            messages["ListPodResourcesResponse"],
            TIMEOUT_SECONDS,
        )
    except grpc.RpcError as error:
        log.warning("no pod labels this time: the kubelet did not answer: %s", error)
        return {}
    return owners_in(answer)


def owners_in(answer: Any) -> dict[str, list[Owner]]:
    owners: dict[str, list[Owner]] = {}
    for pod in answer.pod_resources:
        for container in pod.containers:
            for devices in container.devices:
                name = devices.resource_name
                if name != GPU_RESOURCE and not name.startswith(MIG_RESOURCE_PREFIX):
                    continue
                for device_id in devices.device_ids:
                    uuid, _, replica = device_id.partition("::")
                    owner = Owner(pod.namespace, pod.name, container.name, replica)
                    owners.setdefault(uuid, []).append(owner)
    return owners
