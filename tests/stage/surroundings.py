"""All of it together: a world, who measures it, and where the agent writes.

    with surroundings(folder) as stage:
        node = stage.add_node("gpu-a", gpus=2)
        pod = stage.add_pod(node, "team", "train")
        node.gpus[0].hold(pod, busy=Square(period_seconds=20), memory_mib=8192)
        stage.prometheus.start()
        with stage.agent("gpu-a", pass_seconds=1) as agent:
            ...

Prometheus is started by the test, because it scrapes the nodes that are there when it starts, and
may be given a past before.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.simgpu.silicon import REFERENCE
from tests.stage.agent import Agent
from tests.stage.api_server import ApiServer
from tests.stage.exporters import Exporters, exporters
from tests.stage.prometheus import Prometheus
from tests.stage.world import Node, Pod, World


@dataclass(frozen=True)
class Stage:
    folder: Path
    world: World
    exporters: Exporters
    prometheus: Prometheus
    api: ApiServer

    def add_node(self, name: str, gpus: int = 0, model: str = REFERENCE) -> Node:
        self.api.node(name)
        return self.world.add_node(name, gpus, model)

    def add_pod(self, node: Node, namespace: str, name: str) -> Pod:
        return self.add_pods(node, namespace, [name])[0]

    def add_pods(self, node: Node, namespace: str, names: Sequence[str]) -> list[Pod]:
        """In the API server and in the world, the same uid in both."""
        uids = self.api.pods(namespace, names, node.name)
        pods = [Pod(namespace, name, uids[name]) for name in names]
        node.pods += pods
        return pods

    def agent(self, node: str, **settings: object) -> Agent:
        """Not started yet; its rights are those of the product."""
        kubeconfig = self.api.agent_kubeconfig(node)
        return Agent(self.folder, node, self.prometheus.url, kubeconfig, settings)


@contextmanager
def surroundings(
    folder: Path,
    world: World | None = None,
    interval_seconds: float = 1.0,
    api_flags: Sequence[str] = (),
) -> Iterator[Stage]:
    """The product's rights and policies are installed; Prometheus does not run yet."""
    with ExitStack() as stack:
        served = stack.enter_context(exporters(world or World()))
        api = stack.enter_context(ApiServer(folder / "api", api_flags))
        api.install()
        prometheus = Prometheus(folder / "prometheus", served, interval_seconds)
        stack.callback(prometheus.close)
        yield Stage(folder, served.world, served, prometheus, api)
