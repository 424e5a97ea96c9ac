"""What each kind of job does, phase by phase: pure generators, no clock and no device.

The runner decides when to stop; most patterns would go on for ever.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from .activity import IDLE, Activity
from .silicon import Model
from .step_model import StepTime

# Chosen, not measured: far enough apart that a profiler must tell the kinds of work apart.
COMPUTE = Activity(engine=1.0, tensor=0.70, dram=0.45)
MEMORY_BOUND = Activity(engine=1.0, tensor=0.10, dram=0.90)
# NCCL keeps a kernel spinning while it waits: "100 % busy", no tensor work, little power.
SPINNING = Activity(engine=1.0, tensor=0.0, dram=0.02)
SERVING = Activity(engine=1.0, tensor=0.35, dram=0.60, pcie_tx=2e8, pcie_rx=4e8)
VALIDATING = Activity(engine=0.8, tensor=0.30, dram=0.40)
LOADING = Activity(pcie_rx=2e9)
CHECKPOINTING = Activity(pcie_tx=5e9)


@dataclass(frozen=True)
class Phase:
    seconds: float
    activity: Activity
    memory_mib: float  # on each GPU
    cpu_seconds: float = 0.0  # real work on the host, within `seconds` if the CPU share allows
    host_memory_mib: float = 0.0
    ends_step: bool = False  # ranks meet here
    line: str = ""  # printed at the end; `{seconds}` becomes the time that the step really took


@dataclass(frozen=True)
class TrainingOptions:
    step: StepTime
    memory_mib: float
    jitter: float = 0.02  # standard deviation of a step, as a share of it
    cpu_share: float = 0.5  # of the input phase
    steps_per_epoch: int = 0  # 0: no epochs
    epoch_pause_seconds: float = 0.0  # validation, then a checkpoint
    leak_mib_per_minute: float = 0.0
    gpu_leak_mib_per_minute: float = 0.0


def training(options: TrainingOptions, model: Model, random: Random) -> Iterator[Phase]:
    elapsed = 0.0
    for number in itertools.count(1):
        step = options.step.times(min(3.0, max(0.2, random.gauss(1.0, options.jitter))))
        memory_mib = options.memory_mib + options.gpu_leak_mib_per_minute * elapsed / 60
        host_mib = options.leak_mib_per_minute * elapsed / 60
        parts = [
            (step.input, LOADING if step.input else IDLE, step.input * options.cpu_share),
            (step.compute, COMPUTE, 0.0),
            (step.memory, MEMORY_BOUND, 0.0),
            (step.communication, communicating(model), 0.0),
        ]
        phases = [
            Phase(seconds, activity, memory_mib, cpu_seconds, host_mib)
            for seconds, activity, cpu_seconds in parts
            if seconds > 0
        ]
        yield from phases
        loss = 2.0 + 6.0 / (1 + number / 20) + random.gauss(0, 0.05)
        line = f"step {number} loss {loss:.3f} {{seconds:.2f}} s/it"
        yield Phase(0.0, SPINNING, memory_mib, host_memory_mib=host_mib, ends_step=True, line=line)
        elapsed += step.total
        if options.steps_per_epoch and number % options.steps_per_epoch == 0:
            epoch = number // options.steps_per_epoch
            half = options.epoch_pause_seconds / 2
            yield Phase(half, VALIDATING, memory_mib, host_memory_mib=host_mib)
            line = f"epoch {epoch} done, checkpoint written"
            yield Phase(half, CHECKPOINTING, memory_mib, half / 4, host_mib, line=line)
            elapsed += 2 * half


def communicating(model: Model) -> Activity:
    if model.has_nvlink:
        return SPINNING._replace(dram=0.15, nvlink=2e11)
    return SPINNING._replace(dram=0.10, pcie_tx=8e9, pcie_rx=8e9)


@dataclass(frozen=True)
class InferenceOptions:
    memory_mib: float
    day_seconds: float = 600.0  # a day's rise and fall of the load, compressed to this
    peak_load: float = 0.8  # share of the time in which the GPU serves at the busiest hour
    request_seconds: float = 0.2


def load_at(seconds: float, options: InferenceOptions) -> float:
    """Low at midnight (0 s), high at noon: a seventh of the peak remains at night."""
    noon = 0.5 - 0.5 * math.cos(2 * math.pi * seconds / options.day_seconds)
    return options.peak_load * (0.15 + 0.85 * noon)


def inference(options: InferenceOptions, random: Random) -> Iterator[Phase]:
    """Requests arrive as a Poisson process whose rate follows the day; they are served in turn."""
    elapsed = 0.0
    for number in itertools.count(1):
        # Time to the next arrival after this one is served: memoryless, so no queue is kept.
        load = load_at(elapsed, options)
        wait = random.expovariate(load / ((1 - load) * options.request_seconds))
        service = options.request_seconds * random.uniform(0.7, 1.3)
        yield Phase(wait, IDLE, options.memory_mib)
        line = f"served {number} requests, load {load:.2f}" if number % 100 == 0 else ""
        yield Phase(service, SERVING, options.memory_mib, service / 20, line=line)
        elapsed += wait + service


def interactive(memory_mib: float, burst_seconds: float, random: Random) -> Iterator[Phase]:
    """Somebody thinks, runs a cell, thinks again: irregular, mostly idle."""
    for number in itertools.count(1):
        # Pauses are eight times as long as cells, and both spread widely.
        yield Phase(random.expovariate(1 / (8 * burst_seconds)), IDLE, memory_mib)
        burst = random.expovariate(1 / burst_seconds)
        activity = COMPUTE.times(random.uniform(0.2, 1.0))
        yield Phase(burst, activity, memory_mib, burst / 10, line=f"cell [{number}] {burst:.1f} s")


def idle(memory_mib: float) -> Iterator[Phase]:
    """Holds its memory and does nothing."""
    return itertools.repeat(Phase(60.0, IDLE, memory_mib))


def waiting(memory_mib: float) -> Iterator[Phase]:
    """A rank whose peers never come: its communication kernel spins."""
    return itertools.repeat(Phase(60.0, SPINNING, memory_mib))
