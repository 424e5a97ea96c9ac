"""A server of this machine as a Service of a cluster, so that the API server leads to it."""

import http.server
import json
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

from tests.stage.api_server import ApiServer

SPACE, NAME = "watching", "prometheus"
POD = "prometheus-0"


@contextmanager
def as_service(api: ApiServer, upstream: str, node: str) -> Iterator[str]:
    """Its address inside the cluster; behind it stands an address of this machine."""
    address = _own_address()

    class Forward(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            try:
                with urllib.request.urlopen(upstream + self.path, timeout=20) as answer:  # noqa: S310
                    status, body = answer.status, answer.read()
            except urllib.error.HTTPError as problem:
                status, body = problem.code, problem.read()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Nothing: the test's output is its own."""

    server = http.server.ThreadingHTTPServer((address, 0), Forward)
    port = server.server_address[1]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    named = {"name": NAME, "namespace": SPACE}
    pod = {"kind": "Pod", "name": POD, "namespace": SPACE}
    ports = [{"name": "web", "port": port, "protocol": "TCP"}]
    # The API server leads to the address of a pod, and to no other.
    api.pod(SPACE, POD, node)
    status = json.dumps({"status": {"podIP": address, "podIPs": [{"ip": address}]}})
    api.admin.within(SPACE)(
        "patch", "pod", POD, "--subresource=status", "--type=merge", f"--patch={status}"
    )
    api.admin.apply(
        {"apiVersion": "v1", "kind": "Service", "metadata": named, "spec": {"ports": ports}},
        {
            "apiVersion": "v1",
            "kind": "Endpoints",
            "metadata": named,
            "subsets": [{"addresses": [{"ip": address, "targetRef": pod}], "ports": ports}],
        },
    )
    try:
        yield f"http://{NAME}.{SPACE}.svc:{port}"
    finally:
        server.shutdown()
        server.server_close()


def _own_address() -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.connect(("192.0.2.1", 9))  # nothing is sent: only the way out is chosen
        return str(one.getsockname()[0])
