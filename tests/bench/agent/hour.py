"""An hour of passes in minutes: the past is in Prometheus, and the agent's clocks are handed in.

Every query and every write is a real one; only nobody waits between two passes.
"""

import itertools
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from cepheid.agent.loop import LOG, Agent
from cepheid.agent.objects import Identity, Known, Objects
from cepheid.agent.telemetry import Telemetry
from cepheid.annotations import api, codec
from cepheid.annotations.change import NODE, Cause, Decision, Policy
from cepheid.annotations.writer import Kind
from cepheid.logs import Troubles
from cepheid.settings import AgentSettings
from cepheid.sources.access import access_of
from cepheid.sources.prometheus import PrometheusClient
from cepheid.sources.reader import NodeReader
from cepheid.sources.reading import NodeReading
from cepheid.sources.selection import Target
from cepheid.sources.window import Bounds
from tests.bench.agent.loads import Job, Past, changing, crowd, starts, steady
from tests.stage.api_server import ApiServer
from tests.stage.prometheus import Prometheus
from tests.stage.world import Node, Pod, World

HOUR = 3600.0
STEP_SECONDS = 15.0
PASS_SECONDS = 30.0
GPUS, PODS = 8, 60
CYCLES = 4
RIGHT = 0.05
AT_ONCE = frozenset({Cause.FIRST, Cause.HEALTH, Cause.TURN, Cause.HEARTBEAT})
"""What does not wait for the interval between two writes."""


@dataclass
class Spent:
    """CPU seconds of the agent's thread, by what it did."""

    read: float = 0.0
    api: float = 0.0
    all: float = 0.0


@dataclass
class Hour:
    """What an hour of one node came to, or several."""

    passes: int = 0
    writes: dict[tuple[str, Cause], list[float]] = field(default_factory=dict)
    """When, by the kind of the object and why."""
    applied: Mapping[str, float] = field(default_factory=dict)
    """By kind, as the API server counts."""
    spent: Spent = field(default_factory=Spent)
    first: Spent = field(default_factory=Spent)
    """Of the first pass, which reads the whole window and meets every pod."""
    queries: int = 0
    wire_bytes: int = 0
    first_wire_bytes: int = 0
    prometheus_cpu_seconds: float = 0.0
    cycles: list["CycleTold"] = field(default_factory=list)

    def count(self, kind: str) -> int:
        return sum(len(times) for (of, _), times in self.writes.items() if of == kind)

    def causes(self, kind: str) -> dict[Cause, int]:
        return {why: len(times) for (of, why), times in self.writes.items() if of == kind}

    def nearest_seconds(self) -> float | None:
        """Between a write of the Node that may wait and the one before it, at least."""
        node = [
            (at, why) for (of, why), times in self.writes.items() if of == "Node" for at in times
        ]
        pairs = itertools.pairwise(sorted(node))
        return min(
            (two - one for (one, _), (two, why) in pairs if why not in AT_ONCE), default=None
        )


@dataclass
class CycleTold:
    """Of a job that began within the hour: when its cycle stood on the node."""

    job: Job
    seconds: float | None = None
    """From its start; None where it did not while the job ran."""

    @property
    def target_seconds(self) -> float:
        return CYCLES * self.job.period_seconds + 2 * PASS_SECONDS

    def counts(self, until: float) -> bool:
        """A job that ends before the target, or is not watched for so long, says nothing of it."""
        return min(self.job.end, until) - self.job.begin > self.target_seconds


class _Reader(NodeReader):
    spent: Spent

    def read(self, at_seconds: float) -> NodeReading:
        with _timed() as passed:
            reading = super().read(at_seconds)
        self.spent.read += passed()
        return reading


class _Objects(Objects):
    spent: Spent
    wrote: Callable[[str, Cause], None]

    def meet(self, identity: Identity, policy: Policy, steady_seconds: float) -> Known:
        with _timed() as passed:
            known = super().meet(identity, policy, steady_seconds)
        self.spent.api += passed()
        return known

    def write(
        self, known: Known, wanted: Mapping[str, str], policy: Policy, steady_seconds: float
    ) -> Decision:
        with _timed() as passed:
            decision = super().write(known, wanted, policy, steady_seconds)
        self.spent.api += passed()
        if decision.write:
            self.wrote(known.standing.target.kind.name, decision.cause)
        return decision


@contextmanager
def _timed() -> Iterator[Callable[[], float]]:
    begin = time.thread_time()
    end: list[float] = []
    yield lambda: end[0] - begin
    end.append(time.thread_time())


@dataclass
class Play:
    """A node whose past is in a Prometheus of its own."""

    node: str
    prometheus: Prometheus
    begin: float
    """Of the hour; the one before it fills the first window."""
    end: float
    coming: list[Job] = field(default_factory=list)


@dataclass(frozen=True)
class Scene:
    load: Callable[[World, Node, list[Pod]], None]
    coming: Callable[[int, float, float], Iterator[Job]] | None = None
    """Jobs on so many GPUs, from and to a moment."""
    hours: int = 1


SCENES = {
    "steady": Scene(steady),
    "changing": Scene(changing),
    "crowded": Scene(steady, crowd),
    "starts": Scene(steady, starts, hours=4),
}


def name_of(scene: str) -> str:
    return f"gpu-{scene}"


@contextmanager
def play(folder: Path, server: ApiServer, scene: str) -> Iterator[Play]:
    """Objects in the API server, two hours in a Prometheus that runs."""
    name, gpus, plan = name_of(scene), GPUS, SCENES[scene]
    begin = time.time() - plan.hours * HOUR - 60
    world = World(gpus_every_seconds=STEP_SECONDS)
    server.node(name)
    node = world.add_node(name, gpus)
    names = [f"{scene}-{number:03}" for number in range(PODS)]
    node.pods = _pods(server, name, names)
    plan.load(world, node, node.pods)
    past = Past(world, node, node.pods)
    coming: list[Job] = []
    if plan.coming is not None:
        coming = list(plan.coming(gpus, begin - HOUR, begin + plan.hours * HOUR))
        made = _pods(server, name, [job.name for job in coming])
        for job, pod in zip(coming, made, strict=True):
            past.add(job, pod)
    prometheus = Prometheus(folder / f"prometheus-{scene}", past, STEP_SECONDS)
    prometheus.backfill(time.time() - begin + HOUR)
    prometheus.interval_seconds = HOUR  # from here on there is nothing to scrape
    with prometheus:
        yield Play(name, prometheus, begin, begin + plan.hours * HOUR, coming)


def _pods(server: ApiServer, node: str, names: list[str]) -> list[Pod]:
    uids = server.pods("bench", names, node)
    return [Pod("bench", name, uids[name]) for name in names]


def agent_on(
    play: Play, kubeconfig: Path, clock: Callable[[], float], hour: Hour
) -> tuple[Agent, Spent]:
    settings = AgentSettings(node_name=play.node, prometheus_url=play.prometheus.url)
    telemetry, troubles = Telemetry(settings.pass_seconds), Troubles(LOG)
    bounds = Bounds(window_seconds=settings.window_seconds, max_series=settings.most_series)
    reader = _Reader(PrometheusClient(access_of(settings)), Target(node=play.node), bounds)
    server = api.ApiServer(lambda: api.connect(str(kubeconfig)))
    objects = _Objects(server, telemetry, troubles)
    spent = reader.spent = objects.spent = Spent()
    objects.wrote = lambda kind, why: hour.writes.setdefault((kind, why), []).append(clock())
    agent = Agent(settings, reader, objects, telemetry, troubles, wall=clock, steady=clock)
    return agent, spent


def run(play: Play, server: ApiServer) -> Hour:
    """A pass before it, which is told apart; then an hour of them."""
    hour, now = Hour(), [play.begin]
    kubeconfig = server.agent_kubeconfig(play.node)
    agent, spent = agent_on(play, kubeconfig, lambda: now[0], hour)
    traffic = agent.reader.client.traffic
    with _timed() as passed:
        agent.one_pass()
    hour.first = Spent(spent.read, spent.api, passed())
    spent.read = spent.api = 0.0
    hour.first_wire_bytes, queries = traffic.wire_bytes, traffic.queries
    hour.writes.clear()
    within = [job for job in play.coming if play.begin <= job.begin]
    hour.cycles = [told for job in within if (told := CycleTold(job)).counts(play.end)]
    before, cpu_before = _applied(server), play.prometheus.usage().cpu_seconds
    while now[0] < play.end:
        now[0] += agent.settings.pass_seconds
        with _timed() as passed:
            agent.one_pass()
        spent.all += passed()
        hour.passes += 1
        _look(hour.cycles, agent, now[0])
    hour.spent = spent
    hour.queries = traffic.queries - queries
    hour.wire_bytes = traffic.wire_bytes - hour.first_wire_bytes
    hour.prometheus_cpu_seconds = play.prometheus.usage().cpu_seconds - cpu_before
    hour.applied = {kind: count - before[kind] for kind, count in _applied(server).items()}
    return hour


def _look(cycles: list[CycleTold], agent: Agent, now: float) -> None:
    """Which of them stand on the node, as it was written last."""
    identity = Identity(Kind.NODE, agent.settings.node_name)
    standing = Objects.meet(agent.objects, identity, NODE, now).standing
    seen = {gpu.index: gpu.cycle for gpu in codec.decode_node(standing.annotations).facts.gpus}
    for told in cycles:
        job = told.job
        period = job.period_seconds
        # Nobody can tell after two periods: that is what the GPU's last holder left behind.
        if told.seconds is None and job.begin + 2 * period <= now < job.end:
            cycle = seen.get(job.gpu)
            if cycle is not None and abs(cycle.period_seconds - period) < RIGHT * period:
                told.seconds = now - job.begin


def _applied(server: ApiServer) -> dict[str, float]:
    """Patches that the API server says it was sent, of whatever outcome."""
    found = {"Node": 0.0, "Pod": 0.0}
    resources = {'resource="nodes"': "Node", 'resource="pods"': "Pod"}
    for line in server.admin("get", "--raw", "/metrics").splitlines():
        if line.startswith("apiserver_request_total{") and 'verb="APPLY"' in line:
            for resource, kind in resources.items():
                if resource in line and 'subresource=""' in line:
                    found[kind] += float(line.rpartition(" ")[2])
    return found
