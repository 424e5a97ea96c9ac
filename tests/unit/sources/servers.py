"""Real servers on loopback: Prometheus, and one before it that misbehaves."""

import http.client
import json
import ssl
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

from tests.cluster.binaries import binaries
from tests.stage.processes import READY_SECONDS, free_port


def load(folder: Path, open_metrics: str) -> Path:
    """A data folder of Prometheus that holds these samples."""
    folder.mkdir(parents=True)
    text = folder.with_suffix(".om")
    text.write_text(open_metrics)
    subprocess.run(
        [binaries() / "bin/promtool", "tsdb", "create-blocks-from", "openmetrics", text, folder],
        check=True,
        capture_output=True,
    )
    return folder


@contextmanager
def prometheus(folder: Path) -> Iterator[str]:
    """Its URL. Scrapes nothing: time stands where the samples put it."""
    folder.mkdir(parents=True, exist_ok=True)
    config = folder.with_suffix(".yml")
    config.write_text("{}\n")
    port = free_port()
    log = folder.with_suffix(".log").open("wb")
    process = subprocess.Popen(
        [
            binaries() / "bin/prometheus",
            f"--config.file={config}",
            f"--storage.tsdb.path={folder}",
            "--storage.tsdb.retention.time=50y",
            f"--web.listen-address=127.0.0.1:{port}",
        ],
        stdout=log,
        stderr=log,
    )
    try:
        url = f"http://127.0.0.1:{port}"
        _await_ready(url, process, folder.with_suffix(".log"))
        yield url
    finally:
        process.kill()
        process.wait()
        log.close()


def _await_ready(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(log.read_text())
        try:
            with urllib.request.urlopen(f"{url}/-/ready", timeout=5):  # noqa: S310
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.05)
    raise RuntimeError(log.read_text())


@dataclass
class Request:
    path: str
    headers: dict[str, str]


Reply = Callable[[BaseHTTPRequestHandler], None]


@dataclass
class Front:
    """What stands before Prometheus. `reply` is what it does now; None passes the request on."""

    url: str
    upstream: str | None = None
    reply: Reply | None = None
    prefix: str = ""
    requests: list[Request] = field(default_factory=list)
    body_bytes: int = 0

    def handle(self, handler: BaseHTTPRequestHandler) -> None:
        self.requests.append(Request(handler.path, dict(handler.headers.items())))
        if self.reply is not None:
            self.reply(handler)
        elif self.upstream is None or not handler.path.startswith(f"{self.prefix}/api/v1/"):
            answer(404, b"not here")(handler)
        else:
            self._pass_on(handler)

    def _pass_on(self, handler: BaseHTTPRequestHandler) -> None:
        target = urlsplit(self.upstream or "")
        connection = http.client.HTTPConnection(str(target.hostname), target.port, timeout=30)
        headers = {"Accept-Encoding": handler.headers.get("Accept-Encoding", "")}
        connection.request("GET", handler.path.removeprefix(self.prefix), headers=headers)
        got = connection.getresponse()
        body = got.read()
        self.body_bytes += len(body)
        sent = {
            name: value
            for name, value in got.getheaders()
            if name in {"Content-Type", "Content-Encoding"}
        }
        answer(got.status, body, **sent)(handler)
        connection.close()


def answer(status: int, body: bytes, **headers: str) -> Reply:
    def reply(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return reply


def success(result: object, **more: object) -> Reply:
    document = {"status": "success", "data": {"resultType": "matrix", "result": result}, **more}
    return answer(200, json.dumps(document).encode())


@contextmanager
def front(context: ssl.SSLContext | None = None) -> Iterator[Front]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # head and body in one piece: otherwise each answer waits 40 ms for an ACK

        def do_GET(self) -> None:
            try:
                served.handle(self)
            except (BrokenPipeError, ConnectionResetError, ssl.SSLError):
                self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: object) -> None:
            """A client that turns away at the handshake is what some tests want."""

    server = Server(("127.0.0.1", 0), Handler)
    if context is not None:
        server.socket = context.wrap_socket(
            server.socket, server_side=True, do_handshake_on_connect=False
        )
    scheme = "http" if context is None else "https"
    served = Front(f"{scheme}://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield served
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
