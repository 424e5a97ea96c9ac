"""What the nodes of the benchmark do: as functions of time, the same in every run. Pure."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tests.stage.exporters import Exporters
from tests.stage.levels import Level, Square
from tests.stage.world import DAY, Gpu, Node, Pod, World

MIB = 2.0**20
GPU_MIB = 80_000
PERIODS_SECONDS = (60.0, 90.0, 120.0, 300.0)
SHORTEST_JOB_SECONDS, LONGEST_JOB_SECONDS = 300.0, 1200.0
LONGEST_PAUSE_SECONDS = 180.0
START_EVERY_SECONDS, NEW_JOB_SECONDS = 1200.0, 1800.0
NEW_PERIODS_SECONDS = (60.0, 90.0, 120.0)


@dataclass(frozen=True)
class Random:
    """Another level every so often, between two."""

    low: float
    high: float
    every_seconds: float
    seed: int
    begin: float
    """Before that, and from two days later on, it is in the middle."""

    @cached_property
    def _levels(self) -> np.ndarray:
        count = int(2 * DAY / self.every_seconds)
        return np.random.default_rng(self.seed).uniform(self.low, self.high, count)

    @cached_property
    def _sums(self) -> np.ndarray:
        return np.concatenate(([0.0], np.cumsum(self._levels * self.every_seconds)))

    @property
    def _middle(self) -> float:
        return (self.low + self.high) / 2

    def at(self, when: float) -> float:
        slot = int((when - self.begin) // self.every_seconds)
        return float(self._levels[slot]) if 0 <= slot < self._levels.size else self._middle

    def integral(self, begin: float, end: float) -> float:
        return self._until(end) - self._until(begin)

    def _until(self, when: float) -> float:
        """Since the beginning."""
        slots = (when - self.begin) / self.every_seconds
        whole = int(min(max(slots, 0), self._levels.size))
        rest = (slots - whole) * self.every_seconds
        return float(self._sums[whole]) + rest * self.at(when)


def about(level: float, share: float, seed: int, begin: float) -> Random:
    """Steady but for the noise of measuring."""
    return Random((1 - share) * level, (1 + share) * level, 15.0, seed, begin)


def steady(world: World, node: Node, pods: Sequence[Pod]) -> None:
    """Nothing changes: cyclic training, GPUs that are busy all the time, held idle, and empty."""
    begin = world.up_since
    for number, pod in enumerate(pods):
        pod.cores.become(about(0.05 + 0.1 * (number % 7), 0.03, number, begin), begin)
        pod.memory_bytes.become(about((100 + 50 * number) * MIB, 0.005, number, begin), begin)
    for gpu, pod in zip(node.gpus[:-1], pods, strict=False):
        gpu.hold(pod, _usual(gpu.index, begin), memory_mib=10_000 + 8_000 * gpu.index, since=begin)


def _usual(index: int, begin: float) -> Level | float:
    if index < len(PERIODS_SECONDS):
        return Square(PERIODS_SECONDS[index], duty=0.75, phase_seconds=7.0 * index)
    return 0.0 if index == len(PERIODS_SECONDS) else about(0.9, 0.02, index, begin)


def changing(world: World, node: Node, pods: Sequence[Pod]) -> None:
    """Every minute or two all is different: of the GPUs, and of the pods."""
    begin = world.up_since
    for number, pod in enumerate(pods):
        every = 60.0 + number
        pod.cores.become(Random(0.0, 8.0, every, number, begin), begin)
        pod.memory_bytes.become(Random(0.0, 8_192 * MIB, every, 100 + number, begin), begin)
        pod.received_bytes.become(Random(0.0, 1e8, every, 200 + number, begin), begin)
    for gpu, pod in zip(node.gpus, pods, strict=False):
        every = 60.0 + 8.0 * gpu.index
        busy = Random(0.1, 1.0, every, 300 + gpu.index, begin)
        memory = Random(0.1 * GPU_MIB, 0.9 * GPU_MIB, every, 400 + gpu.index, begin)
        gpu.hold(pod, busy, memory, since=begin)


@dataclass(frozen=True)
class Job:
    """A pod that has a GPU for a while."""

    name: str
    gpu: int
    begin: float
    end: float
    period_seconds: float


def starts(gpus: int, begin: float, end: float, seed: int = 2026) -> Iterator[Job]:
    """Now and then a new one, for half an hour, on one GPU after the other."""
    draw = random.Random(seed)  # noqa: S311 # no secret
    for number in range(int((end - begin) // START_EVERY_SECONDS)):
        when = begin + (number + draw.random()) * START_EVERY_SECONDS
        period = NEW_PERIODS_SECONDS[number % len(NEW_PERIODS_SECONDS)]
        yield Job(f"new-{number}", number % gpus, when, when + NEW_JOB_SECONDS, period)


def crowd(gpus: int, begin: float, end: float, seed: int = 2026) -> Iterator[Job]:
    """One after the other on each GPU, some minutes each, with pauses."""
    draw = random.Random(seed)  # noqa: S311 # no secret
    for gpu in range(gpus):
        when = begin + draw.uniform(0, LONGEST_PAUSE_SECONDS)
        number = 0
        while when < end:
            until = when + draw.uniform(SHORTEST_JOB_SECONDS, LONGEST_JOB_SECONDS)
            period = draw.choice(PERIODS_SECONDS)
            yield Job(f"job-{gpu}-{number}", gpu, when, until, period)
            when = until + draw.uniform(0, LONGEST_PAUSE_SECONDS)
            number += 1


class Past(Exporters):
    """The pages of a node with jobs: at any moment of those that ran then. Not for two threads."""

    def __init__(self, world: World, node: Node, others: Sequence[Pod]) -> None:
        super().__init__(world)
        self.address = "127.0.0.1:9"  # where nobody answers: it is a past, and not scraped
        self._node = node
        self._others = list(others)
        self._jobs: list[tuple[Job, Pod]] = []

    def add(self, job: Job, pod: Pod) -> None:
        """Jobs of one GPU in the order of time."""
        pod.since = job.begin
        gpu: Gpu = self._node.gpus[job.gpu]
        level = Square(job.period_seconds, duty=0.75, phase_seconds=job.begin)
        gpu.hold(pod, level, memory_mib=0.5 * GPU_MIB, since=job.begin)
        gpu.busy.become(0.0, job.end)
        gpu.memory_mib.become(0.0, job.end)
        self._jobs.append((job, pod))

    def page(self, path: str, when: float) -> str | None:
        running = [(job, pod) for job, pod in self._jobs if job.begin <= when < job.end]
        if self._jobs:
            self._node.pods = [*self._others, *(pod for _, pod in running)]
            for gpu in self._node.gpus:
                gpu.holders = [pod.owner for job, pod in running if job.gpu == gpu.index]
        return super().page(path, when)
