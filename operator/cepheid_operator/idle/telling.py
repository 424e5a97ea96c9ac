"""In which words are people told? Pure.

Each says what it rests on, what happens next, and the command to type against it.
"""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from cepheid.annotations.job_codec import KEEP_FOR
from cepheid.annotations.job_facts import IdleFacts
from cepheid.jobs.kinds import Kind
from cepheid.units import in_time
from cepheid_operator.eventing import About, Word
from cepheid_operator.idle.deciding import Told
from cepheid_operator.idle.keeping import Kept
from cepheid_operator.idle.terms import POLICY, Do

WARNINGS = frozenset({Told.IDLE, Told.NOT_KEPT, Told.WOULD_SUSPEND, Told.SUSPENDED})


@dataclass(frozen=True, slots=True)
class Subject:
    """The job that it is about."""

    about: About
    kind: Kind
    resource: str
    """What kubectl calls its kind."""

    @property
    def where(self) -> str:
        return f"{self.resource} {self.about.name} --namespace={self.about.namespace}"


def word(told: Told, job: Subject, facts: IdleFacts, kept: Kept | None, now: datetime) -> Word:
    """`facts` are those after the step, or before one that takes them away."""
    text = "" if kept is None else kept.text
    at = "" if facts.at is None else _time(facts.at)
    return Word(
        reason=str(told),
        words=_words(told, job, facts, text, now),
        action="Suspended" if told is Told.SUSPENDED else "Watched",
        warning=told in WARNINGS,
        key=f"{facts.since.isoformat()} {facts.act} {at} {text}".strip(),
    )


def _words(told: Told, job: Subject, facts: IdleFacts, keep_for: str, now: datetime) -> str:
    gpus = f"{facts.gpus} GPU{'s' * (facts.gpus != 1)}"
    idle = f"{gpus} not used since {_time(facts.since)}"
    lasted = f"for {in_time((now - facts.since).total_seconds())}"
    match told:
        case Told.IDLE:
            words = f"{idle}, {lasted}. {_next(facts, job.where)}"
        case Told.USED:
            words = "its GPUs are in use again: no longer called idle"
        case Told.UNSEEN:
            words = "its GPUs were not measured for a while: no longer called idle"
        case Told.KEPT:
            until = "" if facts.at is None else f" until {_time(facts.at)}"
            words = f"{idle}; kept{until}, as {KEEP_FOR}={keep_for} says"
        case Told.NOT_KEPT:
            words = (
                f"{KEEP_FOR} is {keep_for!r} and does not count:"
                " it takes a time such as 30min, 8h or 2d"
            )
        case Told.WOULD_SUSPEND:
            words = (
                f"{idle}, {lasted}: it would be suspended now, but its namespace has only a dry"
                f" run; {POLICY}={Do.SUSPEND} makes it one in earnest"
            )
        case Told.SUSPENDED:
            words = (
                f"{idle}, {lasted}: suspended, and nothing of it is deleted. To go on:"
                f" kubectl patch {job.where} --type=merge --patch='{_resume(job.kind)}'"
            )
        case Told.RESUMED:
            words = "it runs again: the time that its GPUs are idle is counted anew"
    return words


def _next(facts: IdleFacts, where: str) -> str:
    if facts.at is None:
        return "It cannot be suspended by us: end it if nobody needs it"
    at = _time(facts.at)
    keep = f"To keep it: kubectl annotate {where} --overwrite {KEEP_FOR}=8h"
    if facts.act == Do.SUSPEND:
        return f"Unless it uses them, it is suspended at {at}. {keep}"
    return f"Unless it uses them, it would be suspended at {at}; this is a dry run. {keep}"


def suspended(kind: Kind, *, on: bool) -> dict[str, Any]:
    """What of a job of that kind says so; of one that can be."""
    *outer, last = kind.suspend
    found: dict[str, Any] = {last: on}
    for key in reversed(outer):
        found = {key: found}
    return found


def _resume(kind: Kind) -> str:
    return json.dumps(suspended(kind, on=False), separators=(",", ":"))


def _time(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%d %H:%M:%S UTC")
