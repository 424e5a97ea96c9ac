"""What does the time of a unit of work consist of, and how does each part change with the GPUs?

Part by part, for a placement of n GPUs in w workers on m nodes:

    launch     a fixed time of each step
    store      what all share: a file system, a single process; never faster (Amdahl)
    input      loaders, some for each GPU: / n
    compute    / (n times the type's speed)
    memory     / (n times the type's memory bandwidth)
    ring       all-reduce of the gradients: 2 (n - 1) / n, over the links of the type
    hops       its latency: n - 1
    workers    the same among workers that share no links: 2 (w - 1) / w
    nodes      and over the network: 2 (m - 1) / m

(Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms", 2009.) Where each GPU keeps its own
batch, a step does n times the work: `per_gpu` 1 divides by n what is paid once a step, 0 does not.

Each part is the exponential of something linear in the parameters, which are logarithms: so the
logarithm of the time is smooth, and its derivative by a parameter is the share of the parts that
have it.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cepheid.model import FloatArray

if TYPE_CHECKING:  # its records need msgspec: what analyses needs numpy only
    from cepheid.placementtrial import Placement

NOTHING = -60.0
"""Logarithm of a part that this placement does not have."""
USUAL_GPUS_PER_NODE = 8


@dataclass(frozen=True, slots=True)
class GpuType:
    """What is known of a type before anything ran on it: where a guess of its speed begins."""

    name: str
    memory_mib: float | None = None
    tensor_teraflops: float | None = None
    dram_gbps: float | None = None
    gpus_per_node: int | None = None


class Part(NamedTuple):
    name: str
    usual: float
    """Logarithm of its share of the time on one usual GPU, before anything is known."""
    spread: float
    of_type: str | None
    """What of the GPU's type it is divided by."""
    once_a_step: bool

    @property
    def divides(self) -> bool:
        """Among the GPUs."""
        return self.name in ("input", "compute", "memory")


# Wide: from shares that nobody would notice to most of the step.
PARTS = (
    Part("launch", -5.0, 1.5, None, once_a_step=True),
    Part("store", -4.5, 1.5, "host", once_a_step=False),
    Part("input", -2.5, 1.5, "host", once_a_step=False),
    Part("compute", -0.8, 1.0, "speed", once_a_step=False),
    Part("memory", -1.5, 1.3, "dram", once_a_step=False),
    Part("ring", -5.0, 2.0, "link", once_a_step=True),
    Part("hops", -7.0, 1.5, None, once_a_step=True),
    Part("workers", -6.0, 1.8, None, once_a_step=True),
    Part("nodes", -3.5, 1.8, None, once_a_step=True),
)
SCALE_SPREAD = 10.0
"""Of the logarithm of the throughput, in whatever unit: anything."""

OF_TYPE = ("speed", "dram", "link", "host")
# How the logarithm of each follows from that of the data sheet, and how far it may be off: first
# where the sheet is known, then where it is not. Training gains less than the tensor peak says
# (an H100 has 3.2 times that of an A100 and is about 2.2 times as fast); the types with the most
# of it have NVLink, those with the least a PCIe slot.
SHEET = {
    "speed": (0.8, 0.3, 1.1),
    "dram": (1.0, 0.2, 0.9),
    "link": (1.3, 0.9, 1.5),
    "host": (0.0, 0.25, 0.25),
}
PER_GPU_SPREAD = 0.15


class Terms(NamedTuple):
    """Logarithms of the parts are `by @ parameters + at`; [placement, part, parameter]."""

    by: FloatArray
    at: FloatArray

    def logarithms(self, parameters: FloatArray) -> FloatArray:
        """[draw, placement, part]"""
        placements, parts, count = self.by.shape
        logs = parameters @ self.by.reshape(placements * parts, count).T
        return np.asarray(logs.reshape(-1, placements, parts) + self.at)

    def slopes(self, shares: FloatArray) -> FloatArray:
        """Of the logarithm of the time, by shares of the parts: [draw, placement, parameter]"""
        return np.asarray((shares.transpose(1, 0, 2) @ self.by).transpose(1, 0, 2))


class Prior(NamedTuple):
    mean: FloatArray
    """[draw, parameter]"""
    spread: FloatArray
    """[parameter]"""

    def at(self, moved: FloatArray) -> FloatArray:
        """The parameters that are so many spreads off."""
        parameters: FloatArray = self.mean + self.spread * moved
        return parameters


class Steps:
    """The parameters of a job that runs on some types; those of no known type are one more."""

    def __init__(self, types: Sequence[GpuType], placements: Sequence["Placement"] = ()) -> None:
        named = {one.gpu_type: GpuType(one.gpu_type) for one in placements}
        self._types = {"": GpuType("")} | named | {one.name: one for one in types}
        self._numbers = {name: number for number, name in enumerate(self._types)}
        names = [("scale", ""), *((part.name, "") for part in PARTS), ("per_gpu", "")]
        names += [(what, one) for one in self._types for what in OF_TYPE]
        self._at = {name: place for place, name in enumerate(names)}

    @property
    def types_count(self) -> int:
        return len(self._types)

    def type_number(self, placement: "Placement") -> int:
        return self._numbers.get(placement.gpu_type, 0)

    def prior(self, draws: int) -> Prior:
        """Half of the draws hold that a step is the same work for each GPU, half that it is not."""
        mean, spread = np.zeros((draws, len(self._at))), np.zeros(len(self._at))
        spread[self._at["scale", ""]] = SCALE_SPREAD
        for part in PARTS:
            mean[:, self._at[part.name, ""]] = part.usual
            spread[self._at[part.name, ""]] = part.spread
        mean[:, self._at["per_gpu", ""]] = np.arange(draws) % 2
        spread[self._at["per_gpu", ""]] = PER_GPU_SPREAD
        peaks = relative({name: one.tensor_teraflops for name, one in self._types.items()})
        bandwidths = relative({name: one.dram_gbps for name, one in self._types.items()})
        for name in self._types:
            for what in OF_TYPE:
                follows, known, unknown = SHEET[what]
                sheet = (bandwidths if what == "dram" else peaks)[name]
                place = self._at[what, name]
                mean[:, place] = 0.0 if sheet is None else follows * sheet
                spread[place] = unknown if sheet is None else known
        return Prior(mean, spread)

    def terms(self, placements: Sequence["Placement"]) -> Terms:
        by = np.zeros((len(placements), len(PARTS), len(self._at)))
        at = np.zeros((len(placements), len(PARTS)))
        for row, placement in enumerate(placements):
            name = placement.gpu_type if placement.gpu_type in self._types else ""
            gpus, workers = placement.gpus, placement.workers
            sizes = {
                "input": 1 / gpus,
                "compute": 1 / gpus,
                "memory": 1 / gpus,
                "ring": 2 - 2 / gpus,
                "hops": gpus - 1,
                "workers": 2 - 2 / workers,
                "nodes": 2 - 2 / self._nodes(placement),
            }
            for column, part in enumerate(PARTS):
                size = sizes.get(part.name, 1.0)
                at[row, column] = math.log(size) if size > 0 else NOTHING
                by[row, column, self._at["scale", ""]] = 1.0
                by[row, column, self._at[part.name, ""]] = 1.0
                if part.once_a_step:
                    by[row, column, self._at["per_gpu", ""]] = -math.log(gpus)
                if part.of_type is not None:
                    by[row, column, self._at[part.of_type, name]] = -1.0
        return Terms(by, at)

    def _nodes(self, placement: "Placement") -> int:
        """How many it is spread over, as far as can be said: one that may be anyhow is packed."""
        if placement.arrange == "spread":
            return placement.workers
        known = self._types.get(placement.gpu_type)
        room = (known and known.gpus_per_node) or USUAL_GPUS_PER_NODE
        return math.ceil(placement.workers / max(1, room // placement.gpus_per_worker))


def log_sum(logarithms: FloatArray) -> FloatArray:
    """Logarithm of the sum over the last axis."""
    most = logarithms.max(axis=-1)
    total: FloatArray = most + np.log(np.exp(logarithms - most[..., None]).sum(axis=-1))
    return total


def relative(figures: Mapping[str, float | None]) -> dict[str, float | None]:
    """Their logarithms, around 0; None where nothing is known."""
    logs = {name: math.log(one) if one and one > 0 else None for name, one in figures.items()}
    known = [one for one in logs.values() if one is not None]
    middle = sum(known) / len(known) if known else 0.0
    return {name: None if one is None else one - middle for name, one in logs.items()}
