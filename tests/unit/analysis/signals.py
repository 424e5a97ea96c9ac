"""What a profiler would measure of the simulated GPU's jobs, computed without a cluster.

The phases of a job are integrated exactly and read off at the edges of the time grid, as the
energy counter and the PROF averages are; GPU_UTIL looks back a second, as the gauge does.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np

from cepheid.analysis.signals import Signals
from cepheid.model import Cycle, FloatArray
from tests.simgpu.activity import IDLE
from tests.simgpu.meter import power_share
from tests.simgpu.patterns import Phase
from tests.simgpu.silicon import REFERENCE, Model, find_model

GLANCE_SECONDS = 1.0
PROBES = 400.0  # bytes a second that every pod sends and receives
A100 = find_model(REFERENCE)


def dice(seed: int) -> Random:
    return Random(seed)  # noqa: S311 - no secrets here


def measure(
    phases: Iterator[Phase],
    *,
    samples: int = 240,
    step_seconds: float = 15.0,
    model: Model = A100,
    seed: int = 0,
    cycles: Sequence[Cycle] | None = (),
    pods: int | None = 1,
    **more: Any,
) -> Signals:
    """A job's GPU, from its beginning on; `more` are signals of the pod, or corrections."""
    noise = np.random.default_rng(seed)
    edges, levels, memory = _integrated(phases, samples * step_seconds)
    grid: FloatArray = np.arange(1, samples + 1, dtype=np.float64) * step_seconds
    averages = (_at(edges, levels, grid) - _at(edges, levels, grid - step_seconds)) / step_seconds
    glance = (_at(edges, levels, grid) - _at(edges, levels, grid - GLANCE_SECONDS)) / GLANCE_SECONDS
    engine, tensor, dram, interconnect, cpu, watts = averages
    watts = model.idle_watts + (model.max_watts - model.idle_watts) * watts
    held = memory[np.searchsorted(edges, grid - 1e-6) - 1]
    found = Signals(
        step_seconds=step_seconds,
        # DCGM rounds to whole percents.
        gpu_util_percent=np.round(100 * np.clip(glance[0], 0, 1)),
        engine_active_ratio=_noisy(noise, engine, 0.003, 1.0),
        tensor_active_ratio=_noisy(noise, tensor, 0.003, 1.0),
        dram_active_ratio=_noisy(noise, dram, 0.003, 1.0),
        power_watts=_noisy(noise, watts, 0.004 * model.max_watts),
        gpu_memory_used_mib=held,
        interconnect_bytes_per_second=interconnect,
        network_receive_bytes_per_second=_noisy(noise, np.full(samples, PROBES), 40.0),
        network_transmit_bytes_per_second=_noisy(noise, np.full(samples, PROBES), 40.0),
        cpu_cores=_noisy(noise, cpu, 0.01),
        gpu_memory_total_mib=float(model.memory_mib),
        power_idle_watts=model.idle_watts,
        power_limit_watts=model.max_watts,
        pods=pods,
        cycles=cycles,
    )
    return replace(found, **more)


def served(signals: Signals, seed: int, *, peak: float = 2e5, answer: float = 0.5) -> Signals:
    """Adds the traffic of the requests: it follows the load, and answers are of their own size."""
    assert signals.engine_active_ratio is not None
    noise = np.random.default_rng(seed + 1)
    count = signals.engine_active_ratio.size
    requests = signals.engine_active_ratio * peak * noise.normal(1, 0.15, count).clip(0.1)
    return replace(
        signals,
        network_receive_bytes_per_second=PROBES + requests,
        network_transmit_bytes_per_second=PROBES + answer * requests,
    )


def exchanged(signals: Signals, seed: int, *, rate: float = 3e8) -> Signals:
    """Adds the traffic of a ring all-reduce: out as fast as in."""
    assert signals.engine_active_ratio is not None
    noise = np.random.default_rng(seed + 2)
    count = signals.engine_active_ratio.size
    both = rate * signals.engine_active_ratio * noise.normal(1, 0.03, count)
    return replace(
        signals,
        network_receive_bytes_per_second=both,
        network_transmit_bytes_per_second=both * noise.normal(1, 0.02, count),
    )


def without(signals: Signals, *names: str) -> Signals:
    nothing: dict[str, Any] = dict.fromkeys(names)
    return replace(signals, **nothing)


def with_gaps(signals: Signals, share: float, seed: int) -> Signals:
    """Every array loses its own samples, as different exporters do."""
    noise = np.random.default_rng(seed + 3)
    changed: dict[str, Any] = {}
    for name in signals.__dataclass_fields__:
        array = getattr(signals, name)
        if isinstance(array, np.ndarray):
            changed[name] = np.where(noise.random(array.size) < share, np.nan, array)
    return replace(signals, **changed)


def reversed_in_time(signals: Signals) -> Signals:
    changed: dict[str, Any] = {
        name: getattr(signals, name)[::-1]
        for name in signals.__dataclass_fields__
        if isinstance(getattr(signals, name), np.ndarray)
    }
    return replace(signals, **changed)


def together(first: Iterator[Phase], second: Iterator[Phase]) -> Iterator[Phase]:
    """Two jobs on one GPU: their levels add up, as far as it goes."""
    one, other = next(first), next(second)
    while True:
        seconds = min(one.seconds, other.seconds)
        both = one.activity.plus(other.activity)
        both = both._replace(
            engine=min(1.0, both.engine), tensor=min(0.9, both.tensor), dram=min(0.9, both.dram)
        )
        yield Phase(seconds, both, one.memory_mib + other.memory_mib)
        one, other = (
            replace(phase, seconds=phase.seconds - seconds)
            if phase.seconds > seconds
            else next(source)
            for phase, source in ((one, first), (other, second))
        )


def stalling(
    phases: Iterator[Phase], random: Random, every: float, stall: float
) -> Iterator[Phase]:
    """Training whose storage hangs now and then."""
    left = random.expovariate(1 / every)
    for phase in phases:
        yield phase
        left -= phase.seconds
        if left < 0:
            yield Phase(random.expovariate(1 / stall), IDLE, phase.memory_mib)
            left = random.expovariate(1 / every)


def _integrated(
    phases: Iterator[Phase], seconds: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    edges, rows, memory, at = [0.0], [], [], 0.0
    for phase in phases:
        if phase.seconds <= 0:
            continue
        act = phase.activity
        link = act.nvlink + act.pcie_rx + act.pcie_tx
        cpu = phase.cpu_seconds / phase.seconds
        row = (act.engine, act.tensor, act.dram, link, cpu, power_share(act))
        at += phase.seconds
        edges.append(at)
        rows.append([level * phase.seconds for level in row])
        memory.append(phase.memory_mib)
        if at >= seconds:
            break
    integral = np.concatenate((np.zeros((6, 1)), np.cumsum(np.array(rows).T, axis=1)), axis=1)
    return np.array(edges), integral, np.array(memory)


def _at(edges: FloatArray, levels: FloatArray, times: FloatArray) -> FloatArray:
    return np.array([np.interp(times, edges, row) for row in levels], dtype=np.float64)


def _noisy(
    noise: np.random.Generator, values: FloatArray, deviation: float, ceiling: float = np.inf
) -> FloatArray:
    return np.clip(values + noise.normal(0, deviation, values.size), 0.0, ceiling)
