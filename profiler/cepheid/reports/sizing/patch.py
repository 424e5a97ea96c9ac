"""How is advice applied to the job?

| kind | what can be done | where its pods' template is |
|---|---|---|
| CronJob | `kubectl patch --type=strategic` | spec.jobTemplate.spec.template |
| Deployment, StatefulSet, DaemonSet | the same | spec.template |
| MPIJob, PyTorchJob | `kubectl patch --type=json`: lists of custom resources are not merged by name | spec.*ReplicaSpecs.<role>.template |
| Job, Pod, JobSet, TrainJob, RayJob, Volcano Job | lines of the manifest: what runs cannot be changed | its own |

A JSON patch tests the container's name first: where another one stands in its place nothing is
changed. Names that Kubernetes would not take make no patch: what stands in a history may be
anything, and a command is made to be run.
"""  # noqa: E501 - a table

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import Any

from cepheid.jobprofile import Asked, JobProfile
from cepheid.reports.nexttime import DEADLINES
from cepheid.reports.sizing import asked as was
from cepheid.reports.sizing.advised import Action, AdviceRow, Advised
from cepheid.units import quantity

A_DAY_SECONDS = 86_400.0
_NAME = re.compile(r"[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?", re.ASCII)
_ROLE = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9]{0,61}[A-Za-z0-9])?", re.ASCII)
_RESOURCE = re.compile(
    r"(?:[a-z0-9][-a-z0-9.]{0,252}/)?[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?", re.ASCII
)
_VERSION = re.compile(r"(?:[a-z0-9][-a-z0-9.]{0,120}/)?v[a-z0-9]{1,20}", re.ASCII)
_MINUTES = re.compile(r"\d{1,10}", re.ASCII)


class How(StrEnum):
    STRATEGIC = "strategic"
    JSON = "json"
    MANIFEST = "manifest"
    """No patch of what runs: lines of the file that it is made from."""


Step = str | tuple[str, str] | None
"""A key; an item of a list, by key and value; None for the only item."""
ROLE = "<role>"
_WITHIN = ("template", "spec")
_TEMPLATES: Mapping[tuple[str, str], tuple[How, tuple[Step, ...]]] = {
    ("batch", "CronJob"): (How.STRATEGIC, ("spec", "jobTemplate", "spec", *_WITHIN)),
    ("apps", "Deployment"): (How.STRATEGIC, ("spec", *_WITHIN)),
    ("apps", "StatefulSet"): (How.STRATEGIC, ("spec", *_WITHIN)),
    ("apps", "DaemonSet"): (How.STRATEGIC, ("spec", *_WITHIN)),
    ("kubeflow.org", "MPIJob"): (How.JSON, ("spec", "mpiReplicaSpecs", ROLE, *_WITHIN)),
    ("kubeflow.org", "PyTorchJob"): (How.JSON, ("spec", "pytorchReplicaSpecs", ROLE, *_WITHIN)),
    ("batch", "Job"): (How.MANIFEST, ("spec", *_WITHIN)),
    ("", "Pod"): (How.MANIFEST, ("spec",)),
    ("jobset.x-k8s.io", "JobSet"): (
        How.MANIFEST,
        ("spec", "replicatedJobs", ("name", ROLE), *_WITHIN, *_WITHIN),
    ),
    ("batch.volcano.sh", "Job"): (How.MANIFEST, ("spec", "tasks", ("name", ROLE), *_WITHIN)),
}
_RAY = ("spec", "rayClusterSpec")
_RAY_ROLES: Mapping[str, tuple[Step, ...]] = {
    "head": (*_RAY, "headGroupSpec", *_WITHIN),
    "worker": (*_RAY, "workerGroupSpecs", None, *_WITHIN),
}


@dataclass(frozen=True, slots=True)
class Patch:
    api_version: str
    kind: str
    namespace: str
    name: str
    how: How
    document: Any
    """Of plain types: a mapping, or the operations of a JSON patch."""

    @property
    def is_command(self) -> bool:
        return self.how is not How.MANIFEST


def patch_of(advised: Advised) -> Patch | None:
    """None where nothing is to be changed, or where it cannot be written."""
    rows = [row for row in advised.rows if row.is_patched]
    profile = advised.newest
    if not rows or not _are_names(profile, rows):
        return None
    if profile.process is not None:
        return Patch("", profile.job.kind, "", "", How.MANIFEST, {"resources": _resources(rows)})
    api_version, kind, name = cron_job_of(profile) or (
        profile.job.api_version,
        profile.job.kind,
        profile.job.name,
    )
    how = _how(api_version, kind)
    is_nowhere = any(row.container is not None and row.role is None for row in rows)
    if how is None or (how is How.JSON and is_nowhere):
        return None
    if how is How.JSON:
        document: Any = list(_operations(profile, api_version, kind, rows))
    else:
        document = {} if how is How.STRATEGIC else {"apiVersion": api_version, "kind": kind}
        for path, value in _values(profile, api_version, kind, rows):
            _put(document, path, value)
    return Patch(api_version, kind, profile.job.namespace, name, how, document)


def cron_job_of(profile: JobProfile) -> tuple[str, str, str] | None:
    """A run of a CronJob is called by the minute for which it was made.

    That is how its controller names them: <name>-<minutes since 1970>. What is called so, and was
    made within a day of that minute, is taken for one.
    """
    job = profile.job
    minutes = job.name.removeprefix(f"{profile.series}-")
    if (job.api_version, job.kind) != ("batch/v1", "Job") or not _MINUTES.fullmatch(minutes):
        return None
    if abs(60 * int(minutes) - profile.created.timestamp()) > A_DAY_SECONDS:
        return None
    return "batch/v1", "CronJob", profile.series


def _how(api_version: str, kind: str) -> How | None:
    group = api_version.rpartition("/")[0]
    if (group, kind) in _TEMPLATES:
        return _TEMPLATES[group, kind][0]
    custom = (("ray.io", "RayJob"), ("trainer.kubeflow.org", "TrainJob"))
    return How.MANIFEST if (group, kind) in custom else None


def _values(
    profile: JobProfile, api_version: str, kind: str, rows: Sequence[AdviceRow]
) -> Iterator[tuple[tuple[Step, ...], Any]]:
    """What is to stand where, in a document that is merged."""
    for row in rows:
        if row.unit == "seconds":
            yield _deadline(kind), int(row.advised or 0)
    for (role, container), asked in _by_container(profile, rows).items():
        mine = [row for row in rows if (row.role, row.container) == (role, container)]
        if kind == "TrainJob":
            yield ("spec", "trainer", "resourcesPerNode"), _resources(mine, asked)
        else:
            where = (*_template(api_version, kind, role), "containers", ("name", container))
            yield (*where, "resources"), _resources(mine, asked)


def _operations(
    profile: JobProfile, api_version: str, kind: str, rows: Sequence[AdviceRow]
) -> Iterator[dict[str, Any]]:
    for row in rows:
        if row.unit == "seconds":
            path = "/" + "/".join(map(str, _deadline(kind)))
            yield {"op": "add", "path": path, "value": int(row.advised or 0)}
    for (role, container), asked in _by_container(profile, rows).items():
        mine = [row for row in rows if (row.role, row.container) == (role, container)]
        place = _place(profile, asked)
        where = "/".join(("", *map(str, _template(api_version, kind, role)), f"containers/{place}"))
        yield {"op": "test", "path": f"{where}/name", "value": container}
        changed = _resources(mine, asked)
        whole = {
            which: _merged(getattr(asked, which), changed.get(which, {}))
            for which in ("requests", "limits")
            if getattr(asked, which) or which in changed
        }
        if not asked.requests and not asked.limits:
            yield {"op": "add", "path": f"{where}/resources", "value": whole}
            continue
        # Each as a whole: of one that the pod got by default the template has no member to add to.
        for which, amounts in whole.items():
            if which in changed:
                yield {"op": "add", "path": f"{where}/resources/{which}", "value": amounts}


def _by_container(
    profile: JobProfile, rows: Sequence[AdviceRow]
) -> dict[tuple[str | None, str], Asked]:
    wanted = {(row.role, row.container) for row in rows if row.container is not None}
    return {
        (given.role, one.container): one
        for given in was.givens(profile)
        for one in given.containers
        if (given.role, one.container) in wanted
    }


def _place(profile: JobProfile, asked: Asked) -> int:
    """Of the container in its pod, as far as the record tells."""
    for given in was.givens(profile):
        names = [one.container for one in given.containers]
        if given.role == asked.role:
            return names.index(asked.container)
    return 0


def _resources(rows: Sequence[AdviceRow], asked: Asked | None = None) -> dict[str, dict[str, Any]]:
    """Changed ones alone; what is to go is None."""
    changed: dict[str, dict[str, Any]] = {}
    for row in rows:
        which, _, resource = row.field.partition(".")
        if which not in ("requests", "limits"):
            continue
        value = None if row.action is Action.REMOVE else row.advised_written
        changed.setdefault(which, {})[resource] = value
        if value is None and asked is not None and resource in asked.requests:
            changed.setdefault("requests", {})[resource] = None
    return changed


def _merged(given: Mapping[str, str], changed: Mapping[str, Any]) -> dict[str, str]:
    return {name: text for name, text in {**given, **changed}.items() if text is not None}


def _template(api_version: str, kind: str, role: str | None) -> tuple[Step, ...]:
    if kind == "RayJob":
        return _RAY_ROLES.get(role or "", _RAY_ROLES["worker"])
    _, path = _TEMPLATES[api_version.rpartition("/")[0], kind]

    def of_role(step: Step) -> Step:
        if isinstance(step, tuple):
            return (step[0], role) if role else None
        return role if step == ROLE else step

    return tuple(of_role(step) for step in path)


def _deadline(kind: str) -> tuple[str, ...]:
    path = DEADLINES["Job" if kind == "CronJob" else kind].split(".")
    return ("spec", "jobTemplate", *path) if kind == "CronJob" else tuple(path)


def _put(document: dict[str, Any], path: Sequence[Step], value: Any) -> None:
    """At that path, which ends with a key; what is not there on the way is made."""
    here: Any = document
    for step, after in pairwise(path):
        if isinstance(step, str):
            here = here.setdefault(step, {} if isinstance(after, str) else [])
        else:
            here = _item(here, step)
    here[path[-1]] = value


def _item(items: Any, step: tuple[str, str] | None) -> dict[str, Any]:
    key, name = step or ("", "")
    for one in items:
        if not step or one.get(key) == name:
            found: dict[str, Any] = one
            return found
    made: dict[str, Any] = {key: name} if step else {}
    items.append(made)
    return made


def _are_names(profile: JobProfile, rows: Sequence[AdviceRow]) -> bool:
    """Whether all that would stand in a command is what Kubernetes takes."""
    if profile.process is not None:
        return True
    job = profile.job
    names = [job.namespace, job.name, profile.series, *(row.container or "a" for row in rows)]
    resources = [name for one in profile.asked for name in (*one.requests, *one.limits)]
    texts = [
        text for one in profile.asked for text in (*one.requests.values(), *one.limits.values())
    ]
    return (
        all(_NAME.fullmatch(name) for name in names)
        and all(_ROLE.fullmatch(row.role or "a") for row in rows)
        and all(_RESOURCE.fullmatch(name) for name in resources)
        and all(quantity(text) is not None for text in texts)
        and bool(_VERSION.fullmatch(job.api_version))
    )


def short(field: str) -> str:
    """In a column: the last of a path; a resource with its place, requests.memory."""
    return field.rpartition(".")[2] if field.startswith("spec.") else field
