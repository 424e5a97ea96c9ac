"""Does what a pattern says: on the GPU by announcing it, on the host for real."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from .activity import IDLE, Activity
from .device_file import Client
from .errors import SimgpuError
from .patterns import SPINNING, Phase
from .silicon import Model

# No client announces more than this ahead, so a killed one is off the GPU within a second.
LONGEST_ANNOUNCEMENT_SECONDS = 1.0
_POLL_SECONDS = 0.005


class Clock(Protocol):
    def now(self) -> float: ...

    def sleep(self, seconds: float) -> None: ...

    def compute(self, cpu_seconds: float) -> None:
        """Keep a CPU busy for that much CPU time: longer by the wall where the share is small."""


class RealClock:
    def now(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    def compute(self, cpu_seconds: float) -> None:
        end = time.process_time() + cpu_seconds
        block = bytes(4096)
        while time.process_time() < end:
            hashlib.sha256(block).digest()


class OutOfMemoryError(SimgpuError):
    """Worded as PyTorch words it: users and log scrapers look for these words."""

    def __init__(self, gpu: int, model: Model, used_mib: float, wanted_mib: float) -> None:
        capacity = model.memory_mib - model.reserved_mib
        super().__init__(
            f"CUDA out of memory. Tried to allocate {wanted_mib:.2f} MiB. GPU {gpu} has a total"
            f" capacity of {capacity:.2f} MiB of which {max(0.0, capacity - used_mib):.2f} MiB"
            " is free.",
            hint="ask for less with --memory-mib, or for a GPU with more memory",
        )


class Runner:
    def __init__(
        self,
        clients: Sequence[Client],
        model: Model,
        clock: Clock,
        say: Callable[[str], None] = print,
        all_ranks_done: Callable[[], Callable[[], bool]] | None = None,
    ) -> None:
        """`all_ranks_done` says that this rank finished its step, and gives what asks the rest."""
        self._clients = clients
        self._model = model
        self._clock = clock
        self._say = say
        self._all_ranks_done = all_ranks_done
        self._memory_mib = 0.0
        self._host_memory: list[bytearray] = []

    def run(self, phases: Iterable[Phase], duration_seconds: float, steps: int) -> None:
        """Until the time or the number of steps is reached; 0 is no limit."""
        started = step_started = self._clock.now()
        steps_done = 0
        for phase in phases:
            left = duration_seconds - (self._clock.now() - started) if duration_seconds else None
            if left is not None and left <= 0:
                break
            self._allocate(phase)
            self._perform(phase, left)
            if phase.ends_step:
                self._meet(phase.memory_mib)
                steps_done += 1
            if phase.line:
                now = self._clock.now()
                self._say(phase.line.format(seconds=now - step_started))
                step_started = now
            if steps and steps_done == steps:
                break

    def _allocate(self, phase: Phase) -> None:
        wanted = phase.memory_mib - self._memory_mib
        if wanted > 0:
            capacity = self._model.memory_mib - self._model.reserved_mib
            for index, client in enumerate(self._clients):
                used = self._memory_mib + client.neighbours_memory_mib(self._clock.now())
                if used + wanted > capacity:
                    raise OutOfMemoryError(index, self._model, used, wanted)
        self._memory_mib = phase.memory_mib
        while len(self._host_memory) + 1 <= phase.host_memory_mib:
            # Written, not only reserved: the kernel counts pages that were touched.
            self._host_memory.append(bytearray(b"\1") * 2**20)

    def _perform(self, phase: Phase, left: float | None) -> None:
        seconds, activity = phase.seconds, phase.activity
        if activity.engine > 0:
            # Of a time-sliced GPU each of n busy clients gets an n-th, and takes n times longer.
            now = self._clock.now()
            sharers = 1 + max(client.busy_neighbours(now) for client in self._clients)
            seconds, activity = seconds * sharers, activity.times(1 / sharers)
        if left is not None:
            seconds = min(seconds, left)
        end = self._clock.now() + seconds
        compute_until = self._clock.now() + min(phase.cpu_seconds, seconds)
        while (rest := compute_until - self._clock.now()) > 0:
            # Past what is announced a client counts as idle: so no further than that at once.
            self._clock.compute(self._announce(activity, phase.memory_mib, rest))
        while (rest := end - self._clock.now()) > 0:
            announced = self._announce(activity, phase.memory_mib, rest)
            self._clock.sleep(announced)

    def _announce(self, activity: Activity, memory_mib: float, seconds: float) -> float:
        seconds = min(seconds, LONGEST_ANNOUNCEMENT_SECONDS)
        now = self._clock.now()
        for client in self._clients:
            client.announce(activity, memory_mib, now, now + seconds)
        return seconds

    def _meet(self, memory_mib: float) -> None:
        """Wait for the other ranks as NCCL does, with a kernel that spins."""
        if self._all_ranks_done is None:
            return
        done = self._all_ranks_done()
        while not done():
            self._announce(SPINNING, memory_mib, LONGEST_ANNOUNCEMENT_SECONDS)
            self._clock.sleep(_POLL_SECONDS)
        self._announce(IDLE, memory_mib, LONGEST_ANNOUNCEMENT_SECONDS)
