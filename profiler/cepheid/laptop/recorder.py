"""A process tree, sampled into a recording, be it a command's or a block's of a program."""

import getpass
import os
import threading
import time
import uuid
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from cepheid.laptop.recording import Header, Trailer, Writer, boot_id, started_of
from cepheid.laptop.sampling import INTERVAL_SECONDS, Sampling
from cepheid.sources.local.collectors import Collectors
from cepheid.sources.local.processes import Tree

PARENT = "CEPHEID_PARENT"
"""In the environment of a run: its uid, so that runs within it know whose tasks they are."""
RECORDINGS = "recordings"
"""Their folder, in that of the state."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Of one run, by whoever starts it."""

    name: str
    command: str
    tags: Mapping[str, str]
    interval_seconds: float = INTERVAL_SECONDS
    granularity: str = "summary"
    without: Collection[str] = ()
    per_thread: bool = False
    is_command: bool = True
    parent: str | None = None


@dataclass(frozen=True, slots=True)
class Recorded:
    path: Path
    unwritten: bytes
    """What the disk did not take of it."""
    problem: OSError | None
    """And why."""
    uid: str
    release: Callable[[], None] = lambda: None
    """Let others have it: until then nobody else keeps it."""


def new_uid() -> str:
    return uuid.uuid4().hex


def login_name() -> str | None:
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):  # a container's user that has no name
        return str(os.getuid()) if hasattr(os, "getuid") else None


def working_directory() -> str | None:
    try:
        return os.getcwd()  # noqa: PTH109
    except FileNotFoundError:  # it was deleted under us
        return None


class Recorder:
    def __init__(self, wanted: Wanted, tree: Tree, state: Path, uid: str) -> None:
        self._tree = tree
        self._clock = _clock()
        self.started_seconds = time.time()
        self._zero = self._clock()
        self._collectors = Collectors(tree, without=wanted.without)
        # The thread that samples, and whoever wants a sample of this very moment.
        self._lock = threading.Lock()
        self._per_thread = wanted.per_thread
        self._writer = Writer(state / RECORDINGS, self._header(wanted, uid))
        self.uid = uid
        self.samples = 0
        self._sampling = Sampling(self.take, wanted.interval_seconds)

    def start(self) -> None:
        self.take()
        self._sampling.start()

    def take(self) -> None:
        with self._lock:
            # The moment before: what is read later is of later, and no rate comes out too high.
            now = self.now()
            self._writer.append(now, self._collectors.read())
            self.samples += 1

    def now(self) -> float:
        """Since 1970. Who sets the clock meanwhile does not change how long anything took."""
        return self.started_seconds + self._clock() - self._zero

    def stop(self) -> bool:
        """Whether a last sample was taken; not where the one before hangs."""
        if not self._sampling.stop():
            return False
        self.take()
        return True

    def live(self) -> tuple[int, ...]:
        """Processes of the tree at the last sample."""
        return self._tree.pids

    def finish(self, trailer: Trailer) -> Recorded:
        skipped = dict(self._collectors.skipped)
        if self._writer.dropped:
            skipped["disk"] = f"{self._writer.dropped} samples found no room on it"
        threads = self._tree.thread_cpu_seconds() if self._per_thread else {}
        problem = self._writer.problem
        unwritten = self._writer.close(replace(trailer, skipped=skipped, threads=threads))
        problem = self._writer.problem or (problem if unwritten else None)
        self._collectors.close()
        return Recorded(self._writer.path, unwritten, problem, self.uid, self._writer.release)

    def forget(self) -> None:
        """In a fork of the process: the recording is the parent's."""
        self._writer.release()

    def _header(self, wanted: Wanted, uid: str) -> Header:
        facts = self._collectors.facts
        return Header(
            uid=uid,
            name=wanted.name,
            command=wanted.command,
            started_seconds=self.started_seconds,
            interval_seconds=wanted.interval_seconds,
            columns=self._collectors.columns,
            facts=asdict(facts),
            tags=wanted.tags,
            parent=wanted.parent,
            user=login_name(),
            directory=working_directory(),
            host=facts.host,
            granularity=wanted.granularity,
            is_command=wanted.is_command,
            pid=os.getpid(),
            pid_started=started_of(os.getpid()),
            boot=boot_id(),
        )


def _clock() -> Callable[[], float]:
    """One that nobody can set, and that goes on while the laptop sleeps."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return lambda: time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic
