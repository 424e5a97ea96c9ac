"""A way to a server that can be cut, go silent without a word, or lead to another one."""

import socket
import threading
from contextlib import suppress
from typing import Self

from tests.stage.processes import free_port

CHUNK_BYTES = 65_536


class Proxy:
    """TCP on loopback, to a port on loopback."""

    def __init__(self, port: int) -> None:
        self._target = ("127.0.0.1", port)
        self.port = free_port()  # not any: while it refuses, nobody else must be given it
        self._cut = False
        self._pairs: list[tuple[socket.socket, socket.socket, threading.Event]] = []
        self._lock = threading.Lock()
        self._carrying: list[threading.Thread] = []
        self._listen()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._cut = True
        self.refuse()
        for thread in self._carrying:
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

    def refuse(self) -> None:
        """As a server that is gone: connections break, and there are no new ones."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._accepting.join()  # from here on there are no new ones
        self._listener.close()
        for near, far, _silent in self._pairs:
            for end in (near, far):
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)

    def lead_to(self, port: int) -> None:
        """After `refuse`: from now on there."""
        self._target = ("127.0.0.1", port)
        self._listen()

    def _listen(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", self.port))
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()

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
                self._carrying.append(carrying)

    def _carry(self, source: socket.socket, target: socket.socket, silent: threading.Event) -> None:
        with suppress(OSError):
            while chunk := source.recv(CHUNK_BYTES):
                if not silent.is_set():
                    target.sendall(chunk)
        if not silent.is_set():
            for end in (source, target):
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
