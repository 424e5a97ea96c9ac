"""A real API server and kwok with the whole fleet in it; agents and kubelets that write."""

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Self

from tests.bench.extender import fleet
from tests.bench.operator.crowd import Crowd
from tests.bench.operator.jobs import moment
from tests.cluster.pki import Authority, Pair
from tests.cluster.progress import wait_for
from tests.stage.api_server import LOOPBACK, ApiServer
from tests.stage.kwok import Kwok
from tests.stage.ours import Ours
from tests.stage.processes import free_port

LEASE_SECONDS = 2400
"""Nobody looks at leases here, and a thousand of them are a hundred writes a second."""
ANNOTATED_AN_HOUR = 2.0
"""Of a node: see the agent's benchmark."""
HEARTBEATS_AN_HOUR = 12.0
"""Of a node's status, by a kubelet that has nothing new to tell: every five minutes."""
PODS_A_NODE = 2
Talk = Callable[[str], None]
PROFILES = ("nobody", "with")
"""Of the pods that are asked about, and that the scheduler with the extender places: pods of others
it would pass over, and be faster than it is."""


@dataclass
class Filled:
    folder: Path
    api: ApiServer
    crowd: Crowd
    authority: Authority
    serving: Pair
    """What the extender shows to who asks."""
    nodes: list[str]
    """The uids, by number."""
    jobs: list[str]

    @property
    def names(self) -> list[str]:
        return [fleet.node_name(number) for number in range(len(self.nodes))]

    def annotate(self, number: int, turn: int) -> None:
        name = fleet.node_name(number)
        told = fleet.annotations(number, turn)
        self.crowd.annotate("/api/v1/nodes", name, self.nodes[number], told, "Node")

    def beat(self, number: int) -> None:
        at = moment()
        ready = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
        times = {"lastHeartbeatTime": at, "lastTransitionTime": at}
        path = f"/api/v1/nodes/{fleet.node_name(number)}"
        self.crowd.tell(path, {"conditions": [{**ready, **times, "message": ""}]})

    def extender(self, name: str, relist_seconds: float) -> "Extender":
        return Extender(self, name, relist_seconds)


class Extender(Ours):
    """With the rights of an administrator."""

    def __init__(self, made: Filled, name: str, relist_seconds: float) -> None:
        self.serves = free_port()
        super().__init__(
            "extender",
            made.folder / f"extender-{name}.log",
            made.api.admin.kubeconfig,
            {
                "serve": f"127.0.0.1:{self.serves}",
                "certificate_file": made.serving.certificate,
                "key_file": made.serving.key,
                "relist_seconds": relist_seconds,
                "profiles": ",".join(PROFILES),
            },
        )

    @property
    def is_ready(self) -> bool:
        return self.get("/readyz")[0] == HTTPStatus.OK

    def answered(self) -> int:
        """Questions, of both verbs."""
        counts = self.metrics()
        begin = "cepheid_extender_requests_total{"
        return round(sum(count for name, count in counts.items() if name.startswith(begin)))


@contextmanager
def filled(folder: Path, nodes: int, talk: Talk) -> Iterator[Filled]:
    """Nodes are ready and annotated, pods run on half of them."""
    authority = Authority(folder / "extender-pki")
    serving = authority.issue("extender", "cepheid-extender", addresses=[LOOPBACK])
    # The controller that would take the taint of a new node away is not there.
    flags = ["--disable-admission-plugins=TaintNodesByCondition"]
    with ApiServer(folder, flags) as api:
        kubeconfig = api.admin.kubeconfig
        api.install()
        crowd = Crowd(kubeconfig)
        made = Filled(folder, api, crowd, authority, serving, [], [])
        with Kwok(folder, kubeconfig, lease_seconds=LEASE_SECONDS):
            talk(f"{nodes:,} nodes of {fleet.GPUS} GPUs")
            made.nodes = crowd.each(
                partial(crowd.create, "/api/v1/nodes"), map(fleet.node, range(nodes))
            )
            crowd.each(lambda number: made.annotate(number, 0), range(nodes))
            wait_for("all nodes to be ready", lambda: _ready(api) == nodes, 300, 2)
            _work(made)
            talk("all nodes are ready and annotated")
            yield made
        crowd.close()


def _work(made: Filled) -> None:
    """Jobs, their earlier runs, and pods on half of the nodes."""
    api, crowd = made.api, made.crowd
    spaces = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": fleet.namespace(number)}}
        for number in range(fleet.NAMESPACES)
    ]
    api.admin.apply(*spaces)
    served = partial(api.admin, "api-resources", "--api-group=ai.centaurus.io", "--output=name")
    wait_for("JobProfiles to be served", lambda: "jobprofiles" in served())
    made.jobs = crowd.each(
        lambda number: crowd.create(
            f"/apis/batch/v1/namespaces/{fleet.namespace(number)}/jobs", fleet.job(number)
        ),
        range(fleet.SERIES),
    )
    crowd.each(
        lambda number: crowd.create(
            f"/apis/ai.centaurus.io/v1alpha1/namespaces/{fleet.namespace(number)}/jobprofiles",
            fleet.run(number),
        ),
        range(fleet.SERIES * fleet.RUNS),
    )
    crowd.each(partial(_occupy, made), range(len(made.nodes)))


def _occupy(made: Filled, number: int) -> None:
    """With one pod, of another series than its neighbour's."""
    gpus, place = fleet.held(number), number % fleet.SERIES
    if gpus:
        node = fleet.node_name(number)
        pod = fleet.gpu_pod(f"held-{number:04}", place, made.jobs[place], gpus, nodeName=node)
        made.crowd.create(f"/api/v1/namespaces/{fleet.namespace(place)}/pods", pod)


def _ready(api: ApiServer) -> int:
    said = api.admin("get", "nodes", "--no-headers")
    return sum(line.split()[1] == "Ready" for line in said.splitlines())


class Writers:
    """Agents and kubelets of all nodes: `with` they write, one after the other, at an even pace."""

    def __init__(self, made: Filled) -> None:
        self.annotated, self.beaten = 0, 0
        self._made = made
        self._order = list(range(len(made.nodes)))
        random.Random(1).shuffle(self._order)  # noqa: S311 # no secret
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=run, name="writers", daemon=True)
            for run in (self._annotate, self._beat)
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    @property
    def written(self) -> int:
        return self.annotated + self.beaten

    def burst(self, count: int) -> None:
        """So many agents at once, as when a large job begins."""
        turn = random.Random(self.annotated).getrandbits(32)  # noqa: S311
        self._made.crowd.each(lambda number: self._made.annotate(number, turn), self._order[:count])
        self.annotated += count

    def _annotate(self) -> None:
        for turn, number in self._paced(ANNOTATED_AN_HOUR):
            self._made.annotate(number, turn)
            self.annotated += 1

    def _beat(self) -> None:
        for _, number in self._paced(HEARTBEATS_AN_HOUR):
            self._made.beat(number)
            self.beaten += 1

    def _paced(self, an_hour: float) -> Iterator[tuple[int, int]]:
        begin, every, count = time.monotonic(), 3600 / an_hour / len(self._order), 0
        while not self._stop.wait(max(0.0, begin + every * count - time.monotonic())):
            turn, at = divmod(count, len(self._order))
            yield turn + 1, self._order[at]
            count += 1
