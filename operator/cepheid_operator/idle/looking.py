"""What does a job's own object say, as the API server has it? Pure."""

from cepheid.annotations.codec import DOMAIN
from cepheid.annotations.job_codec import decode_job
from cepheid.annotations.job_facts import IdleFacts
from cepheid.jobs import fields
from cepheid.jobs.fields import Raw
from cepheid.jobs.kinds import RAY_JOB, Kind
from cepheid.jobs.owners import controller_of
from cepheid.jobs.pods import applied_keys
from cepheid.jobs.verdict import verdict_of
from cepheid_operator.idle.deciding import Seen
from cepheid_operator.idle.keeping import kept

QUEUE = "kueue.x-k8s.io/queue-name"
"""Kueue suspends and resumes such a job itself, and would resume what we suspend."""


def seen(job: Raw, kind: Kind, gpus: int, manager: str) -> Seen:
    return Seen(
        gpus=gpus,
        can_be_suspended=_can_be_suspended(job, kind),
        is_suspended=kind.is_suspended(job),
        by_us=_suspended_by(job, kind, manager),
        kept=kept(job),
        standing=_standing(job, manager),
    )


def is_over(job: Raw, kind: Kind) -> bool:
    """Pods that its controller leaves behind may still run, but there is nothing to suspend."""
    return verdict_of(job, kind) is not None


def is_trial(job: Raw) -> bool:
    """Of a PlacementTrial, which ends it itself."""
    owner = controller_of(job)
    return owner is not None and owner.group == DOMAIN


def _can_be_suspended(job: Raw, kind: Kind) -> bool:
    if not kind.suspend or fields.value(job, "metadata", "labels", QUEUE) is not None:
        return False
    # Its cluster would stay otherwise, and its operator refuses it.
    return kind is not RAY_JOB or fields.is_true(job, "spec", "shutdownAfterJobFinishes")


def _suspended_by(job: Raw, kind: Kind, manager: str) -> bool:
    path = [f"f:{key}" for key in kind.suspend]
    return any(
        entry.get("manager") == manager
        and entry.get("operation") == "Update"
        and fields.value(entry, "fieldsV1", *path) is not None
        for entry in fields.items(job, "metadata", "managedFields")
    )


def _standing(job: Raw, manager: str) -> IdleFacts | None:
    """Only what we wrote counts: who may edit a job can write the same key."""
    annotations = fields.part(job, "metadata", "annotations")
    ours = {key: annotations[key] for key in applied_keys(job, manager) if key in annotations}
    return decode_job(ours).facts.idle
