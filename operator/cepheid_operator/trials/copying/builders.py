"""A trial: a copy of the user's job, changed in nothing but its placement.

What differs, and why:

| what | how | why |
|---|---|---|
| name, owner, labels | the PlacementTrial's | it is found again, and goes with its owner |
| labels of pods | ours instead of the user's | no Service sends requests to a trial |
| node affinity | the GPU type, and the user's own terms | the placement |
| replicas, GPUs | those of the placement | the placement |
| counts of processes | they follow (ranks) | else the copy would not use its GPUs |
| pod affinity | packed or spread, where it is asked for | the placement |
| deadlines, grace, restarts | short, few, none | the budget is held by the cluster itself |
| tolerations | of lost nodes, for seconds | what is lost is repeated, not waited for |
| priority | the lowest, preempting nobody | a trial waits for everybody else |
| suspension, clean-up | off | it runs, and its pods can be looked at until they are deleted |

It is in the namespace of the PlacementTrial, never in another one.
"""

import copy
import hashlib
import re
from dataclasses import dataclass

from cepheid.annotations.codec import DOMAIN
from cepheid.jobs import fields
from cepheid.placementtrial import Placement
from cepheid_operator.api import PLACEMENT_TRIAL
from cepheid_operator.trials.copying.placing import (
    Document,
    Own,
    arranged,
    on_type,
    selecting_its_own,
)
from cepheid_operator.trials.copying.ranks import Counts, Recount
from cepheid_operator.trials.copying.sizing import PRIORITY_CLASS, resize
from cepheid_operator.trials.copying.template import JOBS, Role, Template

TRIAL_LABEL = f"{DOMAIN}/placement-trial"
"""On the job and on all of its pods: which PlacementTrial they are of."""
JOB_LABEL = f"{DOMAIN}/trial-job"
"""On its pods: of which trial job they are; two of one PlacementTrial may run at once."""
ROLE_LABEL = f"{DOMAIN}/trial-role"
"""On its pods: `worker` for those that hold GPUs."""
WORKER = "worker"
GRACE_SECONDS = 5
"""A trial has nothing to save."""
LOST_SECONDS = 10
"""On a node that is lost; the usual five minutes are longer than most trials."""
LABEL_CHARACTERS = 63
NAME_CHARACTERS = 40
"""Its pods are called `<name>-worker-<n>`, and that is a host's name: 63 at most."""
HASH_CHARACTERS = 8

_OF_LOST_NODES = [
    {
        "key": f"node.kubernetes.io/{how}",
        "operator": "Exists",
        "effect": "NoExecute",
        "tolerationSeconds": LOST_SECONDS,
    }
    for how in ("not-ready", "unreachable")
]
_KEPT_LABELS = ("kueue.x-k8s.io/queue-name",)
"""Of the job: a cluster that queues jobs queues trials too."""
_NOT_IN_A_NAME = re.compile(r"[^a-z0-9]+", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """The PlacementTrial. Its trial jobs are in its namespace, and go with it."""

    namespace: str
    name: str
    uid: str


def trial_name(trial: str, placement: Placement, attempt: int) -> str:
    """The same for the same: what was already made is not made again.

    A host's name, and that of a Service: it begins with a letter.
    """
    text = f"{trial}\n{placement}\n{attempt}"
    digest = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:HASH_CHARACTERS]
    end = f"-{placement.workers}x{placement.gpus_per_worker}-{digest}"
    start = _NOT_IN_A_NAME.sub("-", trial.lower()).strip("-")
    if not start[:1].isalpha():
        start = f"trial-{start}"
    return start[: NAME_CHARACTERS - len(end)].rstrip("-") + end


def label_value(trial: str) -> str:
    """Of TRIAL_LABEL, for the PlacementTrial of that name."""
    return trial[:LABEL_CHARACTERS].rstrip("-.")


def trial_job(
    template: Template,
    placement: Placement,
    *,
    name: str,
    owner: Owner,
    type_label: str,
    one_node: bool,
    deadline_seconds: int,
    pending_seconds: int,
) -> Document:
    """The job to create.

    `one_node`: all workers would fit one node, so `packed` means one (see candidates).
    `deadline_seconds`: so long each of its pods may run, counted from when it has a node: the
    kubelet ends it then. `pending_seconds` more and the whole job ends, wherever its pods are.
    """
    spec: Document = copy.deepcopy(dict(fields.part(template.document, "spec")))
    recount = Recount(
        Counts(template.workers, template.gpus_per_worker),
        Counts(placement.workers, placement.gpus_per_worker),
    )
    resize(spec, template, placement, recount, deadline_seconds + pending_seconds)
    trial = {TRIAL_LABEL: label_value(owner.name)}
    own = _own(template, {**trial, JOB_LABEL: name})
    for role, pod in _pods_of(template, spec):
        label = _role_label(role)
        pod["metadata"] = _pod_metadata(pod, {**own.job, ROLE_LABEL: label})
        _hurry(pod["spec"], deadline_seconds, is_job=template.kind == "Job")
        for container in _all_containers(pod["spec"]):
            _recount_container(container, recount)
            if role.gpus:
                _give_gpus(container, template.gpu_resource, placement.gpus_per_worker)
        if role.gpus:
            on_type(pod["spec"], type_label, placement.gpu_type)
            arranged(pod["spec"], placement, own, label, one_node=one_node)
        selecting_its_own(pod["spec"], own)
    return {
        "apiVersion": template.api_version,
        "kind": template.kind,
        "metadata": {
            "name": name,
            "namespace": owner.namespace,
            "labels": _kept_labels(template) | trial,
            "ownerReferences": [
                {
                    "apiVersion": PLACEMENT_TRIAL.api_version,
                    "kind": PLACEMENT_TRIAL.name,
                    "name": owner.name,
                    "uid": owner.uid,
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": spec,
    }


def trial_pods(job: Document) -> list[Document]:
    """A pod of each role, as the admission of the namespace will see it: for a dry run."""
    spec, metadata = job["spec"], job["metadata"]
    key = JOBS[job["apiVersion"], job["kind"]]
    templates = (
        {WORKER: spec["template"]}
        if key is None
        else {role.lower(): one["template"] for role, one in spec[key].items()}
    )
    return [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                **copy.deepcopy(pod["metadata"]),
                "name": f"{metadata['name']}-{role}-0",
                "namespace": metadata["namespace"],
            },
            "spec": {**copy.deepcopy(pod["spec"]), "restartPolicy": "Never"},
        }
        for role, pod in templates.items()
    ]


def _recount_container(container: Document, recount: Recount) -> None:
    words = {key: container[key] for key in ("command", "args") if key in container}
    counted = iter(recount.words([word for line in words.values() for word in line]))
    for key, line in words.items():
        container[key] = [next(counted) for _ in line]
    for entry in container.get("env", []):
        if isinstance(entry.get("name"), str) and isinstance(entry.get("value"), str):
            entry["value"] = recount.variable(entry["name"], entry["value"])


def _give_gpus(container: Document, resource: str, gpus: int) -> None:
    """To the one container that has some: limit and request, which Kubernetes wants equal."""
    resources = container.get("resources", {})
    if any(resource in resources.get(kind, {}) for kind in ("limits", "requests")):
        for kind in ("limits", "requests"):
            resources.setdefault(kind, {})[resource] = str(gpus)


def _hurry(spec: Document, deadline_seconds: int, *, is_job: bool) -> None:
    for key in ("nodeName", "priority", "preemptionPolicy", "restartPolicy"):
        spec.pop(key, None)
    if is_job:
        spec["restartPolicy"] = "Never"  # elsewhere it stands beside the pod template
    grace = fields.count(spec, "terminationGracePeriodSeconds")
    spec |= {
        "activeDeadlineSeconds": deadline_seconds,
        "priorityClassName": PRIORITY_CLASS,
        "terminationGracePeriodSeconds": min(
            GRACE_SECONDS, GRACE_SECONDS if grace is None else grace
        ),
        # The first that fits counts: the user's own may wait for the node for ever.
        "tolerations": [*_OF_LOST_NODES, *spec.get("tolerations", [])],
    }


def _pod_metadata(pod: Document, labels: dict[str, str]) -> Document:
    annotations = pod.get("metadata", {}).get("annotations")
    return {"labels": labels} | ({} if annotations is None else {"annotations": annotations})


def _pods_of(template: Template, spec: Document) -> list[tuple[Role, Document]]:
    """The pod templates of the copy; a Worker that the original has not is as its Master."""
    key = JOBS[template.api_version, template.kind]
    if key is None:
        return [(template.roles[0], spec["template"])]
    known = {role.name: role for role in template.roles}
    return [
        (known.get(name, template.worker_roles[0]), one["template"])
        for name, one in spec[key].items()
    ]


def _role_label(role: Role) -> str:
    return WORKER if role.gpus else role.name.lower()


def _own(template: Template, job: dict[str, str]) -> Own:
    return Own(
        before=tuple(
            (_role_label(role), _labels_before(template, role)) for role in template.roles
        ),
        job=job,
        role_label=ROLE_LABEL,
    )


def _labels_before(template: Template, role: Role) -> dict[str, str]:
    """Those of the user, and those that controllers add."""
    labels = {
        key: given
        for key, given in fields.pairs(role.pod, "metadata", "labels")
        if isinstance(given, str)
    }
    if template.name is not None:
        names = ("job-name", "batch.kubernetes.io/job-name", "training.kubeflow.org/job-name")
        labels |= dict.fromkeys(names, template.name)
    kinds = ("training.kubeflow.org/replica-type", "training.kubeflow.org/job-role")
    return labels | dict.fromkeys(kinds, role.name.lower())


def _kept_labels(template: Template) -> dict[str, str]:
    labels = fields.part(template.document, "metadata", "labels")
    return {key: labels[key] for key in _KEPT_LABELS if isinstance(labels.get(key), str)}


def _all_containers(spec: Document) -> list[Document]:
    return [*spec.get("initContainers", []), *spec.get("containers", [])]
