"""The answer, on the job that it is about: `ai.centaurus.io/best-placement`."""

from cepheid.annotations.job_codec import encode_job
from cepheid.annotations.job_facts import BestPlacement, JobFacts
from cepheid.annotations.writer import Target, Writer
from cepheid.errors import GoneError
from cepheid.jobs import fields
from cepheid_operator.means import Means
from cepheid_operator.trials.book import Entry
from cepheid_operator.trials.requests import Requests, job_kind

MANAGER = "cepheid-trials"
"""Not the operator's other one, whose next apply would take away what it does not know of."""


def mark(means: Means, requests: Requests, entry: Entry) -> None:
    """Once, however often it is called. Raises ApiError."""
    job, keys = entry.spec.job, _keys(entry)
    if job.name is None or not keys:
        return
    kind = job_kind(job.api_version, job.kind)
    try:
        found = requests.get(kind, entry.namespace, job.name)
        standing = fields.part(found, "metadata", "annotations")
        uid = fields.name(found, "metadata", "uid")
        if uid is None or all(standing.get(key) == text for key, text in keys.items()):
            return
        means.check()
        target = Target(kind, job.name, uid, entry.namespace)
        Writer(means.hands.server(), MANAGER).apply(target, keys)
    except GoneError:
        return  # nobody is left to be told
    means.telemetry.writes.labels(job.kind, "best-placement").inc()


def _keys(entry: Entry) -> dict[str, str]:
    best = entry.status.best
    if best is None or not entry.has_answer:
        return {}
    placement = best.placement
    facts = BestPlacement(
        gpu_type=placement.gpu_type,
        workers=placement.workers,
        gpus_per_worker=placement.gpus_per_worker,
        arrange=placement.arrange,
        gain=best.gain,
        goal=entry.spec.optimise.goal,
        trial=entry.name,
    )
    return encode_job(JobFacts(best_placement=facts))
