"""The jobs of the benchmark and their pods, as users, controllers and agents write them. Pure.

Every fifth is an MPIJob, the others are Jobs; five pods each, with a GPU each. Pods are as large as
those of a real training job. The same in every run, but for times and uids.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from random import Random
from typing import Any

from cepheid.analysis.jobrules import JobKind
from cepheid.annotations.codec import encode_pod
from cepheid.annotations.facts import CycleFacts, ForecastFacts, PodFacts, PodGpuFacts

JOBS = 1000
WORKERS = 5
NODES = 50
END_NODES = 10
"""Those that end are on nodes of their own: Prometheus has only these."""
END_EVERY = 5
MPI_EVERY = 5
NAMESPACES = 20
IMAGE = "registry.example.com/team/training/llm-finetune:v1.2.3-cuda12.8"
VARIABLES = 20

Document = dict[str, Any]


@dataclass(frozen=True)
class Job:
    number: int
    ends: bool
    place: int
    """Among those that end, or among those that do not."""

    @property
    def name(self) -> str:
        return f"llm-finetune-{self.number:04}"

    @property
    def namespace(self) -> str:
        return f"team-{self.number % NAMESPACES:02}"

    @property
    def is_mpi(self) -> bool:
        return self.number % MPI_EVERY == 0

    @property
    def api_version(self) -> str:
        return "kubeflow.org/v1" if self.is_mpi else "batch/v1"

    @property
    def kind(self) -> str:
        return "MPIJob" if self.is_mpi else "Job"

    @property
    def path(self) -> str:
        plural = "mpijobs" if self.is_mpi else "jobs"
        return f"/apis/{self.api_version}/namespaces/{self.namespace}/{plural}"

    def workers(self) -> Iterator["Worker"]:
        return (Worker(self, rank) for rank in range(WORKERS))

    def document(self) -> Document:
        metadata = {"name": self.name, "labels": {"team": self.namespace, "user": f"user-{self}"}}
        kind = {"apiVersion": self.api_version, "kind": self.kind, "metadata": metadata}
        template = {"spec": {"restartPolicy": "Never", **pod_spec()}}
        if self.is_mpi:
            specs = {
                "Launcher": {"replicas": 1, "template": template},
                "Worker": {"replicas": WORKERS - 1, "template": template},
            }
            return {**kind, "spec": {"mpiReplicaSpecs": specs}}
        many = {"completions": WORKERS, "parallelism": WORKERS, "completionMode": "Indexed"}
        return {**kind, "spec": {**many, "template": template}}

    def begun(self) -> Document:
        """Its status, as its controller tells it."""
        if self.is_mpi:
            return {"startTime": moment(), "conditions": _conditions("Created", "Running")}
        return {"startTime": moment(), "active": WORKERS, "ready": WORKERS}

    def over(self) -> Document:
        if self.is_mpi:
            conditions = _conditions("Created", "Succeeded")
            return {"completionTime": moment(), "conditions": conditions}
        return {
            "completionTime": moment(),
            "conditions": _conditions("SuccessCriteriaMet", "Complete"),
            "active": 0,
            "ready": 0,
            "succeeded": WORKERS,
            "completedIndexes": f"0-{WORKERS - 1}",
        }

    def __str__(self) -> str:
        return f"{self.number:04}"


@dataclass(frozen=True)
class Worker:
    """One pod."""

    job: Job
    rank: int

    @property
    def name(self) -> str:
        if not self.job.is_mpi:
            return f"{self.job.name}-{self.rank}"
        return (
            f"{self.job.name}-worker-{self.rank - 1}" if self.rank else f"{self.job.name}-launcher"
        )

    @property
    def node(self) -> int:
        """Of one job no two are on the same."""
        return self._seat[1] if self.job.ends else END_NODES + self._seat[1]

    @property
    def gpu(self) -> int:
        """No other pod of its node has it, as if a node had a hundred."""
        return self._seat[0]

    @property
    def _seat(self) -> tuple[int, int]:
        nodes = END_NODES if self.job.ends else NODES - END_NODES
        return divmod(WORKERS * self.job.place + self.rank, nodes)

    @property
    def path(self) -> str:
        return f"/api/v1/namespaces/{self.job.namespace}/pods"

    def document(self, job_uid: str) -> Document:
        owner = {
            "apiVersion": self.job.api_version,
            "kind": self.job.kind,
            "name": self.job.name,
            "uid": job_uid,
            "controller": True,
            "blockOwnerDeletion": True,
        }
        metadata = {"name": self.name, "labels": self._labels(), "ownerReferences": [owner]}
        spec = {"nodeName": node_name(self.node), "restartPolicy": "Never", **pod_spec()}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}

    def annotations(self, turn: int) -> dict[str, str]:
        """The first time, and after each change: every figure is drawn anew, so some are higher."""
        draw = Random(f"{self.job.number} {self.rank} {turn}")  # noqa: S311 # no secret
        period = 60.0 + self.job.number % 60
        busy = draw.uniform(40, 100)
        facts = PodFacts(
            node=node_name(self.node),
            cpu_util_percent=draw.uniform(5, 95),
            cpu_mem_mb=draw.uniform(1_000, 60_000),
            network_mbps=draw.uniform(1, 20_000),
            disk_io_mbps=draw.uniform(1, 500),
            gpus=(PodGpuFacts(self.gpu, util_percent=busy, mem_mb=draw.uniform(1e4, 8e4)),),
            job_type=JobKind.TRAINING,
            cycle=CycleFacts(period, 0.9, "gpu_util", confirmed=True),
            forecast=ForecastFacts(600.0, 0.9 * busy, busy, draw.uniform(10, 80), 5.0),
        )
        return encode_pod(facts)

    def over(self, started: str) -> Document:
        """Its status, as its kubelet tells it."""
        ended = {"startedAt": started, "finishedAt": moment(), "exitCode": 0, "reason": "Completed"}
        container = {
            "name": "main",
            "image": IMAGE,
            "imageID": "",
            "ready": False,
            "restartCount": 0,
            "state": {"terminated": ended},
        }
        return {"phase": "Succeeded", "containerStatuses": [container]}

    def _labels(self) -> dict[str, str]:
        if not self.job.is_mpi:
            name, index = self.job.name, str(self.rank)
            batch = "batch.kubernetes.io"
            return {f"{batch}/job-name": name, f"{batch}/job-completion-index": index}
        role = "worker" if self.rank else "launcher"
        return {
            "training.kubeflow.org/job-name": self.job.name,
            "training.kubeflow.org/operator-name": "mpijob-controller",
            "training.kubeflow.org/replica-type": role,
            "training.kubeflow.org/replica-index": str(max(0, self.rank - 1)),
        }


def jobs(count: int = JOBS) -> list[Job]:
    """Those that end are of both kinds, and of all namespaces."""
    ends = [(number // MPI_EVERY) % END_EVERY == 0 for number in range(count)]
    return [Job(number, end, ends[:number].count(end)) for number, end in enumerate(ends)]


def node_name(number: int) -> str:
    return f"kwok-{number:04}"


def moment() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _conditions(*kinds: str) -> list[Document]:
    """The last one holds, and of a Job all."""
    at = moment()
    times = {"lastTransitionTime": at}
    return [{"type": kind, "status": "True", "reason": kind, **times} for kind in kinds]


def pod_spec() -> Document:
    """Of a pod as people write them, or their tools: variables, volumes, tolerations."""
    variables = [
        {"name": f"TRAINING_OPTION_{number}", "value": f"s3://datasets/team/shard-{number:04}"}
        for number in range(VARIABLES)
    ]
    resources = {"cpu": "8", "memory": "64Gi", "nvidia.com/gpu": "1"}
    container = {
        "name": "main",
        "image": IMAGE,
        "command": ["torchrun", "--nproc-per-node=1", "--rdzv-backend=c10d", "train.py"],
        "args": ["--model=llama-3-8b", "--epochs=3", "--batch-size=16", "--bf16", "--resume"],
        "env": variables,
        "resources": {"limits": resources, "requests": resources},
        "volumeMounts": [
            {"name": "data", "mountPath": "/data", "readOnly": True},
            {"name": "checkpoints", "mountPath": "/checkpoints"},
            {"name": "scratch", "mountPath": "/scratch"},
        ],
    }
    tolerations = [
        {"key": key, "operator": "Exists", "effect": "NoSchedule"}
        for key in ("kwok.x-k8s.io/node", "nvidia.com/gpu")
    ]
    volumes = [
        {"name": "data", "persistentVolumeClaim": {"claimName": "datasets", "readOnly": True}},
        {"name": "checkpoints", "persistentVolumeClaim": {"claimName": "checkpoints"}},
        {"name": "scratch", "emptyDir": {"medium": "Memory", "sizeLimit": "16Gi"}},
    ]
    return {"containers": [container], "volumes": volumes, "tolerations": tolerations}
