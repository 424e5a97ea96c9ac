"""The jobs of a trace, drawn as published traces have them; docs/scheduling-worth.md says which.

Most belong to programs that come again, and then every run is much like the others.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tests.bench.scheduler import physics
from tests.bench.scheduler.models import MEMORY_GB, T4, T4_SLOWER, V100, tables
from tests.bench.scheduler.nodes import Machine, types_of
from tests.bench.scheduler.programs import Job, Program

Chance = np.random.Generator
MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0


def philly_seconds(chance: Chance) -> float:
    """Minutes to a week, as Gavel (scheduler/utils.py, _generate_duration) draws them after
    Philly."""
    low, high = (3.0, 4.0) if chance.random() >= 0.8 else (1.5, 3.0)
    return float(MINUTE * 10 ** chance.uniform(low, high))


def pai_seconds(chance: Chance) -> float:
    """Log-normal with the median (23 min) and the mean (84 min) of Alibaba's PAI; at most 2 days,
    that one job does not decide a mean."""
    return float(np.clip(23 * MINUTE * np.exp(1.61 * chance.standard_normal()), 30.0, 2 * DAY))


@dataclass(frozen=True, kw_only=True)
class Workload:
    count: int = 800
    load: float = 0.75
    """Of the cluster's GPU-seconds that the jobs would take, were each on an average GPU."""
    seconds: Callable[[Chance], float] = pai_seconds
    gpus: Mapping[int, float] = field(default_factory=lambda: {1: 0.70, 2: 0.10, 4: 0.15, 8: 0.05})
    """Share of the jobs with so many; by default Philly's, as Gavel draws them."""
    recurring: float = 0.65
    """Of the jobs, those of programs with five runs and more: Alibaba's PAI."""
    input_bound: float = 0.45
    """Of the programs; assumed, so that GPUs compute for about half of the time as on Philly."""
    memory_gb: float = 6.0
    """Median of what one GPU must hold; log-normal, assumed."""
    told: float = 0.5
    """Of the programs that do not fit every type, those whose users say so from the start:
    assumed."""
    grabs: float = 0.15
    """Of the programs, those that take nine tenths of a GPU's memory whatever they need, as
    TensorFlow and JAX do unless they are told not to: assumed."""


def draw(workload: Workload, machines: tuple[Machine, ...], seed: int) -> list[Job]:
    """In the order of their submission."""
    chance = np.random.default_rng([seed, 1])
    programs = _programs(workload, machines, chance)
    members = np.concatenate([np.full(runs, at) for at, (_, runs) in enumerate(programs)])
    members = chance.permutation(members)[: workload.count]
    versions: dict[int, tuple[int, float]] = {}
    bare = []
    for member in members:
        program = programs[member][0]
        version, size = versions.get(member, (0, 1.0))
        if chance.random() < 0.1:  # somebody changed the program: assumed
            version, size = version + 1, float(np.exp(0.3 * chance.standard_normal()))
        versions[member] = version, size
        length = size * np.exp(0.15 * chance.standard_normal())  # from run to run: assumed
        alone = physics.alone(program, V100)
        largest = max(one.gpu_gb for one in machines)
        bare.append(
            (
                program,
                f"{program.number}-{version}",
                float(program.seconds * length * alone),
                float(min(program.gpu_gb * size**0.5, 0.95 * largest)),
            )
        )
    times = _times(workload, machines, bare, chance)
    return [
        Job(number, float(at), *one)
        for number, (at, one) in enumerate(zip(times, bare, strict=True))
    ]


def _programs(
    workload: Workload, machines: tuple[Machine, ...], chance: Chance
) -> list[tuple[Program, int]]:
    """And how many runs each has."""
    found: list[tuple[Program, int]] = []
    often = seldom = 0
    while often + seldom < workload.count:
        recurs = often < workload.recurring * (often + seldom + 1)
        runs = int(np.exp(chance.uniform(np.log(5), np.log(20)))) if recurs else 1
        runs = runs if recurs else int(chance.integers(1, 5 if workload.recurring else 2))
        often, seldom = (often + runs, seldom) if recurs else (often, seldom + runs)
        found.append((_program(len(found), workload, machines, chance), runs))
    return found


def _program(
    number: int, workload: Workload, machines: tuple[Machine, ...], chance: Chance
) -> Program:
    types = types_of(machines)
    known = tables(sorted({*types, V100}))  # a set has another order in every process
    speeds = dict(known[chance.integers(len(known))])
    if T4 in speeds:
        speeds[T4] = 1 / chance.uniform(*T4_SLOWER)
    for kind in speeds:  # one's own program is not the benchmark: assumed
        speeds[kind] *= float(np.exp(0.1 * chance.standard_normal()))
    bound = chance.random() < workload.input_bound
    feed = 0.5 * np.exp(0.5 * chance.standard_normal()) if bound else chance.uniform(2.0, 6.0)
    pulses = bool(chance.random() < 0.6)
    draws = np.ones(physics.INSTANTS, np.bool_)
    if pulses:
        draws[:] = chance.random(physics.INSTANTS) < chance.uniform(0.2, 0.6)
    gpus = int(chance.choice(list(workload.gpus), p=list(workload.gpus.values())))
    largest = max(MEMORY_GB[kind] for kind in types)
    gpu_gb = float(min(workload.memory_gb * np.exp(0.7 * chance.standard_normal()), 0.9 * largest))
    each = min(one.cpus // one.allocatable for one in machines)
    each_gb = min(one.memory_gb // one.allocatable for one in machines)
    return Program(
        number=number,
        speeds=speeds,
        feed=float(feed),
        draws=draws,
        pulses=pulses,
        demand=float(min(0.9, (chance.uniform(0.1, 0.4) if bound else 0.02) + 0.03 * gpus)),
        occupancy=float(chance.uniform(0.45, 0.95)),
        gpus=gpus,
        gpu_gb=gpu_gb,
        cpus=gpus * int(chance.integers(max(1, each // 2), each + 1)),
        memory_gb=gpus * int(chance.integers(max(1, each_gb // 4), each_gb + 1)),
        seconds=workload.seconds(chance),
        told=bool(chance.random() < workload.told),
        grabs=bool(chance.random() < workload.grabs),
    )


def _times(
    workload: Workload,
    machines: tuple[Machine, ...],
    jobs: list[tuple[Program, str, float, float]],
    chance: Chance,
) -> NDArray[np.float64]:
    """As long apart as gives the load; more by day than by night, by the half: assumed, all traces
    have such days."""
    gpus = np.array([one.gpus for one in machines])
    wanted = 0.0
    for program, _, work, _ in jobs:
        paces = [physics.alone(program, one.gpu_type) for one in machines]
        wanted += program.gpus * work / np.average(paces, weights=gpus)
    # GPUs that are shared get through a little more, as Gavel's pairs do.
    there = sum(one.gpus * one.shares**0.3 for one in machines)
    span = wanted / (workload.load * there)
    grid = np.linspace(0.0, span, 10_001)
    rate = 1 + 0.5 * np.sin(2 * np.pi * grid / DAY)
    reached = np.concatenate([[0.0], np.cumsum((rate[1:] + rate[:-1]) / 2)])
    return np.interp(np.sort(chance.random(len(jobs))), reached / reached[-1], grid)
