"""Reads one node: everything at the start, and from then on what is new.

    find   which label names the node differs from install to install: all are tried, in one query
    ask    for the samples since the last ones, a little earlier for those that came late
    keep   an hour in memory
    give   devices and pods with their samples

Whatever goes wrong stays in the reading as a failure of its source. What was read before is kept,
and what is missing is asked for again, as far back as the window reaches.
"""

import math
from dataclasses import dataclass, field, replace

from cepheid.errors import (
    SourceBusyError,
    SourceError,
    SourceRefusedError,
    SourceUnreachableError,
)
from cepheid.sources import amd, cadvisor, dcgm, devices
from cepheid.sources.answer import RawSeries
from cepheid.sources.catalog import Source
from cepheid.sources.prometheus import PrometheusClient
from cepheid.sources.reading import NodeReading, Signal
from cepheid.sources.selection import Found, Target, probe, selectors, ways
from cepheid.sources.window import Bounds, Window

OVERLAP_SECONDS = 30.0
"""A kubelet's sample is up to 20 s old when it is scraped, and a series may miss a scrape."""
LATEST_SECONDS = 900.0
"""A sample that arrives later than this, through a slow remote write, may be missed."""
SETTLE_SECONDS = 300.0
"""So long an answer with warnings is asked for again, and a silent source believed to be there."""
SLICE_SECONDS = 120.0
"""Of 8 GPUs and 60 pods a whole window at once is 8 MB of text and 60 in memory while it is read,
five minutes still leave 6 MiB more behind for good than two."""
FIRST_PROBE_SECONDS = 30.0
SLOWEST_PROBE_SECONDS = 300.0
TIME_WENT_BACK_SECONDS = 300.0
MOST_NOTES = 20

# After one of these there is no use in asking the same server again in this pass.
GIVE_UP = (SourceUnreachableError, SourceBusyError, SourceRefusedError)


@dataclass(slots=True)
class _State:
    found: Found | None = None
    read_until_seconds: float | None = None
    """All samples before it are in the window, or were never there."""
    answered_seconds: float = -math.inf
    """When it last had a sample for us."""


@dataclass(slots=True)
class _Pass:
    at_seconds: float
    failures: dict[Source, SourceError] = field(default_factory=dict)
    notes: dict[str, None] = field(default_factory=dict)

    def note(self, text: str) -> None:
        if len(self.notes) < MOST_NOTES:
            self.notes[text] = None


class NodeReader:
    """Keeps the window of one node. Not for several threads at once."""

    def __init__(
        self, client: PrometheusClient, target: Target, bounds: Bounds | None = None
    ) -> None:
        self.client = client
        self.target = target
        self.bounds = bounds or Bounds()
        half = replace(
            self.bounds,
            max_series=self.bounds.max_series // 2,
            max_bytes=self.bounds.max_bytes // 2,
        )  # each its own, so that a flood of containers leaves the GPUs their room
        self._devices = devices.Devices(Window(half))
        self._containers = cadvisor.Containers(Window(half))
        self._states = {source: _State() for source in Source}
        self._probe_at_seconds = -math.inf
        self._probe_delay_seconds = FIRST_PROBE_SECONDS

    def read(self, at_seconds: float) -> NodeReading:
        """`at_seconds` is now, in seconds since the epoch. Raises nothing for a server's faults."""
        this = _Pass(at_seconds)
        self._devices.window.refused = self._containers.window.refused = 0
        if at_seconds < self._newest_seconds() - TIME_WENT_BACK_SECONDS:
            this.note("time went back: the window is read anew")
            self._begin_anew()
        try:
            self._find(this)
        except SourceError as error:
            for source, state in self._states.items():
                if state.found is None or isinstance(error, GIVE_UP):
                    this.failures[source] = error
        for source, state in self._states.items():
            if state.found is None or source in this.failures:
                continue
            try:
                self._catch_up(this, state, state.found)
            except SourceError as error:
                this.failures[source] = error
                if isinstance(error, GIVE_UP):
                    for other, its in self._states.items():
                        if its.found is not None:
                            this.failures.setdefault(other, error)
                    break
        newest = self._newest_seconds()
        if newest > -math.inf:
            self._devices.forget_until(newest - self.bounds.window_seconds)
            self._containers.window.forget_until(newest - self.bounds.window_seconds)
        return self._reading(this)

    def _find(self, this: _Pass) -> None:
        """Asks which label answers, for sources not found yet and those that fell silent."""
        silent = [
            source
            for source, state in self._states.items()
            if state.found is None or this.at_seconds - state.answered_seconds > SETTLE_SECONDS
        ]
        possible = [way for way in ways(self.target) if way.source in silent]
        if not possible or this.at_seconds < self._probe_at_seconds:
            return
        answer = self.client.instant(probe(self.target, possible), this.at_seconds)
        self._note_answer(this, answer.notes)
        self._probe_at_seconds = this.at_seconds + self._probe_delay_seconds
        self._probe_delay_seconds = min(2 * self._probe_delay_seconds, SLOWEST_PROBE_SECONDS)
        counted = {one.labels.get("way") for one in answer.series}
        answering = [way for place, way in enumerate(possible) if str(place) in counted]
        for source in silent:
            state = self._states[source]
            found = [way for way in answering if way.source is source]
            if found and state.found not in found:
                self._states[source] = replace(state, found=found[0], read_until_seconds=None)
                self._probe_delay_seconds = FIRST_PROBE_SECONDS

    def _catch_up(self, this: _Pass, state: _State, found: Found) -> None:
        now = this.at_seconds
        since = now - self.bounds.window_seconds
        if state.read_until_seconds is not None:
            since = max(since, min(state.read_until_seconds, now) - OVERLAP_SECONDS)
        while since < now:
            end = now if now - since <= SLICE_SECONDS + OVERLAP_SECONDS else since + SLICE_SECONDS
            newest, complete = self._ask(this, found, since, end)
            if newest > -math.inf:
                state.answered_seconds = now
            if end < now and complete:
                done = end
            elif complete:
                done = max(newest, now - LATEST_SECONDS)
            else:
                done = min(end, now - SETTLE_SECONDS)
            state.read_until_seconds = max(state.read_until_seconds or -math.inf, done)
            since = end

    def _ask(self, this: _Pass, found: Found, since: float, end: float) -> tuple[float, bool]:
        """The newest time in the answers, and whether they were complete."""
        newest, complete, skipped = -math.inf, True, 0
        span = math.ceil(end - since)
        for selector in selectors(self.target, found):
            answer = self.client.instant(f"{selector}[{span}s]", end)
            self._note_answer(this, answer.notes)
            complete &= answer.complete
            skipped += self._take(found.source, answer.series)
            newest = max((one.times[-1] for one in answer.series if one.times.size), default=newest)
        if skipped:
            this.note(f"{found.source}: series left out whose labels no GPU or pod can have")
        return newest, complete

    def _take(self, source: Source, series: list[RawSeries]) -> int:
        match source:
            case Source.DCGM:
                return self._devices.take(series, dcgm.identify)
            case Source.AMD:
                return self._devices.take(series, amd.identify, self.target.amd_prefix)
            case Source.CADVISOR:
                return self._containers.take(series)

    def _note_answer(self, this: _Pass, notes: tuple[str, ...]) -> None:
        for text in notes:
            this.note(f"Prometheus says: {text}")

    def _newest_seconds(self) -> float:
        return max(self._devices.window.newest_seconds, self._containers.window.newest_seconds)

    def _begin_anew(self) -> None:
        self._devices.clear()
        self._containers.window.clear()
        self._states = {source: _State() for source in Source}
        self._probe_at_seconds = -math.inf
        self._probe_delay_seconds = FIRST_PROBE_SECONDS

    def _reading(self, this: _Pass) -> NodeReading:
        if self._devices.window.refused or self._containers.window.refused:
            this.note("the window is full: some series are left out or shortened")
        pods, node = self._containers.readings()
        newest = self._newest_seconds()
        return NodeReading(
            at_seconds=this.at_seconds,
            newest_seconds=newest if newest > -math.inf else None,
            gpus=self._devices.readings(),
            pods=pods,
            cpu_cores_total=_last(node.pop("machine_cpu_cores", None)),
            memory_bytes_total=_last(node.pop("machine_memory_bytes", None)),
            node=node,
            found_by={
                source: state.found.label
                for source, state in self._states.items()
                if state.found is not None
            },
            failures=this.failures,
            notes=tuple(this.notes),
            series=len(self._devices.window) + len(self._containers.window),
            window_bytes=self._devices.window.nbytes + self._containers.window.nbytes,
        )


def _last(signal: Signal | None) -> float | None:
    return None if signal is None else signal.last
