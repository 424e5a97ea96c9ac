"""What kubelets and GPUs do with a pod: they let it run, with a pulse, and end it.

kwok's nodes are ready and beat. What becomes of pods on them is played here, because a trial rests
on more than that they run: on deadlines, on the time that a pod takes to end, on how a node is
lost, and on GPUs whose load repeats with every iteration.
"""

import math
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self, TypeVar

from lightkube import Client
from lightkube.generic_resource import create_namespaced_resource
from lightkube.types import PatchType

from cepheid.annotations.api import ApiServer, connect
from cepheid.errors import ApiError, GoneError
from cepheid.placementtrial import Placement
from tests.stage.levels import Square
from tests.stage.world import Gpu, Node, Pod, World

GPU = "nvidia.com/gpu"
LOOK_SECONDS = 0.3
LOW = 0.05
"""Load of a GPU in the second half of each iteration."""
PODS = create_namespaced_resource("", "v1", "Pod", "pods")
JOBS = create_namespaced_resource("batch", "v1", "Job", "jobs")
Raw = Mapping[str, Any]
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Fate:
    """What becomes of one pod."""

    period_seconds: float | None = None
    """Of its GPUs' load; None for load without a pulse."""
    memory_mib: float = 8000.0
    starts_after_seconds: float = 0.0
    """inf: it never does."""
    fails_after_seconds: float = math.inf
    exit_code: int = 1
    message: str = ""
    ignores_signals: bool = False
    """It ends when it is killed: when its grace period is over."""


Play = Callable[[Placement, int], Fate]
"""What becomes of the pods of the n-th job of a placement."""


@dataclass
class Held:
    """GPUs, by one pod: from when the kubelet took it to when it was over."""

    job: str
    placement: Placement
    fate: Fate
    deadline_seconds: float
    gpus: list[Gpu]
    count: int
    since: float = field(default_factory=time.time)
    started: float | None = None
    until: float | None = None
    untold: Mapping[str, object] = field(default_factory=dict)
    """Of its status: the API server did not take it yet."""

    def gpu_seconds(self) -> float:
        return self.count * ((self.until or time.time()) - self.since)


class Trainers:
    """A thread while it is entered. Who reads `held` sees all pods that ever were."""

    def __init__(self, world: World, kubeconfig: Path) -> None:
        self._world = world
        self._server = ApiServer(lambda: connect(str(kubeconfig)))
        self._eyes, self._looking = ApiServer(lambda: connect(str(kubeconfig))), threading.Lock()
        self.plays: dict[str, Play] = {}
        """By namespace: pods of others are not touched."""
        self.lost: set[str] = set()
        """Nodes whose kubelets are gone."""
        self.held: dict[str, dict[str, Held]] = {}
        """By namespace and uid of the pod."""
        self._order: dict[str, dict[str, Placement]] = {}
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, name="trainers")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()
        self._server.close()
        self._eyes.close()

    def look(self, question: Callable[[Client], T]) -> T:
        """For who wants to see often what came of it: kubectl would take half of the machine."""
        with self._looking:
            return self._eyes.ask("looking", question)

    def _run(self) -> None:
        while not self._done.wait(LOOK_SECONDS):
            try:
                self._tend_all()
            except ApiError:
                continue  # kubelets wait, and go on

    def _tend_all(self) -> None:
        jobs = {one["metadata"]["uid"]: one for one in self._list(JOBS)}
        pods = [one for one in self._list(PODS) if one["metadata"]["namespace"] in self.plays]
        there = {one["metadata"]["uid"] for one in pods}
        nodes = {node.name: node for node in self._world.nodes}
        for pod in pods:
            node = nodes.get(pod["spec"].get("nodeName", ""))
            if node is not None and node.name not in self.lost:
                self._tend(pod, node, jobs)
        for of_one in self.held.values():
            for uid, held in of_one.items():
                if uid not in there:
                    _release(held)

    def _everyone(self) -> list[Held]:
        return [held for of_one in self.held.values() for held in of_one.values()]

    def _list(self, resource: Any) -> list[Raw]:
        return self._server.ask("listing", lambda client: [*client.list(resource, namespace="*")])

    def _tend(self, pod: Raw, node: Node, jobs: Mapping[str, Raw]) -> None:
        metadata = pod["metadata"]
        of_one = self.held.setdefault(metadata["namespace"], {})
        held = of_one.get(metadata["uid"])
        if held is None:
            if pod["status"].get("phase") == "Pending":
                held = of_one[metadata["uid"]] = self._accept(pod, node, jobs)
                self._tell(pod, held, {"startTime": _moment()})
            return
        if held.untold:
            self._tell(pod, held, {})
        now, asked = time.time(), metadata.get("deletionTimestamp")
        if asked is not None:
            if held.fate.ignores_signals and now < datetime.fromisoformat(asked).timestamp():
                return
            self._end(pod, held, "Failed", 143, "")
            self._ask(lambda client: client.delete(PODS, **_where(pod), grace_period=0))
        elif held.until is not None:
            return
        elif held.started is None:
            if now - held.since >= held.fate.starts_after_seconds:
                self._start(pod, held)
        elif now - held.started >= held.fate.fails_after_seconds:
            self._end(pod, held, "Failed", held.fate.exit_code, held.fate.message)
        if held.until is None and now - held.since >= held.deadline_seconds:
            words = "Pod was active on the node longer than the specified deadline"
            self._end(pod, held, "Failed", 137, "", reason="DeadlineExceeded", message=words)

    def _accept(self, pod: Raw, node: Node, jobs: Mapping[str, Raw]) -> Held:
        namespace, spec = pod["metadata"]["namespace"], pod["spec"]
        (owner,) = pod["metadata"].get("ownerReferences", [{"name": "-", "uid": "-"}])
        job = jobs.get(owner["uid"], {"spec": {}})
        limits = [one.get("resources", {}).get("limits", {}) for one in spec["containers"]]
        count = sum(int(one.get(GPU, 0)) for one in limits)
        placement = Placement(
            gpu_type=node.gpus[0].hardware.model.name.replace(" ", "-"),
            gpus_per_worker=max(1, count),
            workers=job["spec"].get("parallelism", 1),
        )
        order = self._order.setdefault(namespace, {})
        order[owner["uid"]] = placement
        number = [uid for uid, one in order.items() if one == placement].index(owner["uid"]) + 1
        taken = [gpu for one in self._everyone() if one.until is None for gpu in one.gpus]
        free = [gpu for gpu in node.gpus if not any(gpu is one for one in taken)][:count]
        return Held(
            job=owner["name"],
            placement=placement,
            fate=self.plays[namespace](placement, number),
            deadline_seconds=spec.get("activeDeadlineSeconds", math.inf),
            gpus=free,
            count=count,
        )

    def _start(self, pod: Raw, held: Held) -> None:
        held.started = time.time()
        metadata, fate = pod["metadata"], held.fate
        owner = Pod(metadata["namespace"], metadata["name"], metadata["uid"])
        busy = 0.5 if fate.period_seconds is None else Square(fate.period_seconds, low=LOW)
        for gpu in held.gpus:
            gpu.hold(owner, busy=busy, memory_mib=fate.memory_mib)
        ready = [
            {"type": kind, "status": "True"} for kind in ("Initialized", "ContainersReady", "Ready")
        ]
        state = {"running": {"startedAt": _moment(held.started)}}
        told = {"phase": "Running", "conditions": ready, "podIP": "10.0.0.1"}
        self._tell(pod, held, told | {"containerStatuses": _containers(pod, state)})

    def _end(
        self, pod: Raw, held: Held, phase: str, exit_code: int, said: str, **status: object
    ) -> None:
        if held.until is None:
            _release(held)
            ended = {"exitCode": exit_code, "message": said, "finishedAt": _moment()}
            if held.started is not None:
                ended["startedAt"] = _moment(held.started)
            told = {"phase": phase, "containerStatuses": _containers(pod, {"terminated": ended})}
            self._tell(pod, held, told | status)

    def _tell(self, pod: Raw, held: Held, status: Mapping[str, object]) -> None:
        """With what could not be told before."""
        held.untold = {**held.untold, **status}
        where = {**_where(pod), "patch_type": PatchType.STRATEGIC}
        self._ask(lambda client: client.patch(PODS.Status, obj={"status": held.untold}, **where))
        held.untold = {}

    def _ask(self, question: Callable[[Any], object]) -> None:
        try:
            self._server.ask("playing a kubelet", question)
        except GoneError:
            return


def _release(held: Held) -> None:
    if held.until is None:
        held.until = time.time()
        if held.started is not None:
            for gpu in held.gpus:
                gpu.release()


def _containers(pod: Raw, state: Mapping[str, object]) -> list[dict[str, object]]:
    return [
        {
            "name": one["name"],
            "image": one["image"],
            "imageID": "",
            "ready": "running" in state,
            "restartCount": 0,
            "state": state,
        }
        for one in pod["spec"]["containers"]
    ]


def _where(pod: Raw) -> dict[str, str]:
    return {"name": pod["metadata"]["name"], "namespace": pod["metadata"]["namespace"]}


def _moment(seconds: float | None = None) -> str:
    at = datetime.now(UTC) if seconds is None else datetime.fromtimestamp(seconds, UTC)
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")
