"""What is said of a Node and of a Pod, before it is text and after: frozen, None where not known.

Memory counts as NVIDIA names its cards, an "80GB" one holding 80 * 2**30 bytes: `_gb` are GB and
`_mb` are MB of the two constants below. Shares are percent, 0 to 100.
"""

from dataclasses import dataclass
from datetime import datetime

from cepheid.analysis.jobrules import JobKind

GB = 2**30
MB = 2**20


@dataclass(frozen=True, slots=True)
class CycleFacts:
    period_seconds: float
    strength: float
    """0 to 1: the share of the variance within one period that repeats."""
    metric: str | None = None
    """Which signal showed it."""
    confirmed: bool | None = None
    """Whether signals that cannot alias show it too; None where there are none to ask."""
    shared: bool = False
    """On a Pod: seen on a GPU that other pods use as well."""


@dataclass(frozen=True, slots=True)
class ForecastFacts:
    """The least that makes one is its horizon and one figure."""

    horizon_seconds: float
    util_mean_percent: float | None = None
    util_p95_percent: float | None = None
    mem_peak_gb: float | None = None
    mape_percent: float | None = None
    """The error of the back-test, in percent of the mean level."""
    shared: bool = False


@dataclass(frozen=True, slots=True)
class HealthFacts:
    """Only of a GPU with which something is wrong."""

    lost: bool = False
    xid: int | None = None
    """NVIDIA's number of the error that the driver reported last."""
    throttled: str | None = None
    """What slows it down, in one word: thermal, power."""
    since: datetime | None = None


@dataclass(frozen=True, slots=True)
class GpuFacts:
    """One GPU, or one MIG slice of it."""

    index: int
    mig: int | None = None
    """The instance's id on its GPU, where the GPU is divided."""
    mem_used_gb: float | None = None
    mem_free_gb: float | None = None
    pods: int | None = None
    cyclic_pattern: bool | None = None
    """False where one was looked for in enough samples; None where there were too few."""
    max_mem_util_percent: float | None = None
    max_gpu_util_percent: float | None = None
    job_type: JobKind | None = None
    cycle: CycleFacts | None = None
    forecast: ForecastFacts | None = None
    health: HealthFacts | None = None


@dataclass(frozen=True, slots=True)
class StaticFacts:
    count: int
    model: str | None = None
    """None where the node's GPUs differ."""
    mem_gb: float | None = None
    """Of one GPU."""


@dataclass(frozen=True, slots=True)
class NodeFacts:
    static: StaticFacts | None = None
    gpus: tuple[GpuFacts, ...] = ()
    cpu_forecast: ForecastFacts | None = None
    mem_forecast: ForecastFacts | None = None
    free_gpu_score: int | None = None
    """0 to 100: the share of the node's GPU capacity forecast to be free over the horizon."""
    valid_until: datetime | None = None

    def holds(self, now: datetime) -> bool:
        """Whether a reader may still act on this, and on what the node's Pods say."""
        return self.valid_until is not None and now < self.valid_until


@dataclass(frozen=True, slots=True)
class PodGpuFacts:
    """What a Pod uses of one GPU; of the whole GPU where it is shared."""

    index: int
    mig: int | None = None
    util_percent: float | None = None
    mem_mb: float | None = None
    shared: bool = False


@dataclass(frozen=True, slots=True)
class PodFacts:
    node: str | None = None
    """Part of the GPUs' keys, and nowhere without them; what is read back may be cut and hashed."""
    cpu_util_percent: float | None = None
    """Of what the Pod may use: its limit, or all cores of the node."""
    cpu_mem_mb: float | None = None
    """The working set, which is what the OOM killer watches."""
    network_mbps: float | None = None
    """Received and sent, 10**6 bits a second."""
    disk_io_mbps: float | None = None
    """Read and written, 10**6 bytes a second."""
    gpus: tuple[PodGpuFacts, ...] = ()
    job_type: JobKind | None = None
    cycle: CycleFacts | None = None
    forecast: ForecastFacts | None = None
