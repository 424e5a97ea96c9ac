"""Which jobs come to which cluster? Each family asks one question."""

from dataclasses import dataclass

from tests.bench.scheduler.jobs import Workload, philly_seconds
from tests.bench.scheduler.nodes import (
    A10S,
    A100S,
    K80S,
    P100S,
    T4S,
    T4S_SHARED,
    V100S,
    V100S_SHARED,
    Machine,
)

MIXED = (A100S,) * 2 + (V100S,) * 3 + (T4S,) * 8
"""72 GPUs, the fastest the fewest, as in Alibaba's PAI."""
WHOLE_NODES = {1: 0.55, 2: 0.10, 4: 0.15, 8: 0.20}
"""More jobs with eight GPUs than on Philly: assumed."""
ONE_GPU = {1: 1.0}


@dataclass(frozen=True)
class Family:
    name: str
    machines: tuple[Machine, ...]
    workload: Workload
    heterogeneous: bool = True


FAMILIES = (
    Family("A100, V100, T4", MIXED, Workload()),
    Family("A100, V100, A10", (A100S,) * 2 + (V100S,) * 3 + (A10S,) * 8, Workload()),
    Family("V100, P100, K80", (V100S,) * 3 + (P100S,) * 6 + (K80S,) * 4, Workload()),
    Family("long jobs", MIXED, Workload(seconds=philly_seconds)),
    Family("whole nodes", (A100S,) * 3 + (V100S,) * 6, Workload(gpus=WHOLE_NODES)),
    Family("input-bound", MIXED, Workload(input_bound=0.8)),
    Family("much memory", MIXED, Workload(memory_gb=12.0, told=0.0)),
    Family("takes all memory", MIXED, Workload(grabs=0.5)),
    Family("light load", MIXED, Workload(load=0.3)),
    Family("overload", MIXED, Workload(load=1.1)),
    Family("nothing comes again", MIXED, Workload(recurring=0.0)),
    Family("one type", (V100S,) * 9, Workload(), heterogeneous=False),
    Family("one type, input-bound", (V100S,) * 9, Workload(input_bound=0.8), heterogeneous=False),
    Family(
        "shared GPUs",
        (V100S_SHARED,) * 3 + (T4S_SHARED,) * 6,
        Workload(gpus=ONE_GPU, memory_gb=4.0),
    ),
    Family(
        "shared GPUs, one type",
        (T4S_SHARED,) * 10,
        Workload(gpus=ONE_GPU, memory_gb=4.0),
        heterogeneous=False,
    ),
)
