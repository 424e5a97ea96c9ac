"""An API server that answers what a test tells it, over real HTTP."""

import contextlib
import json
import ssl
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

STATUS = {"kind": "Status", "apiVersion": "v1", "status": "Failure"}


@dataclass(frozen=True)
class Answer:
    code: int = 200
    body: object = b""
    headers: Mapping[str, str] = field(default_factory=lambda: {"Content-Type": "application/json"})
    cut: int = 0
    """How many bytes of the body are promised and never sent."""

    @property
    def content(self) -> bytes:
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


def refusal(code: int, message: str = "no", **headers: str) -> Answer:
    return Answer(
        code,
        {**STATUS, "code": code, "message": message},
        {
            "Content-Type": "application/json",
            **{k.replace("_", "-"): v for k, v in headers.items()},
        },
    )


@dataclass
class Request:
    method: str
    path: str
    headers: Mapping[str, str]
    body: Any


@dataclass
class FakeServer:
    address: str
    answers: list[Answer]
    requests: list[Request] = field(default_factory=list)


@contextlib.contextmanager
def serving(
    *answers: Answer, tls: tuple[Path, Path] | None = None, port: int = 0
) -> Iterator[FakeServer]:
    """Gives one answer after the other, and the last one for ever."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            length = int(self.headers.get("Content-Length", 0))
            body = json.loads(self.rfile.read(length)) if length else None
            fake.requests.append(Request(self.command, self.path, dict(self.headers), body))
            answer = fake.answers.pop(0) if len(fake.answers) > 1 else fake.answers[0]
            self.send_response(answer.code)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer.content) + answer.cut))
            self.end_headers()
            self.wfile.write(answer.content)
            self.close_connection = answer.cut > 0

        do_GET = do_PATCH = do_POST = answer  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    server.handle_error = lambda *_: None  # type: ignore[method-assign]  # a client hung up
    if tls is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*tls)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    scheme = "http" if tls is None else "https"
    fake = FakeServer(f"{scheme}://127.0.0.1:{server.server_port}", list(answers))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield fake
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
