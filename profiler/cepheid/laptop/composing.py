"""A recording becomes the profile of a job, and the time series that are kept beside it."""

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import msgspec
import numpy as np

from cepheid.analysis.phases import find_phases
from cepheid.history.samples import TimeSeries
from cepheid.jobprofile import (
    GpuHeld,
    JobIdentity,
    JobProfile,
    MemoryLeak,
    Outcome,
    Phase,
    ProcessSeen,
    Reason,
    Spread,
    ThreadSeen,
    Usage,
)
from cepheid.jobs.compare import compare
from cepheid.jobs.fields import one_line
from cepheid.jobs.lineage import without_suffix
from cepheid.jobs.measure import Measured, measure
from cepheid.jobs.series import JobSeries, WorkerSeries
from cepheid.jobs.workers import neat
from cepheid.laptop.gridding import Gridded, Table, gridded, table_of
from cepheid.laptop.limits import held_back
from cepheid.laptop.naming import clean
from cepheid.laptop.recording import Header, Recording, Trailer
from cepheid.laptop.words import judge
from cepheid.model import FloatArray

KIND, NAMESPACE = "Process", "laptop"
MOST_TAGS = 16
MOST_THREADS = 8
MOST_COMMAND, MOST_DIRECTORY = 500, 300
LEAST_LEAK_BYTES = 8 * 2.0**20
LEAST_LEAK_SHARE = 0.1
"""Of the most memory: a run that ends a little larger than it began has not leaked."""
HASH_CHARACTERS = 16


@dataclass(frozen=True, slots=True, eq=False)
class Composed:
    profile: JobProfile
    series: tuple[TimeSeries, ...]
    """Of which a summary keeps none."""


def compose(recording: Recording) -> Composed:
    header = recording.header
    table = table_of(recording)
    trailer = recording.trailer or _lost(header, table)
    duration = max(0.0, trailer.ended_seconds - header.started_seconds)
    grid = gridded(header, table, duration) if table.times.size else None
    facts = header.facts
    cores, memory = _limits(facts)
    measured = None if grid is None else measure(_job_series(grid, facts, cores, memory))
    profile = _profile(header, trailer, duration)
    if grid is not None and measured is not None:
        profile = msgspec.structs.replace(
            profile,
            samples=int(table.times.size),
            interval_seconds=header.interval_seconds,
            usage=_usage(measured, table, trailer, duration),
            job_type=None if measured.job_type is None else str(measured.job_type),
            cycle=_cycle(measured),
            held_back_by=held_back(measured.held_back_by, grid, cores),
            leak=_leak(measured, table, duration),
            forecast_error_percent=_neat(measured.forecast_error_percent),
            gpus=_gpus(header, grid),
            gpu_count=len(grid.gpus),
        )
    profile = msgspec.structs.replace(
        profile, process=_process(header, trailer, table, grid, profile)
    )
    return Composed(judged(profile), () if grid is None else tuple(_series(grid)))


def judged(profile: JobProfile, earlier: Sequence[JobProfile] = ()) -> JobProfile:
    """With what it says beside earlier runs of the same command, and what to make of all of it."""
    profile = msgspec.structs.replace(profile, regression=compare(profile, earlier))
    verdict, advice = judge(profile)
    return msgspec.structs.replace(profile, verdict=verdict, advice=advice)


def _lost(header: Header, table: Table) -> Trailer:
    end = float(table.times[-1]) if table.times.size else header.started_seconds
    return Trailer(
        ended_seconds=end,
        outcome="error",
        reason="RecorderLost",
        message="whoever recorded it was killed; figures are up to that moment",
    )


def _limits(facts: Mapping[str, Any]) -> tuple[float, float | None]:
    limits = facts.get("limits") or {}
    cores = limits.get("cpu_cores") or facts.get("cores") or math.nan
    least = [n for n in (limits.get("memory_bytes"), facts.get("memory_total_bytes")) if n]
    return float(cores), min(least, default=None)


def _job_series(
    grid: Gridded, facts: Mapping[str, Any], cores: float, memory: float | None
) -> JobSeries:
    held = [gpu for gpu in facts.get("gpus") or () if gpu["index"] in grid.gpus]
    worker = WorkerSeries(
        signals=grid.signals,
        cpu_limit_cores=cores if math.isfinite(cores) else None,
        memory_limit_bytes=memory,
        gpu_memory_total_mib=_all(gpu.get("memory_total_mib") for gpu in held),
        power_limit_watts=_all(gpu.get("power_limit_watts") for gpu in held),
    )
    return JobSeries(grid.step_seconds, grid.start_seconds, {"process": worker})


def _all(amounts: Iterator[float | None]) -> float | None:
    """Their sum, where each of them is known."""
    each = list(amounts)
    known = [amount for amount in each if amount is not None]
    return sum(known) if each and len(known) == len(each) else None


def _profile(header: Header, trailer: Trailer, duration: float) -> JobProfile:
    name = clean(header.name) or "command"
    started = _moment(header.started_seconds)
    host = one_line(header.host or "", 253)
    tags = {
        key: value for key, value in ((clean(k), clean(v)) for k, v in header.tags.items()) if key
    }
    return JobProfile(
        job=JobIdentity(api_version="", kind=KIND, namespace=NAMESPACE, name=name, uid=header.uid),
        series=without_suffix(name),
        template=_template(header),
        user=one_line(header.user or "", 253),
        labels=dict(list(tags.items())[:MOST_TAGS]),
        created=started,
        started=started,
        ended=_moment(header.started_seconds + duration),
        duration_seconds=round(duration, 3),
        outcome=Outcome(trailer.outcome),
        reason=None if trailer.reason is None else Reason(trailer.reason),
        message=None if trailer.message is None else one_line(trailer.message),
        exit_code=trailer.exit_code,
        nodes=() if host is None else (host,),
        node_count=0 if host is None else 1,
    )


def _template(header: Header) -> str:
    """Runs of the same command in the same folder are compared with each other, and no others."""
    text = json.dumps([header.command, header.directory, header.name])
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:HASH_CHARACTERS]


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _usage(measured: Measured, table: Table, trailer: Trailer, duration: float) -> Usage:
    """As measured, but for what the kernel knows better than samples can."""
    found: dict[str, Any] = {}
    for name, value in msgspec.structs.asdict(measured.usage).items():
        found[name] = _neat_spread(value) if isinstance(value, Spread) else _neat(value)
    cpu, spread = _cpu_seconds(table, trailer), found.get("cpu_cores")
    if cpu is not None and isinstance(spread, Spread) and duration > 0:
        found["cpu_cores"] = msgspec.structs.replace(spread, mean=neat(cpu / duration))
    memory = spread_of(table.known("rss_bytes"))
    peak = _peak(table, trailer)
    if memory is not None:
        found["memory_bytes"] = msgspec.structs.replace(memory, max=_neat(peak) or memory.max)
    return Usage(**found)


def _cpu_seconds(table: Table, trailer: Trailer) -> float | None:
    """The kernel's sum over all that were waited for; live readings have what still runs."""
    sampled = table.growth("cpu_seconds")
    if "cpu_seconds" in table.columns and trailer.cpu_seconds is not None and sampled is not None:
        return max(trailer.cpu_seconds, sampled)
    return sampled if trailer.cpu_seconds is None else trailer.cpu_seconds


def _peak(table: Table, trailer: Trailer) -> float | None:
    """Never below any sample of all together, nor below the largest single process."""
    sampled = [table.known("rss_bytes"), table.known("peak_rss_bytes")]
    last = table.columns.get("peak_rss_bytes", np.empty(0))[-1:]
    known = np.concatenate([*sampled, last[np.isfinite(last)]])
    amounts = [float(known.max())] if known.size else []
    if trailer.peak_memory_bytes is not None:
        amounts.append(trailer.peak_memory_bytes)
    return max(amounts, default=None)


def _leak(measured: Measured, table: Table, duration: float) -> MemoryLeak | None:
    leak = measured.leak
    most = table.known("rss_bytes")
    if leak is None or not most.size:
        return None
    grown = leak.bytes_per_second * duration
    if grown < max(LEAST_LEAK_BYTES, LEAST_LEAK_SHARE * float(most.max())):
        return None
    return MemoryLeak(
        bytes_per_second=neat(leak.bytes_per_second), confidence=round(leak.confidence, 4)
    )


def _cycle(measured: Measured) -> Any:
    seen = measured.cycle
    if seen is None:
        return None
    return msgspec.structs.replace(
        seen, period_seconds=neat(seen.period_seconds), strength=round(seen.strength, 3)
    )


def _gpus(header: Header, grid: Gridded) -> tuple[GpuHeld, ...]:
    models = {gpu["index"]: gpu.get("model") for gpu in header.facts.get("gpus") or ()}
    node = one_line(header.host or "", 253) or "localhost"
    return tuple(GpuHeld(node=node, index=at, model=models.get(at)) for at in sorted(grid.gpus))


def _process(
    header: Header, trailer: Trailer, table: Table, grid: Gridded | None, profile: JobProfile
) -> ProcessSeen:
    cores, memory = _limits(header.facts)
    container = header.facts.get("container")
    others = {} if grid is None else grid.others
    return ProcessSeen(
        command=one_line(header.command, MOST_COMMAND) or profile.job.name,
        host=one_line(header.host or "", 253),
        directory=one_line(header.directory or "", MOST_DIRECTORY),
        parent=header.parent,
        container=_container(container),
        cores=cores if math.isfinite(cores) else None,
        memory_total_bytes=memory,
        cpu_seconds=_neat(_cpu_seconds(table, trailer)),
        peak_memory_bytes=_neat(_peak(table, trailer)),
        rss_bytes=spread_of(table.known("rss_bytes")),
        uss_bytes=spread_of(table.known("uss_bytes")),
        vms_bytes=spread_of(table.known("vms_bytes")),
        threads=spread_of(table.known("threads")),
        processes=spread_of(table.known("processes")),
        system_cpu_cores=spread_of(others.get("system_cpu_cores", np.empty(0))),
        read_bytes=_most(table.growth("read_bytes"), trailer.read_bytes),
        written_bytes=_most(table.growth("written_bytes"), trailer.written_bytes),
        machine_energy_joules=_neat(table.growth("machine_energy_joules")),
        overhead_bytes=_overhead(table) if container else None,
        phases=() if grid is None else _phases(grid, profile),
        busiest_threads=_busiest(trailer.threads),
        left_running=trailer.left_running,
        skipped=tuple(
            words
            for name, why in trailer.skipped.items()
            if (words := one_line(f"{name}: {why}")) is not None
        ),
    )


def _container(told: Mapping[str, Any] | None) -> str | None:
    if not told:
        return None
    return one_line(f"{told.get('runtime') or 'container'} {told.get('id') or ''}")


def _most(*amounts: float | None) -> float | None:
    return _neat(max((amount for amount in amounts if amount is not None), default=None))


def _overhead(table: Table) -> float | None:
    """Its working set beyond its processes' memory: kernel, page cache in use, other processes."""
    names = ("cgroup_memory_bytes", "cgroup_inactive_file_bytes", "rss_bytes")
    if not all(name in table.columns for name in names):
        return None
    held, cache, rss = (table.columns[name][: table.gauges_until] for name in names)
    beyond = held - np.nan_to_num(cache) - rss
    beyond = beyond[np.isfinite(beyond)]
    return neat(max(0.0, float(beyond.mean()))) if beyond.size else None


def _phases(grid: Gridded, profile: JobProfile) -> tuple[Phase, ...]:
    names = ("gpu_util_percent",) if grid.gpus else ("cpu_cores",)
    loads = {name: grid.signals[name] for name in names if name in grid.signals}
    period = None if profile.cycle is None else profile.cycle.period_seconds / grid.step_seconds
    spans = find_phases(loads, period_samples=period)
    cpu = grid.signals.get("cpu_cores")
    found = []
    for span in spans:
        stretch = np.empty(0) if cpu is None else cpu[span.begin : span.end]
        stretch = stretch[np.isfinite(stretch)]
        found.append(
            Phase(
                name=span.name,
                seconds=neat((span.end - span.begin) * grid.step_seconds),
                cpu_cores=neat(float(stretch.mean())) if stretch.size else None,
            )
        )
    return tuple(found)


def _busiest(threads: Mapping[str, float]) -> tuple[ThreadSeen, ...]:
    ranked = sorted(threads.items(), key=lambda one: -one[1])[:MOST_THREADS]
    return tuple(
        ThreadSeen(name=one_line(name, 253) or "-", cpu_seconds=neat(seconds))
        for name, seconds in ranked
    )


def spread_of(values: FloatArray) -> Spread | None:
    there = values[np.isfinite(values)]
    if not there.size:
        return None
    ranked = np.sort(there)
    return Spread(
        mean=neat(float(there.mean())),
        p95=neat(float(ranked[round(0.95 * (ranked.size - 1))])),
        max=neat(float(ranked[-1])),
        min=neat(float(ranked[0])),
    )


def _neat_spread(spread: Spread) -> Spread:
    each = msgspec.structs.asdict(spread)
    return Spread(**{key: neat(value) for key, value in each.items() if value is not None})


def _neat(value: float | None) -> float | None:
    return None if value is None else neat(value)


def _series(grid: Gridded) -> Iterator[TimeSeries]:
    times = grid.times().tolist()
    for name, values in {**grid.signals, **grid.others}.items():
        yield TimeSeries(name, times, values.tolist())
    for index, signals in grid.gpus.items():
        for name, values in signals.items():
            yield TimeSeries(name, times, values.tolist(), worker=f"gpu-{index}")
