"""The GPUs of a node from their series, whichever exporter they came from.

A device has one track a metric. Whoever holds it, the samples go there: over time the series of an
exporter wander from pod to pod, and copies of one value for each of several pods are one value.
Where the device's own series stands beside those of pods, the pods' are their own shares.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from cepheid.model import FloatArray
from cepheid.sources import catalog
from cepheid.sources.answer import RawSeries
from cepheid.sources.catalog import Metric, Source
from cepheid.sources.dcgm import NVLINK_MEASURED, NVLINK_TOTAL, nvlink_kind
from cepheid.sources.reading import GpuReading, Holder, Holding, Part, Signal, Signals, Xid
from cepheid.sources.sightings import Device, DeviceKey, Labels, Sighting, exporters_among
from cepheid.sources.window import Track, Window, measured

SAME_SCRAPE_SECONDS = 1.0
BOARD_ONLY = frozenset(
    {"power_watts", "power_gauge_watts", "power_limit_watts", "gpu_temperature_celsius"}
)
"""What a MIG instance does not have: the exporter repeats the board's."""


class TrackKey(NamedTuple):
    metric: str
    device: DeviceKey
    holder: Holder | None
    """None for the device as a whole."""


@dataclass(slots=True)
class _Held:
    first_seconds: float
    last_seconds: float
    replica: bool


@dataclass(slots=True)
class _Known:
    device: Device
    newest_seconds: float
    holders: dict[Holder, _Held]


Identify = Callable[[Labels, frozenset[str]], Sighting]


class Devices:
    """The GPUs seen within the window."""

    def __init__(self, window: Window[TrackKey]) -> None:
        self.window = window
        self._known: dict[DeviceKey, _Known] = {}

    def take(self, series: Iterable[RawSeries], identify: Identify, prefix: str = "") -> int:
        """Puts them into the window; returns how many could not be understood."""
        series = list(series)
        exporters = exporters_among(one.labels for one in series)
        together: dict[tuple[Metric, DeviceKey], list[tuple[Sighting, RawSeries]]] = {}
        skipped = 0
        for one in series:
            metric = catalog.BY_NAME.get(one.labels.get("__name__", "").removeprefix(prefix))
            if metric is None or one.times.size == 0:
                continue
            try:
                sighting = identify(one.labels, exporters)
            except ValueError:
                skipped += 1
                continue
            self._see(sighting, one.times)
            together.setdefault((metric, sighting.key), []).append((sighting, one))
        for (metric, key), found in together.items():
            whole = [one for sighting, one in found if sighting.holder is None]
            held = [(sighting, one) for sighting, one in found if sighting.holder is not None]
            # The device's own first: of samples at one time the first is kept.
            self._put(metric, TrackKey(metric.name, key, None), whole + [one for _, one in held])
            times = [one.times for one in whole]
            for sighting, one in held:
                if any(np.intersect1d(one.times, others).size for others in times):
                    self._put(metric, TrackKey(metric.name, key, sighting.holder), [one])
        return skipped

    def _put(self, metric: Metric, key: TrackKey, found: list[RawSeries]) -> None:
        times, values = found[0].times, found[0].values
        if len(found) > 1:
            times = np.concatenate([one.times for one in found])
            values = np.concatenate([one.values for one in found])
            order = np.argsort(times, kind="stable")
            times, values = times[order], values[order]
        times, values = measured(times, values, metric.highest)
        if times.size:
            self.window.add(key, times, values)

    def _see(self, sighting: Sighting, times: FloatArray) -> None:
        first, last = float(times[0]), float(times[-1])
        known = self._known.get(sighting.key)
        if known is None:
            known = self._known[sighting.key] = _Known(sighting.device, last, {})
        if last >= known.newest_seconds:
            known.device, known.newest_seconds = sighting.device, last
        if sighting.holder is None:
            return
        held = known.holders.get(sighting.holder)
        if held is None:
            known.holders[sighting.holder] = _Held(first, last, sighting.replica)
        else:
            held.first_seconds = min(held.first_seconds, first)
            held.last_seconds = max(held.last_seconds, last)

    def forget_until(self, horizon_seconds: float) -> None:
        self.window.forget_until(horizon_seconds)
        for key in [k for k, v in self._known.items() if v.newest_seconds <= horizon_seconds]:
            del self._known[key]
        for known in self._known.values():
            for holder in [
                holder
                for holder, held in known.holders.items()
                if held.last_seconds <= horizon_seconds
            ]:
                del known.holders[holder]
            for held in known.holders.values():
                held.first_seconds = max(held.first_seconds, horizon_seconds)

    def clear(self) -> None:
        self.window.clear()
        self._known.clear()

    def readings(self) -> tuple[GpuReading, ...]:
        tracks: dict[DeviceKey, dict[Holder | None, dict[str, Track]]] = {}
        for key, track in self.window.items():
            tracks.setdefault(key.device, {}).setdefault(key.holder, {})[key.metric] = track
        latest: dict[tuple[Source, int, str], DeviceKey] = {}
        for board, known in sorted(self._known.items(), key=lambda item: item[1].newest_seconds):
            # Of two boards at one place the last one measured: the other was taken out.
            latest[board.source, known.device.index, board.part] = board
        found = [
            self._reading(board, self._known[board], tracks.get(board, {}))
            for board in latest.values()
        ]
        return tuple(sorted(found, key=lambda one: (one.index, one.mig_id or "", one.uuid or "")))

    def _reading(
        self, key: DeviceKey, known: _Known, tracks: dict[Holder | None, dict[str, Track]]
    ) -> GpuReading:
        device = known.device
        now = [
            (holder, held)
            for holder, held in sorted(known.holders.items(), key=lambda item: _order(item[0]))
            if held.last_seconds > known.newest_seconds - SAME_SCRAPE_SECONDS
        ]
        shared = len(now) > 1 or any(held.replica for _, held in now)
        whole = tracks.get(None, {})
        signals = _signals(whole)
        if device.mig_id is not None:
            signals = {
                f"board_{name}" if name in BOARD_ONLY else name: signal
                for name, signal in signals.items()
            }
        return GpuReading(
            source=key.source,
            index=device.index,
            uuid=device.uuid,
            model=device.model,
            mig_profile=device.mig_profile,
            mig_id=device.mig_id,
            holdings=tuple(
                Holding(
                    holder,
                    held.first_seconds,
                    _signals(tracks.get(holder, {})) if shared else {},
                )
                for holder, held in now
            ),
            since_seconds=max(held.first_seconds for _, held in now)
            if now
            else _left_seconds(known, whole),
            shared=shared,
            signals=signals,
            memory_total_mib=_memory_total(signals),
            xid=_xid(signals),
            newest_seconds=known.newest_seconds,
        )


def _left_seconds(known: _Known, tracks: dict[str, Track]) -> float:
    """The first sample after the last one that named a holder."""
    if not known.holders:
        return -math.inf
    last = max(held.last_seconds for held in known.holders.values())
    after = [track.times[track.times > last] for track in tracks.values()]
    return min((float(times[0]) for times in after if times.size), default=last)


def _order(holder: Holder) -> tuple[str, str, str]:
    return holder.namespace, holder.pod, holder.container


def _signals(tracks: dict[str, Track]) -> dict[str, Signal]:
    """In the order of the catalog; the first metric of a signal, or all that add to it."""
    parts: dict[str, list[Part]] = {}
    for name in sorted(tracks, key=_CATALOG_ORDER.__getitem__):
        metric, track = catalog.BY_NAME[name], tracks[name]
        if metric.signal in parts and metric.signal not in catalog.SUMMED:
            continue
        kind = metric.kind
        if name == NVLINK_TOTAL:
            if not NVLINK_MEASURED.isdisjoint(tracks):
                continue
            kind = nvlink_kind(track.values)
        part = Part(name, kind, metric.scale, track.times, track.values)
        parts.setdefault(metric.signal, []).append(part)
    return {name: Signal(tuple(found)) for name, found in parts.items()}


def _memory_total(signals: Signals) -> float | None:
    """NVIDIA names no total: it is what is used, free and reserved."""
    if "gpu_memory_total_mib" in signals:
        return signals["gpu_memory_total_mib"].last
    if "gpu_memory_used_mib" not in signals or "gpu_memory_free_mib" not in signals:
        return None
    parts = ("gpu_memory_used_mib", "gpu_memory_free_mib", "gpu_memory_reserved_mib")
    return sum(signals[name].last for name in parts if name in signals)


def _xid(signals: Signals) -> Xid | None:
    if "xid" not in signals:
        return None
    (part,) = signals["xid"].parts
    code = part.values[-1]
    if code == 0:
        return None
    others = np.flatnonzero(part.values != code)
    since = part.times[others[-1] + 1 if others.size else 0]
    return Xid(int(code), float(since))


_CATALOG_ORDER = {metric.name: place for place, metric in enumerate(catalog.METRICS)}
