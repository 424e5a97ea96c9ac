"""How many pods has a trial, and for how long at most? Where each kind of job says so.

A trial is of one size, never restarted, never cleaned up by itself, and over at its deadline.
"""

import copy

from cepheid.placementtrial import Placement
from cepheid_operator.trials.copying.placing import Document
from cepheid_operator.trials.copying.ranks import Recount
from cepheid_operator.trials.copying.template import JOBS, Template

PRIORITY_CLASS = "cepheid-trials"

_OF_A_JOB = (
    # Made for each Job by the API server; a copy gets its own.
    "selector",
    "manualSelector",
    # They make new pods for failed ones, whatever the limit of failures is.
    "backoffLimitPerIndex",
    "maxFailedIndexes",
    "podFailurePolicy",
    # Of indices that the copy may not have.
    "successPolicy",
    # It would delete the copy before it was looked at.
    "ttlSecondsAfterFinished",
)


def resize(
    spec: Document, template: Template, placement: Placement, recount: Recount, ends_seconds: int
) -> None:
    key = JOBS[template.api_version, template.kind]
    if key is None:
        _resize_job(spec, placement, ends_seconds)
        return
    _resize_roles(spec[key], template, placement)
    _limit_run(spec, sum(one["replicas"] for one in spec[key].values()), ends_seconds)
    if template.api_version == "kubeflow.org/v1":
        # At this limit the training operator deletes all pods, before anybody has seen why they
        # failed; and without restarts it needs none.
        del spec["runPolicy"]["backoffLimit"]
    if template.kind == "MPIJob":
        _recount_slots(spec, recount)
    else:
        _recount_elastic(spec, spec[key], recount)


def _resize_job(spec: Document, placement: Placement, ends_seconds: int) -> None:
    for key in _OF_A_JOB:
        spec.pop(key, None)
    spec["parallelism"] = placement.workers
    if "completions" in spec:
        # Of a job of many pieces, as many as there are workers: a pod for each, and no more.
        spec["completions"] = placement.workers
    spec |= {"backoffLimit": 0, "activeDeadlineSeconds": ends_seconds, "suspend": False}


def _resize_roles(specs: Document, template: Template, placement: Placement) -> None:
    """Of an MPIJob the workers; of a PyTorchJob the Master counts as the first of them."""
    masters = sum(role.name == "Master" for role in template.worker_roles)
    workers = placement.workers - masters
    if workers and "Worker" not in specs:
        specs["Worker"] = copy.deepcopy(specs["Master"])  # both run the same program
    if workers:
        specs["Worker"]["replicas"] = workers
    else:
        specs.pop("Worker", None)
    for role in template.roles:
        if role.name != "Worker":
            specs[role.name]["replicas"] = role.replicas
    for spec in specs.values():
        spec["restartPolicy"] = "Never"


def _limit_run(spec: Document, pods: int, ends_seconds: int) -> None:
    """Of the operators of Kubeflow; v1 of an MPIJob has the clean-up at two places."""
    spec.pop("cleanPodPolicy", None)
    policy = _part(spec, "runPolicy")
    policy.pop("ttlSecondsAfterFinished", None)
    policy |= {
        "activeDeadlineSeconds": ends_seconds,
        "backoffLimit": 0,
        "cleanPodPolicy": "None",
        "suspend": False,
    }
    gang = policy.get("schedulingPolicy")
    if isinstance(gang, dict):
        # All or nothing: a trial of fewer workers would be one of another placement.
        gang["minAvailable"] = pods
        gang["priorityClass"] = PRIORITY_CLASS
        gang.pop("minResources", None)


def _recount_slots(spec: Document, recount: Recount) -> None:
    """Where nothing is said it is one."""
    each = recount.new.gpus_per_worker
    if spec.get("slotsPerWorker", 1) == recount.old.gpus_per_worker != each:
        spec["slotsPerWorker"] = each


def _recount_elastic(spec: Document, roles: Document, recount: Recount) -> None:
    """A job that may grow and shrink is held to one size, which is the one that is measured."""
    each = str(recount.old.gpus_per_worker)
    elastic = spec.get("elasticPolicy")
    for holder, key in ((spec, "nprocPerNode"), (elastic, "nProcPerNode")):
        if isinstance(holder, dict) and str(holder.get(key)) == each:
            holder[key] = type(holder[key])(recount.new.gpus_per_worker)
    if not isinstance(elastic, dict):
        return
    if "Worker" not in roles:
        del spec["elasticPolicy"]
        return
    elastic.pop("metrics", None)
    for key in ("minReplicas", "maxReplicas"):
        elastic[key] = roles["Worker"]["replicas"]


def _part(spec: Document, key: str) -> Document:
    found = spec.get(key)
    if not isinstance(found, dict):
        found = spec[key] = {}
    return found
