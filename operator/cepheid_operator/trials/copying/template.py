"""The user's job as it stands: what it runs, by how many, on which GPUs.

It is read from an object that anybody may have written. What cannot be tried is refused here, in
words that its owner can act on; everything after this may rely on what was found.

| kind | its workers | beside them |
|---|---|---|
| MPIJob v1, v2beta1 | spec.mpiReplicaSpecs.Worker | Launcher |
| PyTorchJob | spec.pytorchReplicaSpecs: Master and Worker, as far as they hold GPUs | - |
| Job | spec.template, spec.parallelism times | - |

A slice of a GPU (`nvidia.com/mig-1g.5gb`) is as good as a whole one: its resource is kept.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

from cepheid.jobs import fields
from cepheid.jobs.fields import Raw
from cepheid.jobs.gpu_names import is_gpu
from cepheid.jobs.lineage import template_of
from cepheid.placementtrial import JobToTry, TrialError
from cepheid.units import quantity
from cepheid_operator.trials.copying.shape import check_pod, plain

JOBS = {
    ("kubeflow.org/v1", "MPIJob"): "mpiReplicaSpecs",
    ("kubeflow.org/v2beta1", "MPIJob"): "mpiReplicaSpecs",
    ("kubeflow.org/v1", "PyTorchJob"): "pytorchReplicaSpecs",
    ("batch/v1", "Job"): None,
}
"""What can be tried, and where its roles stand."""
ROLES = {"MPIJob": ("Launcher", "Worker"), "PyTorchJob": ("Master", "Worker")}
MOST_WORKERS, MOST_GPUS = 1024, 64
"""As a placement has them."""
TRIAL_OWNER = "PlacementTrial"


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """Some of the job's pods, all made from one template."""

    name: str
    """As the job has it: Worker, Master, Launcher; `Worker` for a Job."""
    replicas: int
    pod: Raw
    """The pod template: metadata and spec."""
    gpus: int
    """Of each of its pods."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    document: Raw
    """The whole job, of plain types and without nulls."""
    api_version: str
    kind: str
    name: str | None
    """None for one that stands in the PlacementTrial itself and has none."""
    digest: str
    """Of what it runs: the same as in its JobProfiles. Counts of pods, suspension, labels,
    annotations and status are not in it."""
    roles: tuple[Role, ...]
    gpu_resource: str
    workers: int
    gpus_per_worker: int
    gpu_type: str | None
    """If its own node selector or affinity names one."""

    @property
    def gpus(self) -> int:
        return self.workers * self.gpus_per_worker

    @property
    def worker_roles(self) -> tuple[Role, ...]:
        return tuple(role for role in self.roles if role.gpus)


def inline(job: JobToTry, namespace: str) -> Raw | None:
    """The job that stands in the PlacementTrial itself, as if it had been made; None without one.

    Raises TrialError for one of another namespace or kind than it is said to be.
    """
    if job.template is None:
        return None
    said = {"apiVersion": job.api_version, "kind": job.kind}
    for key, meant in said.items():
        if job.template.get(key) not in (None, meant):
            _refuse(
                f"spec.job.template has another {key} than spec.job, which has {meant}",
                f"take {key} out of the template",
            )
    there = fields.value(job.template, "metadata", "namespace")
    if there not in (None, namespace):
        _refuse(
            f"spec.job.template is of another namespace than its PlacementTrial, {namespace}",
            "make the PlacementTrial in the namespace where the job belongs",
        )
    return {**job.template, **said}


def read(document: Raw, *, type_label: str) -> Template:
    """Raises TrialError for what cannot be tried."""
    document = plain(document)
    key = (fields.name(document, "apiVersion") or "-", fields.name(document, "kind") or "-")
    if key not in JOBS:
        _refuse(
            f"{key[1]} of {key[0]} cannot be tried",
            "MPIJob of kubeflow.org/v1 or v2beta1, PyTorchJob of kubeflow.org/v1 or Job of batch/v1"
            " can be",
        )
    if any(
        one.get("kind") == TRIAL_OWNER
        for one in fields.items(document, "metadata", "ownerReferences")
    ):
        _refuse("this job is itself a trial", "name the job that it is a copy of")
    roles = tuple(_roles(document, *key))
    resource = _the_resource(roles)
    workers = _workers(key[1], roles)
    name = fields.name(document, "metadata", "name")
    _refuse_addresses(key[1], name, roles)
    digest = template_of(document)
    if digest is None:
        _refuse("the job says nothing of what it runs", "give its pods a spec")
    holding = [role for role in roles if role.gpus]
    return Template(
        document=document,
        api_version=key[0],
        kind=key[1],
        name=name,
        digest=digest,
        roles=roles,
        gpu_resource=resource,
        workers=workers,
        gpus_per_worker=holding[0].gpus,
        gpu_type=_gpu_type(holding[0].pod, type_label),
    )


def gpu_amounts(container: Raw) -> dict[str, int | None]:
    """By resource; None where it is no whole number. A limit is a request too."""
    found: dict[str, int | None] = {}
    for kind in ("requests", "limits"):
        for resource, given in fields.pairs(container, "resources", kind):
            if is_gpu(resource):
                found[resource] = _whole(given)
    return {resource: count for resource, count in found.items() if count != 0}


def _roles(document: Raw, api_version: str, kind: str) -> Iterator[Role]:
    spec_key = JOBS[api_version, kind]
    if spec_key is None:
        spec = fields.part(document, "spec")
        replicas = fields.count(spec, "parallelism")
        yield _role("Worker", 1 if replicas is None else replicas, spec, "spec")
        return
    specs = dict(fields.pairs(document, "spec", spec_key))
    for name, found in specs.items():
        where = f"spec.{spec_key}.{name[:40]}"
        if name not in ROLES[kind]:
            _refuse(f"{where} is no role of a {kind}", f"its roles are {', '.join(ROLES[kind])}")
        replicas = fields.count(found, "replicas")
        yield _role(name, 1 if replicas is None else replicas, found, where)


def _role(name: str, replicas: int, spec: object, where: str) -> Role:
    pod = fields.part(spec, "template")
    check_pod(pod, f"{where}.template")
    held: dict[str, int | None] = {}
    for container in _containers(pod):
        amounts = gpu_amounts(container)
        if held and amounts:
            _refuse(
                f"{where}.template holds GPUs in more than one container",
                "a trial changes how many GPUs one container has: leave them to one",
            )
        held |= amounts
    if len(held) > 1:
        _refuse(
            f"{where}.template holds GPUs of more than one resource: {', '.join(sorted(held))}",
            "a trial changes the number of one resource: ask for one",
        )
    for resource, count in held.items():
        if count is None or count > MOST_GPUS:
            _refuse(
                f"{where}.template asks for a number of {resource} that is not one of 1 to"
                f" {MOST_GPUS}",
                "GPUs are counted in whole numbers",
            )
    return Role(
        name=name,
        replicas=replicas,
        pod=pod,
        gpus=next((count for count in held.values() if count), 0),
    )


def _containers(pod: Raw) -> Iterator[Raw]:
    yield from fields.items(pod, "spec", "initContainers")
    yield from fields.items(pod, "spec", "containers")


def _the_resource(roles: tuple[Role, ...]) -> str:
    found = {
        resource
        for role in roles
        for container in _containers(role.pod)
        for resource in gpu_amounts(container)
    }
    if not found:
        _refuse(
            "no worker of the job asks for a GPU",
            "set resources.limits of its container, such as nvidia.com/gpu: 1",
        )
    if len(found) > 1:
        _refuse(
            f"the job's pods hold GPUs of more than one resource: {', '.join(sorted(found))}",
            "a trial changes the number of one resource: ask for one",
        )
    return found.pop()


def _workers(kind: str, roles: tuple[Role, ...]) -> int:
    """How many pods hold GPUs: all the same, and of roles that can be made more or fewer."""
    holding = [role for role in roles if role.gpus]
    names = {role.name for role in holding}
    if kind == "MPIJob" and names != {"Worker"}:
        _refuse(
            f"of a MPIJob the Worker holds GPUs and nobody else; here it is {_listed(names)}",
            "leave the GPUs to spec.mpiReplicaSpecs.Worker",
        )
    if kind == "PyTorchJob":
        if names == {"Master"} and len(roles) > 1:
            _refuse(
                "the Master holds GPUs and the Worker does not",
                "which of them is to be made more? leave the GPUs to both, or to the Worker",
            )
        if any(role.name == "Master" and role.replicas != 1 for role in roles):
            _refuse("a PyTorchJob has one Master", "set spec.pytorchReplicaSpecs.Master.replicas 1")
    if len({role.gpus for role in holding}) > 1:
        _refuse(
            "the job's Master and Worker hold different numbers of GPUs",
            "a trial gives the same number to each: ask for the same",
        )
    workers = sum(role.replicas for role in holding)
    if not 1 <= workers <= MOST_WORKERS:
        _refuse(
            f"the job has {workers} workers with GPUs, not 1 to {MOST_WORKERS}",
            "its number of replicas says how it would run",
        )
    return workers


def _refuse_addresses(kind: str, name: str | None, roles: tuple[Role, ...]) -> None:
    """A copy that calls the pods of the original by name would join its run, and disturb it."""
    for role in roles:
        if kind == "Job" and role.replicas > 1 and fields.name(role.pod, "spec", "subdomain"):
            _refuse(
                "the pods of this Job find each other by a Service, and a trial has none",
                "a PyTorchJob or MPIJob brings its own",
            )
    if name is None:
        return
    pods = r"-\d+\." if kind == "Job" else r"-(?:worker|master)-\d+|-launcher(?![a-z])"
    called = re.compile(rf"(?<![a-z0-9-]){re.escape(name)}(?:{pods})")
    for role in roles:
        for text in (text for one in _containers(role.pod) for text in _texts(one)):
            if found := called.search(text):
                _refuse(
                    f"the job calls its own pods by name: {found[0]}",
                    "a copy would call those of the original: take the address from the"
                    " environment, as the job's operator gives it",
                )


def _texts(container: Raw) -> Iterator[str]:
    for key in ("command", "args"):
        words = container.get(key)
        if isinstance(words, list):
            yield from (word for word in words if isinstance(word, str))
    for entry in fields.items(container, "env"):
        value = entry.get("value")
        if isinstance(value, str):
            yield value


def _gpu_type(pod: Raw, type_label: str) -> str | None:
    named = fields.name(pod, "spec", "nodeSelector", type_label)
    if named is not None:
        return named
    required = fields.part(
        pod,
        *("spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"),
    )
    found: set[str | None] = set()
    for term in fields.items(required, "nodeSelectorTerms"):
        allowed: list[object] = [None]
        for one in fields.items(term, "matchExpressions"):
            if one.get("key") == type_label and one.get("operator") == "In":
                values = one.get("values")
                allowed = values if isinstance(values, list) else [None]
        found.update(fields.name({"": each}, "") for each in allowed)
    return found.pop() if len(found) == 1 else None


def _whole(given: object) -> int | None:
    """A count as the API server writes it, or as a person does."""
    amount = quantity(given) if isinstance(given, str) else fields.count({"": given}, "")
    return int(amount) if amount is not None and amount == int(amount) else None


def _listed(names: set[str]) -> str:
    return " and ".join(sorted(names))


def _refuse(message: str, hint: str) -> NoReturn:
    raise TrialError(message, hint=hint)
