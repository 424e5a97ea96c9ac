"""NVIDIA's device plugin's place: offers the node's GPUs to the kubelet over its own socket.

    python3 -m simgpu.device_plugin [--root DIR] [--kubelet-dir DIR]

Resources: nvidia.com/gpu; where the inventory says MIG, one resource a profile (NVIDIA's "mixed"
strategy). A container gets NVIDIA_VISIBLE_DEVICES, SIMGPU_MODEL and its devices' files, mounted
under /dev/simgpu. A GPU that `python3 -m simgpu lose` took away is reported Unhealthy at once.
"""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc

from . import device_file
from .errors import SimgpuError
from .faults import HEALTHY, load_faults
from .inventory import DEFAULT_ROOT, Device, Inventory, load_inventory
from .kubelet_api import (
    DEVICE_PLUGIN_MESSAGES,
    DEVICE_PLUGIN_SERVICE,
    DEVICE_PLUGIN_VERSION,
    REGISTER,
    call,
)

DEFAULT_KUBELET_DIR = Path("/var/lib/kubelet/device-plugins")
CONTAINER_DEVICES = Path("/dev/simgpu")
LOOK_SECONDS = 0.5  # how soon a lost GPU and a restarted kubelet are noticed
REGISTER_TIMEOUT_SECONDS = 10.0

log = logging.getLogger("simgpu.device_plugin")


class ResourceServer:
    """The DevicePlugin service of one resource, on a socket of its own."""

    def __init__(self, resource: str, kubelet_dir: Path, root: Path, inventory: Inventory) -> None:
        self.resource = resource
        self.endpoint = "simgpu-" + resource.partition("/")[2] + ".sock"
        self._kubelet_dir = kubelet_dir
        self._root = root
        self._inventory = inventory
        # Device id (with its replica, where time-sliced) -> index of its GPU, device.
        self._devices = {
            device_id: (gpu.index, device)
            for gpu in inventory.gpus
            for device in gpu.devices
            if device.resource == resource
            for device_id in inventory.device_ids(device)
        }
        self._lost: frozenset[int] = frozenset()
        self._changed = threading.Condition()
        self._stopped = False
        self._server: Any = None

    @property
    def socket(self) -> Path:
        return self._kubelet_dir / self.endpoint

    def start(self) -> None:
        self.socket.unlink(missing_ok=True)  # one that was killed left it
        self._stopped = False
        # ListAndWatch holds a thread for as long as the kubelet listens; two may overlap.
        self._server = grpc.server(ThreadPoolExecutor(max_workers=8))
        self._server.add_generic_rpc_handlers((self._handlers(),))
        self._server.add_insecure_port(f"unix://{self.socket}")
        self._server.start()

    def register(self) -> None:
        """Tell the kubelet where to find this server. Raises grpc.RpcError."""
        messages = DEVICE_PLUGIN_MESSAGES
        request = messages["RegisterRequest"](
            version=DEVICE_PLUGIN_VERSION, endpoint=self.endpoint, resource_name=self.resource
        )
        kubelet = str(self._kubelet_dir / "kubelet.sock")
        call(kubelet, REGISTER, request, messages["Empty"], REGISTER_TIMEOUT_SECONDS)
        log.info("registered %s with %d devices", self.resource, len(self._devices))

    def stop(self) -> None:
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        if self._server is not None:
            self._server.stop(grace=1).wait()  # takes its socket away, too

    def set_lost(self, lost: frozenset[int]) -> None:
        with self._changed:
            if lost != self._lost:
                log.info("%s: lost GPUs are now %s", self.resource, sorted(lost) or "none")
                self._lost = lost
                self._changed.notify_all()

    def _handlers(self) -> Any:
        messages = DEVICE_PLUGIN_MESSAGES

        def serialize(reply: Any) -> bytes:
            return bytes(reply.SerializeToString())

        def unary(method: Callable[[Any, Any], Any], request: str) -> Any:
            return grpc.unary_unary_rpc_method_handler(
                method, messages[request].FromString, serialize
            )

        return grpc.method_handlers_generic_handler(
            DEVICE_PLUGIN_SERVICE,
            {
                "GetDevicePluginOptions": unary(self._options, "Empty"),
                "Allocate": unary(self._allocate, "AllocateRequest"),
                "ListAndWatch": grpc.unary_stream_rpc_method_handler(
                    self._list_and_watch, messages["Empty"].FromString, serialize
                ),
            },
        )

    def _options(self, _request: Any, _context: Any) -> Any:
        return DEVICE_PLUGIN_MESSAGES["DevicePluginOptions"]()

    def _list_and_watch(self, _request: Any, context: Any) -> Iterator[Any]:
        told: frozenset[int] | None = None
        while context.is_active():
            with self._changed:
                # Wakes up now and then to see whether the kubelet has hung up.
                if self._lost == told and not self._stopped:
                    self._changed.wait(timeout=5)
                if self._stopped:
                    return
                if self._lost == told:
                    continue
                told = self._lost
            yield self._device_list(told)

    def _device_list(self, lost: frozenset[int]) -> Any:
        messages = DEVICE_PLUGIN_MESSAGES
        return messages["ListAndWatchResponse"](
            devices=[
                messages["Device"](ID=device_id, health="Unhealthy" if gpu in lost else "Healthy")
                for device_id, (gpu, _) in self._devices.items()
            ]
        )

    def _allocate(self, request: Any, context: Any) -> Any:
        messages = DEVICE_PLUGIN_MESSAGES
        responses = []
        for container in request.container_requests:
            unknown = [each for each in container.devices_ids if each not in self._devices]
            if unknown:
                context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"no such device: {unknown[0]}")
            # Two replicas of one device are still one device; a dict keeps the kubelet's order.
            found = (self._devices[each][1] for each in container.devices_ids)
            devices = {device.uuid: device for device in found}
            responses.append(self._container_response(list(devices.values())))
        return messages["AllocateResponse"](container_responses=responses)

    def _container_response(self, devices: list[Device]) -> Any:
        messages = DEVICE_PLUGIN_MESSAGES
        mounts = []
        for device in devices:
            path = self._root / "devices" / device.uuid
            device_file.create(path)
            target = CONTAINER_DEVICES / device.uuid
            mounts.append(messages["Mount"](host_path=str(path), container_path=str(target)))
        variables = {
            "NVIDIA_VISIBLE_DEVICES": ",".join(device.uuid for device in devices),
            "SIMGPU_MODEL": devices[0].model.name,
        }
        envs = [messages["Variable"](key=key, value=text) for key, text in variables.items()]
        return messages["ContainerAllocateResponse"](envs=envs, mounts=mounts)


class Plugin:
    """All resources of the node; follows the kubelet through its restarts."""

    def __init__(self, root: Path, kubelet_dir: Path, inventory: Inventory) -> None:
        self._root = root
        self._kubelet_socket = kubelet_dir / "kubelet.sock"
        resources = sorted({each.resource for gpu in inventory.gpus for each in gpu.devices})
        self.servers = [ResourceServer(each, kubelet_dir, root, inventory) for each in resources]

    def run(self, stop: threading.Event, look_seconds: float = LOOK_SECONDS) -> None:
        registered_with: tuple[int, int] | None = None
        try:
            while True:
                self._look_for_lost_gpus()
                kubelet = self._kubelet_identity()
                # A kubelet that starts empties the directory: our sockets have gone with the old.
                swept = any(not server.socket.exists() for server in self.servers)
                if kubelet is not None and (kubelet != registered_with or swept):
                    registered_with = kubelet if self._register() else None
                if stop.wait(look_seconds):
                    return
        finally:
            for server in self.servers:
                server.stop()

    def _kubelet_identity(self) -> tuple[int, int] | None:
        try:
            found = self._kubelet_socket.stat()
        except FileNotFoundError:
            return None
        return found.st_ino, found.st_ctime_ns

    def _register(self) -> bool:
        for server in self.servers:
            server.stop()
            server.start()
            try:
                server.register()
            except grpc.RpcError as error:
                log.warning("the kubelet did not take %s, trying again: %s", server.resource, error)
                return False
        return True

    def _look_for_lost_gpus(self) -> None:
        try:
            faults = load_faults(self._root)
        except SimgpuError as error:
            log.error("%s", error)
            return
        lost = frozenset(index for index, each in faults.items() if each != HEALTHY and each.lost)
        for server in self.servers:
            server.set_lost(lost)


def main() -> int:
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
    parser = argparse.ArgumentParser(
        prog="simgpu.device_plugin", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--root", type=Path, default=DEFAULT_ROOT)
    parser.add_argument("--kubelet-dir", type=Path, default=DEFAULT_KUBELET_DIR)
    arguments = parser.parse_args()
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    signal.signal(signal.SIGINT, lambda *_: stop.set())
    try:
        inventory = load_inventory(arguments.root, os.environ)
        Plugin(arguments.root, arguments.kubelet_dir, inventory).run(stop)
    except (SimgpuError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
