"""From readings of the device files to what each GPU did: pure arithmetic on integrals.

Three readings make a measurement: the last collection's, one shortly before this collection,
and this one. The PROF averages span the whole interval; GPU_UTIL and power look back only over
the short window, as NVML does, so a gauge sampled every 30 s aliases here as it does in the field.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from . import device_file
from .activity import IDLE, Activity, total
from .device_file import Reading
from .inventory import Device, Gpu

# How the part of the power above idle divides at full load: chosen, not measured, so that a GPU
# that only spins in a communication kernel (engine alone) looks busy and yet draws little.
ENGINE_POWER_SHARE = 0.2
TENSOR_POWER_SHARE = 0.5
DRAM_POWER_SHARE = 0.3


@dataclass(frozen=True)
class DeviceMeasurement:
    memory_used_mib: float
    in_use: bool
    interval: Activity  # mean levels since the last collection
    window: Activity  # mean levels over the short window
    done: Activity  # integral since boot; never goes back
    owners_window: Mapping[str, Activity]  # by client, for the per-process values
    owners_memory_mib: Mapping[str, float]


class DeviceMeter:
    """Remembers what one device's file said, so that hostile bytes cannot turn a counter back."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._done = IDLE
        self._collected: Reading | None = None
        self._glance: Reading | None = None

    def glance(self, now: float) -> None:
        """The reading at the beginning of the short window. Raises OSError."""
        self._glance = device_file.read(self._path, now)

    def collect(self, now: float) -> DeviceMeasurement:
        """The measurement at the end of an interval. Raises OSError."""
        reading = device_file.read(self._path, now)
        glance = self._glance or reading
        collected = self._collected or glance
        self._done = reading.integral.at_least(self._done)
        self._collected = reading
        live = [client for client in reading.clients if client.alive]
        owners = {client.owner for client in live}
        return DeviceMeasurement(
            memory_used_mib=reading.memory_mib,
            in_use=bool(live),
            interval=mean_levels(collected, reading),
            window=mean_levels(glance, reading),
            done=self._done,
            owners_window={
                owner: mean_levels(glance.of(owner), reading.of(owner)) for owner in owners
            },
            owners_memory_mib={owner: reading.of(owner).memory_mib for owner in owners},
        )


def mean_levels(first: Reading, last: Reading) -> Activity:
    seconds = last.at - first.at
    if seconds <= 0:
        return IDLE
    mean = last.integral.minus(first.integral).times(1 / seconds)
    # Sharers may together claim more than the device has; a client that died may claim less.
    mean = mean.at_least(IDLE)
    return mean._replace(
        engine=min(1.0, mean.engine), tensor=min(1.0, mean.tensor), dram=min(1.0, mean.dram)
    )


@dataclass(frozen=True)
class GpuMeasurement:
    """A whole GPU: power, clocks and temperature are the board's, however it is cut up."""

    gpu: Gpu
    devices: tuple[tuple[Device, DeviceMeasurement], ...]
    at: float

    @property
    def in_use(self) -> bool:
        return any(measured.in_use for _, measured in self.devices)

    @property
    def load(self) -> float:
        """The share of the power above idle that is drawn now, 0-1."""
        shares = [device.share_of_gpu * power_share(m.window) for device, m in self.devices]
        return min(1.0, sum(shares))

    @property
    def power_watts(self) -> float:
        model = self.gpu.model
        return model.idle_watts + (model.max_watts - model.idle_watts) * self.load

    @property
    def energy_millijoules(self) -> float:
        """Exact: idle power since boot, and the integral of all that came on top of it."""
        model = self.gpu.model
        done = total([m.done.times(device.share_of_gpu) for device, m in self.devices])
        above_idle = (model.max_watts - model.idle_watts) * power_share(done)
        return 1000 * (model.idle_watts * self.at + above_idle)


def power_share(activity: Activity) -> float:
    # Linear on purpose: only so is the integral of the power the power of the integral.
    return (
        ENGINE_POWER_SHARE * activity.engine
        + TENSOR_POWER_SHARE * activity.tensor
        + DRAM_POWER_SHARE * activity.dram
    )
