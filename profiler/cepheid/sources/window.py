"""The last hour in memory: one pair of arrays a series, allocated ahead, within bounds.

The samples of a series lie in one piece, so that it is handed out as it is, without a copy: a view
that holds until the next sample is put in. Room is left behind the newest; when it is used up, what
the window still holds moves to the front.
"""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from cepheid.model import FloatArray

SAME_SECONDS = 5e-4
"""Prometheus keeps milliseconds: times closer than half of one are the same time."""
FIRST_CAPACITY = 256
"""An hour at 15 s is 240. Growing towards it would leave twice as much in holes."""
BYTES_A_SAMPLE = 16
FEW = 16


class Track:
    """The samples of one series, ascending in time, each time once."""

    __slots__ = ("_first", "_last", "_times", "_values", "newest_seconds")

    def __init__(self) -> None:
        self._times = np.empty(FIRST_CAPACITY)
        self._values = np.empty(FIRST_CAPACITY)
        self._first = self._last = 0
        self.newest_seconds = -np.inf

    @property
    def times(self) -> FloatArray:
        return self._view(self._times)

    @property
    def values(self) -> FloatArray:
        return self._view(self._values)

    def _view(self, array: FloatArray) -> FloatArray:
        view = array[self._first : self._last]
        view.flags.writeable = False
        return view

    @property
    def nbytes(self) -> int:
        return self._times.size * BYTES_A_SAMPLE

    @property
    def room(self) -> int:
        """How many more it can take as it stands."""
        return self._times.size - self._last

    @property
    def roomy(self) -> int:
        """How many samples it can hold without ever growing."""
        return _roomy(self._times.size)

    def __len__(self) -> int:
        return self._last - self._first

    def forget_until(self, horizon_seconds: float) -> None:
        """As Prometheus has it: a window is open at its older end."""
        if self._first < self._last and self._times[self._first] <= horizon_seconds:
            self._first += int(np.searchsorted(self.times, horizon_seconds, side="right"))

    def add(self, times: FloatArray, values: FloatArray, *, most: int) -> None:
        """Takes ascending samples; of two at one time that which came first stays.

        Late ones, and those of a second replica, find their place; most often all are newer.
        """
        if times.size <= FEW and self._append(times.tolist(), values.tolist(), most):
            return
        late = int(np.searchsorted(times, self.newest_seconds + SAME_SECONDS))
        if late and not self._knows(times[:late]):
            times = np.concatenate((self.times, times))
            values = np.concatenate((self.values, values))
            order = np.argsort(times, kind="stable")
            times, values = times[order], values[order]
            self._first = self._last = late = 0
        times, values = times[late:], values[late:]
        apart = np.diff(times, prepend=-np.inf) > SAME_SECONDS
        if not apart.all():
            times, values = times[apart], values[apart]
        self._put(times[-most:], values[-most:], most)

    def _append(self, times: list[float], values: list[float], most: int) -> bool:
        """The same for a few samples, of which the first are the last known ones; else False.

        Nearly every series of nearly every pass. Plain floats: numpy costs ten times as much.
        """
        newest = self.newest_seconds + SAME_SECONDS
        known = 0
        while known < len(times) and times[known] <= newest:
            known += 1
        last = self._last
        if known > last - self._first or len(times) > most:
            return False
        for ours, theirs in zip(self._times[last - known : last].tolist(), times, strict=False):
            if abs(ours - theirs) > SAME_SECONDS:
                return False
        before = -np.inf
        for when in times[known:]:
            if when - before <= SAME_SECONDS:
                return False
            before = when
        if known < len(times):
            self._put(times[known:], values[known:], most)
        return True

    def _put(
        self, times: FloatArray | list[float], values: FloatArray | list[float], most: int
    ) -> None:
        count = len(times)
        if not count:
            return
        self._make_room(count, most)
        end = self._last + count
        self._times[self._last : end] = times
        self._values[self._last : end] = values
        self._last = end
        self.newest_seconds = float(times[-1])

    def _knows(self, times: FloatArray) -> bool:
        known = self.times
        near = np.searchsorted(known, times - SAME_SECONDS)
        # Older than anything known: forgotten on purpose, or never seen. The horizon decides.
        return bool(np.all(np.abs(known[np.minimum(near, known.size - 1)] - times) <= SAME_SECONDS))

    def _make_room(self, count: int, most: int) -> None:
        self._first = max(self._first, self._last + count - most)
        if self._last + count <= self._times.size:
            return
        held = self._last - self._first
        size = self._times.size
        while held + count > _roomy(size) and size < _capacity(most):
            size = min(2 * size, _capacity(most))
        size = max(size, held + count)
        times, values = self.times, self.values
        if size != self._times.size:
            self._times, self._values = np.empty(size), np.empty(size)
        self._times[:held] = times
        self._values[:held] = values
        self._first, self._last = 0, held


def _roomy(size: int) -> int:
    """A little stays free, so that the move comes once in several passes."""
    return size - size // 32


def _capacity(samples: int) -> int:
    return samples + samples // 31 + 1


def measured(
    times: FloatArray, values: FloatArray, highest: float
) -> tuple[FloatArray, FloatArray]:
    """Without the samples that are blank or out of range."""
    if times.size <= FEW:
        for value in values.tolist():
            if not 0 <= value <= highest:
                break
        else:
            return times, values
    good = (values >= 0) & (values <= highest)
    return (times, values) if good.all() else (times[good], values[good])


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    window_seconds: float = 3600.0
    max_series: int = 8_000
    max_samples: int = 4_096
    """Of one series. An hour at 15 s is 240; of more the newest are kept."""
    max_bytes: int = 32 * 1024 * 1024
    """Of all arrays. A series that would go beyond it is not taken up."""


K = TypeVar("K", bound=Hashable)


class Window(Generic[K]):
    """All series of one source, by whatever identifies them."""

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self.refused = 0
        """Series not taken up or shortened for want of room; who reads it sets it to 0."""
        self._tracks: dict[K, Track] = {}
        self._bytes = 0

    def add(self, key: K, times: FloatArray, values: FloatArray) -> None:
        bounds = self.bounds
        track = self._tracks.get(key)
        if track is None:
            room = self._bytes + FIRST_CAPACITY * BYTES_A_SAMPLE
            if len(self._tracks) >= bounds.max_series or room > bounds.max_bytes:
                self.refused += 1
                return
            track = self._tracks[key] = Track()
            self._bytes += track.nbytes
        most = bounds.max_samples
        if times.size <= track.room:
            track.add(times, values, most=most)
            return
        before = track.nbytes
        # At most it doubles, and what comes may need more than that.
        grown = 2 * max(before, min(most, len(track) + times.size) * BYTES_A_SAMPLE)
        if grown - before > bounds.max_bytes - self._bytes:
            most = min(most, track.roomy)  # it makes do with what it has
            self.refused += len(track) + times.size > most
        track.add(times, values, most=most)
        self._bytes += track.nbytes - before

    def forget_until(self, horizon_seconds: float) -> None:
        """Drops older samples, and series of which nothing is left."""
        gone = []
        for key, track in self._tracks.items():
            track.forget_until(horizon_seconds)
            if not len(track):
                gone.append(key)
        for key in gone:
            self._bytes -= self._tracks.pop(key).nbytes

    def clear(self) -> None:
        self._tracks.clear()
        self._bytes = 0

    def items(self) -> Iterator[tuple[K, Track]]:
        return iter(self._tracks.items())

    def get(self, key: K) -> Track | None:
        return self._tracks.get(key)

    @property
    def newest_seconds(self) -> float:
        return max((track.newest_seconds for track in self._tracks.values()), default=-np.inf)

    @property
    def nbytes(self) -> int:
        return self._bytes

    def __len__(self) -> int:
        return len(self._tracks)
