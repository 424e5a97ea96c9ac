"""How does what was sampled outlive whoever samples it?

One file a run, written as it goes:

    header    a line of JSON: whose run this is, which columns were read, on what machine
    rows      little-endian doubles: seconds since 1970, then a value a column, NaN for none
    trailer   a NaN where a time would stand, then a line of JSON: how it ended

A write is one `write`, so a kill at any moment loses at most the sample being taken; a torn last
row is left out. Whoever records holds a lock on the file, which the kernel gives back when it
dies: a recording without a trailer that can be locked has lost its recorder.
"""

import fcntl
import json
import math
import os
import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

from cepheid.errors import CepheidError

SUFFIX = ".rec"
VERSION = 1
MOST_PENDING_BYTES = 8 * 2**20
"""What is held in memory while the disk takes nothing: seven hours of it at half a second."""
MOST_HEADER_BYTES = 2**20
_NO_TIME = struct.pack("<d", math.nan)
_T = TypeVar("_T")


class RecordingError(CepheidError):
    """What stands there is no recording, or of a newer version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    uid: str
    name: str
    command: str
    """As somebody would type it."""
    started_seconds: float
    """Since 1970, UTC."""
    interval_seconds: float
    columns: Sequence[str]
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Of the machine: `MachineFacts` as plain JSON."""
    tags: Mapping[str, str] = field(default_factory=dict)
    parent: str | None = None
    """Uid of the run that it is a task of."""
    user: str | None = None
    directory: str | None = None
    host: str | None = None
    granularity: str = "summary"
    is_command: bool = True
    """Else a block of a program."""
    pid: int = 0
    """Of who records."""
    pid_started: float | None = None
    boot: str | None = None
    version: int = VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class Trailer:
    ended_seconds: float
    outcome: str
    """success, failed, timeout or error."""
    reason: str | None = None
    """As in `cepheid.jobprofile.Reason`."""
    message: str | None = None
    exit_code: int | None = None
    signal: int | None = None
    cpu_seconds: float | None = None
    """As the kernel has it, of all that was waited for and of what still runs."""
    peak_memory_bytes: float | None = None
    """Of the largest single process, as the kernel has it."""
    read_bytes: float | None = None
    written_bytes: float | None = None
    left_running: int = 0
    skipped: Mapping[str, str] = field(default_factory=dict)
    threads: Mapping[str, float] = field(default_factory=dict)
    """CPU seconds by a thread's name, where that was asked for."""
    last_row_is_after_end: bool = False
    """Then its counters hold, and its gauges are of a process that is no more."""


@dataclass(frozen=True, slots=True)
class Recording:
    header: Header
    rows: bytes
    """Little-endian doubles: a row is a time and a value a column."""
    trailer: Trailer | None
    """None where whoever recorded it is dead, or still at it."""


class Writer:
    """Never raises for a disk that takes nothing: what was seen is held, and tried again."""

    def __init__(self, folder: Path, header: Header) -> None:
        self.path = folder / f"{header.uid}{SUFFIX}"
        self.problem: OSError | None = None
        """Why the last write failed."""
        self.dropped = 0
        """Samples that neither disk nor memory had room for."""
        self._pending = bytearray()
        self._columns = len(header.columns)
        self._row = struct.Struct(f"<{1 + self._columns}d")
        self._file = self._open(folder)
        self._write(_line(header))

    def append(self, time_seconds: float, values: Sequence[float]) -> None:
        if len(values) != self._columns:
            raise CepheidError(
                f"a sample has {len(values)} values, {self._columns} columns were announced",
                hint="a collector may not change its columns while it runs",
            )
        if len(self._pending) > MOST_PENDING_BYTES:
            self._write(b"")
        if len(self._pending) > MOST_PENDING_BYTES:
            self.dropped += 1
            return
        self._write(self._row.pack(time_seconds, *values))

    def close(self, trailer: Trailer) -> bytes:
        """What the disk did not take: empty where all is well."""
        self._write(_NO_TIME + _line(trailer))
        return bytes(self._pending)

    def release(self) -> None:
        """Let others have it. A copy that a fork made goes without touching the original."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _open(self, folder: Path) -> int | None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            file = os.open(self.path, flags, 0o600)
        except OSError as problem:
            self.problem = problem
            return None
        with suppress(OSError):  # a file system without locks: then pid and boot tell
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return file

    def _write(self, data: bytes) -> None:
        self._pending += data
        if self._file is None:
            return
        try:
            while self._pending:
                written = os.write(self._file, self._pending)
                del self._pending[:written]
        except OSError as problem:
            self.problem = problem
        else:
            self.problem = None


def waiting(folder: Path) -> Iterator[Path]:
    """Recordings that were not kept yet, the oldest first."""
    with suppress(OSError):
        found = [(entry.stat().st_mtime, entry) for entry in folder.glob(f"*{SUFFIX}")]
        yield from (entry for _, entry in sorted(found))


def read(path: Path, unwritten: bytes = b"") -> Recording:
    """`unwritten` is what `Writer.close` handed back."""
    if unwritten.startswith(b"{"):  # all of it, from the header on: there is no file
        return parse(unwritten, str(path))
    try:
        written = path.read_bytes()
    except OSError as problem:
        raise RecordingError(
            f"the recording {path} cannot be read: {problem.strerror}", hint="is it yours?"
        ) from problem
    return parse(written + unwritten, str(path))


def parse(data: bytes, name: str = "recording") -> Recording:
    line, _, rest = data.partition(b"\n")
    header = _header(line, name)
    row = struct.Struct(f"<{1 + len(header.columns)}d")
    at = 0
    while at + row.size <= len(rest) and not rest.startswith(_NO_TIME, at):
        at += row.size
    has_end = rest.startswith(_NO_TIME, at)
    trailer = _trailer(rest[at + len(_NO_TIME) :]) if has_end else None
    return Recording(header, rest[:at], trailer)


def has_lost_its_recorder(path: Path, header: Header, boot: str | None) -> bool:
    """Nobody holds its lock: it is dead, or has left the keeping to others."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        # A file system without locks: the process itself has to be looked for.
        return header.boot != boot or started_of(header.pid) != header.pid_started
    finally:
        os.close(file)
    return True


def started_of(pid: int, proc: Path = Path("/proc")) -> float | None:
    """When it was started, in the kernel's own ticks: what tells it from a later one of its pid."""
    try:
        text = (proc / str(pid) / "stat").read_bytes()
        return float(text.rpartition(b")")[2].split()[19])
    except (OSError, IndexError, ValueError):
        return None


def boot_id(proc: Path = Path("/proc")) -> str | None:
    try:
        return (proc / "sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return None


def _line(part: Header | Trailer) -> bytes:
    # Arguments are bytes to the kernel: what is no text is replaced, not raised for.
    return json.dumps(asdict(part), ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def _header(line: bytes, name: str) -> Header:
    hint = "it stays where it is; delete it if it is of no use"
    try:
        told = json.loads(line[:MOST_HEADER_BYTES])
    except ValueError as problem:
        raise RecordingError(f"{name} is no recording of Cepheid's", hint=hint) from problem
    version = told.get("version") if isinstance(told, dict) else None
    if not isinstance(version, int):
        raise RecordingError(f"{name} is no recording of Cepheid's", hint=hint)
    if version > VERSION:
        raise RecordingError(
            f"{name} is of version {version}, this Cepheid knows {VERSION}",
            hint="install the Cepheid that made it",
        )
    return _made(Header, told, name)


def _trailer(line: bytes) -> Trailer | None:
    """None for one that was torn: then the end is not known."""
    if not line.endswith(b"\n"):
        return None
    try:
        return _made(Trailer, json.loads(line), "trailer")
    except (ValueError, RecordingError):
        return None


def _made(kind: type[_T], told: Mapping[str, Any], name: str) -> _T:
    names = {each.name for each in fields(kind)}  # type: ignore[arg-type]
    try:
        return kind(**{key: value for key, value in told.items() if key in names})
    except (TypeError, AttributeError) as problem:
        raise RecordingError(
            f"{name} is no recording of Cepheid's: {problem}", hint="was it changed by hand?"
        ) from problem
