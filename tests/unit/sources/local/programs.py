"""Small real programs, which do something, say so, and wait to be told to go on."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from types import TracebackType

HEAD = """
import ctypes, json, os, resource, signal, subprocess, sys, threading, time

def say(*words):
    print(*words, flush=True)

def wait():
    sys.stdin.readline()

def child(code="pass"):
    # Does it, says so, waits.
    code = f"import os, sys; {code}; os.write(1, b'here' + bytes([10])); sys.stdin.readline()"
    return subprocess.Popen([sys.executable, "-c", code])

def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(1000))

def used():
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in both)
"""


class Program:
    def __init__(self, code: str, environment: Mapping[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", HEAD + code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
            start_new_session=True,
        )

    @property
    def pid(self) -> int:
        return self.process.pid

    def heard(self) -> str:
        """What it says next."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, f"the program ended with {self.process.wait()}"
        return line.strip()

    def go_on(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def ended(self) -> None:
        """Let it go on to its end, and wait for that."""
        self.go_on()
        assert self.process.wait() == 0

    def __enter__(self) -> "Program":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)  # its children too
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            stream.close()


@contextmanager
def program(code: str, environment: Mapping[str, str] | None = None) -> Iterator[Program]:
    with Program(code, environment) as started:
        yield started


@contextmanager
def nobody() -> Iterator[None]:
    """Root may read everything."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        if before == 0:
            os.seteuid(before)
