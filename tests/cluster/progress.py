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
SELDOM_SECONDS = 3.0


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
    shown: str | None = None,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: str | None = None,
    timeout_seconds: float | None = None,
) -> str:
    """Runs a command and returns its stdout; a failure shows the end of what it said.

    `shown` is how a person would write the command, where that is not the whole of it.
    """
    command = [str(word) for word in argv]
    name = f"`{shown or ' '.join(command)}`"
    try:
        result = subprocess.run(
            command,
            cwd=cwd,
            env=env,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=timeout_seconds,
            check=False,
        )
    except FileNotFoundError as problem:
        raise ClusterError(
            f"{name} cannot be run: {problem}",
            hint="`tests/cluster/bootstrap cluster` installs all",
        ) from problem
    except subprocess.TimeoutExpired as problem:
        raise ClusterError(f"{name} did not end within {timeout_seconds:.0f} s") from problem
    if result.returncode:
        said = (result.stderr.strip() or result.stdout.strip()).splitlines()[-15:]
        raise ClusterError(f"{name} ended with {result.returncode}:\n  " + "\n  ".join(said))
    return result.stdout


def wait_for(
    what: str,
    condition: Callable[[], T | None],
    timeout_seconds: float = 120,
    every_seconds: float = 0.5,
) -> T:
    """Waits until `condition()` is truthy and returns it; a ClusterError means: not yet.

    The longer it takes the less often it is asked: to ask costs a busy machine a process.
    """
    begun = time.monotonic()
    deadline = begun + timeout_seconds
    last: object = None
    while time.monotonic() < deadline:
        try:
            found = condition()
            if found:
                return found
            last = found
        except ClusterError as problem:
            last = problem
        time.sleep(max(every_seconds, min(SELDOM_SECONDS, (time.monotonic() - begun) / 10)))
    raise ClusterError(f"{what}: not after {timeout_seconds:.0f} s; last seen: {last}")
