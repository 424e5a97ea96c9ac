"""The kubelet's two gRPC APIs, as far as simgpu speaks them.

Device plugin v1beta1 and pod-resources v1, names and numbers as in k8s.io/kubelet/pkg/apis.
The messages are built from the tables below at import: code that protoc generates for Debian 12's
protobuf 3.21 does not run on today's 7.x, nor the other way round, and Debian's grpc-tools is too
old to compile a .proto when it is needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import grpc
from google.protobuf import descriptor_pb2, message_factory

DEVICE_PLUGIN_VERSION = "v1beta1"
REGISTER = "/v1beta1.Registration/Register"
DEVICE_PLUGIN_SERVICE = "v1beta1.DevicePlugin"
LIST_POD_RESOURCES = "/v1.PodResourcesLister/List"

# Message -> its fields: number, name, type; [] before the type is "repeated".
_Tables = Mapping[str, tuple[tuple[int, str, str], ...]]

_DEVICE_PLUGIN: _Tables = {
    "Empty": (),
    "DevicePluginOptions": (
        (1, "pre_start_required", "bool"),
        (2, "get_preferred_allocation_available", "bool"),
    ),
    "RegisterRequest": (
        (1, "version", "string"),
        (2, "endpoint", "string"),
        (3, "resource_name", "string"),
        (4, "options", "DevicePluginOptions"),
    ),
    "Device": ((1, "ID", "string"), (2, "health", "string")),
    "ListAndWatchResponse": ((1, "devices", "[]Device"),),
    "ContainerAllocateRequest": ((1, "devices_ids", "[]string"),),
    "AllocateRequest": ((1, "container_requests", "[]ContainerAllocateRequest"),),
    # A protobuf map is on the wire exactly this: a repeated pair.
    "Variable": ((1, "key", "string"), (2, "value", "string")),
    "Mount": (
        (1, "container_path", "string"),
        (2, "host_path", "string"),
        (3, "read_only", "bool"),
    ),
    "ContainerAllocateResponse": ((1, "envs", "[]Variable"), (2, "mounts", "[]Mount")),
    "AllocateResponse": ((1, "container_responses", "[]ContainerAllocateResponse"),),
}

_POD_RESOURCES: _Tables = {
    "ListPodResourcesRequest": (),
    "ContainerDevices": ((1, "resource_name", "string"), (2, "device_ids", "[]string")),
    "ContainerResources": ((1, "name", "string"), (2, "devices", "[]ContainerDevices")),
    "PodResources": (
        (1, "name", "string"),
        (2, "namespace", "string"),
        (3, "containers", "[]ContainerResources"),
    ),
    "ListPodResourcesResponse": ((1, "pod_resources", "[]PodResources"),),
}


def _build(package: str, tables: _Tables) -> dict[str, Any]:
    kind = descriptor_pb2.FieldDescriptorProto
    scalars = {"string": kind.TYPE_STRING, "bool": kind.TYPE_BOOL}
    file = descriptor_pb2.FileDescriptorProto(
        name=f"simgpu/{package}.proto", package=package, syntax="proto3"
    )
    for name, fields in tables.items():
        message = file.message_type.add(name=name)
        for number, field_name, type_name in fields:
            element = type_name.removeprefix("[]")
            field = message.field.add(name=field_name, number=number)
            field.label = kind.LABEL_REPEATED if element != type_name else kind.LABEL_OPTIONAL
            field.type = scalars.get(element, kind.TYPE_MESSAGE)
            if element not in scalars:
                field.type_name = f".{package}.{element}"
    classes = message_factory.GetMessages([file])
    return {name: classes[f"{package}.{name}"] for name in tables}


DEVICE_PLUGIN_MESSAGES = _build("v1beta1", _DEVICE_PLUGIN)
POD_RESOURCES_MESSAGES = _build("v1", _POD_RESOURCES)


def call(socket: str, method: str, request: Any, reply: Any, timeout_seconds: float) -> Any:
    """One call over a unix socket. Raises grpc.RpcError."""
    with grpc.insecure_channel(f"unix://{socket}") as channel:
        ask = channel.unary_unary(
            method,
            request_serializer=type(request).SerializeToString,
            response_deserializer=reply.FromString,
        )
        return ask(request, timeout=timeout_seconds)
