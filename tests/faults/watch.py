"""An agent, and what must hold around every fault."""

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from cepheid.analysis.jobrules import JobKind
from cepheid.annotations.change import NODE, Rank
from cepheid.annotations.codec import PREFIX, decode_node, decode_pod, is_ours
from cepheid.annotations.facts import GpuFacts, NodeFacts, PodFacts
from tests.cluster.progress import wait_for
from tests.simgpu.faults import HEALTHY
from tests.stage.agent import Agent
from tests.stage.ours import Entry, is_trouble
from tests.stage.surroundings import Stage
from tests.stage.world import Node, Pod

SOON = {"pass_seconds": 1, "write_seconds": 30, "window_seconds": 600}
"""Settings: a pass a second, and what must not wait is written at once.

What may wait does: on a busy machine scrapes of a second look like a cycle that comes and goes, and
each time it would spend one of the node's few writes.
"""
AT_ONCE = SOON | {"write_seconds": 0}
"""Also what may wait, and what was refused is tried again with the next pass."""
TURN_SECONDS = (1 + NODE.reserves[Rank.TURN]) * NODE.refill_seconds
"""No budget, however much of it is spent, makes a node's news wait for longer."""
PATIENCE_SECONDS = TURN_SECONDS + 120
"""And what a busy machine takes."""
PAST_SECONDS = 600
"""What takes minutes to be known, the kind of a job and a forecast, is known from the start."""
FIRST_MIB, SECOND_MIB = 8192, 16384
FOREIGN = {"example.com/owner": "somebody else", "ai.example.com/gpu-0": "0"}
LARGE = "example.com/large"
"""A key for what others fill an object up with."""
SECRET = "s3cret-of-prometheus"  # noqa: S105 # only of these tests
HEALTH_EVERY_SECONDS = 0.2
AWAY = "refused|disconnected|reset|closed|ended in the middle|503"
"""What is said of a server that goes away: the first that is seen of it, and that alone."""


def populate(stage: Stage, name: str, namespace: str | None = None, others: int = 1) -> Node:
    """Two GPUs, of which the first pod holds the first, and other pods none."""
    node = stage.add_node(name, gpus=2)
    names = ["train", *(f"web-{number}" for number in range(others))]
    train, *_ = stage.add_pods(node, namespace or name, names)
    node.gpus[0].hold(train, busy=0.9, memory_mib=FIRST_MIB, since=0)
    refresh(stage, node)
    return node


def refresh(stage: Stage, node: Node) -> None:
    """As `populate` made it, whatever a test made of it; only that another pod comes next.

    A pod has few writes to spend in a quarter of an hour, and an agent has no news of one that
    nothing happened to for some time.
    """
    node.gpus[0].faults = HEALTHY
    node.gpus[1].release()
    node.pods.append(node.pods.pop(1))
    words = [f"{LARGE}-", "--overwrite", *(f"{key}={text}" for key, text in FOREIGN.items())]
    stage.api.admin("annotate", "node", node.name, *words)
    pods = stage.api.admin.within(node.pods[0].namespace)
    pods("annotate", "pod", *(pod.name for pod in node.pods), *words)


@dataclass
class Watched:
    stage: Stage
    node: Node
    agent: Agent
    before: dict[str, dict[str, Any]] = field(default_factory=dict)
    """The metadata of the Node and its pods, before anything went wrong."""
    touched: set[int] = field(default_factory=set)
    """GPUs that the test itself changed since."""
    health: set[int] = field(default_factory=set)
    """Every answer to /healthz since."""

    @property
    def train(self) -> Pod:
        return self.node.pods[0]

    @property
    def web(self) -> Pod:
        return self.node.pods[1]

    def facts(self) -> NodeFacts:
        return decode_node(self.stage.api.annotations("node", self.node.name)).facts

    def gpu(self, index: int) -> GpuFacts:
        found = [gpu for gpu in self.facts().gpus if gpu.index == index]
        return found[0] if found else GpuFacts(index)

    def pod(self, pod: Pod) -> PodFacts:
        return decode_pod(self.stage.api.annotations("pod", pod.name, pod.namespace)).facts

    def change(self) -> None:
        """Something happens that must be told: the idle GPU is taken."""
        self.touched.add(1)
        self.node.gpus[1].hold(self.web, busy=0.5, memory_mib=SECOND_MIB)

    def told_on_node(self) -> bool:
        """That it is taken. Of how much memory may wait, if that came a scrape later."""
        return self.gpu(1).pods == 1

    def told_on_pod(self) -> bool:
        return [gpu.index for gpu in self.pod(self.web).gpus] == [1]

    def tells(self) -> None:
        """It does, by itself, on the Node and on the pod that took it."""
        wait_for("what is new, on the node", self.told_on_node, PATIENCE_SECONDS)
        wait_for("what is new, on the pod", self.told_on_pod)

    def more_passes(self, count: int = 3) -> None:
        """Enough that a second line in the log, or a second thought, would have come."""
        begun = self._passes()
        wait_for("more passes", lambda: self._passes() >= begun + count)

    def says(self, what: str, words: str = "") -> Entry:
        """That this happened; `words` is a pattern."""

        def said() -> Entry | None:
            found = [entry for entry in self.agent.logs() if is_trouble(entry)]
            texts = [str(entry["message"]) for entry in found]
            fitting = (text.startswith(what) and re.search(words, text) for text in texts)
            return next((one for one, fits in zip(found, fitting, strict=True) if fits), None)

        return wait_for(f"{what}: {words}", said, PATIENCE_SECONDS)

    def says_over(self, trouble: Entry) -> Entry:
        return wait_for(f"the end of {trouble}", lambda: self.agent.over(trouble), PATIENCE_SECONDS)

    def said_once(self, what: str, words: str = "") -> None:
        """Of one thing that it happened, and that it is over; and of nothing else."""
        trouble = self.says(what, words)
        self.agent.untroubled(but=[trouble, self.says_over(trouble)])

    def said_nothing(self) -> None:
        self.agent.untroubled()

    def objects(self) -> dict[str, dict[str, Any]]:
        admin = self.stage.api.admin
        found = [admin.get("node", self.node.name, "--show-managed-fields")]
        found += admin.within(self.train.namespace).items("pods")
        return {f"{one['kind']} {one['metadata']['name']}": one["metadata"] for one in found}

    def kept(self) -> None:
        """Nothing that stood is gone, or made worse; nothing is made up."""
        now = self.objects()
        assert {name: one["uid"] for name, one in now.items()} == {
            name: one["uid"] for name, one in self.before.items()
        }
        for name, was in self.before.items():
            then, there = was.get("annotations", {}), now[name].get("annotations", {})
            gone = {key for key in then.keys() - there.keys() if not self._may_go(key)}
            assert not gone, f"{name}: {gone}"
            assert _foreign(then) == _foreign(there), name
            assert was.get("labels") == now[name].get("labels"), name
        facts = decode_node(now[f"Node {self.node.name}"]["annotations"]).facts
        was_facts = decode_node(self.before[f"Node {self.node.name}"]["annotations"]).facts
        assert facts.static == was_facts.static
        pairs = zip(self._untouched(was_facts), self._untouched(facts), strict=True)
        for then_gpu, gpu in pairs:
            assert _essence(gpu) == _essence(then_gpu)
            assert then_gpu.job_type in (gpu.job_type, JobKind.UNKNOWN)  # known since, perhaps

    def _untouched(self, facts: NodeFacts) -> list[GpuFacts]:
        return [gpu for gpu in facts.gpus if gpu.index not in self.touched]

    def _may_go(self, key: str) -> bool:
        """What is said of a GPU that the test changed, and of all of them together.

        And a cycle: nothing here has one, but on a busy machine scrapes of a second look so.
        """
        if key.endswith("cycle"):
            return True
        of_touched = any(key.startswith(f"{PREFIX}gpu-{index}") for index in self.touched)
        return of_touched or (bool(self.touched) and key == f"{PREFIX}free-gpu-score")

    def _passes(self) -> float:
        return self.agent.metrics()["cepheid_agent_pass_seconds_count"]

    def stands(self) -> bool:
        """Whether all is said of the node as `populate` made it."""
        first, second = self.gpu(0), self.gpu(1)
        held = [(gpu.index, gpu.mem_mb) for gpu in self.pod(self.train).gpus]
        return (
            (first.pods, first.mem_used_gb, second.pods) == (1, FIRST_MIB / 1024, 0)
            and held == [(0, FIRST_MIB)]
            and self.pod(self.web).cpu_mem_mb is not None
            and not self.pod(self.web).gpus
        )


@contextmanager
def watched(stage: Stage, node: Node, agent: Agent) -> Iterator[Watched]:
    """From when all stands there. At the end it still does, and the agent lived through it."""
    seen = Watched(stage, node, agent)
    with agent:
        pid = agent.pid
        wait_for("what stands before", seen.stands, PATIENCE_SECONDS)
        wait_for("/readyz", lambda: agent.get("/readyz")[0] == HTTPStatus.OK)
        agent.untroubled()
        seen.before = seen.objects()
        with _asking_for_health(seen):
            yield seen
        assert agent.pid == pid
        seen.kept()
        stops_and_kept_its_secrets(agent)
    assert seen.health == {HTTPStatus.OK}


def stops_and_kept_its_secrets(agent: Agent) -> None:
    assert agent.stop() == 0
    assert agent.logs()[-1]["message"] == "stopped"
    text = agent.log.read_text()
    assert "Traceback" not in text
    assert "eyJ" not in text  # where every token of Kubernetes begins
    assert SECRET not in text


@contextmanager
def _asking_for_health(seen: Watched) -> Iterator[None]:
    done = threading.Event()

    def ask() -> None:
        while not done.wait(HEALTH_EVERY_SECONDS):
            seen.health.add(seen.agent.get("/healthz")[0])

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        yield
    finally:
        done.set()
        asking.join()


def _essence(gpu: GpuFacts) -> tuple[object, ...]:
    return gpu.index, gpu.mig, gpu.pods, gpu.mem_used_gb, gpu.health


def _foreign(annotations: dict[str, str]) -> dict[str, str]:
    return {key: text for key, text in annotations.items() if not is_ours(key)}
