"""What do all GPUs of a cluster do now? Two questions to Prometheus, however many GPUs there are.

They are put to the recording rules that come with Cepheid: what is measured in many ways has one
name there.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from cepheid.model import FloatArray
from cepheid.sources.answer import RawSeries

UTIL, POWER = "gpu:utilisation:percent", "gpu:power_watts:mean2m"
SECONDS, STEPS = 600.0, 12
"""Back from now, and how many values of that."""
_NUMBER = re.compile(r"\d{1,3}", re.ASCII)


class Asks(Protocol):
    """Of a Prometheus, however it is reached. Raises SourceError."""

    def vector(self, expression: str) -> list[RawSeries]: ...
    def range(
        self, expression: str, begin_seconds: float, end_seconds: float, step_seconds: float
    ) -> list[RawSeries]: ...


@dataclass(frozen=True, slots=True)
class GpuNow:
    node: str
    index: int
    mig: int | None
    util_percent: tuple[float | None, ...]
    """The latest last."""
    power_watts: float | None


def gpus_now(ask: Asks, now_seconds: float) -> list[GpuNow]:
    """Raises SourceError. None at all where the rules are not there."""
    step = SECONDS / STEPS
    begin = now_seconds - SECONDS + step
    times = np.asarray(begin + step * np.arange(STEPS), dtype=np.float64)
    power = {place: float(series.values[-1]) for place, series in _placed(ask.vector(POWER))}
    return [
        GpuNow(*place, _at(times, series, step), power.get((place[0], place[1], None)))
        for place, series in _placed(ask.range(UTIL, begin, now_seconds, step))
    ]


def _placed(found: list[RawSeries]) -> Iterator[tuple[tuple[str, int, int | None], RawSeries]]:
    """Only those that say of which GPU they are, and have a value."""
    for series in found:
        node, gpu = series.labels.get("node", ""), series.labels.get("gpu", "")
        mig = series.labels.get("GPU_I_ID", "")
        if node and _NUMBER.fullmatch(gpu) and len(series.values):
            yield (node, int(gpu), int(mig) if _NUMBER.fullmatch(mig) else None), series


def _at(times: FloatArray, series: RawSeries, step: float) -> tuple[float | None, ...]:
    """At each of the times, as far as there is a value at it."""
    filled: list[float | None] = [None] * len(times)
    for time, value in zip(series.times, series.values, strict=True):
        place = round((float(time) - times[0]) / step)
        if 0 <= place < len(filled) and np.isfinite(value):
            filled[place] = float(value)
    return tuple(filled)
