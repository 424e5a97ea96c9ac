"""HTTPS for a kube-scheduler: two paths, each a question with its answer.

Connections stay open, as Go's client wants them; each has a thread, which does the handshake too:
nobody who connects and says nothing holds up the others.
"""

import logging
import ssl
import sys
import threading
import time
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import AF_INET, AF_INET6, socket
from typing import Any

from cepheid.errors import UsageError
from cepheid.logs import Troubles
from cepheid.settings import ExtenderSettings
from cepheid_operator.extender.protocol import MOST_BYTES, QuestionError

LOG = logging.getLogger("cepheid.extender")
MOST_DIGITS = 12
"""Of a length: with zeros before it, as well."""
MOST_CONNECTIONS = 64
"""A scheduler has a few; more are closed at once."""
HANDSHAKE_SECONDS = 5.0
"""For all of it: until then nobody knows who holds the connection."""
IDLE_SECONDS = 120.0
"""Go's client closes what it has not used for 90 s."""
READING = "reading the certificates again"
Verbs = Mapping[str, Callable[[bytes], bytes]]
Took = Callable[[str, float], None]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = IDLE_SECONDS
    wbufsize = -1  # headers and body in one piece: else the second waits for the first's ACK
    disable_nagle_algorithm = True
    verbs: Verbs
    took: Took

    def do_POST(self) -> None:
        verb = self.path.strip("/")
        answer = self.verbs.get(verb)
        length = self.headers.get("Content-Length", "")
        if answer is None:
            self._refuse(HTTPStatus.NOT_FOUND, f"/{' or /'.join(self.verbs)}")
        elif not length.isascii() or not length.isdigit():
            self._refuse(HTTPStatus.LENGTH_REQUIRED, "how long is it?")
        elif len(length) > MOST_DIGITS or int(length) > MOST_BYTES:
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"at most {MOST_BYTES} bytes")
        else:
            body = self.rfile.read(int(length))
            begin = time.perf_counter()
            try:
                said = answer(body)
            except QuestionError as problem:
                self._refuse(HTTPStatus.BAD_REQUEST, str(problem))
                return
            except Exception as problem:  # a scheduler that is to ignore us needs a word for it
                LOG.error("/%s has no answer", verb, exc_info=problem)
                self._refuse(HTTPStatus.INTERNAL_SERVER_ERROR, "a bug: the log has it")
                return
            self.took(verb, time.perf_counter() - begin)
            self._answer(HTTPStatus.OK, "application/json", said)

    def _refuse(self, status: HTTPStatus, words: str) -> None:
        """What follows on this connection may be what was not read."""
        self.close_connection = True
        self._answer(status, "text/plain", f"{words}\n".encode())

    def _answer(self, status: HTTPStatus, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Every pod is asked about: that is no news."""


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(
        self, address: tuple[str, int], handler: type[_Handler], tls: "Certificates | None"
    ) -> None:
        self.address_family = AF_INET6 if ":" in address[0] else AF_INET
        super().__init__(address, handler)
        self._tls = tls
        self._slots = threading.BoundedSemaphore(MOST_CONNECTIONS)

    def verify_request(self, request: Any, client_address: Any) -> bool:
        del request, client_address
        return self._slots.acquire(blocking=False)

    def process_request(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request(request, client_address)
        except RuntimeError:  # no more threads
            self._slots.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._slots.release()

    def finish_request(self, request: Any, client_address: Any) -> None:
        """In the connection's own thread."""
        if self._tls is None:
            super().finish_request(request, client_address)
            return
        request.settimeout(HANDSHAKE_SECONDS)
        with self._tls.wrap(request) as secured:
            super().finish_request(secured, client_address)

    def handle_error(self, request: object, client_address: object) -> None:
        """Who asks may hang up, or have no certificate: that is said by who asked."""
        del request, client_address
        if isinstance(problem := sys.exception(), OSError):
            LOG.debug("a connection broke: %s", problem)
        else:
            LOG.error("a connection failed", exc_info=problem)


class Certificates:
    """Read again when their files change, as a mounted Secret does when it is renewed."""

    def __init__(self, settings: ExtenderSettings) -> None:
        self._settings = settings
        self._files = [
            Path(name)
            for name in (settings.certificate_file, settings.key_file, settings.client_ca_file)
            if name
        ]
        self._seen = self._times()
        self._context = self._read()
        self._lock = threading.Lock()
        self._troubles = Troubles(LOG)

    def wrap(self, plain: socket) -> ssl.SSLSocket:
        with self._lock:
            if (times := self._times()) != self._seen:
                try:
                    self._context, self._seen = self._read(), times
                    self._troubles.over(READING)
                    LOG.info("the certificates were read again")
                except UsageError as problem:
                    # As while they are being written: the old ones are good until they expire.
                    self._troubles.happened(READING, problem)
            context = self._context
        return context.wrap_socket(plain, server_side=True)

    def _times(self) -> list[float]:
        return [_changed(path) for path in self._files]

    def _read(self) -> ssl.SSLContext:
        given = self._settings
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        try:
            context.load_cert_chain(given.certificate_file, given.key_file)
            if given.client_ca_file:
                context.load_verify_locations(given.client_ca_file)
                context.verify_mode = ssl.CERT_REQUIRED
        except (OSError, ssl.SSLError) as problem:
            raise UsageError(
                f"the certificates cannot be used: {problem}",
                hint="PEM files: --certificate-file, --key-file, --client-ca-file",
            ) from problem
        return context


def _changed(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:  # while it is being replaced
        return 0.0


def serve(settings: ExtenderSettings, verbs: Verbs, took: Took) -> Server:
    """Answers from threads of its own until `shutdown()`."""
    tls = Certificates(settings) if settings.certificate_file else None
    handler = type("Handler", (_Handler,), {"verbs": verbs, "took": staticmethod(took)})
    server = Server(settings.serve_address, handler, tls)
    threading.Thread(target=server.serve_forever, name="extender", daemon=True).start()
    return server
