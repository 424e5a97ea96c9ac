"""A server that reads a question and answers what it was given: what HTTPS alone takes here."""

import argparse
import socket
import ssl
import sys
from collections.abc import Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.cluster.pki import Pair
from tests.stage.processes import Daemon, free_port


class Constant(Daemon):
    """The same, as a process."""

    def __init__(self, folder: Path, pair: Pair, answer: bytes) -> None:
        self.port = free_port()
        said = folder / "constant.json"
        said.write_bytes(answer)
        given = [str(self.port), str(pair.certificate), str(pair.key), str(said)]
        super().__init__(
            [sys.executable, "-m", "tests.bench.extender.constant", *given],
            folder / "constant.log",
            self._listens,
        )

    def _listens(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=5).close()
        except OSError:
            return False
        return True


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True
    answer: bytes

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(self.answer)))
        self.end_headers()
        self.wfile.write(self.answer)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """No news."""


def main(given: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("port", type=int)
    for name in ("certificate", "key", "answer"):
        parser.add_argument(name, type=Path)
    asked = parser.parse_args(given)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(asked.certificate, asked.key)
    handler = type("Handler", (_Handler,), {"answer": asked.answer.read_bytes()})
    server = ThreadingHTTPServer(("127.0.0.1", asked.port), handler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
