"""Simulated training jobs whose iterations are known: what scrapes would have seen of them."""

from dataclasses import dataclass, field

import numpy as np

from cepheid.jobs.series import JobSeries, WorkerSeries
from cepheid.model import FloatArray

START = 1_772_360_400.0


@dataclass(frozen=True)
class Job:
    """Its GPUs compute for a part of each iteration, then wait for input and each other."""

    period_steps: float
    slots: int
    step_seconds: float = 15.0
    jitter: float = 0.02
    """Standard deviation of an iteration's time, as a share of it."""
    noise: float = 0.01
    duty: float = 0.6
    workers: int = 1
    gpus_each: int = 1
    peak_teraflops: float | None = 312.0
    tensor: float = 0.5
    seed: int = 0
    without: frozenset[str] = field(default_factory=frozenset)
    """Signals that are not measured."""

    @property
    def names(self) -> list[str]:
        return [f"w-{worker}" for worker in range(self.workers)]

    def series(self) -> JobSeries:
        random = np.random.default_rng([self.seed, self.slots, round(100 * self.period_steps)])
        edges, levels = self._iterations(random)
        at = np.arange(self.slots + 1.0)
        busy = _means(edges, levels, at[:-1], at[1:])
        glance = _means(edges, levels, at[1:] - 1 / self.step_seconds, at[1:])  # as a gauge does
        return JobSeries(
            self.step_seconds,
            START,
            {name: self._worker(busy, glance, random) for name in self.names},
        )

    def _iterations(self, random: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        count = int(1.6 * self.slots / self.period_steps) + 8
        lengths = self.period_steps * np.clip(random.normal(1, self.jitter, count), 0.2, 3.0)
        begins = np.concatenate(([0.0], np.cumsum(lengths)))
        begins -= random.uniform(1.0, 2.0) * self.period_steps
        edges = np.column_stack((begins[:-1], begins[:-1] + self.duty * lengths)).ravel()
        return np.append(edges, begins[-1]), np.tile([1.0, 0.0], count)

    def _worker(
        self, busy: FloatArray, glance: FloatArray, random: np.random.Generator
    ) -> WorkerSeries:
        def seen(low: float, high: float) -> FloatArray:
            wrong = random.normal(0, self.noise * high, self.slots)
            return np.maximum(low + (high - low) * busy + wrong, 0.0)

        signals = {
            "power_watts": self.gpus_each * seen(60, 350),
            "engine_active_ratio": np.minimum(seen(0.03, 0.97), 1.0),
            "tensor_active_ratio": seen(0.0, self.tensor),
            "dram_active_ratio": seen(0.02, 0.45),
            "gpu_util_percent": np.rint(100 * glance),
        }
        return WorkerSeries(
            {name: values for name, values in signals.items() if name not in self.without},
            tensor_peak_teraflops=(
                None if self.peak_teraflops is None else self.gpus_each * self.peak_teraflops
            ),
            gpu_memory_most_mib=20_000.0,
            power_limit_watts=400.0 * self.gpus_each,
        )


def _means(
    edges: FloatArray, levels: FloatArray, begins: FloatArray, ends: FloatArray
) -> FloatArray:
    """Of the level between two times, exactly."""
    done = np.concatenate(([0.0], np.cumsum(levels * np.diff(edges))))
    grown = np.interp(ends, edges, done) - np.interp(begins, edges, done)
    means: FloatArray = grown / (ends - begins)
    return means
