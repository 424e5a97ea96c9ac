"""What did a job use, of how much?"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeGuard

from cepheid.history import TimeSeries
from cepheid.jobprofile import JobProfile, ProcessSeen, Spread, Usage
from cepheid.jobs.gpu_names import GIGABYTES
from cepheid.reports import words
from cepheid.reports.sparks import in_cells, spark
from cepheid.units import quantity

MIB = 2.0**20


@dataclass(frozen=True, slots=True)
class Figure:
    """One resource: its course over the run, how much of it, and what is worth adding."""

    label: str
    amount: str
    remark: str = ""
    course: str = ""
    """A sparkline; empty where no time series was kept."""


def figures(profile: JobProfile, kept: Sequence[TimeSeries] = ()) -> tuple[Figure, ...]:
    """Of what was measured; the rest is not there."""
    usage, process = profile.usage or Usage(), profile.process
    return (
        *_gpu(profile, usage, kept),
        *_cpu(profile, usage, kept),
        *_memory(profile, usage, kept),
        *_traffic(usage, process, kept),
        *_energy(profile, usage, kept),
        *_counts(process),
    )


def cpu_limit_cores(profile: JobProfile) -> float | None:
    """What it could have at most: limits of all its pods, or the machine."""
    if profile.process is not None:
        return profile.process.cores
    return _limit(profile, "cpu")


def memory_limit_bytes(profile: JobProfile) -> float | None:
    if profile.process is not None:
        return profile.process.memory_total_bytes
    return _limit(profile, "memory")


def gpu_memory_bytes(profile: JobProfile) -> float | None:
    """As far as the names of all its models tell."""
    found = [GIGABYTES.search(gpu.model or "") for gpu in profile.gpus]
    sizes = [float(size[1]) * words.GIB for size in found if size]
    return sum(sizes) if sizes and len(sizes) == len(found) else None


def peak_memory_bytes(profile: JobProfile) -> float | None:
    if profile.process is not None and profile.process.peak_memory_bytes is not None:
        return profile.process.peak_memory_bytes or None
    spread = None if profile.usage is None else profile.usage.memory_bytes
    return None if spread is None else spread.max or None


def repeats(profile: JobProfile) -> str:
    """`repeats every 42.1 s`; empty where nothing does."""
    if profile.cycle is None:
        return ""
    return f"repeats every {words.lasting(profile.cycle.period_seconds)}"


def _gpu(profile: JobProfile, usage: Usage, kept: Sequence[TimeSeries]) -> Iterator[Figure]:
    util = usage.gpu_util_percent
    if _is_there(util):
        course = spark(in_cells(kept, "gpu_util_percent", added=False), 100.0)
        yield Figure("GPU", _typical(util, words.in_percent), repeats(profile), course)
    memory = usage.gpu_memory_bytes
    if _is_there(memory):
        most = gpu_memory_bytes(profile)
        course = spark(
            in_cells(kept, "gpu_memory_used_mib", added=True), most and most / MIB
        ) or spark(in_cells(kept, "gpu_memory_bytes", added=True), most)
        yield Figure("GPU memory", words.bytes_of(memory.max, most), _mean_bytes(memory), course)
    tensor = usage.tensor_percent
    if _is_there(tensor):
        yield Figure("tensor pipe", _typical(tensor, words.in_percent))


def _cpu(profile: JobProfile, usage: Usage, kept: Sequence[TimeSeries]) -> Iterator[Figure]:
    cores, limit = usage.cpu_cores, cpu_limit_cores(profile)
    if not _is_there(cores):
        return
    of = "" if limit is None else f" of {words.figure(limit)}"
    remarks = [] if cores.max is None else [f"{words.in_cores(cores.max)} at most"]
    if profile.process is not None and profile.process.cpu_seconds is not None:
        remarks.append(f"{words.lasting(profile.process.cpu_seconds)} in all")
    if not _is_there(usage.gpu_util_percent) and profile.cycle is not None:
        remarks = [*remarks[:1], repeats(profile)]
    course = spark(in_cells(kept, "cpu_cores", added=True), limit)
    amount = _typical(cores, words.in_cores)
    yield Figure("CPU", f"{amount}{of} cores", ", ".join(remarks), course)


def _memory(profile: JobProfile, usage: Usage, kept: Sequence[TimeSeries]) -> Iterator[Figure]:
    peak, most, process = peak_memory_bytes(profile), memory_limit_bytes(profile), profile.process
    if peak is not None:
        course = spark(in_cells(kept, "memory_working_set_bytes", added=True), None) or spark(
            in_cells(kept, "memory_bytes", added=True), None
        )
        remark = "" if usage.memory_bytes is None else _mean_bytes(usage.memory_bytes)
        yield Figure("memory", words.bytes_of(peak, most), remark, course)
    if process is None:
        return
    for label, spread, told in (
        ("its own", process.uss_bytes, "(USS)"),
        ("addresses", process.vms_bytes, "(VMS)"),
    ):
        if _is_there(spread):
            amount = words.in_bytes(spread.max if spread.max is not None else spread.mean)
            yield Figure(f"  {label}", amount, f"{_mean_bytes(spread)} {told}".strip())
    if process.overhead_bytes is not None:
        yield Figure("  container", words.in_bytes(process.overhead_bytes), "beyond its processes")


def _traffic(
    usage: Usage, process: ProcessSeen | None, kept: Sequence[TimeSeries]
) -> Iterator[Figure]:
    disk = usage.disk_bytes_per_second
    read = None if process is None else process.read_bytes
    written = None if process is None else process.written_bytes
    course = _both(kept, "disk_read_bytes_per_second", "disk_write_bytes_per_second")
    if read is not None or written is not None:
        amount = f"{words.in_bytes(read)} read"
        yield Figure("disk", amount, f"{words.in_bytes(written)} written", course)
    elif _is_there(disk):
        yield Figure("disk", _typical(disk, words.in_rate), _at_most(disk), course)
    network = usage.network_bytes_per_second
    if _is_there(network):
        names = ("network_receive_bytes_per_second", "network_transmit_bytes_per_second")
        remark = _at_most(network)
        yield Figure("network", _typical(network, words.in_rate), remark, _both(kept, *names))


def _energy(profile: JobProfile, usage: Usage, kept: Sequence[TimeSeries]) -> Iterator[Figure]:
    power = usage.power_watts
    if _is_there(power):
        course = spark(in_cells(kept, "power_watts", added=True), None)
        most = "" if power.max is None else f"{words.figure(power.max)} W at most"
        yield Figure("power", f"{_typical(power, words.figure)} W", most, course)
    gpus = usage.energy_joules
    machine = None if profile.process is None else profile.process.machine_energy_joules
    if gpus is not None:
        yield Figure("energy", words.in_energy(gpus), "of its GPUs")
    if machine is not None:
        label = "energy" if gpus is None else ""
        yield Figure(label, words.in_energy(machine), "of the machine's CPUs meanwhile")


def _counts(process: ProcessSeen | None) -> Iterator[Figure]:
    if process is None:
        return
    for label, spread in (("processes", process.processes), ("threads", process.threads)):
        if _is_there(spread) and spread.max is not None:
            mean = "" if spread.mean is None else f"{words.figure(spread.mean)} on average"
            yield Figure(label, f"{spread.max:.0f}", mean)


def _limit(profile: JobProfile, resource: str) -> float | None:
    """Of all its pods; None where one of its containers has none."""
    total = 0.0
    for asked in profile.asked:
        amount = quantity(asked.limits.get(resource, ""))
        if amount is None:
            return None
        total += amount * asked.pods
    return total or None


def _is_there(spread: Spread | None) -> TypeGuard[Spread]:
    return spread is not None and spread != Spread()


def _typical(spread: Spread, said: Callable[[float], str]) -> str:
    """The mean; where only the highest was noted, that."""
    if spread.mean is not None:
        return said(spread.mean)
    return words.NO_DATA if spread.max is None else f"up to {said(spread.max)}"


def _mean_bytes(spread: Spread) -> str:
    return "" if spread.mean is None else f"{words.in_bytes(spread.mean)} on average"


def _at_most(spread: Spread | None) -> str:
    if spread is None or spread.max is None:
        return ""
    return f"{words.in_rate(spread.max)} at most"


def _both(kept: Sequence[TimeSeries], *metrics: str) -> str:
    """Of two directions, added up."""
    each = [cells for name in metrics if (cells := in_cells(kept, name, added=True))]
    if not each:
        return ""
    return spark([_sum(cells) for cells in zip(*each, strict=True)])


def _sum(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
