"""What does not change while a command runs: the machine, its limits, its GPUs."""

from dataclasses import dataclass, field

_LONGEST = 100


def printable(name: str | None) -> str | None:
    """What drivers and runtimes call things goes to screens; None where nothing is left of it."""
    if name is None:
        return None
    return "".join(letter for letter in name if letter.isprintable())[:_LONGEST].strip() or None


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuFacts:
    index: int
    """Of its columns: `gpu_util_percent.0`."""
    vendor: str
    """nvidia, amd or intel."""
    model: str | None = None
    uuid: str | None = None
    memory_total_mib: float | None = None
    power_limit_watts: float | None = None
    integrated: bool = False
    """Part of the CPU, without memory of its own: whoever computes on GPUs seldom means it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """None: as much as the machine has."""

    cpu_cores: float | None = None
    """The least of what control groups allow and of the cores that it may run on."""
    memory_bytes: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    runtime: str
    """docker, containerd, cri-o, podman, lxc, systemd-nspawn; kubernetes where only that is told,
    and `container` where there is one of an unknown kind."""
    id: str | None = None
    """As short as its own tools show it: 12 characters, or its name."""
    pod_uid: str | None = None
    """Of the Kubernetes pod that it is part of."""

    def __str__(self) -> str:
        return self.runtime if self.id is None else f"{self.runtime} {self.id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineFacts:
    host: str
    cores: float
    memory_total_bytes: float | None = None
    limits: Limits = field(default_factory=Limits)
    container: Container | None = None
    gpus: tuple[GpuFacts, ...] = ()
