"""One node, over and over: read, analyse, annotate. `one_pass` is the map of it."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace

from cepheid.agent.gpu import GpuView, PodName, holders_of, just_left, view_gpu
from cepheid.agent.gridding import TimeGrid
from cepheid.agent.health import health_of, silent
from cepheid.agent.objects import AWAY, Identity, Objects, with_intervals
from cepheid.agent.pace import Pace
from cepheid.agent.profile import NodeOutlook, node_facts, pod_facts
from cepheid.agent.telemetry import Telemetry
from cepheid.agent.verdicts import Verdicts
from cepheid.annotations.change import NODE, POD
from cepheid.annotations.codec import encode_node, encode_pod, heartbeat
from cepheid.annotations.facts import GpuFacts
from cepheid.annotations.writer import Kind
from cepheid.errors import AnswerBrokenError, ApiError, CepheidError, GoneError, SourceError
from cepheid.logs import Troubles
from cepheid.settings import AgentSettings
from cepheid.sources.reader import GIVE_UP, NodeReader
from cepheid.sources.reading import GpuReading, NodeReading, PodReading

LOG = logging.getLogger("cepheid.agent")
STALE_SECONDS = 300.0
"""What is older says nothing of now: nothing is written, and what stands expires by itself."""
SILENT = "the exporter of the GPUs is silent"
READING = "reading Prometheus"
OF_PROMETHEUS = (*GIVE_UP, AnswerBrokenError)
"""Whatever it was asked for: one trouble, not one for every source."""
POD_GONE_SECONDS = 120.0
"""A pod that was not measured for so much longer than others has ended."""


class Agent:
    """Clocks are handed in: `wall` tells the time of day, `steady` never goes back."""

    def __init__(
        self,
        settings: AgentSettings,
        reader: NodeReader,
        objects: Objects,
        telemetry: Telemetry,
        troubles: Troubles,
        *,
        wall: Callable[[], float],
        steady: Callable[[], float],
    ) -> None:
        self.settings = settings
        self.reader = reader
        self.objects = objects
        self.telemetry = telemetry
        self.troubles = troubles
        self._wall = wall
        self._steady = steady
        self._wire_bytes = 0
        self._said: set[str] = set()
        self._views: dict[tuple[int, str | None], GpuView] = {}
        self._gone: set[Identity] = set()
        # Every second pass by default: between two writes of an object lie two of them.
        self._rest_seconds = settings.write_seconds - settings.pass_seconds / 2
        self._gpu_pace, self._pod_pace, self._node_pace = Pace(), Pace(), Pace()
        self._verdicts = Verdicts()
        self._outlook: NodeOutlook | None = None
        intervals = {
            "write_seconds": settings.write_seconds,
            "valid_seconds": settings.valid_seconds,
        }
        self._node_policy = with_intervals(NODE, **intervals)
        self._pod_policy = with_intervals(POD, **intervals)

    def one_pass(self) -> bool:
        """Whether the node was read and written; nothing that goes wrong stops what can be done."""
        reading = self.reader.read(self._wall())
        self._observe(reading)
        grid = TimeGrid.of(reading, self.settings.window_seconds)
        if grid is None or self._is_stale(reading):
            return False
        views = self._look_at_gpus(reading, grid)
        known = not self._exporter_is_away(reading)
        try:
            good = not known or self._attempt(
                "analysing the node", self._write_node, reading, views, grid
            )
            self._write_pods(reading, views if known else None, grid)
        except AWAY:
            return False
        return good and not any(isinstance(e, GIVE_UP) for e in reading.failures.values())

    def _look_at_gpus(self, reading: NodeReading, grid: TimeGrid) -> list[GpuView]:
        if not reading.gpus and SILENT in self.troubles:
            return list(self._views.values())  # the window forgot them, we do not
        pods = {(pod.namespace, pod.name): pod for pod in reading.pods}
        before, self._views = self._views, {}
        for gpu in reading.gpus:
            key = (gpu.index, gpu.mig_id)
            if (known := before.get(key)) is not None:
                # Also where the look at it fails: what was said last is not taken back.
                self._views[key] = replace(known, reading=gpu)
            doing = f"analysing GPU {gpu.index}"
            self._attempt(doing, self._look_at_gpu, key, gpu, reading, grid, pods)
        for key in before.keys() - self._views.keys():
            self.troubles.forget(_lost(*key))
        self._gpu_pace.keep_only(self._views)
        self._verdicts.keep_only(self._views)
        return list(self._views.values())

    def _look_at_gpu(
        self,
        key: tuple[int, str | None],
        gpu: GpuReading,
        reading: NodeReading,
        grid: TimeGrid,
        pods: Mapping[PodName, PodReading],
    ) -> None:
        health = health_of(gpu, reading)
        lost = health is not None and health.lost
        self.troubles.say(_lost(*key), happens=lost)
        at_once = (gpu.uuid, health, frozenset(holders_of(gpu)))
        steady = self._steady()
        before = self._views.get(key)
        if before is not None and just_left(gpu) and not lost:
            return  # in a moment it is empty: one write, not two
        if before is not None and not self._gpu_pace.changed(key, at_once):
            nothing_new = before.seen_seconds == gpu.newest_seconds
            if nothing_new or not self._gpu_pace.due(key, at_once, steady):
                return
        view = view_gpu(gpu, health, reading, grid, pods, self.settings.horizon_seconds)
        if view.facts.job_type is not None:
            same = before is not None and before.holders == view.holders
            standing = before.facts.job_type if before is not None and same else None
            kind = self._verdicts.told(key, view.facts.job_type, standing)
            view = replace(view, facts=replace(view.facts, job_type=kind))
        self._views[key] = view
        rest = self._rest_seconds if view.settled else 0.0
        self._gpu_pace.wait(key, at_once, steady + rest)

    def _write_node(self, reading: NodeReading, views: list[GpuView], grid: TimeGrid) -> None:
        until = self._wall() + self.settings.valid_seconds
        facts = node_facts(reading, views, self._node_outlook(reading, grid), until)
        identity = Identity(Kind.NODE, self.settings.node_name)
        policy, steady = self._node_policy, self._steady()
        known = self.objects.meet(identity, policy, steady)
        self.objects.write(known, encode_node(facts), policy, steady)
        if (beat := heartbeat(known.standing.annotations)) is not None:
            self.telemetry.valid_until.set(beat.timestamp())

    def _node_outlook(self, reading: NodeReading, grid: TimeGrid) -> NodeOutlook:
        steady = self._steady()
        if self._outlook is None or self._node_pace.due("node", None, steady):
            self._outlook = NodeOutlook.of(reading, grid, self.settings.horizon_seconds)
            self._node_pace.wait("node", None, steady + self._rest_seconds)
        return self._outlook

    def _write_pods(
        self, reading: NodeReading, views: list[GpuView] | None, grid: TimeGrid
    ) -> None:
        """Without `views` only those that hold no GPU: of the others half would be missing."""
        held_by: dict[PodName, list[GpuView]] = {}
        for view in self._views.values():
            for name in holders_of(view.reading):
                held_by.setdefault(name, []).append(view)
        running = self._running(reading)
        for pod in running:
            name = (pod.namespace, pod.name)
            if views is not None or name not in held_by:
                doing = f"analysing Pod {pod.namespace}/{pod.name}"
                held = held_by.get(name, [])
                self._attempt(doing, self._write_pod, pod, held, reading, grid)
        identities = {_identity(pod) for pod in running}
        self.objects.keep_only(identities)
        self._pod_pace.keep_only(identities)

    def _write_pod(
        self, pod: PodReading, held: list[GpuView], reading: NodeReading, grid: TimeGrid
    ) -> None:
        identity = _identity(pod)
        policy, steady = self._pod_policy, self._steady()
        at_once = [_news(view.facts) for view in held]
        if identity in self._gone or not self._pod_pace.due(identity, at_once, steady):
            return
        try:
            known = self.objects.meet(identity, policy, steady)
            limit = known.cpu_limit_cores
            facts = pod_facts(pod, self.settings.node_name, held, reading, grid, limit)
            decision = self.objects.write(known, encode_pod(facts), policy, steady)
        except GoneError:
            # Its metrics live on for minutes; it does not come back under this uid.
            self._gone.add(identity)
            self.telemetry.skips.labels("Pod", "gone").inc()
            return
        if known.standing.annotations:
            rest = max(self._rest_seconds, decision.wait_seconds)
            self._pod_pace.wait(identity, at_once, steady + rest)

    def _running(self, reading: NodeReading) -> list[PodReading]:
        """One to a name: the last that was measured."""
        self._gone &= {_identity(pod) for pod in reading.pods}
        newest = max((pod.newest_seconds for pod in reading.pods), default=0.0)
        oldest_first = sorted(reading.pods, key=lambda pod: pod.newest_seconds)
        latest = {(pod.namespace, pod.name): pod for pod in oldest_first}
        return [p for p in latest.values() if newest - p.newest_seconds <= POD_GONE_SECONDS]

    def _is_stale(self, reading: NodeReading) -> bool:
        newest = reading.newest_seconds
        return newest is None or reading.at_seconds - newest > STALE_SECONDS

    def _exporter_is_away(self, reading: NodeReading) -> bool:
        """Then what stands on the node is not renewed: it expires by itself."""
        # Also when the window knows no GPU any more, for so long has it been silent.
        away = silent(reading) or (SILENT in self.troubles and not reading.gpus)
        self.troubles.say(SILENT, happens=away)
        return away

    def _observe(self, reading: NodeReading) -> None:
        self.telemetry.series.set(reading.series)
        traffic = self.reader.client.traffic
        self.telemetry.bytes_read.inc(traffic.wire_bytes - self._wire_bytes)
        self._wire_bytes = traffic.wire_bytes
        if reading.newest_seconds is not None:
            self.telemetry.lag.set(reading.at_seconds - reading.newest_seconds)
        self._say(reading)

    def _say(self, reading: NodeReading) -> None:
        """What goes wrong in reading, once, and once that it is over."""
        now: dict[str, SourceError] = {}
        for source, problem in reading.failures.items():
            doing = READING if isinstance(problem, OF_PROMETHEUS) else f"reading {source}"
            now.setdefault(doing, problem)
            self.telemetry.errors.labels(f"read-{source}").inc()
        for doing, problem in now.items():
            self.troubles.happened(doing, problem)
        for note in reading.notes:
            self.troubles.say(note, happens=True)
        for over in self._said - {*now, *reading.notes}:
            self.troubles.over(over)
        self._said = {*now, *reading.notes}

    def _attempt(self, doing: str, work: Callable[..., None], *given: object) -> bool:
        """One GPU or pod that fails never stops the rest; trouble is said once."""
        try:
            work(*given)
        except AWAY:
            raise
        except ApiError:
            return False  # said and counted where it happened
        except Exception as problem:  # a bug in one place must not blind the node
            is_ours = isinstance(problem, CepheidError)
            self.telemetry.errors.labels("analysis" if is_ours else "bug").inc()
            self.troubles.happened(doing, problem)
            LOG.debug("%s", doing, exc_info=True)
            return False
        self.troubles.over(doing)
        return True


def _lost(index: int, mig_id: str | None) -> str:
    return f"GPU {index}{'' if mig_id is None else f' MIG {mig_id}'} is lost"


def _news(gpu: GpuFacts) -> tuple[object, ...]:
    """What a pod that holds it is told as soon as it is known."""
    forecast = gpu.forecast.horizon_seconds if gpu.forecast is not None else None
    return gpu.index, gpu.mig, gpu.job_type, gpu.cycle is None, forecast


def _identity(pod: PodReading) -> Identity:
    return Identity(Kind.POD, pod.name, pod.namespace, pod.uid)
