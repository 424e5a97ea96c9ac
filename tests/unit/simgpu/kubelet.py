"""The kubelet's side of both gRPC APIs, on real sockets.

The real kubelet is met in the end-to-end tests; this one can be asked to do on cue what the real
one does when it restarts.
"""

import queue
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc

from tests.simgpu.kubelet_api import DEVICE_PLUGIN_MESSAGES, POD_RESOURCES_MESSAGES, call

PATIENCE_SECONDS = 20.0  # how long a test waits for what must come


@contextmanager
def serve(
    socket: Path, service: str, method: str, request: Any, answer: Callable[[Any], Any]
) -> Iterator[None]:
    handler: Any = grpc.unary_unary_rpc_method_handler(
        lambda asked, _context: answer(asked),
        request.FromString,
        lambda reply: reply.SerializeToString(),
    )
    server = grpc.server(ThreadPoolExecutor(max_workers=2))
    server.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler(service, {method: handler}),)
    )
    server.add_insecure_port(f"unix://{socket}")
    server.start()
    try:
        yield
    finally:
        server.stop(grace=None).wait()
        socket.unlink(missing_ok=True)


class Kubelet:
    """Takes registrations, and asks the plugins that registered."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.registrations: queue.Queue[Any] = queue.Queue()

    @contextmanager
    def running(self) -> Iterator[None]:
        for left_over in self.folder.glob("*"):  # the real one sweeps its folder when it starts
            left_over.unlink()
        messages = DEVICE_PLUGIN_MESSAGES
        with serve(
            self.folder / "kubelet.sock",
            "v1beta1.Registration",
            "Register",
            messages["RegisterRequest"],
            self._register,
        ):
            yield

    def _register(self, request: Any) -> Any:
        self.registrations.put(request)
        return DEVICE_PLUGIN_MESSAGES["Empty"]()

    def next_registration(self) -> Any:
        return self.registrations.get(timeout=PATIENCE_SECONDS)

    def allocate(self, endpoint: str, *device_ids: str) -> Any:
        messages = DEVICE_PLUGIN_MESSAGES
        container = messages["ContainerAllocateRequest"](devices_ids=device_ids)
        answer = call(
            str(self.folder / endpoint),
            "/v1beta1.DevicePlugin/Allocate",
            messages["AllocateRequest"](container_requests=[container]),
            messages["AllocateResponse"],
            PATIENCE_SECONDS,
        )
        (response,) = answer.container_responses
        return response

    @contextmanager
    def watching(self, endpoint: str) -> Iterator[Iterator[dict[str, str]]]:
        """The health of each device, anew whenever the plugin reports it."""
        messages = DEVICE_PLUGIN_MESSAGES
        with grpc.insecure_channel(f"unix://{self.folder / endpoint}") as channel:
            stream = channel.unary_stream(
                "/v1beta1.DevicePlugin/ListAndWatch",
                request_serializer=lambda message: message.SerializeToString(),
                response_deserializer=messages["ListAndWatchResponse"].FromString,
            )(messages["Empty"](), timeout=PATIENCE_SECONDS)
            yield ({each.ID: each.health for each in update.devices} for update in stream)
            stream.cancel()


def pod_resources(*pods: tuple[str, str, str, str, list[str]]) -> Any:
    """The answer for pods given as (namespace, pod, container, resource, device ids)."""
    messages = POD_RESOURCES_MESSAGES
    return messages["ListPodResourcesResponse"](
        pod_resources=[
            messages["PodResources"](
                name=pod,
                namespace=namespace,
                containers=[
                    messages["ContainerResources"](
                        name=container,
                        devices=[
                            messages["ContainerDevices"](
                                resource_name=resource, device_ids=device_ids
                            )
                        ],
                    )
                ],
            )
            for namespace, pod, container, resource, device_ids in pods
        ]
    )
