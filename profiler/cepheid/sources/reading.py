"""What a reading of the node holds: samples under our names, not yet on a common grid.

Who takes one hands in a function that puts samples on a grid (`cepheid.analysis.grid` makes one:
`to_grid` for gauges, `counter_rate` for counters), because a sum over containers, each measured at
times of its own, exists on a grid only. Arrays are views into the window: they hold until the next
reading, and are not to be written to.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from cepheid.errors import SourceError
from cepheid.model import FloatArray
from cepheid.sources.catalog import Kind, Source

Gridder = Callable[[FloatArray, FloatArray, Kind], FloatArray | None]
"""Times, values and kind to values on the caller's one grid: of a counter the growth per second,
NaN for gaps, always of the same length; None where there is nothing to put on it."""

SLACK_SLOTS = 3
"""So much later than others a series may begin or end, and still count as there all along."""


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """The samples of one series."""

    group: str
    """Parts of one group measure the same thing, as the series of a container before and after
    its restart do: the larger counts. Those of different groups are added."""
    kind: Kind
    scale: float
    """From the unit of the samples, or their growth per second, to that of the signal's name."""
    times: FloatArray
    values: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Signal:
    """One quantity of a GPU, a pod or the node."""

    parts: tuple[Part, ...]

    @property
    def last(self) -> float:
        """The newest value, of a gauge with one part."""
        return float(self.parts[0].values[-1]) * self.parts[0].scale

    def onto(self, grid: Gridder) -> FloatArray | None:
        """The sum over groups; a gap in one of them is a gap in the sum, never a dip."""
        groups: dict[str, FloatArray] = {}
        for part in self.parts:
            values = grid(part.times, part.values, part.kind)
            if values is not None:
                values = values * part.scale
                before = groups.get(part.group)
                groups[part.group] = values if before is None else np.fmax(before, values)
        if not groups:
            return None
        series = list(groups.values())
        if len(series) == 1:
            return series[0]
        total = np.zeros_like(series[0])
        anything = np.zeros(total.size, dtype=np.bool_)
        for values in series:
            measured = np.isfinite(values)
            anything |= measured
            total += np.where(measured | _outside(measured), np.nan_to_num(values), np.nan)
        return np.where(anything, total, np.nan)


def _outside(measured: np.ndarray) -> np.ndarray:
    """Where it did not exist yet, or any more: there it adds nothing."""
    outside = np.ones(measured.size, dtype=np.bool_)
    known = np.flatnonzero(measured)
    if known.size:
        first, last = int(known[0]), int(known[-1])
        first = 0 if first <= SLACK_SLOTS else first
        last = measured.size - 1 if measured.size - 1 - last <= SLACK_SLOTS else last
        outside[first : last + 1] = False
    return outside


Signals = Mapping[str, Signal]


def arrays(signals: Signals, grid: Gridder) -> dict[str, FloatArray]:
    """All that can be put on the grid, with `throttled_ratio` where there is a CPU limit."""
    found = {name: signal.onto(grid) for name, signal in signals.items()}
    gridded = {name: values for name, values in found.items() if values is not None}
    periods = gridded.get("cpu_periods_per_second")
    throttled = gridded.get("cpu_throttled_periods_per_second")
    if periods is not None and throttled is not None:
        ratio = np.full(periods.size, np.nan)
        np.divide(throttled, periods, out=ratio, where=periods > 0)
        gridded["throttled_ratio"] = np.minimum(ratio, 1.0)
    return gridded


@dataclass(frozen=True, slots=True)
class Xid:
    """An error that NVIDIA's driver logged."""

    code: int
    since_seconds: float
    """When it was first seen; at the latest when the window began."""


@dataclass(frozen=True, slots=True)
class Holder:
    """A container that has the GPU."""

    namespace: str
    pod: str
    container: str


@dataclass(frozen=True, slots=True, eq=False)
class Holding:
    holder: Holder
    since_seconds: float
    """First seen with this GPU, within the window: what was measured before is another's."""
    signals: Signals = field(default_factory=dict)
    """Of a shared GPU what is this holder's own, where the exporter tells (`gpu_util_percent`,
    `gpu_memory_used_mib`). Nothing else of a shared GPU can be attributed."""


@dataclass(frozen=True, slots=True, eq=False)
class GpuReading:
    """One GPU, or one MIG instance of a GPU."""

    source: Source
    index: int
    uuid: str | None
    """Of the board: MIG instances of one share it."""
    model: str | None
    mig_profile: str | None
    mig_id: str | None
    holdings: tuple[Holding, ...]
    """Who has it at `newest_seconds`."""
    since_seconds: float
    """Since when it has been these, or nobody: what was measured before is another's. At the
    earliest when the window began."""
    shared: bool
    signals: Signals
    """Of the device as a whole, whoever holds it. A MIG instance has no power and no
    temperature of its own: those of the board are called `board_power_watts` and so on."""
    memory_total_mib: float | None
    xid: Xid | None
    newest_seconds: float
    """Well before that of the reading: lost, or its exporter is."""


@dataclass(frozen=True, slots=True, eq=False)
class PodReading:
    """All containers of a pod together."""

    namespace: str
    name: str
    uid: str | None
    """Tells two pods of one name apart, before and after a StatefulSet's pod was replaced."""
    signals: Signals
    """No network where the pod is on the node's own."""
    newest_seconds: float


@dataclass(frozen=True, slots=True, eq=False)
class NodeReading:
    at_seconds: float
    newest_seconds: float | None
    """Of all samples; None where there are none."""
    gpus: tuple[GpuReading, ...]
    """By index, then MIG instance."""
    pods: tuple[PodReading, ...]
    node: Signals
    """`cpu_cores` and so on of the whole node; network without virtual interfaces."""
    cpu_cores_total: float | None
    memory_bytes_total: float | None
    found_by: Mapping[Source, str]
    """Which label names the node; a source without any is not there."""
    failures: Mapping[Source, SourceError]
    """What could not be read this time; the rest of the reading holds what was read before."""
    notes: tuple[str, ...]
    """Warnings of the server, and what was left out and why. Once each."""
    series: int
    window_bytes: int
