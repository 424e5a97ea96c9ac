"""A real API server, kwok and Prometheus with all the jobs in it, and agents that write."""

import json
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from tests.bench.agent.loads import about
from tests.bench.operator.audit import Audit
from tests.bench.operator.crowd import Crowd
from tests.bench.operator.jobs import END_NODES, NODES, WORKERS, Job, Worker, node_name
from tests.cluster.addons import add_kwok_nodes
from tests.cluster.binaries import binaries
from tests.cluster.progress import wait_for
from tests.simgpu.inventory import MAX_GPUS
from tests.stage.kwok import Kwok
from tests.stage.levels import Square
from tests.stage.surroundings import Stage, surroundings
from tests.stage.world import Gpu, Node, Pod, World

STEP_SECONDS = 15.0
WRITES_AN_HOUR = 2.0
"""Of a pod whose figures move: its agent tells twice an hour, and up to ten times of news."""
MPI_JOBS = binaries() / "share/training-operator/base/crds/kubeflow.org_mpijobs.yaml"
Talk = Callable[[str], None]


@dataclass
class Filled:
    stage: Stage
    audit: Audit
    crowd: Crowd
    jobs: Sequence[Job]
    uids: dict[Job, str] = field(default_factory=dict)
    pod_uids: dict[Worker, str] = field(default_factory=dict)
    started: dict[tuple[str, str], str] = field(default_factory=dict)
    """By namespace and name, of pods."""

    @property
    def workers(self) -> list[Worker]:
        return [worker for job in self.jobs for worker in job.workers()]

    def pod_bytes(self) -> int:
        """Of one, as JSON: which is what each watcher is sent."""
        pod = next(self.crowd.items(self.workers[-1].path))
        return len(json.dumps(pod, separators=(",", ":")))


@contextmanager
def filled(folder: Path, jobs: Sequence[Job], talk: Talk) -> Iterator[Filled]:
    """All pods run, with what their agents said first; Prometheus scrapes those that will end."""
    world = World(gpus_every_seconds=STEP_SECONDS)
    audit = Audit(folder / "audit")
    with surroundings(folder, world, STEP_SECONDS, audit.flags()) as stage:
        crowd = Crowd(stage.api.admin.kubeconfig)
        made = Filled(stage, audit, crowd, jobs)
        with Kwok(folder, stage.api.admin.kubeconfig):
            talk(f"{len(jobs):,} jobs with {WORKERS * len(jobs):,} pods on {NODES} nodes")
            _submit(made)
            _measure(made)
            talk("all pods run")
            yield made
        crowd.close()


def _submit(made: Filled) -> None:
    admin, crowd = made.stage.api.admin, made.crowd
    admin("apply", "--server-side", f"--filename={MPI_JOBS}")
    served = partial(admin, "api-resources", "--api-group=kubeflow.org", "--output=name")
    wait_for("MPIJobs to be served", lambda: "mpijobs" in served())
    spaces = sorted({job.namespace for job in made.jobs})
    admin.apply(
        *({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in spaces)
    )
    add_kwok_nodes(admin, NODES)
    made.uids = dict(crowd.each(partial(_begin, crowd), made.jobs))
    create = partial(_create, made)
    made.pod_uids = dict(crowd.each(create, made.workers))
    wait_for("all pods to run", lambda: _all_run(made, spaces), 300, 2)
    crowd.each(lambda worker: _annotate(made, worker, 0), made.workers)


def _begin(crowd: Crowd, job: Job) -> tuple[Job, str]:
    uid = crowd.create(job.path, job.document())
    crowd.tell(f"{job.path}/{job.name}", job.begun())
    return job, uid


def _create(made: Filled, worker: Worker) -> tuple[Worker, str]:
    return worker, made.crowd.create(worker.path, worker.document(made.uids[worker.job]))


def _all_run(made: Filled, namespaces: Sequence[str]) -> bool:
    for namespace in namespaces:
        for pod in made.crowd.items(f"/api/v1/namespaces/{namespace}/pods"):
            for status in pod["status"].get("containerStatuses", ()):
                started = status["state"]["running"]["startedAt"]
                made.started[namespace, pod["metadata"]["name"]] = started
    return len(made.started) == len(made.workers)


def _annotate(made: Filled, worker: Worker, turn: int) -> None:
    uid, told = made.pod_uids[worker], worker.annotations(turn)
    made.crowd.annotate(worker.path, worker.name, uid, told)


def _measure(made: Filled) -> None:
    """Puts the pods that will end into the world, each with a GPU of its own."""
    world, now = made.stage.world, time.time()
    nodes = [world.add_node(node_name(number), MAX_GPUS) for number in range(END_NODES)]
    for job in made.jobs:
        for worker in job.workers() if job.ends else ():
            node = nodes[worker.node]
            pod = Pod(job.namespace, worker.name, made.pod_uids[worker], since=now)
            pod.cores.become(about(4.0, 0.2, job.number, now), now)
            node.pods.append(pod)
            busy = Square(60.0 + job.number % 60, duty=0.75, phase_seconds=job.number)
            _gpu(node, worker.gpu).hold(pod, busy, memory_mib=40_000, since=now)
    made.stage.prometheus.start()


def _gpu(node: Node, index: int) -> Gpu:
    """No board has as many as our nodes need."""
    while len(node.gpus) <= index:
        more = len(node.gpus)
        like = node.gpus[more % MAX_GPUS].hardware
        uuid = f"{like.uuid[:-3]}{more:03}"
        devices = tuple(replace(device, uuid=uuid) for device in like.devices)
        node.gpus.append(Gpu(replace(like, index=more, uuid=uuid, devices=devices)))
    return node.gpus[index]


class Agents:
    """Those of all nodes: `with` they write, one pod after the other, at an even pace."""

    def __init__(self, made: Filled) -> None:
        self.writes = 0
        self._made = made
        self._workers = made.workers
        random.Random(1).shuffle(self._workers)  # noqa: S311 # no secret
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="agents", daemon=True)

    @property
    def writes_per_second(self) -> float:
        return len(self._workers) * WRITES_AN_HOUR / 3600

    def __enter__(self) -> "Agents":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        begin, every = time.monotonic(), 1 / self.writes_per_second
        while not self._stop.wait(max(0.0, begin + every * self.writes - time.monotonic())):
            turn, at = divmod(self.writes, len(self._workers))
            _annotate(self._made, self._workers[at], turn + 1)
            self.writes += 1
