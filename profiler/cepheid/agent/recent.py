"""What a pod uses now: from the last samples as they are, since a grid for each would cost more."""

import numpy as np

from cepheid.model import FloatArray
from cepheid.sources.catalog import Kind
from cepheid.sources.reading import Part, Signal

SPAN_SECONDS = 60.0
"""One sample alone is a moment."""
SILENT_SECONDS = 90.0
"""A container whose samples end so long before the newest has ended itself."""


def span_of(period_seconds: float | None) -> float:
    """Of a load that repeats, whole periods: else the mean would go up and down with it."""
    if period_seconds is None:
        return SPAN_SECONDS
    return period_seconds * max(1, round(SPAN_SECONDS / period_seconds))


def recent(
    signal: Signal | None, newest_seconds: float, span_seconds: float = SPAN_SECONDS
) -> float | None:
    """The mean over the last while, or the growth per second; None where it was not measured."""
    if signal is None:
        return None
    groups: dict[str, float] = {}
    for part in signal.parts:
        value = _recent(part, newest_seconds, span_seconds)
        if value is not None:
            groups[part.group] = max(groups.get(part.group, value), value)
    return sum(groups.values()) if groups else None


def _recent(part: Part, newest_seconds: float, span_seconds: float) -> float | None:
    times, values = part.times, part.values
    if not times.size or newest_seconds - times[-1] > SILENT_SECONDS:
        return None
    first = int(times.searchsorted(times[-1] - span_seconds, side="right"))
    if part.kind is Kind.GAUGE:
        return float(values[first:].mean()) * part.scale
    # From one sample before the minute, so that a minute of growth is in it.
    first = max(0, first - 1)
    passed = float(times[-1] - times[first])
    growth = float(values[-1] - values[first])
    if passed <= 0 or growth < 0 or (values[first + 1 :] < values[first:-1]).any():
        return None  # it began anew, and how far it had come before is not known
    return growth / passed * part.scale


def newest(signal: Signal | None) -> float | None:
    """The last value of a gauge, as fresh as it can be: a grid's last slot may be half empty."""
    if signal is None:
        return None
    part = max(signal.parts, key=lambda part: float(part.times[-1]))
    return float(part.values[-1]) * part.scale


def known(values: FloatArray | None) -> FloatArray:
    return np.empty(0) if values is None else values[np.isfinite(values)]
