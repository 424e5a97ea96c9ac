"""What a job's workers used over time, on one grid."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from cepheid.errors import CepheidError
from cepheid.model import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class WorkerSeries:
    """One pod: NaN where nothing was measured; a signal that never was is not there."""

    signals: Mapping[str, FloatArray]
    """Under the names of `cepheid.analysis.signals`. Of several GPUs shares are averaged, memory,
    power and traffic added up."""
    role: str | None = None
    cpu_limit_cores: float | None = None
    memory_limit_bytes: float | None = None
    gpu_memory_total_mib: float | None = None
    power_idle_watts: float | None = None
    power_limit_watts: float | None = None
    tensor_peak_teraflops: float | None = None
    """Of all of its GPUs together; None where one is of an unknown model, or shared."""
    gpu_memory_most_mib: float | None = None
    """The most that any one of its GPUs held."""


@dataclass(frozen=True, slots=True, eq=False)
class JobSeries:
    """`signals[name][i]` was measured around `start_seconds + i * step_seconds`."""

    step_seconds: float
    start_seconds: float
    workers: Mapping[str, WorkerSeries] = field(default_factory=dict)
    """By the names of the pods."""

    def __post_init__(self) -> None:
        if not 0 < self.step_seconds < np.inf:
            raise CepheidError(
                f"step_seconds is {self.step_seconds}",
                hint="it is the distance of the time grid, more than 0",
            )
        shapes = {
            array.shape for worker in self.workers.values() for array in worker.signals.values()
        }
        if len(shapes) > 1 or any(len(shape) != 1 for shape in shapes):
            raise CepheidError(
                f"the series of a job's workers have the shapes {sorted(shapes)}",
                hint="put them on one time grid first, with NaN where nothing was measured",
            )

    def each(self, *names: str) -> dict[str, FloatArray]:
        """By worker: the first of these signals that it has."""
        found: dict[str, FloatArray] = {}
        for worker, series in self.workers.items():
            for name in names:
                if (values := known_or_none(series.signals.get(name))) is not None:
                    found[worker] = values
                    break
        return found


def known_or_none(values: FloatArray | None) -> FloatArray | None:
    return None if values is None or not np.isfinite(values).any() else values


def added(arrays: Sequence[FloatArray]) -> FloatArray | None:
    """Before a worker began and after it ended it adds nothing; a gap of one is a gap of all."""
    if not arrays:
        return None
    total = np.zeros_like(arrays[0])
    anything = np.zeros(total.size, dtype=np.bool_)
    for values in arrays:
        measured = np.isfinite(values)
        there = np.flatnonzero(measured)
        if there.size == 0:
            continue
        life = np.zeros(values.size, dtype=np.bool_)
        life[there[0] : there[-1] + 1] = True
        anything |= measured
        total += np.where(life, values, 0.0)
    return np.where(anything, total, np.nan)


def averaged(arrays: Sequence[FloatArray]) -> FloatArray | None:
    """Over those that were measured."""
    if not arrays:
        return None
    stack = np.vstack(arrays)
    there = np.isfinite(stack)
    count = np.count_nonzero(there, axis=0)
    total = np.where(there, stack, 0.0).sum(axis=0)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


Combine = Callable[[Sequence[FloatArray]], FloatArray | None]
