"""Step 2, analyse: arrays in, facts out.

In come arrays of numbers on a time grid, with NaN where nothing was measured; out go facts: the
period and how strong it is, the forecast and how wrong it was when tried on the past, the type
of the job, what holds it back. It never looks at a clock, reads or writes nothing, and answers
"not known" rather than guess.

| module | question |
|---|---|
| grid | where on a regular grid do the samples lie, and which of them cannot be? |
| period | which pattern comes back, and after how long? (autocovariance, repetition) |
| timing | how long is that period exactly, and how exactly is it known? |
| alias | is that cycle real, or did sampling make it? |
| forecast | what comes next, and how wrong was that method before? (forecasters) |
| jobtype | what kind of job is this? (signals, features, jobrules) |
| bottleneck | what holds it back? (findings, pauses) |
| leak, drift | does memory grow for good? did the level change? |
| scaling | how fast on GPUs that it was not tried on? (steptime) |
| memoryneed, wattage | does it fit there? how much power would it draw? |
| stragglers, regression | which worker lags? is this run worse than the earlier ones? |
"""

from importlib import import_module
from types import ModuleType

__all__ = [
    "alias",
    "bottleneck",
    "drift",
    "forecast",
    "grid",
    "jobtype",
    "leak",
    "memoryneed",
    "period",
    "regression",
    "scaling",
    "stragglers",
    "timing",
    "wattage",
]


def __getattr__(name: str) -> ModuleType:
    """A module is loaded when it is first used: who wants a period pays for no job types."""
    if name in __all__:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__} has no attribute {name}")
