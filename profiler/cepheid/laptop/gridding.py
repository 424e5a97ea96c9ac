"""A recording's rows on a regular grid, under the names of `cepheid.analysis.signals`.

Counters become the mean rate over each step, read off the line between the samples around it: a
sample that came late or not at all changes nothing but the detail. Gauges are read off the same
way. Where samples are missing for longer than a few steps (somebody stopped the run, the laptop
slept) there is a gap.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from cepheid.laptop.recording import Header, Recording
from cepheid.model import FloatArray
from cepheid.sources.local.catalog import BY_NAME, Kind

MOST_STEPS = 100_000
"""Of a longer run the steps are longer."""
GAP_STEPS = 4.0
_NEVER_NOTHING = ("rss_bytes", "peak_rss_bytes", "uss_bytes", "vms_bytes", "threads", "processes")
BUSY_PERCENT = 5.0
"""A GPU that tells nothing of its processes is taken for ours when it did more than that."""


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """As sampled: a row a sample."""

    times: FloatArray
    columns: Mapping[str, FloatArray]
    gauges_until: int
    """From this row on the tree was gone: counters only."""

    def known(self, name: str) -> FloatArray:
        """A gauge's values, without their times."""
        values = self.columns.get(name)
        if values is None:
            return np.empty(0)
        values = values[: self.gauges_until]
        return values[np.isfinite(values)]

    def growth(self, name: str) -> float | None:
        """Of a counter, from the first sample to the last."""
        values = self.columns.get(name, np.empty(0))
        values = values[np.isfinite(values)]
        return float(values.max() - values[0]) if values.size else None


@dataclass(frozen=True, slots=True, eq=False)
class Gridded:
    start_seconds: float
    step_seconds: float
    signals: Mapping[str, FloatArray]
    """Of the tree and of its GPUs together."""
    others: Mapping[str, FloatArray]
    """What only a process has: uss_bytes, vms_bytes, threads, processes, system_cpu_cores."""
    gpus: Mapping[int, Mapping[str, FloatArray]] = field(default_factory=dict)
    """Of those that the tree used, by number."""

    def times(self) -> FloatArray:
        size = next(iter(self.signals.values()), np.empty(0)).size
        return self.start_seconds + self.step_seconds * (np.arange(size, dtype=np.float64) + 0.5)


def table_of(recording: Recording) -> Table:
    columns = recording.header.columns
    rows = np.frombuffer(recording.rows, dtype="<f8").reshape(-1, 1 + len(columns))
    rows = rows.astype(np.float64)
    trailer = recording.trailer
    until = len(rows) - (trailer is not None and trailer.last_row_is_after_end)
    found = {name: rows[:, 1 + at] for at, name in enumerate(columns)}
    for name in _NEVER_NOTHING:
        if name in found:
            # A process that lives has some: it was not born yet, or over already.
            found[name] = np.where(found[name] > 0, found[name], np.nan)
    return Table(rows[:, 0], found, until)


def gridded(header: Header, table: Table, duration_seconds: float) -> Gridded:
    step = header.interval_seconds
    while duration_seconds / step > MOST_STEPS:
        step *= 2
    count = max(1, math.floor(duration_seconds / step + 0.5))
    edges = header.started_seconds + step * np.arange(count + 1, dtype=np.float64)
    on = {
        name: _on_grid(name, table, edges, step)
        for name in header.columns
        if name.partition(".")[0] in BY_NAME  # a newer version may have more
    }
    signals = _present(
        cpu_cores=on.get("cpu_seconds"),
        memory_working_set_bytes=on.get("rss_bytes"),
        disk_read_bytes_per_second=on.get("read_bytes"),
        disk_write_bytes_per_second=on.get("written_bytes"),
        network_receive_bytes_per_second=on.get("received_bytes"),
        network_transmit_bytes_per_second=on.get("sent_bytes"),
        throttled_ratio=_throttled(on),
    )
    gpus = {index: _of_gpu(on, index) for index in used_gpus(header, table)}
    return Gridded(
        start_seconds=header.started_seconds,
        step_seconds=step,
        signals=signals | _together(list(gpus.values())),
        others=_present(
            uss_bytes=on.get("uss_bytes"),
            vms_bytes=on.get("vms_bytes"),
            threads=on.get("threads"),
            processes=on.get("processes"),
            system_cpu_cores=on.get("system_cpu_seconds"),
        ),
        gpus=gpus,
    )


def used_gpus(header: Header, table: Table) -> tuple[int, ...]:
    """Those that the tree held memory of: a GPU is not idle because `make` does not use it.

    Where the driver does not tell whose memory is whose, those that did anything meanwhile.
    """
    used = []
    for name in header.columns:
        if not name.startswith("gpu_util_percent."):
            continue
        index = int(name.partition(".")[2])
        held = table.known(f"gpu_tree_memory_mib.{index}")
        busy = table.known(name)
        if held.size:
            if held.max() > 0:
                used.append(index)
        elif busy.size and busy.max() > BUSY_PERCENT:
            used.append(index)
    return tuple(used)


def _of_gpu(on: Mapping[str, FloatArray], index: int) -> dict[str, FloatArray]:
    def of(name: str) -> FloatArray | None:
        return on.get(f"{name}.{index}")

    # The counter's difference is the true mean; the driver's own mean is of its last moments.
    energy = of("gpu_energy_joules")
    watts = energy if energy is not None and np.isfinite(energy).any() else of("gpu_power_watts")
    return _present(
        gpu_util_percent=of("gpu_util_percent"),
        mem_copy_util_percent=of("mem_copy_util_percent"),
        gpu_memory_used_mib=of("gpu_memory_used_mib"),
        power_watts=watts,
    )


def _together(gpus: Sequence[Mapping[str, FloatArray]]) -> dict[str, FloatArray]:
    """Shares are averaged, the rest is added up; not known where it is not known of one of them."""
    found: dict[str, FloatArray] = {}
    for name in dict.fromkeys(name for gpu in gpus for name in gpu):
        each = [gpu[name] for gpu in gpus if name in gpu]
        if len(each) == len(gpus):
            total = np.sum(each, axis=0)
            found[name] = total / len(each) if name.endswith("_percent") else total
    return found


def _throttled(on: Mapping[str, FloatArray]) -> FloatArray | None:
    periods, stopped = on.get("cgroup_periods"), on.get("cgroup_throttled_periods")
    if periods is None or stopped is None or not (np.nan_to_num(periods) > 0).any():
        return None
    return np.where(
        periods > 0, np.minimum(stopped / np.where(periods > 0, periods, 1.0), 1.0), 0.0
    )


def _present(**arrays: FloatArray | None) -> dict[str, FloatArray]:
    return {
        name: values
        for name, values in arrays.items()
        if values is not None and np.isfinite(values).any()
    }


def _on_grid(name: str, table: Table, edges: FloatArray, step: float) -> FloatArray:
    is_counter = BY_NAME[name.partition(".")[0]].kind is Kind.COUNTER
    values = table.columns[name]
    times = table.times
    if not is_counter:
        values, times = values[: table.gauges_until], times[: table.gauges_until]
    there = np.isfinite(values)
    times, values = times[there], values[there]
    centres = (edges[:-1] + edges[1:]) / 2
    if not times.size:
        return np.full(centres.size, np.nan)
    if is_counter:
        values = np.maximum.accumulate(values)
        found = np.diff(np.interp(edges, times, values)) / step
    else:
        found = np.interp(centres, times, values)
    # Beyond its samples a gauge stays as it was for half a step; a counter's end is its last.
    after = np.searchsorted(times, centres)
    before = times[np.maximum(after - 1, 0)]
    behind = times[np.minimum(after, times.size - 1)]
    missing = (behind - before > GAP_STEPS * step) | (centres < times[0] - step)
    missing |= centres > times[-1] + step
    return np.where(missing, np.nan, found)
