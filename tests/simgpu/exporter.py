"""dcgm-exporter's place: collects every interval, serves the last collection on :9400/metrics.

    python3 -m simgpu.exporter [--root DIR] [--pod-resources-socket PATH] [--address HOST:PORT]

Environment, as for the real one: DCGM_EXPORTER_INTERVAL (ms, 30000), DCGM_EXPORTER_LISTEN
(:9400), NODE_NAME (the Hostname label; without it the label is the pod's own host name),
KUBERNETES_VIRTUAL_GPUS (true copies each value to every pod that shares the device).
"""

from __future__ import annotations

import argparse
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from . import device_file
from .errors import SimgpuError
from .exposition import Exposition, Owner
from .faults import HEALTHY, load_faults
from .inventory import DEFAULT_ROOT, Gpu, Inventory, load_inventory
from .meter import DeviceMeter, GpuMeasurement
from .pod_resources import DEFAULT_SOCKET, list_owners

WINDOW_SECONDS = 1.0  # NVML's sample period for utilisation: a sixth of a second to a second

log = logging.getLogger("simgpu.exporter")


class Collector:
    """Everything between the device files and the page."""

    def __init__(
        self,
        root: Path,
        inventory: Inventory,
        exposition: Exposition,
        owners: Callable[[], Mapping[str, Sequence[Owner]]],
    ) -> None:
        self._root = root
        self._inventory = inventory
        self._exposition = exposition
        self._owners = owners
        self._meters = {}
        for device in (device for gpu in inventory.gpus for device in gpu.devices):
            path = root / "devices" / device.uuid
            device_file.create(path)
            self._meters[device.uuid] = DeviceMeter(path)

    def glance(self, now: float) -> None:
        for uuid, meter in self._meters.items():
            try:
                meter.glance(now)
            except OSError as error:
                log.warning("device %s cannot be read: %s", uuid, error)

    def collect(self, now: float) -> str:
        faults = load_faults(self._root)
        present = [gpu for gpu in self._inventory.gpus if not faults.get(gpu.index, HEALTHY).lost]
        measured = [self._measure(gpu, now) for gpu in present]
        boards = [board for board in measured if board is not None]
        return self._exposition.render(boards, faults, self._owners())

    def _measure(self, gpu: Gpu, now: float) -> GpuMeasurement | None:
        try:
            devices = tuple(
                (device, self._meters[device.uuid].collect(now)) for device in gpu.devices
            )
        except OSError as error:
            log.warning("GPU %d has no series this time: %s", gpu.index, error)
            return None
        return GpuMeasurement(gpu, devices, now)


class Page:
    """The last collection, handed from the collecting thread to the serving ones."""

    def __init__(self) -> None:
        self.text = ""


def collect_until(
    stop: threading.Event, collector: Collector, page: Page, interval_seconds: float
) -> None:
    window = min(WINDOW_SECONDS, interval_seconds)
    pause = 0.0  # the first page comes after one window, not after a whole interval
    while not stop.wait(pause):
        collector.glance(time.monotonic())
        if stop.wait(window):
            return
        try:
            page.text = collector.collect(time.monotonic())
        except SimgpuError as error:
            log.error("collection failed, the page stays as it was: %s", error)
        pause = interval_seconds - window


def serve(page: Page, host: str, port: int) -> ThreadingHTTPServer:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/metrics":
                self._answer(200, page.text)
            elif self.path == "/health":
                self._answer(200, "OK") if page.text else self._answer(503, "KO")
            else:
                self._answer(404, "not found\nhint: /metrics or /health\n")

        def _answer(self, status: int, text: str) -> None:
            body = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
            self.send_header("X-Content-Type-Options", "nosniff")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
            log.debug(format, *args)

    server = ThreadingHTTPServer((host, port), Handler)
    threading.Thread(target=server.serve_forever, name="http", daemon=True).start()
    return server


def interval_seconds(environ: Mapping[str, str]) -> float:
    text = environ.get("DCGM_EXPORTER_INTERVAL", "30000")
    # Shorter intervals would only measure this process.
    if not text.isdecimal() or int(text) < 100:
        raise SimgpuError(f"DCGM_EXPORTER_INTERVAL is {text!r}", hint="milliseconds, at least 100")
    return int(text) / 1000


def run(arguments: argparse.Namespace, environ: Mapping[str, str], stop: threading.Event) -> None:
    inventory = load_inventory(arguments.root, environ)
    exposition = Exposition(
        hostname=environ.get("NODE_NAME") or socket.gethostname(),
        virtual_gpus=environ.get("KUBERNETES_VIRTUAL_GPUS", "").lower() == "true",
    )
    owners = partial(list_owners, arguments.pod_resources_socket)
    collector = Collector(arguments.root, inventory, exposition, owners)
    host, _, port = arguments.address.rpartition(":")
    if not port.isdecimal():
        raise SimgpuError(f"cannot listen on {arguments.address!r}", hint="for instance :9400")
    page = Page()
    server = serve(page, host, int(port))
    log.info("serving %d GPUs on %s", len(inventory.gpus), arguments.address)
    try:
        collect_until(stop, collector, page, interval_seconds(environ))
    finally:
        server.shutdown()
        server.server_close()


def main() -> int:
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
    parser = argparse.ArgumentParser(prog="simgpu.exporter", description=__doc__.split("\n")[0])
    parser.add_argument("--root", type=Path, default=DEFAULT_ROOT)
    parser.add_argument("--pod-resources-socket", type=Path, default=DEFAULT_SOCKET)
    parser.add_argument("--address", default=os.environ.get("DCGM_EXPORTER_LISTEN", ":9400"))
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    signal.signal(signal.SIGINT, lambda *_: stop.set())
    try:
        run(parser.parse_args(), os.environ, stop)
    except (SimgpuError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
