"""What was measured of one GPU and its holder, and what it says about the work being done.

`jobtype` and `bottleneck` ask different questions of the same arrays. The answer to one question
is common to both and stands here: was a kernel merely running, or was something computed?
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cepheid.errors import CepheidError
from cepheid.model import Cycle, FloatArray

# Below this a GPU counts as doing nothing: DCGM rounds to 1 %, and a monitor's own calls show.
QUIET_RATIO = 0.02
# Some kernel runs practically all the time. NCCL's spinning shows as 94 to 100 %.
BUSY_RATIO = 0.8
# Activity of the tensor pipe or of device memory above which something is really computed.
WORK_RATIO = 0.06
# Share of the range between idle and limit that needs no computing at all: a kernel that spins
# draws up to 0.2 of it, and a T4 that merely holds a context about 0.28 (27 W of 10 to 70).
SPINNING_POWER_RATIO = 0.3
# Idle power as a share of the limit where only the limit is known: A100 55 of 400 W, H100 70 of
# 700, A10 17 of 150, T4 10 of 70.
TYPICAL_IDLE_SHARE = 0.13
# An averaged power this far above its own quiet level is a burst, not the noise of the sensor.
BURST_POWER_RATIO = 0.05
# More of anything than one machine has: bytes, bytes a second, watts.
PETA = 1e15


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Signals:
    """Arrays on one time grid, NaN where nothing was measured; None where nothing ever is."""

    step_seconds: float
    gpu_util_percent: FloatArray | None = None
    """A gauge that looks back a second or less; MIG instances have none. AMD: gfx activity."""
    engine_active_ratio: FloatArray | None = None
    tensor_active_ratio: FloatArray | None = None
    dram_active_ratio: FloatArray | None = None
    """AMD: umc activity / 100."""
    power_watts: FloatArray | None = None
    """The mean over each step, from the energy counter. A MIG instance has none of its own."""
    gpu_memory_used_mib: FloatArray | None = None
    interconnect_bytes_per_second: FloatArray | None = None
    """NVLink and PCIe of this GPU, both directions."""
    network_receive_bytes_per_second: FloatArray | None = None
    network_transmit_bytes_per_second: FloatArray | None = None
    cpu_cores: FloatArray | None = None
    throttled_ratio: FloatArray | None = None
    """The share of the scheduler's periods in which the CPU limit stopped the holder."""
    memory_working_set_bytes: FloatArray | None = None
    disk_read_bytes_per_second: FloatArray | None = None
    disk_write_bytes_per_second: FloatArray | None = None

    gpu_memory_total_mib: float | None = None
    power_idle_watts: float | None = None
    power_limit_watts: float | None = None
    """Without it watts tell the shape of the load, not its level."""
    cpu_limit_cores: float | None = None
    """The limit of the holder, or the cores of the node where it has none."""
    memory_limit_bytes: float | None = None
    pods: int | None = None
    """How many hold the GPU."""
    cycles: Sequence[Cycle] | None = None
    """None where nobody looked for cycles; empty where there are none."""

    def __post_init__(self) -> None:
        if not 0 < self.step_seconds < np.inf:
            raise CepheidError(
                f"step_seconds is {self.step_seconds}",
                hint="it is the distance of the time grid, more than 0",
            )
        lengths: dict[int, str] = {}
        for name in self.__dataclass_fields__:
            array = getattr(self, name)
            if isinstance(array, np.ndarray):
                if array.ndim != 1:
                    raise CepheidError(
                        f"{name} has {array.ndim} dimensions, 1 is allowed",
                        hint="pass one device or pod at a time",
                    )
                lengths.setdefault(array.size, name)
        if len(lengths) > 1:
            found = ", ".join(f"{name} has {size}" for size, name in lengths.items())
            raise CepheidError(
                f"the signals differ in length: {found}",
                hint="put them on one time grid first, with NaN where nothing was measured",
            )


@dataclass(frozen=True, slots=True, eq=False)
class GpuLoad:
    """Sample by sample, in shares from 0 to 1; None where nothing that was measured tells."""

    busy: FloatArray | None
    """Some kernel ran. It says nothing about what the kernel did."""
    engine: FloatArray | None
    """`busy` where it is an average, and no gauge."""
    power: FloatArray | None
    """Between idle and limit."""
    tensor: FloatArray | None
    dram: FloatArray | None
    work: FloatArray | None
    """What a spinning kernel cannot feign."""
    waiting: FloatArray | None
    """1 where a kernel ran and computed nothing, otherwise 0."""
    active: FloatArray | None
    """1 where anything at all happened, otherwise 0."""
    pulse: FloatArray | None
    """The rise and fall of the load, from averages only: a gauge would show its own aliases."""


def gpu_load(signals: Signals) -> GpuLoad:
    engine = measured(signals.engine_active_ratio, ceiling=1.0)
    tensor = measured(signals.tensor_active_ratio, ceiling=1.0)
    dram = measured(signals.dram_active_ratio, ceiling=1.0)
    util = measured(signals.gpu_util_percent, ceiling=100.0)
    busy = engine if engine is not None else None if util is None else util / 100
    power = _power_share(signals)
    beyond_spinning = None if power is None else np.maximum(power - SPINNING_POWER_RATIO, 0.0)
    work = _highest(tensor, dram, beyond_spinning)
    # A tensor pipe at rest proves nothing alone: FP32 and FP64 do without it.
    proof = _highest(dram, beyond_spinning)
    waiting = None
    if busy is not None and work is not None and proof is not None:
        waiting = _flags((busy >= BUSY_RATIO) & (work < WORK_RATIO), known=busy + proof)
    return GpuLoad(
        busy=busy,
        engine=engine,
        power=power,
        tensor=tensor,
        dram=dram,
        work=work,
        waiting=waiting,
        active=_active(engine, busy, work, power),
        pulse=_pulse(signals, engine, tensor, dram, power),
    )


def measured(array: FloatArray | None, *, ceiling: float = PETA) -> FloatArray | None:
    """The array without impossible values; None where nothing is left of it."""
    if array is None:
        return None
    # A little above the ceiling is rounding; far above it stand blanks and nonsense.
    possible = (array >= 0) & (array <= 2 * ceiling)
    if not possible.any():
        return None
    return np.where(possible, np.minimum(array, ceiling), np.nan)


def known(array: FloatArray | None) -> FloatArray:
    """The values that were measured, without their places."""
    return np.empty(0) if array is None else array[np.isfinite(array)]


def mean(array: FloatArray | None) -> float:
    values = known(array)
    return float(values.mean()) if values.size else np.nan


def quantiles(array: FloatArray | None, *shares: float) -> list[float]:
    """Of the known values, as numpy.quantile has them, at a tenth of its price."""
    values = np.sort(known(array))
    if not values.size:
        return [np.nan] * len(shares)
    return [float(values[round(share * (values.size - 1))]) for share in shares]


def _power_share(signals: Signals) -> FloatArray | None:
    watts, limit = measured(signals.power_watts), signals.power_limit_watts
    if watts is None or limit is None:
        return None
    idle = signals.power_idle_watts
    floor = limit * TYPICAL_IDLE_SHARE if idle is None else idle
    if not 0 <= floor < limit < np.inf:
        return None
    return np.clip((watts - floor) / (limit - floor), 0.0, 1.0)


def _active(
    engine: FloatArray | None,
    busy: FloatArray | None,
    work: FloatArray | None,
    power: FloatArray | None,
) -> FloatArray | None:
    level = _highest(busy, None if work is None else work * (QUIET_RATIO / WORK_RATIO))
    if engine is None and power is not None:
        # Between two glances of a gauge a burst can pass unseen; the energy counter saw it.
        burst = (power - quantiles(power, 0.05)[0]) * (QUIET_RATIO / BURST_POWER_RATIO)
        level = _highest(level, burst)
    return None if level is None else _flags(level > QUIET_RATIO, known=level)


def _pulse(
    signals: Signals,
    engine: FloatArray | None,
    tensor: FloatArray | None,
    dram: FloatArray | None,
    power: FloatArray | None,
) -> FloatArray | None:
    if power is not None:
        # No kernel, no load, whatever a context keeps the clocks at.
        return power if engine is None else np.minimum(power, engine)
    averages = [array for array in (engine, tensor, dram) if array is not None]
    if averages:
        return sum(averages[1:], start=averages[0]) / len(averages)
    watts = measured(signals.power_watts)
    return None if watts is None else watts / max(quantiles(watts, 0.95)[0], 1.0)


def _highest(*arrays: FloatArray | None) -> FloatArray | None:
    present = [array for array in arrays if array is not None]
    if not present:
        return None
    result = present[0]
    for array in present[1:]:
        result = np.fmax(result, array)
    return result


def _flags(
    condition: np.ndarray[tuple[int, ...], np.dtype[np.bool_]], *, known: FloatArray
) -> FloatArray:
    return np.where(np.isfinite(known), condition, np.nan)
