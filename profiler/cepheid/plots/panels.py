"""Which measurements share a picture, in which unit, and what limits them? A table.

The names of the measurements are those of `cepheid.analysis.signals`, and on a laptop a few more.
What is kept under a name that is not here has a picture of its own, at the end.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from cepheid.gpu_models import peaks_of, power_of
from cepheid.jobprofile import JobProfile, Spread
from cepheid.jobs.series import Combine, added, averaged
from cepheid.plots.scale import Quantity
from cepheid.units import quantity

MIB, GIB = 2.0**20, 2.0**30


@dataclass(frozen=True, slots=True)
class Limit:
    """What a measurement cannot exceed; None where nobody said."""

    whole: float | None = None
    """Of the job."""
    each: float | None = None
    """Of one of its workers, or of one GPU."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One measurement, as a line of a panel."""

    metric: str
    called: str
    times: float = 1.0
    """From the unit that it is kept in to that of its panel."""
    aside: bool = False
    """Drawn when somebody asks for it: it would flatten the others."""


@dataclass(frozen=True, slots=True)
class Panel:
    title: str
    quantity: Quantity
    measured: tuple[Measured, ...]
    combine: Combine = added
    """What workers, or GPUs, have together."""
    figures: Callable[[JobProfile], Spread | None] = lambda _: None
    """What the profile says of it."""
    figured: str = ""
    """Of which of its measurements that is, where it has several of a kind."""
    limit: Callable[[JobProfile], Limit] = lambda _: Limit()
    cycles: tuple[str, ...] = ()
    """As a profile calls the signal that its cycle was seen in."""
    foretold: bool = False


def _cores(profile: JobProfile) -> Limit:
    if profile.process is not None:
        return Limit(profile.process.cores, profile.process.cores)
    return _asked(profile, "cpu")


def _memory(profile: JobProfile) -> Limit:
    if profile.process is not None:
        total = profile.process.memory_total_bytes
        return Limit(total, total)
    return _asked(profile, "memory")


def _asked(profile: JobProfile, resource: str) -> Limit:
    """Nothing where a container may take what it likes: then nobody knows the sum."""
    whole, each = 0.0, dict[str | None, float]()
    for one in profile.asked:
        most = quantity(one.limits.get(resource, ""))
        if most is None:
            return Limit()
        whole += one.pods * most
        each[one.role] = each.get(one.role, 0.0) + most
    return Limit(whole, max(each.values())) if each else Limit()


def _of_gpus(amounts: Sequence[float | None]) -> Limit:
    known = [amount for amount in amounts if amount is not None]
    complete = known and len(known) == len(amounts)
    return Limit(sum(known), max(known)) if complete else Limit()


def _gpu_memory(profile: JobProfile) -> Limit:
    peaks = [peaks_of(gpu.model) for gpu in profile.gpus]
    return _of_gpus([None if each is None else GIB * each.memory_gb for each in peaks])


def _gpu_power(profile: JobProfile) -> Limit:
    powers = [power_of(gpu.model) for gpu in profile.gpus]
    return _of_gpus([None if each is None else each.limit_watts for each in powers])


def _used(figure: str) -> Callable[[JobProfile], Spread | None]:
    return lambda profile: getattr(profile.usage, figure, None)


PANELS = (
    Panel(
        "GPU load",
        Quantity.PERCENT,
        (
            Measured("gpu_util_percent", "a kernel runs"),
            Measured("engine_active_ratio", "engine active", 100.0),
            Measured("tensor_active_ratio", "tensor pipe active", 100.0),
            Measured("dram_active_ratio", "memory active", 100.0),
            Measured("mem_copy_util_percent", "memory copies", aside=True),
        ),
        averaged,
        _used("gpu_util_percent"),
        limit=lambda _: Limit(100.0, 100.0),
        cycles=("gpu_util", "engine", "tensor", "dram", "mem_copy_util"),
        foretold=True,
    ),
    Panel(
        "GPU memory",
        Quantity.BYTES,
        (Measured("gpu_memory_used_mib", "in use", MIB),),
        figures=_used("gpu_memory_bytes"),
        limit=_gpu_memory,
        foretold=True,
    ),
    Panel(
        "GPU power",
        Quantity.WATTS,
        (Measured("power_watts", "drawn"),),
        figures=_used("power_watts"),
        limit=_gpu_power,
        cycles=("power",),
        foretold=True,
    ),
    Panel(
        "CPU",
        Quantity.CORES,
        (
            Measured("cpu_cores", "this job"),
            Measured("system_cpu_cores", "the whole machine"),
        ),
        figures=_used("cpu_cores"),
        limit=_cores,
        cycles=("cpu",),
        foretold=True,
    ),
    Panel(
        "Memory",
        Quantity.BYTES,
        (
            Measured("memory_working_set_bytes", "in use"),
            Measured("memory_bytes", "in use"),
            Measured("uss_bytes", "shared with nobody"),
            Measured("vms_bytes", "address space", aside=True),
        ),
        figures=_used("memory_bytes"),
        limit=_memory,
        foretold=True,
    ),
    Panel(
        "Disk",
        Quantity.BYTES_A_SECOND,
        (
            Measured("disk_read_bytes_per_second", "read"),
            Measured("disk_write_bytes_per_second", "written"),
        ),
        figures=_used("disk_bytes_per_second"),
    ),
    Panel(
        "Network",
        Quantity.BYTES_A_SECOND,
        (
            Measured("network_receive_bytes_per_second", "received"),
            Measured("network_transmit_bytes_per_second", "sent"),
        ),
        figures=_used("network_bytes_per_second"),
    ),
    Panel(
        "GPU traffic",
        Quantity.BYTES_A_SECOND,
        (Measured("interconnect_bytes_per_second", "NVLink and PCIe"),),
    ),
    Panel(
        "Stopped by the CPU limit",
        Quantity.PERCENT,
        (Measured("throttled_ratio", "of the time", 100.0),),
        averaged,
    ),
    Panel(
        "Processes and threads",
        Quantity.COUNT,
        (Measured("processes", "processes"), Measured("threads", "threads")),
        figures=lambda profile: getattr(profile.process, "threads", None),
        figured="threads",
    ),
)
KNOWN = frozenset(one.metric for panel in PANELS for one in panel.measured)


def panels_of(metrics: Iterable[str]) -> tuple[Panel, ...]:
    """Those that have something to show, in the order of the table, then what is not in it."""
    there = set(metrics)
    wanted = [panel for panel in PANELS if any(one.metric in there for one in panel.measured)]
    others = sorted(there - KNOWN)
    return (*wanted, *(Panel(name, Quantity.COUNT, (Measured(name, name),)) for name in others))
