"""The device's file: the only thing that a workload and the exporter share.

A file has SLOTS records of SLOT_BYTES, one a client process, so that the pods of a time-sliced
GPU share it without a server. A record says what its client does from `since` until `until`, and
the integral of all that it did before `since`. So every reader computes the exact integral at
any instant, however short the client's kernels are:

    integral + level * (min(now, until) - since)

Times are CLOCK_MONOTONIC, which all containers of a kernel share; it starts at boot, as the
counters of a real GPU start when its driver is loaded.

A slot belongs to the process that holds an open-file-description lock on its bytes. The kernel
drops the lock when the process dies, even by SIGKILL, just as a driver frees the memory of a
dead process: from then on the slot's memory counts no more. What it announced still runs up to
`until`, as kernels already queued do; clients announce no more than a second ahead. The next
client takes the integral over, so no counter ever goes back.

Workloads own these bytes and may put anything there. A record that does not check out (CRC,
range) counts as nothing; a torn read fails its CRC too and is read again.
"""

from __future__ import annotations

import errno
import fcntl
import math
import os
import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from .activity import CEILING, IDLE, Activity, total
from .errors import SimgpuError

SLOTS = 64
SLOT_BYTES = 256
FILE_MODE = 0o666  # restricted pods run as any user; the real /dev/nvidia0 has this mode too

_MAGIC = b"SIMGPU1\n"
_BODY = struct.Struct("<8s64sddd6d6d")  # magic, owner, since, until, memory, levels, integrals
_CHECKSUM = struct.Struct("<I")
_FLOCK = struct.Struct("@hhqqi4x")  # struct flock of fcntl(2) on 64-bit Linux
_TORN_READS = 5  # a writer needs microseconds: what fails five times is not torn but broken
_LONGEST_SECONDS = 1e10  # three centuries; keeps hostile integrals finite in sums


@dataclass(frozen=True)
class Record:
    owner: str  # the client's host name, which in a pod is the pod's name
    since: float
    until: float
    memory_mib: float
    levels: Activity
    integral: Activity

    def integral_at(self, now: float) -> Activity:
        seconds = max(0.0, min(now, self.until) - self.since)
        return self.integral.plus(self.levels.times(seconds))

    def pack(self) -> bytes:
        owner = self.owner.encode()[:64]
        times = (self.since, self.until, self.memory_mib)
        body = _BODY.pack(_MAGIC, owner, *times, *self.levels, *self.integral)
        return (body + _CHECKSUM.pack(zlib.crc32(body))).ljust(SLOT_BYTES, b"\0")


def unpack(data: bytes) -> Record | None:
    """The record in a slot's bytes, or None where there is no sound one."""
    if len(data) < _BODY.size + _CHECKSUM.size:
        return None
    body = data[: _BODY.size]
    (checksum,) = _CHECKSUM.unpack_from(data, _BODY.size)
    magic, owner, since, until, memory_mib, *numbers = _BODY.unpack(body)
    if magic != _MAGIC or checksum != zlib.crc32(body):
        return None
    levels, integral = Activity(*numbers[:6]), Activity(*numbers[6:])
    sound = (
        all(math.isfinite(number) for number in (since, until, memory_mib, *numbers))
        and all(0 <= number <= _LONGEST_SECONDS for number in (since, until, memory_mib))
        and all(0 <= level <= most for level, most in zip(levels, CEILING, strict=True))
        and all(
            0 <= done <= most * _LONGEST_SECONDS
            for done, most in zip(integral, CEILING, strict=True)
        )
    )
    if not sound:
        return None
    name = owner.rstrip(b"\0").decode(errors="replace")
    return Record(name, since, until, memory_mib, levels, integral)


@dataclass(frozen=True)
class ClientReading:
    owner: str
    alive: bool
    memory_mib: float  # 0 once the client is dead
    integral: Activity


@dataclass(frozen=True)
class Reading:
    """A device at one instant."""

    at: float
    clients: tuple[ClientReading, ...]

    @property
    def memory_mib(self) -> float:
        return sum(client.memory_mib for client in self.clients)

    @property
    def integral(self) -> Activity:
        return total([client.integral for client in self.clients])

    def of(self, owner: str) -> Reading:
        # A pod's name may be longer than the 63 characters that a host name can have.
        mine = (client for client in self.clients if client.owner == owner[:63])
        return Reading(self.at, tuple(mine))


def create(path: Path) -> None:
    """Make the file unless it is there: what it counted must survive every restart."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, FILE_MODE)
    try:
        os.fchmod(descriptor, FILE_MODE)  # the umask took some of it
        if os.fstat(descriptor).st_size < SLOTS * SLOT_BYTES:
            os.ftruncate(descriptor, SLOTS * SLOT_BYTES)
    finally:
        os.close(descriptor)


def read(path: Path, now: float) -> Reading:
    """What the device did up to now, by every client that it ever had. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        clients = []
        for slot, record in _records(descriptor):
            alive = _is_locked(descriptor, slot)
            memory_mib = record.memory_mib if alive else 0.0
            clients.append(ClientReading(record.owner, alive, memory_mib, record.integral_at(now)))
        return Reading(now, tuple(clients))
    finally:
        os.close(descriptor)


def _records(descriptor: int) -> Iterator[tuple[int, Record]]:
    for slot in range(SLOTS):
        record = read_slot(partial(_slot_bytes, descriptor, slot))
        if record is not None:
            yield slot, record


def read_slot(fetch: Callable[[], bytes]) -> Record | None:
    """The record that `fetch` gets; asked again while what it got is torn."""
    for _ in range(_TORN_READS):
        data = fetch()
        if not data.startswith(_MAGIC):
            return None
        if (record := unpack(data)) is not None:
            return record
    return None


class Client:
    """A process's hold on a device: takes a slot, and keeps it as long as the process lives."""

    def __init__(self, path: Path, owner: str, now: float) -> None:
        try:
            self._descriptor = os.open(path, os.O_RDWR)
        except OSError as error:
            raise SimgpuError(
                f"cannot open the GPU {path.name}: {error.strerror}",
                hint="the container must get it from the device plugin",
            ) from error
        self._path = path
        self._slot = self._take_slot()
        before = read_slot(partial(_slot_bytes, self._descriptor, self._slot))
        # All that the last owner announced counts as done, so that no reader sees less than before.
        done = before.integral_at(math.inf) if before else IDLE
        self._record = Record(owner, now, now, 0.0, IDLE, done)
        self._write(self._record)

    def _take_slot(self) -> int:
        for slot in range(SLOTS):
            if _try_lock(self._descriptor, slot):
                return slot
        os.close(self._descriptor)
        raise SimgpuError(f"the GPU {self._path.name} has {SLOTS} clients already")

    def announce(self, levels: Activity, memory_mib: float, now: float, until: float) -> None:
        """From now until then the device does this; what was announced before ends now."""
        done = self._record.integral_at(now)
        self._write(Record(self._record.owner, now, until, memory_mib, levels, done))

    def busy_neighbours(self, now: float) -> int:
        """How many other clients have work on this device at this instant."""
        count = 0
        for slot, record in _records(self._descriptor):
            running = record.levels.engine > 0 and record.since <= now < record.until
            count += slot != self._slot and running and _is_locked(self._descriptor, slot)
        return count

    def neighbours_memory_mib(self, now: float) -> float:
        return read(self._path, now).memory_mib - self._record.memory_mib

    def close(self, now: float) -> None:
        self.announce(IDLE, 0.0, now, now)
        os.close(self._descriptor)

    def _write(self, record: Record) -> None:
        os.pwrite(self._descriptor, record.pack(), self._slot * SLOT_BYTES)
        self._record = record


def _slot_bytes(descriptor: int, slot: int) -> bytes:
    return os.pread(descriptor, SLOT_BYTES, slot * SLOT_BYTES)


def _slot_lock(slot: int) -> bytes:
    return _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, slot * SLOT_BYTES, SLOT_BYTES, 0)


def _try_lock(descriptor: int, slot: int) -> bool:
    try:
        fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, _slot_lock(slot))
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.EACCES):
            return False
        raise
    return True


def _is_locked(descriptor: int, slot: int) -> bool:
    """Whether somebody else holds the slot: a client does not see its own lock."""
    answer = fcntl.fcntl(descriptor, fcntl.F_OFD_GETLK, _slot_lock(slot))
    (kind, *_) = _FLOCK.unpack(answer)
    return int(kind) != fcntl.F_UNLCK
