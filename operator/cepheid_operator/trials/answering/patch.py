"""What has to change in the user's job, to be placed like this? A merge patch, ready to apply.

Pure. What a trial's copy was given because of its placement is taken from there (the pods, the
GPUs, how many processes are started), and nothing else of it: the patch changes where the job
runs, not what it is. A merge patch replaces lists: containers stand in it whole, as they are.
"""

import copy
import json
from collections.abc import Mapping
from typing import Any

from cepheid.jobs import fields
from cepheid.placementtrial import Placement
from cepheid_operator.trials.copying.builders import Owner, trial_job
from cepheid_operator.trials.copying.placing import REQUIRED, Own, arranged
from cepheid_operator.trials.copying.template import JOBS, Template

MOST_CHARACTERS = 4_000
_NOBODY = Owner(namespace="-", name="-", uid="-")
_SIZES = ("parallelism", "slotsPerWorker", "nprocPerNode")
"""Of a whole job: its numbers of pods and processes."""
_JOB_NAME = {"Job": "batch.kubernetes.io/job-name"}
_TRAINING = "training.kubeflow.org"

Document = dict[str, Any]


def patch(template: Template, placement: Placement, type_label: str) -> str | None:
    """None where nothing is to change, or where it is too long to stand in a status."""
    placed = _placed(template, placement, type_label)
    changes = difference(template.document, placed)
    text = json.dumps(changes, separators=(",", ":"), ensure_ascii=False)
    return text if changes and len(text) <= MOST_CHARACTERS else None


def difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> Document:
    """What a merge patch (RFC 7396) has to say to make the one of the other."""
    changes: Document = {key: None for key in before if key not in after}
    for key, value in after.items():
        if key not in before:
            changes[key] = value
        elif isinstance(value, Mapping) and isinstance(before[key], Mapping):
            if within := difference(before[key], value):
                changes[key] = within
        elif value != before[key]:
            changes[key] = value
    return changes


def _placed(template: Template, placement: Placement, type_label: str) -> Document:
    """The user's job, placed."""
    after: Document = copy.deepcopy(dict(template.document))
    trial = trial_job(
        template,
        placement,
        name="-",
        owner=_NOBODY,
        type_label=type_label,
        one_node=False,
        deadline_seconds=1,
        pending_seconds=1,
    )["spec"]
    spec = after["spec"]
    for size in _SIZES:
        if size in trial and trial[size] != spec.get(size):
            spec[size] = trial[size]
    key = JOBS[template.api_version, template.kind]
    if key is None:
        # One for each worker; of more the job is a queue, and stays as long as it is.
        if spec.get("completions") == template.workers:
            spec["completions"] = placement.workers
        _take_pods(spec, trial, template, placement.gpus_per_worker)
        holders = [spec]
    else:
        spec[key] = {
            name: _role(spec[key], name, one, template, placement)
            for name, one in trial[key].items()
        }
        _grow(spec, template, trial, key)
        holding = {role.name for role in template.worker_roles} | {"Worker"}
        holders = [one for name, one in spec[key].items() if name in holding]
    for holder in holders:
        pod = holder["template"]["spec"]
        if placement.gpu_type != template.gpu_type:
            _on_type(pod, type_label, placement.gpu_type)
        if template.name is not None:
            arranged(pod, placement, _own(template), "worker", one_node=False)
    return after


def _role(
    roles: Document, name: str, trial: Document, template: Template, placement: Placement
) -> Document:
    role: Document = roles.get(name) or copy.deepcopy(roles[template.worker_roles[0].name])
    if role.get("replicas", 1) != trial["replicas"]:
        role["replicas"] = trial["replicas"]
    _take_pods(role, trial, template, placement.gpus_per_worker)
    return role


def _take_pods(holder: Document, trial: Document, template: Template, gpus: int) -> None:
    """What differs in the containers of the copy: their GPUs and numbers of processes."""
    resource = template.gpu_resource
    pod, copied = holder["template"]["spec"], trial["template"]["spec"]
    for kind in ("initContainers", "containers"):
        for mine, theirs in zip(pod.get(kind, ()), copied.get(kind, ()), strict=True):
            for key in ("command", "args", "env"):
                if key in mine:
                    mine[key] = theirs[key]
            for asked in ("limits", "requests"):
                given = fields.part(mine, "resources", asked)
                if given.get(resource) is not None and gpus != template.gpus_per_worker:
                    mine["resources"][asked] = {**given, resource: str(gpus)}


def _grow(spec: Document, template: Template, trial: Document, key: str) -> None:
    """What bounds the number of pods, and would keep these from starting."""
    before = sum(role.replicas for role in template.roles)
    now = sum(one["replicas"] for one in trial[key].values())
    gang = fields.part(spec, "runPolicy", "schedulingPolicy")
    if gang.get("minAvailable") == before != now:
        spec["runPolicy"]["schedulingPolicy"]["minAvailable"] = now
    elastic = spec.get("elasticPolicy")
    workers = trial[key].get("Worker", {}).get("replicas")
    if isinstance(elastic, dict) and workers is not None:
        each = fields.value(trial, "elasticPolicy", "nProcPerNode")
        if "nProcPerNode" in elastic and each is not None:
            elastic["nProcPerNode"] = each
        for bound, better in (("minReplicas", min), ("maxReplicas", max)):
            if fields.count(elastic, bound) is not None:
                elastic[bound] = better(elastic[bound], workers)


def _on_type(pod: Document, type_label: str, gpu_type: str) -> None:
    """By the node selector; what the job's own affinity said of the type is taken out."""
    pod["nodeSelector"] = {**pod.get("nodeSelector", {}), type_label: gpu_type}
    affinity = fields.part(pod, "affinity", "nodeAffinity", REQUIRED)
    terms = [
        {**term, "matchExpressions": [one for one in said if one.get("key") != type_label]}
        if (said := term.get("matchExpressions"))
        else term
        for term in affinity.get("nodeSelectorTerms", [])
    ]
    if terms == affinity.get("nodeSelectorTerms", []):
        return
    if all(term.get("matchExpressions") or term.get("matchFields") for term in terms):
        pod["affinity"]["nodeAffinity"][REQUIRED]["nodeSelectorTerms"] = terms
    else:
        # One that said nothing but the type now holds on every node, whatever the others say.
        del pod["affinity"]["nodeAffinity"][REQUIRED]


def _own(template: Template) -> Own:
    """The job's pods, by the labels that its controller gives them."""
    job = {_JOB_NAME.get(template.kind, f"{_TRAINING}/job-name"): template.name or ""}
    is_new = template.api_version.endswith("v2beta1")
    role_label = f"{_TRAINING}/{'job-role' if is_new else 'replica-type'}"
    before = tuple(
        ("worker" if role.gpus else role.name.lower(), _labels(role.pod)) for role in template.roles
    )
    return Own(before=before, job=job, role_label=role_label)


def _labels(pod: Mapping[str, Any]) -> dict[str, str]:
    labels = fields.pairs(pod, "metadata", "labels")
    return {key: given for key, given in labels if isinstance(given, str)}
