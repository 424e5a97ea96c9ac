"""The machines of a cluster."""

from collections.abc import Sequence
from dataclasses import dataclass

from tests.bench.scheduler.models import A10, A100, K80, MEMORY_GB, P100, T4, V100


@dataclass(frozen=True, slots=True)
class Machine:
    gpu_type: str
    gpus: int
    cpus: int
    memory_gb: int
    shares: int = 1
    """Pods that a GPU is handed out to, in turns."""

    @property
    def gpu_gb(self) -> float:
        return MEMORY_GB[self.gpu_type]

    @property
    def allocatable(self) -> int:
        return self.gpus * self.shares


A100S = Machine(A100, 8, 96, 1152)
V100S = Machine(V100, 8, 64, 488)
T4S = Machine(T4, 4, 48, 192)
A10S = Machine(A10, 4, 48, 192)
"""CPUs and memory as of AWS's p4d.24xlarge, p3.16xlarge, g4dn.12xlarge and g5.12xlarge."""
P100S = Machine(P100, 4, 32, 256)
K80S = Machine(K80, 8, 32, 488)
"""As of p2.8xlarge, and assumed for the P100."""
V100S_SHARED = Machine(V100, 8, 64, 488, shares=3)
T4S_SHARED = Machine(T4, 4, 48, 192, shares=3)


def types_of(machines: Sequence[Machine]) -> list[str]:
    return sorted({one.gpu_type for one in machines})
