"""Jobs whose throughput is known for every placement.

The fitted model (cepheid.analysis.steptime) adds up terms. Here on purpose nothing is a mere sum:
compute and memory traffic overlap as in a roofline, communication hides behind computing, input is
fetched ahead, small batches leave a GPU half empty, a batch that does not divide makes some wait,
and each type is better or worse at a job than its data sheet says.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from cepheid.analysis.scaling import GpuType
from cepheid.placementtrial import Arrange, Goal, Optimise, Placement
from cepheid_operator.trials.searching.search import Candidate

FAMILIES = ("compute", "communication", "memory", "input")
GOALS = tuple(Goal)
COUNTS = (1, 2, 3, 4, 6, 8, 12, 16)
NETWORK_GBPS = (3.0, 25.0)
"""What a node sends and receives: from 25 Gbit/s Ethernet to 200 Gbit/s InfiniBand."""


@dataclass(frozen=True)
class Silicon:
    """Speeds are relative to an A100; figures as in tests/simgpu/silicon.py."""

    name: str
    memory_mib: float
    tensor_teraflops: float
    dram_gbps: float
    speed: float
    link_gbps: float
    gpus_per_node: int
    idle_watts: float
    max_watts: float
    price: float


TYPES = (
    Silicon("H100", 81559, 989, 3350, 2.2, 450, 8, 70, 700, 4.0),
    Silicon("A100", 81920, 312, 2039, 1.0, 300, 8, 55, 400, 2.0),
    Silicon("A10", 23028, 125, 600, 0.4, 14, 4, 17, 150, 0.75),
    Silicon("T4", 15360, 65, 320, 0.2, 7, 4, 10, 70, 0.35),
)
A100 = TYPES[1]


@dataclass(frozen=True)
class Luck:
    """How one type gets on with one job, beside what its data sheet says."""

    compute: float
    dram: float
    link: float
    host: float
    bias: float
    """Of throughput that is measured by the work done: the same for all counts of the type."""
    free_gpus: int


@dataclass(frozen=True, kw_only=True)
class Job:
    """Seconds are those of one step on one A100."""

    seed: tuple[int, int]
    """What is random in its trials depends on."""
    family: str
    optimise: Optimise
    candidates: tuple[Candidate, ...]
    types: tuple[GpuType, ...]
    per_gpu: bool
    """A step is the same work for each GPU, rather than the same in all."""
    compute_seconds: float
    memory_seconds: float
    input_seconds: float
    transfer_seconds: float
    """Of all gradients, over an A100's link."""
    launch_seconds: float
    hop_seconds: float
    roofline: float
    prefetch: float
    overlap: float
    half_batch: float
    """Share of the whole batch with which an A100 is half as fast as with a full one."""
    batches: int
    """That the whole batch can be divided into."""
    network_gbps: float
    store_gpus: float
    """So many GPUs' loaders a shared file system feeds."""
    jitter: float
    fixed_mib: float
    divided_mib: float
    luck: dict[str, Luck]

    def step_seconds(self, placement: Placement) -> float:
        gpu, luck = silicon(placement.gpu_type), self.luck[placement.gpu_type]
        gpus, nodes = placement.gpus, nodes_of(placement)
        share = 1.0 if self.per_gpu else math.ceil(self.batches / gpus) / self.batches
        fill = 1.0 if self.per_gpu else share / (share + self.half_batch * gpu.speed)
        full = 1.0 if self.per_gpu else 1 / (1 + self.half_batch * gpu.speed)
        compute = self.compute_seconds * share / (gpu.speed * luck.compute) * full / fill
        memory = self.memory_seconds * share / (gpu.dram_gbps / A100.dram_gbps * luck.dram)
        busy = _norm(self.roofline, compute, memory)
        exchange = self._exchange_seconds(placement, gpu, luck, nodes)
        exposed = max(exchange - self.overlap * busy, 0.15 * exchange)
        # Loaders run on the hosts: some for each GPU, but one file system feeds them all.
        loading = self.input_seconds * share / luck.host * max(1.0, gpus / self.store_gpus)
        late = 1 + self.jitter * math.log2(gpus)
        return _norm(self.prefetch, (busy + exposed) * late, loading) + self.launch_seconds

    def _exchange_seconds(
        self, placement: Placement, gpu: Silicon, luck: Luck, nodes: int
    ) -> float:
        if placement.gpus == 1:
            return 0.0
        gigabytes = self.transfer_seconds * A100.link_gbps
        near = math.ceil(placement.gpus / nodes)
        inside = 2 * (near - 1) / near * gigabytes / (gpu.link_gbps * luck.link)
        # Workers in pods of their own do not see each other's GPUs: through the host's memory.
        if placement.workers > nodes:
            inside *= 1.3
        outside = 2 * (nodes - 1) / nodes * gigabytes / self.network_gbps if nodes > 1 else 0.0
        return inside + outside + self.hop_seconds * math.log2(placement.gpus)

    def per_second(self, placement: Placement) -> float:
        """Whole batches a second, or of a batch for each GPU as many as it has."""
        each = placement.gpus if self.per_gpu else 1
        return each / self.step_seconds(placement)

    def watts(self, placement: Placement) -> float:
        gpu = silicon(placement.gpu_type)
        share = 1.0 if self.per_gpu else 1 / placement.gpus
        compute = self.compute_seconds * share / (gpu.speed * self.luck[gpu.name].compute)
        memory = self.memory_seconds * share / (gpu.dram_gbps / A100.dram_gbps)
        busy = min(1.0, (compute + 0.6 * memory) / self.step_seconds(placement))
        each = gpu.idle_watts + (gpu.max_watts - gpu.idle_watts) * math.pow(busy, 0.8)
        return placement.gpus * each

    def needs_mib(self, placement: Placement) -> float:
        return self.fixed_mib + self.divided_mib / (1 if self.per_gpu else placement.gpus)

    def holds(self, placement: Placement) -> bool:
        return self.needs_mib(placement) <= silicon(placement.gpu_type).memory_mib

    def is_free(self, placement: Placement) -> bool:
        return placement.gpus <= self.luck[placement.gpu_type].free_gpus

    def can_be_had(self, placement: Placement) -> bool:
        return self.holds(placement) and self.is_free(placement)

    def price(self, placement: Placement) -> float | None:
        return self.optimise.prices.get(placement.gpu_type)

    def loss(self, placement: Placement) -> float:
        """How much worse than the best that can be had: 0.05 is 5 %.

        With a deadline that by which it costs more, or that by which it comes late: the larger.
        """
        if not self.can_be_had(placement):
            return math.inf
        can = [one.placement for one in self.candidates if self.can_be_had(one.placement)]
        costs = {one: self._cost(one) for one in can}
        if self.optimise.goal is not Goal.DEADLINE:
            return costs[placement] / min(costs.values()) - 1
        work, deadline = self.optimise.work or math.nan, self.optimise.deadline_seconds or math.nan
        late = {one: work / self.per_second(one) / deadline for one in can}
        least = max(1.0, min(late.values()))
        cheapest = min(costs[one] for one in can if late[one] <= least)
        return max(costs[placement] / cheapest, late[placement] / least) - 1

    def _cost(self, placement: Placement) -> float:
        """What the goal wants little of, for a unit of work."""
        seconds, price = 1 / self.per_second(placement), self.price(placement)
        match self.optimise.goal:
            case Goal.THROUGHPUT:
                return seconds
            case Goal.THROUGHPUT_PER_GPU:
                return placement.gpus * seconds
            case Goal.ENERGY:
                return self.watts(placement) * seconds
            case Goal.COST | Goal.DEADLINE:
                return placement.gpus if price is None else price * placement.gpus * seconds


def silicon(name: str) -> Silicon:
    return next(gpu for gpu in TYPES if gpu.name == name)


def nodes_of(placement: Placement) -> int:
    if placement.arrange is Arrange.SPREAD:
        return placement.workers
    room = silicon(placement.gpu_type).gpus_per_node // placement.gpus_per_worker
    return math.ceil(placement.workers / max(1, room))


def _norm(power: float, *seconds: float) -> float:
    """Their sum with power 1, the longest of them with a large one."""
    most = max(seconds)
    return most * sum((one / most) ** power for one in seconds) ** (1 / power) if most else 0.0


def jobs(count: int, seed: int, *, wide: bool = False) -> Iterator[Job]:
    """Every family with every goal equally often; `wide` adds packed and spread, and both layouts.

    A job depends on its seed and number alone.
    """
    for number in range(count):
        family = FAMILIES[number % len(FAMILIES)]
        goal = GOALS[number // len(FAMILIES) % len(GOALS)]
        yield job((seed, number), family, goal, wide=wide)


def job(seed: tuple[int, int], family: str, goal: Goal, *, wide: bool = False) -> Job:
    """One that can run somewhere."""
    chance = np.random.default_rng(seed)
    while True:
        made = _draw(seed, family, goal, chance, wide=wide)
        if any(made.can_be_had(one.placement) for one in made.candidates):
            return _with_deadline(made, chance) if goal is Goal.DEADLINE else made


def _draw(
    seed: tuple[int, int], family: str, goal: Goal, chance: np.random.Generator, *, wide: bool
) -> Job:
    draw = chance.uniform
    step = math.exp(draw(math.log(20), math.log(800)))
    compute, memory, loading, transfer = {
        "compute": (draw(0.7, 1), draw(0.05, 0.4), draw(0.01, 0.1), draw(2e-4, 3e-3)),
        "communication": (draw(0.4, 0.8), draw(0.1, 0.3), draw(0.01, 0.1), draw(5e-3, 5e-2)),
        "memory": (draw(0.1, 0.35), draw(0.7, 1), draw(0.01, 0.1), draw(2e-4, 3e-3)),
        "input": (draw(0.2, 0.5), draw(0.05, 0.2), draw(0.3, 1), draw(2e-4, 3e-3)),
    }[family]
    large = chance.random() < 0.3
    luck = {
        gpu.name: Luck(
            compute=chance.lognormal(0, 0.15),
            dram=chance.lognormal(0, 0.1),
            link=chance.lognormal(0, 0.2),
            host=chance.lognormal(0, 0.15),
            bias=chance.normal(0, 0.02),
            free_gpus=int(chance.integers(0, 16)) if chance.random() < 0.15 else 16,
        )
        for gpu in TYPES
    }
    priced = goal is Goal.COST or (goal is Goal.DEADLINE and chance.random() < 0.5)
    prices = {gpu.name: gpu.price * chance.lognormal(0, 0.2) for gpu in TYPES} if priced else {}
    placements = wide_placements() if wide else plain_placements(whole_nodes=chance.random() < 0.5)
    unknown = chance.random() < 0.15
    return Job(
        seed=seed,
        family=family,
        optimise=Optimise(goal=goal, prices=prices),
        candidates=tuple(Candidate(p, prices.get(p.gpu_type)) for p in placements),
        types=tuple(
            GpuType(g.name, g.memory_mib, gpus_per_node=g.gpus_per_node)
            if unknown
            else GpuType(g.name, g.memory_mib, g.tensor_teraflops, g.dram_gbps, g.gpus_per_node)
            for g in TYPES
        ),
        per_gpu=bool(chance.random() < 0.4),
        compute_seconds=compute * step,
        memory_seconds=memory * step,
        input_seconds=loading * step,
        transfer_seconds=transfer * step,
        launch_seconds=draw(0, 0.01) * step,
        hop_seconds=math.exp(draw(math.log(1e-4), math.log(5e-3))) * step,
        roofline=draw(1, 4),
        prefetch=draw(1.5, 6),
        overlap=draw(0, 0.8),
        half_batch=draw(0, 0.02),
        batches=int(chance.choice([32, 48, 64, 96, 128, 256])),
        network_gbps=math.exp(draw(*np.log(NETWORK_GBPS))),
        store_gpus=draw(3, 20),
        jitter=draw(0, 0.02),
        fixed_mib=draw(8e3, 4e4) if large else draw(1e3, 4e3),
        divided_mib=draw(0, 8e4) if large else draw(1e3, 8e3),
        luck=luck,
    )


def _with_deadline(job: Job, chance: np.random.Generator) -> Job:
    """One that some of the placements that can be had can keep, and others cannot."""
    can = [one.placement for one in job.candidates if job.can_be_had(one.placement)]
    low, high = np.quantile(np.log([job.per_second(one) for one in can]), (0.3, 0.95))
    work, rate = 1000.0, math.exp(chance.uniform(low, high))
    return replace(
        job,
        optimise=Optimise(
            goal=Goal.DEADLINE,
            prices=job.optimise.prices,
            work=work,
            deadline_seconds=work / rate,
        ),
    )


def plain_placements(*, whole_nodes: bool) -> Sequence[Placement]:
    """Each type with each count: a worker for each GPU, or one that has up to four of them."""
    return [
        Placement(gpu_type=gpu.name, gpus_per_worker=each, workers=count // each)
        for gpu, count in product(TYPES, COUNTS)
        for each in [{3: 3, 6: 3}.get(count, min(count, 4)) if whole_nodes else 1]
    ]


def wide_placements() -> Sequence[Placement]:
    return list(
        dict.fromkeys(
            Placement(
                gpu_type=one.gpu_type,
                gpus_per_worker=one.gpus_per_worker,
                workers=one.workers,
                arrange=arrange if one.workers > 1 else None,
            )
            for whole_nodes in (False, True)
            for one in plain_placements(whole_nodes=whole_nodes)
            for arrange in Arrange
        )
    )
