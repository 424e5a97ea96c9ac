"""What there is to be measured. Tests change it while the exporters serve it."""

import time
import uuid
from dataclasses import dataclass, field

from tests.simgpu import inventory
from tests.simgpu.activity import Activity
from tests.simgpu.exposition import Owner
from tests.simgpu.faults import HEALTHY, GpuFaults
from tests.simgpu.silicon import REFERENCE
from tests.stage.levels import Level, Timeline

DAY = 86_400.0
GIB = 2.0**30

TRAINING = Activity(engine=1.0, tensor=0.6, dram=0.5, pcie_tx=2e8, pcie_rx=1e9)
"""A GPU that is busy all the time, with the work of a training job."""


@dataclass
class Pod:
    """One container; levels are a second's, and counters begin with the container."""

    namespace: str
    name: str
    uid: str = field(default_factory=lambda: str(uuid.uuid4()))
    container: str = "main"
    cores: Timeline = field(default_factory=lambda: Timeline(0.1))
    memory_bytes: Timeline = field(default_factory=lambda: Timeline(256 * 2.0**20))
    received_bytes: Timeline = field(default_factory=lambda: Timeline(1e5))
    sent_bytes: Timeline = field(default_factory=lambda: Timeline(5e4))
    read_bytes: Timeline = field(default_factory=lambda: Timeline(1e4))
    written_bytes: Timeline = field(default_factory=lambda: Timeline(2e4))
    cpu_limit_cores: float | None = None
    """Without one the kernel counts no scheduler periods."""
    throttled_ratio: Timeline = field(default_factory=Timeline)
    processes: int = 3
    run: int = 0
    """How often the container was restarted: another run is another cgroup."""
    since: float | None = None
    """None for as long as the machine is up."""

    @property
    def owner(self) -> Owner:
        """As the holder of a GPU."""
        return Owner(self.namespace, self.name, self.container)


@dataclass
class Gpu:
    hardware: inventory.Gpu
    busy: Timeline = field(default_factory=Timeline)
    """Share of the time, 0 to 1, in which it does what `work` says."""
    memory_mib: Timeline = field(default_factory=Timeline)
    holders: list[Owner] = field(default_factory=list)
    """More than one: time-slicing."""
    work: Activity = TRAINING
    faults: GpuFaults = HEALTHY

    @property
    def index(self) -> int:
        return self.hardware.index

    @property
    def uuid(self) -> str:
        return self.hardware.uuid

    def hold(
        self,
        pod: Pod,
        busy: Level | float,
        memory_mib: Level | float,
        since: float | None = None,
    ) -> None:
        """From `since` on, or from now; but whose it is, even the past is told as of now."""
        self.holders = [pod.owner]
        self.busy.become(busy, since)
        self.memory_mib.become(memory_mib, since)

    def release(self) -> None:
        self.holders = []
        self.busy.become(0.0)
        self.memory_mib.become(0.0)


@dataclass
class Node:
    name: str
    gpus: list[Gpu] = field(default_factory=list)
    pods: list[Pod] = field(default_factory=list)
    cores: int = 64
    memory_bytes: float = 512 * GIB
    system_cores: Timeline = field(default_factory=lambda: Timeline(0.5))
    """What kubelet and the rest of the system use, beside the pods."""
    system_memory_bytes: Timeline = field(default_factory=lambda: Timeline(4 * GIB))

    @property
    def machine_id(self) -> str:
        return uuid.uuid5(uuid.NAMESPACE_DNS, self.name).hex


@dataclass
class World:
    nodes: list[Node] = field(default_factory=list)
    up_since: float = field(default_factory=lambda: time.time() - DAY)
    """When all machines were started, and the counters of GPUs began."""
    gpus_every_seconds: float = 1.0
    """How often dcgm-exporter measures; its own default is 30."""
    pods_every_seconds: float = 0.0
    """How often a kubelet measures, each pod at a moment of its own; 0 for when it is scraped."""
    virtual_gpus: bool = False
    """KUBERNETES_VIRTUAL_GPUS of dcgm-exporter."""

    def add_node(self, name: str, gpus: int = 0, model: str = REFERENCE) -> Node:
        found: tuple[inventory.Gpu, ...] = ()
        if gpus:
            found = inventory.parse_inventory({"model": model, "count": gpus}, name).gpus
        node = Node(name, [Gpu(hardware) for hardware in found])
        self.nodes.append(node)
        return node
