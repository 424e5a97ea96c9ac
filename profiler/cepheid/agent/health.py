"""What is wrong with a GPU, if anything."""

from collections.abc import Iterable
from datetime import UTC, datetime

import numpy as np

from cepheid.annotations.facts import HealthFacts
from cepheid.sources.reading import GpuReading, NodeReading

LOST_SECONDS = 90.0
"""A GPU that is silent for so much longer than the others is lost."""
SLOWED_SECONDS = 120.0
"""Slowed down in most samples of so long, it counts as slowed down: a moment is no news."""
CAUSES = (("thermal", 0x20 | 0x40), ("power", 0x80))
"""Bits of NVIDIA's clock event reasons: heat, by software or hardware, and the power brake. The
usual cap of power (0x4) is no fault: a GPU that works hard runs at it."""


def silent(reading: NodeReading) -> bool:
    """Whether no GPU of those that there were is measured any more: their exporter is away.

    Then nobody knows whether one is lost. On a node with a single GPU the two look the same.
    """
    newest = _newest(reading.gpus)
    return bool(reading.gpus) and (reading.newest_seconds or newest) - newest > LOST_SECONDS


def health_of(gpu: GpuReading, reading: NodeReading) -> HealthFacts | None:
    if _newest(reading.gpus) - gpu.newest_seconds > LOST_SECONDS:
        return HealthFacts(lost=True, since=_moment(gpu.newest_seconds))
    if gpu.xid is not None:
        return HealthFacts(xid=gpu.xid.code, since=_moment(gpu.xid.since_seconds))
    return _slowed(gpu)


def _slowed(gpu: GpuReading) -> HealthFacts | None:
    events = gpu.signals.get("clock_event_bits")
    if events is None:
        return None
    part = max(events.parts, key=lambda part: part.times.size)
    bits = part.values.astype(np.int64)
    lately = int(part.times.searchsorted(gpu.newest_seconds - SLOWED_SECONDS))
    for cause, mask in CAUSES:
        hit = (bits & mask) != 0
        if hit[lately:].size > 1 and hit[lately:].mean() > 0.5:  # noqa: PLR2004
            return HealthFacts(throttled=cause, since=_moment(_began(part.times[hit])))
    return None


def _began(times: np.ndarray) -> float:
    """Where the last stretch without a pause begins."""
    pauses = np.flatnonzero(np.diff(times) > SLOWED_SECONDS)
    return float(times[pauses[-1] + 1 if pauses.size else 0])


def _newest(gpus: Iterable[GpuReading]) -> float:
    return max((gpu.newest_seconds for gpu in gpus), default=-np.inf)


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(int(seconds), UTC)
