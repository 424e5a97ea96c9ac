"""The same jobs under one policy, from the first submission to the last end.

Pods wait as with kube-scheduler: one that fits nowhere lets others pass, and all that wait are
tried again, the oldest first, when something ends. Those that an extender refused are also tried
every five minutes, as kube-scheduler does with what has been left over.

Who needs more memory than its GPUs have is killed after a while, and submitted again by its user,
who after two such kills of a program has it run where it fits from then on.
"""

import heapq
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from tests.bench.scheduler import physics
from tests.bench.scheduler.cluster import Cluster, Stay, gb_needed
from tests.bench.scheduler.nodes import Machine
from tests.bench.scheduler.policies import Policy
from tests.bench.scheduler.programs import Job

KILLED_AFTER_SECONDS = 300.0
"""On average; exponential, and before it ends: assumed."""
SUBMITTED_AGAIN_SECONDS = 600.0
"""After a kill: assumed."""
KILLS_TO_LEARN = 2
"""Assumed."""
LEFT_OVER_SECONDS = 300.0
"""flushUnschedulablePodsLeftover looks for pods that have waited for so long."""


class What(IntEnum):
    """In the order in which it happens at one instant."""

    END = 0
    KILL = 1
    SUBMIT = 2
    RETRY = 3


About = tuple[Job | Stay | None, int]
"""A job and its attempt, a stay and the version of its end, or nobody."""


class StuckError(Exception):
    """What must never happen: jobs that nothing will ever start."""


@dataclass(frozen=True, slots=True)
class Ended:
    job: Job
    ended: float
    queued: float
    """Seconds, of all its attempts."""
    kills: int


@dataclass(frozen=True, slots=True)
class Played:
    policy: str
    jobs: list[Ended]
    """In the order of their submission."""
    stays: list[Stay]


def play(machines: tuple[Machine, ...], jobs: Sequence[Job], policy: Policy, seed: int) -> Played:
    """Raises StuckError."""
    return _Game(machines, policy, seed).play(jobs)


class _Game:
    def __init__(self, machines: tuple[Machine, ...], policy: Policy, seed: int) -> None:
        self.cluster = Cluster(machines)
        self.policy = policy
        self.seed = seed
        self.events: list[tuple[float, What, int, About]] = []
        self.pushed = 0
        self.waiting: dict[int, tuple[Job, int, float]] = {}
        """By number: the job, its attempt, and since when."""
        self.queued: dict[int, float] = defaultdict(float)
        self.kills: dict[int, int] = defaultdict(int)
        self.lessons: dict[int, int] = defaultdict(int)
        """Kills of a program on GPUs that are too small for it."""
        self.retrying = False
        self.played = Played(policy.name, [], [])
        self.types = np.array([machine.gpu_type for machine in machines])
        self.gpu_gb = np.array([machine.gpu_gb for machine in machines])

    def play(self, jobs: Sequence[Job]) -> Played:
        for job in jobs:
            self.push(job.submitted, What.SUBMIT, (job, 0))
        while self.events:
            now, what, _, (whom, number) = heapq.heappop(self.events)
            if isinstance(whom, Job):
                self.waiting[whom.number] = whom, number, now
                self.schedule(now, [whom.number])
            elif isinstance(whom, Stay):
                self.settle(whom, number, what, now)
            else:
                self.retrying = False
                self.schedule(now, sorted(self.waiting, key=self.since))
        if self.waiting:
            raise StuckError(f"{self.policy.name}: {len(self.waiting)} jobs wait for ever")
        self.played.jobs.sort(key=lambda one: one.job.number)
        return self.played

    def since(self, number: int) -> tuple[float, int]:
        return self.waiting[number][2], number

    def push(self, when: float, what: What, about: About) -> None:
        self.pushed += 1
        heapq.heappush(self.events, (when, what, self.pushed, about))

    def settle(self, stay: Stay, version: int, what: What, now: float) -> None:
        """What was foretold of it comes true, or has been overtaken."""
        if stay.ended <= now or (what is What.END and version != stay.version):
            return
        if what is What.KILL and not self.overfull(stay):
            return
        self.reckon(stay.node, now)
        stay.ended, stay.killed = now, what is What.KILL
        self.cluster.leave(stay)
        self.refresh(stay.node, now)
        self.played.stays.append(stay)
        if self.policy.sight is not None:
            self.policy.sight.ended(stay)
        if stay.killed:
            self.kills[stay.job.number] += 1
            self.lessons[stay.job.program.number] += bool(
                stay.job.gpu_gb > self.cluster.machines[stay.node].gpu_gb
            )
            again = stay.job, stay.attempt + 1
            self.push(now + SUBMITTED_AGAIN_SECONDS, What.SUBMIT, again)
        else:
            number = stay.job.number
            ended = Ended(stay.job, now, self.queued[number], self.kills[number])
            self.played.jobs.append(ended)
        self.schedule(now, sorted(self.waiting, key=self.since))

    def schedule(self, now: float, numbers: Sequence[int]) -> None:
        left = self.cluster.most_left()
        for number in numbers:
            job, attempt, since = self.waiting[number]
            if job.program.gpus > left:
                continue
            fitting = self.cluster.fitting(job, self.allowed(job))
            if not len(fitting):
                continue
            node = self.policy.choose(self.cluster, job, fitting, now)
            if node is None:
                if not self.retrying:
                    self.push(now + LEFT_OVER_SECONDS, What.RETRY, (None, 0))
                    self.retrying = True
                continue
            del self.waiting[number]
            self.queued[number] += now - since
            self.begin(job, attempt, node, now)
            left = self.cluster.most_left()

    def allowed(self, job: Job) -> NDArray[np.bool_]:
        """Nodes that its user lets it run on."""
        program = job.program
        if program.told or self.lessons[program.number] >= KILLS_TO_LEARN:
            large: NDArray[np.bool_] = self.gpu_gb >= job.gpu_gb
            return large
        return np.ones(len(self.gpu_gb), np.bool_)

    def begin(self, job: Job, attempt: int, node: int, now: float) -> None:
        self.reckon(node, now)
        stay = self.cluster.place(job, attempt, node, now)
        self.refresh(node, now)
        if self.overfull(stay):
            # The same for every policy.
            chance = np.random.default_rng([self.seed, 4, job.number, attempt])
            length = 0.8 * job.work / stay.rate
            after = min(length, chance.exponential(KILLED_AFTER_SECONDS))
            self.push(now + after, What.KILL, (stay, 0))

    def overfull(self, stay: Stay) -> bool:
        """Whether what it needs, beside those who were there before it, is more than there is."""
        holders = self.cluster.holders(stay.node)
        room = self.cluster.machines[stay.node].gpu_gb
        before = ([one for one in holders[gpu] if one.began <= stay.began] for gpu in stay.gpus)
        return any(gb_needed(stays) > room for stays in before)

    def reckon(self, node: int, now: float) -> None:
        """What its jobs did since it was last reckoned."""
        kind = self.cluster.machines[node].gpu_type
        holders = self.cluster.holders(node)
        for stay in self.cluster.stays[node]:
            seconds = now - stay.reckoned
            if seconds <= 0:
                continue
            program = stay.job.program
            part = sum(1 / len(holders[gpu]) for gpu in stay.gpus)
            busy = len(stay.gpus) * stay.rate / program.speeds[kind] * program.occupancy
            stay.done += seconds * stay.rate
            stay.held += seconds * part
            stay.computed += seconds * min(part, busy)
            stay.reckoned = now

    def refresh(self, node: int, now: float) -> None:
        """Who came or left changes how fast the others are."""
        stays = self.cluster.stays[node]
        if stays:
            kind = self.cluster.machines[node].gpu_type
            programs = [stay.job.program for stay in stays]
            found = physics.rates(kind, programs, [stay.gpus for stay in stays])
            for stay, rate in zip(stays, found.tolist(), strict=True):
                if rate != stay.rate:
                    stay.rate = rate
                    stay.version += 1
                    left = max(0.0, stay.job.work - stay.done) / rate
                    self.push(now + left, What.END, (stay, stay.version))
        if self.policy.sight is not None:
            self.policy.sight.changed(self.cluster, node, now)
