"""What a process tells of itself to who asks: /metrics, /healthz and /readyz."""

import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Protocol

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest


class Telemetry(Protocol):
    registry: CollectorRegistry

    @property
    def healthy(self) -> bool: ...

    @property
    def ready(self) -> bool: ...


class _Handler(BaseHTTPRequestHandler):
    telemetry: Telemetry
    timeout = 5

    def do_GET(self) -> None:
        checks = {"/healthz": "healthy", "/readyz": "ready"}
        if self.path == "/metrics":
            self._answer(200, CONTENT_TYPE_LATEST, generate_latest(self.telemetry.registry))
        elif self.path in checks:
            word = checks[self.path]
            good = getattr(self.telemetry, word)
            text = word if good else f"not {word}"
            self._answer(200 if good else 503, "text/plain", f"{text}\n".encode())
        else:
            self._answer(404, "text/plain", b"/metrics, /healthz or /readyz\n")

    def _answer(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """A probe every few seconds is no news."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Who asks may hang up before the answer, as a probe does after a second."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


def serve(telemetry: Telemetry, address: tuple[str, int]) -> ThreadingHTTPServer:
    """Answers from threads of its own until `shutdown()`."""
    handler = type("Handler", (_Handler,), {"telemetry": telemetry})
    server = _Server(address, handler)
    threading.Thread(target=server.serve_forever, name="telemetry", daemon=True).start()
    return server
