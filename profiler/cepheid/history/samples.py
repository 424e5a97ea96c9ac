"""How are a job's time series kept in a few bytes a sample?

A chunk of a series is packed as times, then values, and compressed by zlib:

    times    milliseconds; of regular ones the second differences are 0, and 0 costs nothing
    values   32 bit floats, rounded to 13 significant bits (at most 0.013 % off); gaps are NaN

Both with their bytes sorted by significance, so that like stands beside like. Written with the
standard library: a laptop that keeps profiles needs no numpy for it.
"""

import math
import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from cepheid.errors import HistoryBrokenError

CHUNK_SAMPLES = 4096
"""At 15 s that is 17 hours. Longer ones hardly pack better."""
DROPPED_BITS = 11
"""Of the 23 of a 32 bit float's fraction."""
_HALF = 1 << (DROPPED_BITS - 1)
_MASK = 0xFFFFFFFF ^ ((1 << DROPPED_BITS) - 1)
_COUNT = struct.Struct("<I")
_MOST_INT64 = 2**63 - 1
_MOST_FLOAT32 = 3.4e38


@dataclass(frozen=True, slots=True)
class TimeSeries:
    metric: str
    """As the figures of a profile's usage are named: `cpu_cores`, `gpu_util_percent`."""
    times_seconds: Sequence[float]
    """Since 1970, UTC. Kept to the millisecond."""
    values: Sequence[float | None]
    """None where nothing was measured."""
    worker: str | None = None
    """Of this worker; of the whole job without."""


def chunks(series: TimeSeries, interval_seconds: float | None) -> Iterator[tuple[int, bytes]]:
    """Each with its first time in milliseconds."""
    samples = _ordered(series)
    if interval_seconds is not None:
        samples = _averaged(samples, max(1, round(1000 * interval_seconds)))
    for begin in range(0, len(samples), CHUNK_SAMPLES):
        chunk = samples[begin : begin + CHUNK_SAMPLES]
        yield chunk[0][0], pack(chunk)


def joined(metric: str, worker: str | None, packed: Sequence[bytes]) -> TimeSeries:
    """Where chunks overlap, the later one in the sequence is right."""
    samples: dict[int, float | None] = {}
    for chunk in packed:
        samples.update(unpack(chunk))
    times = sorted(samples)
    return TimeSeries(
        metric, [time / 1000 for time in times], [samples[time] for time in times], worker
    )


def pack(samples: Sequence[tuple[int, float | None]]) -> bytes:
    """Of (time in milliseconds, value), in the order of time."""
    count = len(samples)
    times = [time for time, _ in samples]
    values = [math.nan if value is None else value for _, value in samples]
    steps = _differences(_differences(times))
    folded = [(step << 1) ^ (step >> 63) for step in steps]
    exact = struct.unpack(f"<{count}I", struct.pack(f"<{count}f", *values))
    rounded = [(bits + _HALF) & _MASK for bits in exact]
    return zlib.compress(
        _COUNT.pack(count)
        + _sorted_bytes(struct.pack(f"<{count}Q", *folded), 8)
        + _sorted_bytes(struct.pack(f"<{count}I", *rounded), 4),
        9,
    )


def unpack(packed: bytes) -> list[tuple[int, float | None]]:
    try:
        raw = zlib.decompress(packed)
        (count,) = _COUNT.unpack_from(raw)
        middle = _COUNT.size + 8 * count
        folded = struct.unpack(f"<{count}Q", _unsorted_bytes(raw[_COUNT.size : middle], 8))
        values = struct.unpack(f"<{count}f", _unsorted_bytes(raw[middle:], 4))
    except (zlib.error, struct.error, ValueError) as problem:
        raise HistoryBrokenError(
            f"a chunk of a time series cannot be read: {problem}", hint="was it changed by hand?"
        ) from problem
    steps = ((step >> 1) ^ -(step & 1) for step in folded)
    times = accumulate(accumulate(steps))
    return [
        (time, value if math.isfinite(value) else None)
        for time, value in zip(times, values, strict=True)
    ]


def _ordered(series: TimeSeries) -> list[tuple[int, float | None]]:
    """By time, each time once; what is no time or no number that fits is not known."""
    samples = {
        round(1000 * time): _known(value)
        for time, value in zip(series.times_seconds, series.values, strict=True)
        if abs(time) < _MOST_INT64 // 8000  # their second differences still fit in 64 bits
    }
    return sorted(samples.items())


def _averaged(
    samples: Sequence[tuple[int, float | None]], interval_ms: int
) -> list[tuple[int, float | None]]:
    """One for each interval, at its beginning: the mean of what was measured in it."""
    groups: dict[int, list[float]] = {}
    for time, value in samples:
        known = groups.setdefault(time // interval_ms, [])
        if value is not None:
            known.append(value)
    return [
        (group * interval_ms, math.fsum(known) / len(known) if known else None)
        for group, known in groups.items()
    ]


def _known(value: float | None) -> float | None:
    return float(value) if value is not None and abs(value) < _MOST_FLOAT32 else None


def _differences(numbers: Sequence[int]) -> list[int]:
    """The first is from 0."""
    return [two - one for one, two in pairwise((0, *numbers))]


def _sorted_bytes(raw: bytes, width: int) -> bytes:
    return b"".join(raw[place::width] for place in range(width))


def _unsorted_bytes(raw: bytes, width: int) -> bytes:
    whole = bytearray(len(raw))
    count = len(raw) // width
    for place in range(width):
        whole[place::width] = raw[place * count : (place + 1) * count]
    return bytes(whole)
