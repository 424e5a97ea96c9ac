"""Reads what the pods of one job used, from its start to its end.

    ask    for the series of exactly these pods, a few pods at a time, by whichever labels name them
    thin   a long job to at most `MOST_POINTS` values a series; a short one is read as scraped
    give   one pod after the other, so that a job of a thousand does not stand in memory at once

Of a gauge the values between two steps of a long job are not seen: its mean and p95 hold, its
highest value may have been higher. Counters miss nothing.
"""

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from cepheid.errors import AnswerTooLargeError
from cepheid.sources import amd, dcgm
from cepheid.sources.answer import RawSeries
from cepheid.sources.cadvisor import Containers
from cepheid.sources.catalog import Source
from cepheid.sources.devices import Devices
from cepheid.sources.prometheus import PrometheusClient
from cepheid.sources.reading import GpuReading, Part, Signal, Signals
from cepheid.sources.selection import POD_LABELS, PodLabels, pod_selectors
from cepheid.sources.window import Bounds, Window

MOST_POINTS = 1000
RAW_SECONDS = 3600.0
"""So long a job is read sample by sample: its scrape interval is not known, and 15 s are usual."""
MOST_PODS = 32
MOST_CHARACTERS = 4000
"""Of the names in one query: proxies take addresses of 8 KB, and escaping makes them longer."""
SIGNALS = frozenset(
    {
        "cpu_cores",
        "cpu_periods_per_second",
        "cpu_throttled_periods_per_second",
        "memory_working_set_bytes",
        "disk_read_bytes_per_second",
        "disk_write_bytes_per_second",
        "network_receive_bytes_per_second",
        "network_transmit_bytes_per_second",
        "gpu_util_percent",
        "engine_active_ratio",
        "tensor_active_ratio",
        "dram_active_ratio",
        "mem_copy_util_percent",
        "gpu_memory_used_mib",
        "gpu_memory_free_mib",
        "gpu_memory_total_mib",
        "power_watts",
        "power_gauge_watts",
        "interconnect_bytes_per_second",
    }
)


@dataclass(frozen=True, slots=True)
class Span:
    """When the job ran, in seconds since the epoch."""

    start_seconds: float
    end_seconds: float

    @property
    def seconds(self) -> float:
        return self.end_seconds - self.start_seconds

    @property
    def step_seconds(self) -> float | None:
        """None where every sample is read."""
        if self.seconds <= RAW_SECONDS:
            return None
        return float(math.ceil(self.seconds / MOST_POINTS))


@dataclass(frozen=True, slots=True, eq=False)
class PodHistory:
    pod: str
    signals: Signals
    """Empty where nothing was measured."""
    gpus: tuple[GpuReading, ...]
    """Of a GPU that it shares with others, the whole GPU's."""


class JobReader:
    """Raises SourceError. Not for several threads at once."""

    def __init__(self, client: PrometheusClient, signals: Collection[str] = SIGNALS) -> None:
        self.client = client
        self._signals = frozenset(signals)
        self._labels: dict[Source, PodLabels] = {}
        """By which the last series of a source were found: those are tried first."""

    def read(self, namespace: str, pods: Sequence[str], span: Span) -> Iterator[PodHistory]:
        """In the order of the pods; a name that none of Kubernetes' can be is a ValueError."""
        for some in _groups(pods):
            found = {source: self._series(source, namespace, some, span) for source in Source}
            for pod in some:
                yield _history(pod, {source: by.get(pod, []) for source, by in found.items()})

    def _series(
        self, source: Source, namespace: str, pods: Sequence[str], span: Span
    ) -> dict[str, list[RawSeries]]:
        known = self._labels.get(source)
        ways = sorted(POD_LABELS, key=lambda labels: labels is not known)
        for labels in ways:
            series = self._asked(source, labels, namespace, pods, span)
            if series:
                self._labels[source] = labels
                found: dict[str, list[RawSeries]] = {}
                for one in series:
                    found.setdefault(one.labels.get(labels.pod, ""), []).append(one)
                return found
        return {}

    def _asked(
        self, source: Source, labels: PodLabels, namespace: str, pods: Sequence[str], span: Span
    ) -> list[RawSeries]:
        """Of fewer pods at a time where the answer would be too large."""
        try:
            return [
                one
                for selector in pod_selectors(source, labels, namespace, pods, self._signals)
                for one in self._answered(selector, span)
            ]
        except AnswerTooLargeError:
            if len(pods) == 1:
                raise
            half = len(pods) // 2
            return [
                one
                for some in (pods[:half], pods[half:])
                for one in self._asked(source, labels, namespace, some, span)
            ]

    def _answered(self, selector: str, span: Span) -> list[RawSeries]:
        step = span.step_seconds
        if step is None:
            length = max(1, math.ceil(span.seconds))
            return self.client.instant(f"{selector}[{length}s]", span.end_seconds).series
        return self.client.range(selector, span.start_seconds, span.end_seconds, step).series


def _groups(pods: Sequence[str]) -> Iterator[list[str]]:
    some: list[str] = []
    characters = 0
    for pod in pods:
        if some and (len(some) == MOST_PODS or characters + len(pod) > MOST_CHARACTERS):
            yield some
            some, characters = [], 0
        some.append(pod)
        characters += len(pod)
    if some:
        yield some


def _history(pod: str, series: dict[Source, list[RawSeries]]) -> PodHistory:
    bounds = Bounds(window_seconds=math.inf)
    devices, containers = Devices(Window(bounds)), Containers(Window(bounds))
    devices.take(series[Source.DCGM], dcgm.identify)
    devices.take(series[Source.AMD], amd.identify)
    containers.take(series[Source.CADVISOR])
    pods, _ = containers.readings()
    # Two of one name in the time of one job: a StatefulSet's pod that was made again.
    parts: dict[str, tuple[Part, ...]] = {}
    for reading in pods:
        for name, signal in reading.signals.items():
            parts[name] = parts.get(name, ()) + signal.parts
    signals = {name: Signal(found) for name, found in parts.items()}
    return PodHistory(pod, signals, devices.readings())
