"""What would Cepheid see? Earlier runs, and annotations: late, and not quite right.

Errors are assumed, and larger than those that `make bench` measures of the forecasts: 5 % of
memory and load, 10 % of shares of the time.
"""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from cepheid_operator.extender.needs import Needs, Run, alike, needs_of
from cepheid_operator.extender.supply import Gpu, Node, Supply
from tests.bench.scheduler import physics
from tests.bench.scheduler.cluster import Cluster, Stay, gb_seen
from tests.bench.scheduler.nodes import Machine
from tests.bench.scheduler.programs import Job

LATE_SECONDS = 60.0
"""Annotations are written anew so often; each node at another instant."""
HORIZON_SECONDS = 600.0
"""The agent's default."""
KNOWN_AFTER_SECONDS = 300.0
"""What holds a job back is told when it has run for so long."""
WAITS = 0.2
"""From this share of the time on, waiting for input is told of."""
Held = tuple[tuple[Stay, ...], ...]


class Sight:
    def __init__(self, machines: Sequence[Machine], seed: int) -> None:
        self.supply = Supply()
        self.names = [f"node-{number}" for number in range(len(machines))]
        self._machines = machines
        self._types = sorted({machine.gpu_type for machine in machines})
        self._chance = np.random.default_rng([seed, 2])
        self._phases = self._chance.uniform(0, LATE_SECONDS, len(machines))
        self._changes: dict[int, list[tuple[float, Held]]] = {
            node: [(-np.inf, tuple(() for _ in range(machine.gpus)))]
            for node, machine in enumerate(machines)
        }
        self._runs: dict[int, list[Run]] = defaultdict(list)
        self._draws: dict[Stay, float] = {}

    def changed(self, cluster: Cluster, node: int, now: float) -> None:
        held = tuple(tuple(stays) for stays in cluster.holders(node))
        self._changes.setdefault(node, []).append((now, held))
        for stay in cluster.stays[node]:
            if stay not in self._draws:
                self._draws[stay] = self._drawn(stay)

    def ended(self, stay: Stay) -> None:
        """A profile of it is kept."""
        job, machine = stay.job, self._machines[stay.node]
        busy = stay.computed / max(stay.held, 1e-9)
        most_gb = gb_seen(stay, machine)
        self._runs[job.program.number].append(
            Run(
                ended=stay.ended,
                template=job.template,
                gpu_type=machine.gpu_type,
                seconds=None if stay.killed else stay.ended - stay.began,
                gpus=job.program.gpus,
                memory_gb=most_gb * (1 - abs(self._noise(0.02) - 1)),
                busy=float(np.clip(busy * self._noise(0.05), 0, 1)),
                draws=self._draws.pop(stay),
            )
        )

    def needs(self, job: Job) -> Needs:
        runs = alike(self._runs[job.program.number], job.template)
        return needs_of(job.program.gpus, runs, None, self._types)

    def look(self, cluster: Cluster, now: float) -> Supply:
        """As the scheduler's question finds it: pods as they are, annotations as they were."""
        for node, changes in list(self._changes.items()):
            phase = self._phases[node]
            written = np.floor((now - phase) / LATE_SECONDS) * LATE_SECONDS + phase
            past = [change for change in changes if change[0] <= written]
            if past:
                self.supply.put(self._annotated(node, past[-1][1]))
                left = changes[len(past) :]
                if left:
                    self._changes[node] = left
                else:
                    del self._changes[node]
        for node, stays in enumerate(cluster.stays):
            held = sum(stay.job.program.gpus for stay in stays)
            spared = np.prod([1 - self._told_draws(stay, now) for stay in stays])
            self.supply.hold(self.names[node], held, float(spared))
        return self.supply

    def _told_draws(self, stay: Stay, now: float) -> float:
        if now - stay.began >= KNOWN_AFTER_SECONDS:
            return self._draws[stay]
        return self.needs(stay.job).draws or 0.0

    def _drawn(self, stay: Stay) -> float:
        program = stay.job.program
        waits = 1 - stay.rate / program.speeds[self._machines[stay.node].gpu_type]
        if not program.input_bound or waits < WAITS:
            return 0.0
        return float(np.clip(waits * self._noise(0.1), 0, 1)) if program.pulses else 1.0

    def _annotated(self, node: int, held: Held) -> Node:
        machine = self._machines[node]
        stays = dict.fromkeys(stay for holders in held for stay in holders)  # in their order
        cpu = sum(stay.job.program.demand for stay in stays)
        return Node(
            name=self.names[node],
            gpu_type=machine.gpu_type,
            allocatable=machine.allocatable,
            gpus=tuple(self._gpu(machine, holders) for holders in held),
            horizon_seconds=HORIZON_SECONDS,
            cpu_busy=float(np.clip(cpu * self._noise(0.05), 0, 1)),
            valid_until=np.inf,  # the agent is well, and writes before it expires
        )

    def _gpu(self, machine: Machine, holders: Sequence[Stay]) -> Gpu:
        kind = machine.gpu_type
        gb = sum(gb_seen(stay, machine) for stay in holders) * self._noise(0.05)
        busy = sum(physics.busy_alone(stay.job.program, kind) for stay in holders)
        return Gpu(
            total_gb=machine.gpu_gb,
            peak_gb=min(gb, machine.gpu_gb),
            busy=float(np.clip(busy * self._noise(0.05), 0, 1)),
            empty=not holders,
        )

    def _noise(self, share: float) -> float:
        return float(1 + share * self._chance.standard_normal())
