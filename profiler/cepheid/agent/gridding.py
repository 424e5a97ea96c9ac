"""One time grid for all that is compared: of the node's GPUs, its pods and itself."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from cepheid.analysis.grid import Grid, align, counter_rate, estimate_step, to_grid
from cepheid.model import FloatArray
from cepheid.sources.catalog import Kind
from cepheid.sources.reading import GpuReading, NodeReading, Signal

FEWEST_SAMPLES = 8
MOST_REPEATS = 4
"""More often the same value is no slow exporter but a stuck one."""
SERIES_LOOKED_AT = 3
"""For the step: all series of a source are scraped alike."""


@dataclass(frozen=True, slots=True, eq=False)
class TimeGrid:
    """Slots of one step, up to the newest sample."""

    like: Grid

    @classmethod
    def of(cls, reading: NodeReading, window_seconds: float) -> "TimeGrid | None":
        """None where there are no samples to tell the step from."""
        if reading.newest_seconds is None:
            return None
        gpus = reading.gpus[:SERIES_LOOKED_AT]
        of_gpus = [signal for gpu in gpus for signal in gpu.signals.values()]
        of_pods = [signal for pod in reading.pods for signal in pod.signals.values()]
        # That of the GPUs, whose cycles are looked for. A kubelet measures when it likes, every 10
        # to 20 s: on a grid a little too coarse every tenth sample of a GPU would be lost.
        step = _slowest([*map(_step, of_gpus[:SERIES_LOOKED_AT]), *map(_energy_step, gpus)])
        step = step or _slowest(map(_step, of_pods[:SERIES_LOOKED_AT]))
        if step is None:
            return None
        slots = max(1, round(window_seconds / step))
        end = np.floor(reading.newest_seconds / step) * step
        return cls(Grid(end - (slots - 1) * step, step, np.full(slots, np.nan), 0))

    @property
    def step_seconds(self) -> float:
        return self.like.step_seconds

    def times(self) -> FloatArray:
        slots = np.arange(self.like.values.size, dtype=np.float64)
        return self.like.start_seconds + self.step_seconds * slots

    def __call__(self, times: FloatArray, values: FloatArray, kind: Kind) -> FloatArray | None:
        place = counter_rate if kind is Kind.COUNTER else to_grid
        grid = place(times, values, step_seconds=self.step_seconds)
        return None if grid is None else align(grid, self.like).values


def _slowest(steps: Iterable[float | None]) -> float | None:
    """On a finer grid its series would be full of holes."""
    return max((step for step in steps if step is not None), default=None)


def _step(signal: Signal) -> float | None:
    return estimate_step(max(signal.parts, key=lambda part: part.times.size).times)


def _energy_step(gpu: GpuReading) -> float | None:
    """Between two samples that say something new.

    An exporter that measures every 30 s and is scraped every 15 shows each value twice. A GPU
    draws power at any time, so its energy tells: where it stood still, nothing was measured.
    """
    power = gpu.signals.get("power_watts")
    if power is None:
        return None
    energy = max(power.parts, key=lambda part: part.times.size)
    step = estimate_step(energy.times)
    if step is None or energy.kind is not Kind.COUNTER or energy.times.size < FEWEST_SAMPLES:
        return step
    moved = np.count_nonzero(np.diff(energy.values)) / (energy.values.size - 1)
    return step * min(MOST_REPEATS, max(1, round(1 / moved))) if moved > 0 else step
