"""The simulated trainers of tests/simgpu, as scrapes would have seen them."""

from random import Random

import numpy as np

from cepheid.jobs.series import JobSeries, WorkerSeries
from cepheid.model import FloatArray
from tests.simgpu.activity import Activity
from tests.simgpu.meter import power_share
from tests.simgpu.patterns import TrainingOptions, training
from tests.simgpu.silicon import MODELS, REFERENCE
from tests.simgpu.step_model import modelled_step

SCRAPE_SECONDS = 5.0


def trained(bound: str, gpus: int, scrapes: float, slots: int, seed: int) -> JobSeries:
    """A job of one worker, of this bound, whose iterations take so many scrapes."""
    model = MODELS[REFERENCE]
    work = scrapes * SCRAPE_SECONDS / modelled_step(1.0, bound, model, gpus).total
    options = TrainingOptions(step=modelled_step(work, bound, model, gpus), memory_mib=1000.0)
    random = Random(seed)  # noqa: S311 - a simulation, not a secret
    edges, done = [-random.uniform(0, scrapes * SCRAPE_SECONDS)], []
    for phase in training(options, model, random):
        edges.append(edges[-1] + phase.seconds)
        done.append(phase.activity)
        if edges[-1] > slots * SCRAPE_SECONDS:
            break
    at = SCRAPE_SECONDS * np.arange(slots + 1)

    def mean(levels: list[float]) -> FloatArray:
        grown = np.concatenate(([0.0], np.cumsum(np.array(levels) * np.diff(edges))))
        means: FloatArray = np.diff(np.interp(at, edges, grown)) / SCRAPE_SECONDS
        return means

    def each(field: str) -> list[float]:
        return [getattr(activity, field) for activity in done]

    watts = [_watts(activity) for activity in done]
    signals = {
        "power_watts": mean(watts),
        "engine_active_ratio": mean(each("engine")),
        "tensor_active_ratio": mean(each("tensor")),
        "dram_active_ratio": mean(each("dram")),
    }
    limit = float(model.max_watts)
    worker = WorkerSeries(signals, power_limit_watts=limit, tensor_peak_teraflops=312.0)
    return JobSeries(SCRAPE_SECONDS, 0.0, {"w-0": worker})


def _watts(activity: Activity) -> float:
    model = MODELS[REFERENCE]
    return model.idle_watts + (model.max_watts - model.idle_watts) * power_share(activity)
