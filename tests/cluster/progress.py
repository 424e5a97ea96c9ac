"""Tells a waiting person what is being done. stdout is data, this is talk: stderr."""

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

STARTED = time.monotonic()
SAY_AGAIN_SECONDS = 20  # a step that is silent for longer looks hung


class ClusterError(Exception):
    """What failed, with the value, and a hint: something that the reader can do."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message if hint is None else f"{message}\nhint: {hint}")


def say(text: str) -> None:
    elapsed = int(time.monotonic() - STARTED)
    print(f"[{elapsed // 60:2d}:{elapsed % 60:02d}] {text}", file=sys.stderr, flush=True)


@contextmanager
def step(text: str) -> Iterator[None]:
    """Says that a long step begins, and every now and then that it goes on."""
    say(text)
    done = threading.Event()

    def remind() -> None:
        while not done.wait(SAY_AGAIN_SECONDS):
            say(f"  ... {text}")

    reminder = threading.Thread(target=remind, daemon=True)
    reminder.start()
    try:
        yield
    finally:
        done.set()
        reminder.join()


def run(
    argv: Sequence[str | Path],
    *,
    log: Path | None = None,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: str | None = None,
    timeout: float | None = None,
) -> str:
    """Runs a command and returns its stdout; a failure shows the end of what it printed."""
    command = [str(word) for word in argv]
    result = subprocess.run(
        command,
        cwd=cwd,
        env=env,
        input=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if log else subprocess.PIPE,
        text=True,
        timeout=timeout,
        check=False,
    )
    if log:
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(result.stdout)
    if result.returncode:
        said = (result.stdout if log else result.stderr).strip().splitlines()[-15:]
        where = f", the whole output is in {log}" if log else ""
        raise ClusterError(
            f"`{' '.join(command[:6])}{' ...' if len(command) > 6 else ''}` "
            f"ended with {result.returncode}{where}:\n  " + "\n  ".join(said)
        )
    return result.stdout


def wait_for(
    what: str,
    condition: Callable[[], T | None],
    timeout_seconds: float = 120,
    every_seconds: float = 0.5,
) -> T:
    """Waits until `condition()` is truthy and returns it; a ClusterError means: not yet."""
    deadline = time.monotonic() + timeout_seconds
    last: object = None
    while time.monotonic() < deadline:
        try:
            found = condition()
            if found:
                return found
            last = found
        except ClusterError as problem:
            last = problem
        time.sleep(every_seconds)
    raise ClusterError(f"{what}: not after {timeout_seconds:.0f} s; last seen: {last!r}")
