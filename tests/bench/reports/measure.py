"""CPU and memory of each command, and what it asks of an API server."""

import os
import re
import subprocess
import sysconfig
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cepheid.annotations.codec import encode_node, encode_pod
from cepheid.annotations.facts import (
    ForecastFacts,
    GpuFacts,
    NodeFacts,
    PodFacts,
    PodGpuFacts,
    StaticFacts,
)
from cepheid.history import History
from tests.bench.history.jobs import profiles
from tests.bench.operator.crowd import Crowd, Document
from tests.cluster.progress import wait_for
from tests.stage.api_server import ApiServer
from tests.stage.kwok import Kwok

CEPHEID = Path(sysconfig.get_path("scripts")) / "cepheid"
GPUS = 8
NODE_CAPACITY = {"cpu": "64", "memory": "512Gi", "pods": "110", "nvidia.com/gpu": str(GPUS)}
EVER = "2000-01-01"
REPORTS: Mapping[str, Sequence[str]] = {
    "check": ("check",),
    "check --all": ("check", "--all"),
    "rightsize": ("rightsize", "--limit", "100000"),
    "hogs": ("hogs", "--since", EVER),
    "scale": ("scale",),
    "usage": ("usage",),
    "usage --by hour": ("usage", "--by", "hour"),
    "usage --by node": ("usage", "--by", "node"),
    "usage --heatmap": ("usage", "--heatmap"),
    "usage --forecast 7d": ("usage", "--forecast", "7d"),
    "stats": ("stats",),
    "report": ("report", "--since", EVER),
}
TOP = "top --once"
Talk = Callable[[str], None]


@dataclass(frozen=True)
class Cost:
    cpu_seconds: float
    peak_bytes: float
    seconds: float
    """Until it ended: what its user waits for."""


@dataclass
class Measured:
    jobs: int
    nodes: int
    costs: dict[str, Cost] = field(default_factory=dict)
    requests: int = 0
    """Lists of nodes and pods that `cepheid top --once` asked for."""
    empty: Cost | None = None
    """Of a command that does nothing: what it takes to start one."""


def measure(jobs: int, nodes: int, talk: Talk) -> Measured:
    found = Measured(jobs, nodes)
    with tempfile.TemporaryDirectory() as folder:
        _of_history(found, Path(folder), talk)
    with tempfile.TemporaryDirectory() as folder:
        _of_cluster(found, Path(folder), talk)
    return found


def _of_history(found: Measured, folder: Path, talk: Talk) -> None:
    talk(f"{found.jobs:,} jobs into a history")
    path = folder / "history.db"
    with History.open(path) as history:
        history.keep(profiles(found.jobs))
    found.empty = cost(["--version"], {})
    for name, command in REPORTS.items():
        talk(name)
        found.costs[name] = cost([*command, "--history", str(path)], {}, folder)


def _of_cluster(found: Measured, folder: Path, talk: Talk) -> None:
    with ApiServer(folder) as api, Kwok(folder, api.admin.kubeconfig):
        talk(f"{found.nodes:,} nodes of kwok")
        crowd = Crowd(api.admin.kubeconfig)
        space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "research"}}
        api.admin.apply(space)
        names = [f"gpu-{number:04d}" for number in range(found.nodes)]
        crowd.each(lambda name: crowd.create("/api/v1/nodes", _node(name)), names)
        crowd.each(lambda name: crowd.create("/api/v1/namespaces/research/pods", _pod(name)), names)
        wait_for("all pods to run", lambda: _running(api) == found.nodes, 300, 2)
        talk(TOP)
        config = {"KUBECONFIG": str(api.admin.kubeconfig)}
        before = _lists(api)
        found.costs[TOP] = cost(["top", "gpus", "--once"], config)
        found.requests = (_lists(api) - before) // 2
        crowd.close()


def _lists(api: ApiServer) -> int:
    """Of nodes and pods, as the API server itself counts them."""
    asked = re.findall(
        r'(?m)^apiserver_request_total\{(?=.*resource="(?:nodes|pods)")(?=.*verb="LIST").*\} (\d+)',
        api.admin("get", "--raw=/metrics"),
    )
    return sum(map(int, asked))


def _running(api: ApiServer) -> int:
    named = api.admin.within("research")(
        "get", "pods", "--field-selector=status.phase=Running", "--output=name"
    )
    return len(named.split())


def _node(name: str) -> Document:
    until = datetime.now(UTC) + timedelta(hours=2)
    gpus = tuple(
        GpuFacts(
            index,
            mem_used_gb=40.0 + index,
            mem_free_gb=40.0 - index,
            pods=1,
            max_gpu_util_percent=100,
            forecast=ForecastFacts(600, util_mean_percent=80, util_p95_percent=99, mem_peak_gb=60),
        )
        for index in range(GPUS)
    )
    static = StaticFacts(GPUS, "NVIDIA A100-SXM4-80GB", 80)
    facts = NodeFacts(static=static, gpus=gpus, free_gpu_score=20, valid_until=until)
    annotations = {"kwok.x-k8s.io/node": "fake", **encode_node(facts)}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "annotations": annotations},
        "status": {"capacity": NODE_CAPACITY, "allocatable": NODE_CAPACITY},
    }


def _pod(node: str) -> Document:
    gpus = tuple(PodGpuFacts(index, util_percent=80, mem_mb=40_000) for index in range(GPUS))
    annotations = encode_pod(PodFacts(node=node, cpu_mem_mb=20_000, gpus=gpus))
    container = {"name": "main", "image": "registry.example.com/team/train:v1"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"train-{node}", "annotations": annotations},
        "spec": {"containers": [container], "nodeName": node},
    }


def cost(command: Sequence[str], more: Mapping[str, str], folder: Path | None = None) -> Cost:
    """By `time`: of a child of ours the kernel would count our own memory too.

    `folder`: where it is run, and leaves its page if it makes one.
    """
    with tempfile.NamedTemporaryFile("r") as told:
        timed = ["/usr/bin/time", "--format=%U %S %M %e", f"--output={told.name}"]
        timed += [str(CEPHEID), *command]
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", **more}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        # Twice, since pip compiles what it installs: the first one does that here.
        for _ in range(2):
            done = subprocess.run(
                timed, env=environment, cwd=folder, capture_output=True, text=True, check=False
            )
            if done.returncode:
                raise RuntimeError(f"cepheid {' '.join(command)}: {done.stderr}")
        user, system, peak_kib, seconds = map(float, told.read().split())
    return Cost(user + system, 1024.0 * peak_kib, seconds)
