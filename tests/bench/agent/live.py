"""Real agents in real time, with their default settings: what they take, and how soon they tell."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields
from pathlib import Path

from lightkube import Client, KubeConfig
from lightkube.resources.core_v1 import Node as NodeObject
from lightkube.resources.core_v1 import Pod as PodObject

from cepheid.annotations import codec
from cepheid.sources.access import Access
from cepheid.sources.prometheus import PrometheusClient
from cepheid.sources.reader import NodeReader
from cepheid.sources.selection import Target, selectors, ways
from tests.bench.agent.hour import CYCLES, HOUR, PASS_SECONDS, RIGHT, STEP_SECONDS
from tests.bench.agent.loads import steady
from tests.stage.agent import Agent
from tests.stage.levels import Square
from tests.stage.processes import Usage
from tests.stage.surroundings import Stage, surroundings
from tests.stage.world import Gpu, Node, Pod, World

SIZES = {"gpu-8-60": (8, 60), "cpu-0-10": (0, 10), "gpu-8-110": (8, 110)}
"""GPUs and pods; the first is the one that the targets are for."""
SETTLE_PASSES = 3
"""The first reads the window and writes all; two more until nothing is new."""
PASSES = 10
JOB_PERIODS_SECONDS = (60.0, 90.0, 120.0)
APART_SECONDS = 10.0
"""Between the starts of two jobs: at different moments between two passes."""
PATIENCE_SECONDS = 300.0
"""Longer than the target, before a job is given up."""
PASSES_COUNTED = "cepheid_agent_pass_seconds_count"
PASSES_TOOK = "cepheid_agent_pass_seconds_sum"
BYTES_READ = "cepheid_agent_prometheus_bytes_total"


@dataclass(frozen=True)
class Cost:
    """Of one agent, over `passes` passes."""

    gpus: int
    pods: int
    series: int
    first: Usage
    """After the first pass, which reads the whole window."""
    last: Usage
    passes: float
    cpu_seconds: float
    wall_seconds: float
    """In which passes ran, as the agent counts."""
    bytes_read: float
    window_bytes: int
    """The same queries over the whole window, once."""


@dataclass(frozen=True)
class Told:
    """After how many passes, and seconds, something stood in an annotation."""

    passes: int
    seconds: float


@dataclass
class Delay:
    """Of one job, from its start. None where it did not come in time."""

    period_seconds: float
    pod: Told | None = None
    pod_gpu: Told | None = None
    pod_cycle: Told | None = None
    """Pods have budgets of their own: well before `cycle`, it is the node's that was used up."""
    job_type: Told | None = None
    cycle: Told | None = None

    @property
    def cycle_target_seconds(self) -> float:
        return CYCLES * self.period_seconds + 2 * PASS_SECONDS


@dataclass(frozen=True)
class Live:
    costs: list[Cost]
    delays: list[Delay]


def run(folder: Path, talk: Callable[[str], None]) -> Live:
    world = World(gpus_every_seconds=STEP_SECONDS)
    with surroundings(folder, world, STEP_SECONDS) as stage, ExitStack() as stack:
        for name, (gpus, pods) in SIZES.items():
            node = stage.add_node(name, gpus)
            names = [f"{name}-{number:03}" for number in range(pods)]
            steady(world, node, stage.add_pods(node, "bench", names))
        talk("live: an hour of the past")
        stage.prometheus.backfill(HOUR)
        stage.prometheus.start()
        agents = {name: stack.enter_context(stage.agent(name)) for name in SIZES}
        talk(f"live: {SETTLE_PASSES + PASSES} passes")
        costs = measure(stage, agents)
        talk("live: new jobs")
        main = next(iter(SIZES))
        return Live(costs, delays(stage, world.nodes[0], agents[main]))


def measure(stage: Stage, agents: dict[str, Agent]) -> list[Cost]:
    """Looks at each but twice: to answer /metrics costs an agent CPU as well."""
    for agent in agents.values():
        _until(lambda agent=agent: agent.metrics()[PASSES_COUNTED] >= 1)  # type: ignore[misc]
    firsts = {name: agent.usage() for name, agent in agents.items()}
    time.sleep((SETTLE_PASSES - 0.5) * PASS_SECONDS)
    before = {name: (agent.metrics(), agent.usage()) for name, agent in agents.items()}
    time.sleep((PASSES + 1) * PASS_SECONDS)
    costs = []
    for name, agent in agents.items():
        usage, metrics = agent.usage(), agent.metrics()
        then, used = before[name]
        costs.append(
            Cost(
                *SIZES[name],
                series=int(metrics["cepheid_agent_series"]),
                first=firsts[name],
                last=usage,
                passes=metrics[PASSES_COUNTED] - then[PASSES_COUNTED],
                cpu_seconds=usage.cpu_seconds - used.cpu_seconds,
                wall_seconds=metrics[PASSES_TOOK] - then[PASSES_TOOK],
                bytes_read=metrics[BYTES_READ] - then[BYTES_READ],
                window_bytes=window_bytes(stage.prometheus.url, name),
            )
        )
    return costs


def window_bytes(url: str, node: str) -> int:
    """On the wire, compressed as for the agent: what a pass would take that reads it all again."""
    client = PrometheusClient(Access(url=url, max_answer_bytes=2**30))
    target, now = Target(node=node), time.time()
    found = NodeReader(client, target).read(now).found_by
    before = client.traffic.wire_bytes
    for way in ways(target):
        if found.get(way.source) == way.label and way.container_label in {"", "container"}:
            for selector in selectors(target, way):
                client.instant(f"{selector}[{HOUR:.0f}s]", now)
    taken = client.traffic.wire_bytes - before
    client.close()
    return taken


def delays(stage: Stage, node: Node, agent: Agent) -> list[Delay]:
    """New jobs on the last GPUs, each watched from its first second."""
    free = node.gpus[-len(JOB_PERIODS_SECONDS) :]
    for gpu in free:
        gpu.release()
    time.sleep(2 * PASS_SECONDS)
    watched = []
    for gpu, period in zip(free, JOB_PERIODS_SECONDS, strict=True):
        watched.append(_Watched(gpu, period, stage, node, agent))
        time.sleep(APART_SECONDS)
    with _client(stage) as client:
        last = max(one.deadline for one in watched)
        while time.monotonic() < last and not all(one.done for one in watched):
            for one in watched:
                one.look(client)
            time.sleep(1.0)
    return [one.delay for one in watched]


class _Watched:
    """A job that has just begun."""

    def __init__(
        self, gpu: Gpu, period_seconds: float, stage: Stage, node: Node, agent: Agent
    ) -> None:
        self.delay = Delay(period_seconds)
        self._gpu, self._node, self._agent = gpu, node.name, agent
        name = f"new-{period_seconds:.0f}"
        uid = stage.api.pod("bench", name, node.name)
        self._passes = agent.metrics()[PASSES_COUNTED]
        begin = time.time()
        self._pod = Pod("bench", name, uid, since=begin)
        node.pods.append(self._pod)
        gpu.hold(self._pod, Square(period_seconds, 0.75, phase_seconds=begin), 40_000, begin)
        self._begin = time.monotonic()
        self.deadline = self._begin + self.delay.cycle_target_seconds + PATIENCE_SECONDS

    @property
    def done(self) -> bool:
        return all(self._has(each.name) for each in fields(self.delay))

    def look(self, client: Client) -> None:
        pod = client.get(PodObject, self._pod.name, namespace=self._pod.namespace)
        node = client.get(NodeObject, self._node)
        seconds = time.monotonic() - self._begin
        there = self._there(_annotations(pod), _annotations(node))
        new = [name for name, is_there in there.items() if is_there and not self._has(name)]
        if new:
            time.sleep(2.0)  # the pass that wrote it ends, and is counted too
            passes = self._agent.metrics()[PASSES_COUNTED] - self._passes
            for name in new:
                setattr(self.delay, name, Told(int(passes), seconds))

    def _has(self, name: str) -> bool:
        return getattr(self.delay, name) is not None

    def _there(self, of_pod: dict[str, str], of_node: dict[str, str]) -> dict[str, bool]:
        """By the fields of a Delay."""
        pod, node = codec.decode_pod(of_pod).facts, codec.decode_node(of_node).facts
        cycles = [gpu.cycle for gpu in node.gpus if gpu.index == self._gpu.index]
        period = self.delay.period_seconds
        return {
            "pod": any(codec.is_ours(key) for key in of_pod),
            "pod_gpu": bool(pod.gpus),
            "pod_cycle": pod.cycle is not None,
            "job_type": str(pod.job_type) == "training",
            "cycle": any(c and abs(c.period_seconds - period) < RIGHT * period for c in cycles),
        }


def _annotations(thing: NodeObject | PodObject) -> dict[str, str]:
    return (thing.metadata.annotations if thing.metadata else None) or {}


@contextmanager
def _client(stage: Stage) -> Iterator[Client]:
    client = Client(KubeConfig.from_file(stage.api.admin.kubeconfig))
    try:
        yield client
    finally:
        client.close()


def _until(true: Callable[[], bool], seconds: float = 120.0) -> None:
    deadline = time.monotonic() + seconds
    while not true() and time.monotonic() < deadline:
        time.sleep(0.5)
