"""How long a training step takes on this GPU type with this many GPUs.

The work is stated as seconds on one A100. Compute and memory traffic divide by the speed of the
GPU and by the number of GPUs; the input pipeline runs on the host and only divides by the number
of workers; the ring all-reduce costs 2 (n-1)/n times the gradients' transfer and the latency of
each hop, so it grows while everything else shrinks: that is why scaling ends somewhere.
(Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms", 2009.)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from .silicon import Model


@dataclass(frozen=True)
class StepTime:
    """One step, in seconds of each kind; also how the step divides into phases."""

    input: float
    compute: float
    memory: float
    communication: float

    @property
    def total(self) -> float:
        return self.input + self.compute + self.memory + self.communication

    def times(self, factor: float) -> StepTime:
        return StepTime(
            self.input * factor,
            self.compute * factor,
            self.memory * factor,
            self.communication * factor,
        )


# What a step of one second on one A100 consists of; communication is what a transfer of all
# gradients takes, and costs nothing until there is a second GPU.
BOUNDS: Mapping[str, StepTime] = MappingProxyType(
    {
        "compute": StepTime(input=0.05, compute=0.85, memory=0.10, communication=0.01),
        "memory": StepTime(input=0.05, compute=0.15, memory=0.80, communication=0.01),
        "communication": StepTime(input=0.05, compute=0.75, memory=0.20, communication=0.25),
        "input": StepTime(input=0.70, compute=0.25, memory=0.05, communication=0.01),
    }
)


# What a hop of the ring costs beside the data, as a share of the transfer of all gradients.
HOP_SHARE = 0.02


def modelled_step(work_seconds: float, bound: str, model: Model, gpus: int) -> StepTime:
    """The step of a job that would take `work_seconds` on one A100, on these GPUs."""
    work = BOUNDS[bound].times(work_seconds)
    return StepTime(
        input=work.input / gpus,
        compute=work.compute / (model.compute_speed * gpus),
        memory=work.memory / (model.dram_speed * gpus),
        communication=work.communication * (gpus - 1) * (2 / gpus + HOP_SHARE),
    )


def told_step(step_seconds: float, duty: float, bound: str) -> StepTime:
    """A step that takes exactly this long, the GPU busy for `duty` of it, whatever the GPU is."""
    mix = BOUNDS[bound]
    busy = step_seconds * duty / (mix.compute + mix.memory)
    return StepTime(step_seconds * (1 - duty), mix.compute * busy, mix.memory * busy, 0.0)
