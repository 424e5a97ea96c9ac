"""A daemon of this stage: its log in a file, its port its own, its end certain."""

import os
import random
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from tests.cluster.machine import LAZY

READY_SECONDS = 120.0  # the machine may be busy with a whole cluster
STOP_SECONDS = 30.0
LAST_CHARACTERS = 4000
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
PORTS = range(20_000, 32_000)
"""Below those that the kernel gives to outgoing connections (from 32768): who tries again and again
to reach a server that is away would otherwise be given its port, and connect to itself."""

WORKERS = 16
"""Each has ports of its own: one of a server that is stopped for a while is free to all others."""


class StageError(Exception):
    """A part of the stage did not do what it was asked to."""


@dataclass(frozen=True)
class Usage:
    """What the kernel says of it."""

    rss_bytes: int
    peak_rss_bytes: int
    cpu_seconds: float
    threads: int


def free_port() -> int:
    ports = PORTS[_worker() % WORKERS :: WORKERS]
    for port in random.sample(ports, len(ports)):
        with socket.socket() as one:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                one.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise StageError(f"no port is free of {len(ports)} from {ports.start} to {ports.stop}")


def _worker() -> int:
    """The number of this pytest among those that run beside each other."""
    return int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))


class Daemon:
    """A program that runs until it is told not to. `with` starts it, and ends it by force."""

    def __init__(
        self,
        command: Sequence[str | Path],
        log: Path,
        ready: Callable[[], bool],
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.command = list(command)
        self.log = log
        self._ready = ready
        self._environment = environment
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        return self._running().pid

    def start(self) -> None:
        """Returns when it is ready. A log that exists is continued."""
        if self.running:
            return
        self.log.parent.mkdir(parents=True, exist_ok=True)
        given = os.environ if self._environment is None else self._environment
        name, _, value = LAZY.partition("=")
        environment = {name: value, **given}
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment,
                start_new_session=True,  # ^C is for us: we end it
            )
        try:
            self.wait_until_ready()
        except BaseException:
            self.kill()
            raise

    def wait_until_ready(self) -> None:
        deadline = time.monotonic() + READY_SECONDS
        while time.monotonic() < deadline:
            if not self.running:
                raise StageError(f"{self.command[0]} ended at once:\n{self.last_words()}")
            if self._ready():
                return
            time.sleep(0.05)
        raise StageError(
            f"{self.command[0]} is not ready after {READY_SECONDS:.0f} s:\n{self.last_words()}"
        )

    def stop(self) -> int:
        """By SIGTERM; its exit code."""
        process = self._running()
        process.terminate()
        try:
            return process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired as problem:
            self.kill()
            raise StageError(
                f"{self.command[0]} did not end within {STOP_SECONDS:.0f} s of SIGTERM:\n"
                f"{self.last_words()}"
            ) from problem

    def kill(self) -> None:
        """By SIGKILL, as the kernel does without memory; nothing if it ended already."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def restart(self) -> None:
        if self.running:
            self.stop()
        self.start()

    def freeze(self) -> None:
        """It neither answers nor closes a connection, until `thaw`."""
        self._running().send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._running().send_signal(signal.SIGCONT)

    def close(self) -> None:
        self.kill()

    def last_words(self) -> str:
        return self.log.read_text(errors="replace")[-LAST_CHARACTERS:]

    def usage(self) -> Usage:
        folder = Path("/proc") / str(self.pid)
        status = dict(
            line.split(":", 1) for line in (folder / "status").read_text().splitlines() if line
        )
        # After the name, which is in parentheses and may hold anything: the state is field 3.
        fields = (folder / "stat").read_text().rpartition(")")[2].split()
        user_ticks, system_ticks = int(fields[11]), int(fields[12])
        return Usage(
            rss_bytes=_kib(status["VmRSS"]),
            peak_rss_bytes=_kib(status["VmHWM"]),
            cpu_seconds=(user_ticks + system_ticks) / TICKS_PER_SECOND,
            threads=int(status["Threads"]),
        )

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or not self.running:
            raise StageError(f"{self.command[0]} does not run")
        return self._process


def _kib(text: str) -> int:
    return 1024 * int(text.split(maxsplit=1)[0])
