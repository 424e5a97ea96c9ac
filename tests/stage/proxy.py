"""A way to a server that can be cut, or go silent without a word."""

import socket
import threading
from contextlib import suppress
from typing import Self

CHUNK_BYTES = 65_536


class Proxy:
    """TCP on loopback, to a port on loopback."""

    def __init__(self, port: int) -> None:
        self._target = ("127.0.0.1", port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._cut = False
        self._pairs: list[tuple[socket.socket, socket.socket, threading.Event]] = []
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._cut = True
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._threads[0].join()  # from here on there are no new ones
        self._listener.close()
        for near, far, _silent in self._pairs:
            for end in (near, far):
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        for near, far, _silent in self._pairs:
            near.close()
            far.close()

    def cut(self) -> None:
        """As a network that is gone: nothing gets through, and nobody is told."""
        self._cut = True
        self.silence()

    def mend(self) -> None:
        self._cut = False

    def silence(self) -> None:
        """Connections that exist carry nothing any more, and are not closed; new ones work."""
        with self._lock:
            for _, _, silent in self._pairs:
                silent.set()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            silent = threading.Event()
            if self._cut:
                silent.set()
            try:
                far = socket.create_connection(self._target)
            except OSError:
                near.close()
                continue
            with self._lock:
                self._pairs.append((near, far, silent))
            for one, two in ((near, far), (far, near)):
                carrying = threading.Thread(
                    target=self._carry, args=(one, two, silent), daemon=True
                )
                carrying.start()
                self._threads.append(carrying)

    def _carry(self, source: socket.socket, target: socket.socket, silent: threading.Event) -> None:
        with suppress(OSError):
            while chunk := source.recv(CHUNK_BYTES):
                if not silent.is_set():
                    target.sendall(chunk)
        if not silent.is_set():
            for end in (source, target):
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
