"""Is a job over, as its own controller says?

Conditions count only while they are "True": one that is restarted or resumed has its old ones set
to "False". A Volcano Job that is Aborted is not over, since that is how Volcano suspends.
"""

from dataclasses import dataclass
from datetime import datetime

from cepheid.jobs import fields
from cepheid.jobs.fields import Raw
from cepheid.jobs.kinds import POD, RAY_JOB, VOLCANO_JOB, Kind

FAILS = "Failed"


@dataclass(frozen=True, slots=True)
class Verdict:
    succeeded: bool
    at: datetime | None = None
    reason: str = ""
    message: str | None = None
    stopped: bool = False
    """Somebody asked it to stop."""


def verdict_of(job: Raw, kind: Kind) -> Verdict | None:
    """None while it runs, waits or is suspended."""
    if kind is POD:
        return _by_phase(kind, fields.part(job, "status"))
    if kind is RAY_JOB:
        return _of_ray(job, kind)
    if kind is VOLCANO_JOB:
        return _by_phase(kind, fields.part(job, "status", "state"))
    for name, succeeded in ((kind.succeeds, True), (FAILS, False)):
        condition = fields.condition(job, name)
        if condition is not None:
            return Verdict(
                succeeded,
                kind.ended_at(job) or fields.moment(condition, "lastTransitionTime"),
                fields.name(condition, "reason") or "",
                fields.words(condition, "message"),
            )
    return None


def _by_phase(kind: Kind, state: Raw) -> Verdict | None:
    phase = fields.name(state, "phase")
    if phase not in (kind.succeeds, FAILS, "Terminated"):
        return None
    return Verdict(
        phase == kind.succeeds,
        fields.moment(state, "lastTransitionTime"),  # a Pod has none: its containers tell
        fields.name(state, "reason") or "",
        fields.words(state, "message"),
    )


def _of_ray(job: Raw, kind: Kind) -> Verdict | None:
    deployment = fields.name(job, "status", "jobDeploymentStatus")
    if deployment not in (kind.succeeds, FAILS):
        return None
    ended = fields.name(job, "status", "jobStatus")
    return Verdict(
        deployment == kind.succeeds and ended == "SUCCEEDED",
        kind.ended_at(job),
        fields.name(job, "status", "reason") or "",
        fields.words(job, "status", "message"),
        stopped=ended == "STOPPED",
    )
