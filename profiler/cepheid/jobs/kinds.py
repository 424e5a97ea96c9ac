"""Which kinds of jobs there are, and where in each of them things stand.

| kind | pod templates | is over when | its own deadline |
|---|---|---|---|
| MPIJob v1, v2beta1 | spec.mpiReplicaSpecs.<role> | Succeeded, Failed | spec.runPolicy |
| PyTorchJob | spec.pytorchReplicaSpecs.<role> | Succeeded, Failed | spec.runPolicy |
| TrainJob | none: spec.trainer changes those of its runtime | Complete, Failed | spec |
| JobSet | spec.replicatedJobs[].template.spec.template | Completed, Failed | its Jobs' |
| RayJob | spec.rayClusterSpec: head and worker groups | status.jobDeploymentStatus | spec |
| Volcano Job | spec.tasks[] | status.state.phase | none |
| Job | spec.template | Complete, Failed | spec |
| Pod | itself | status.phase | spec |

A kind is told by its group and name. Versions of one kind differ in nothing that is read here:
MPIJob v1 of the training operator and v2beta1 of the MPI operator have the same fields.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from cepheid.jobs import fields
from cepheid.jobs.fields import Raw

Path: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Template:
    """What some pods of a job are made from."""

    role: str | None
    replicas: int
    spec: Raw
    deadline_seconds: int | None = None
    """Of the Job around it, in a kind that makes Jobs."""


@dataclass(frozen=True, slots=True)
class Kind:
    group: str
    name: str
    templates: Callable[[Raw], Iterator[Template]]
    suspend: Path = ("spec", "suspend")
    deadline: Path = ("spec", "activeDeadlineSeconds")
    started: Path = ("status", "startTime")
    """Set anew when a suspended job goes on, so it is not when the job began."""
    ended: Path = ("status", "completionTime")
    succeeds: str = "Complete"
    """The condition, or the phase, that says so."""
    may_be_owned: bool = False
    """Whether another kind of this table makes such objects for its own use."""

    def is_suspended(self, job: Raw) -> bool:
        return fields.is_true(job, *self.suspend)

    def deadline_seconds(self, job: Raw) -> int | None:
        """Its own, or the first of those of the Jobs that it makes."""
        own = fields.count(job, *self.deadline)
        theirs = [template.deadline_seconds for template in self.templates(job)]
        return min((s for s in (own, *theirs) if s is not None), default=None)

    def started_at(self, job: Raw) -> datetime | None:
        return fields.moment(job, *self.started)

    def ended_at(self, job: Raw) -> datetime | None:
        return fields.moment(job, *self.ended)


def kind_of(thing: object) -> Kind | None:
    """Of an object or of a reference to one: both have apiVersion and kind."""
    return KINDS.get((group_of(thing), fields.name(thing, "kind") or ""))


def group_of(thing: object) -> str:
    version = fields.name(thing, "apiVersion") or ""
    return version.rpartition("/")[0]


def _replica_specs(key: str) -> Callable[[Raw], Iterator[Template]]:
    def templates(job: Raw) -> Iterator[Template]:
        for role, spec in fields.pairs(job, "spec", key):
            yield Template(role, _replicas(spec, "replicas"), fields.part(spec, "template", "spec"))

    return templates


def _of_trainer(job: Raw) -> Iterator[Template]:
    """Not the whole of it: the rest stands in a runtime, which others may change."""
    trainer = fields.part(job, "spec", "trainer")
    container = {key: trainer[key] for key in ("image", "command", "args", "env") if key in trainer}
    spec = {
        "containers": [
            {"name": "trainer", **container, "resources": fields.part(trainer, "resourcesPerNode")}
        ],
        "runtimeRef": fields.value(job, "spec", "runtimeRef"),
        "initializer": fields.value(job, "spec", "initializer"),
    }
    yield Template("trainer", _replicas(trainer, "numNodes"), spec)


def _of_job_set(job: Raw) -> Iterator[Template]:
    for child in fields.items(job, "spec", "replicatedJobs"):
        replicas = _replicas(child, "replicas")
        within = fields.part(child, "template", "spec")
        parallel = _replicas(within, "parallelism")
        yield Template(
            fields.name(child, "name"),
            replicas * parallel,
            fields.part(within, "template", "spec"),
            fields.count(within, "activeDeadlineSeconds"),
        )


def _of_ray(job: Raw) -> Iterator[Template]:
    cluster = fields.part(job, "spec", "rayClusterSpec")
    if head := fields.part(cluster, "headGroupSpec", "template", "spec"):
        yield Template("head", 1, head)
    for group in fields.items(cluster, "workerGroupSpecs"):
        replicas = _replicas(group, "replicas") * _replicas(group, "numOfHosts")
        yield Template("worker", replicas, fields.part(group, "template", "spec"))


def _of_tasks(job: Raw) -> Iterator[Template]:
    for task in fields.items(job, "spec", "tasks"):
        role = fields.name(task, "name")
        spec = fields.part(task, "template", "spec")
        yield Template(role, _replicas(task, "replicas"), spec)


def _of_job(job: Raw) -> Iterator[Template]:
    parallel = _replicas(fields.part(job, "spec"), "parallelism")
    yield Template(None, parallel, fields.part(job, "spec", "template", "spec"))


def _of_pod(pod: Raw) -> Iterator[Template]:
    yield Template(None, 1, fields.part(pod, "spec"))


def _replicas(thing: object, key: str) -> int:
    """1 where nothing is said, which is every one of these kinds' own default."""
    found = fields.count(thing, key)
    return 1 if found is None else found


_NOWHERE: Path = ()

MPI_JOB, PYTORCH_JOB = (
    Kind(
        "kubeflow.org",
        name,
        _replica_specs(key),
        suspend=("spec", "runPolicy", "suspend"),
        deadline=("spec", "runPolicy", "activeDeadlineSeconds"),
        succeeds="Succeeded",
    )
    for name, key in (("MPIJob", "mpiReplicaSpecs"), ("PyTorchJob", "pytorchReplicaSpecs"))
)
TRAIN_JOB = Kind("trainer.kubeflow.org", "TrainJob", _of_trainer, started=_NOWHERE, ended=_NOWHERE)
JOB_SET = Kind(
    "jobset.x-k8s.io",
    "JobSet",
    _of_job_set,
    deadline=_NOWHERE,
    started=_NOWHERE,
    ended=_NOWHERE,
    succeeds="Completed",
    may_be_owned=True,
)
RAY_JOB = Kind("ray.io", "RayJob", _of_ray, ended=("status", "endTime"))
VOLCANO_JOB = Kind(
    "batch.volcano.sh",
    "Job",
    _of_tasks,
    suspend=_NOWHERE,
    deadline=_NOWHERE,
    started=_NOWHERE,
    ended=_NOWHERE,
    succeeds="Completed",
)
JOB = Kind("batch", "Job", _of_job, may_be_owned=True)
POD = Kind("", "Pod", _of_pod, suspend=_NOWHERE, ended=_NOWHERE, succeeds="Succeeded")

KINDS = {
    (kind.group, kind.name): kind
    for kind in (MPI_JOB, PYTORCH_JOB, TRAIN_JOB, JOB_SET, RAY_JOB, VOLCANO_JOB, JOB, POD)
}
