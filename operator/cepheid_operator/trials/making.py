"""The job of a trial, made in its namespace; and whether that would let it in at all."""

from collections.abc import Iterator
from typing import Any

from cepheid.annotations.api import RefusedError
from cepheid.errors import ApiError, ForbiddenError
from cepheid.jobs.fields import one_line
from cepheid.placementtrial import Placement, Trial
from cepheid_operator.hands import AWAY
from cepheid_operator.trials.book import Entry
from cepheid_operator.trials.copying.builders import Owner, trial_job, trial_name, trial_pods
from cepheid_operator.trials.copying.candidates import Candidates, NodeSeen, fits_one_node
from cepheid_operator.trials.copying.template import Template
from cepheid_operator.trials.decide import Trouble, reserved_seconds
from cepheid_operator.trials.requests import Requests, job_kind

QUOTA = "exceeded quota"
"""For that it is waited: others' jobs end."""
THERE = "already exists"
"""An instance before us made it."""


def make(
    requests: Requests,
    entry: Entry,
    template: Template,
    nodes: list[NodeSeen],
    placement: Placement,
    *,
    name: str,
    planned_seconds: float,
) -> str | None:
    """What the API server said, if it refused for good."""
    document = _document(entry, template, nodes, placement, name, planned_seconds)
    try:
        requests.create(job_kind(template.api_version, template.kind), document)
    except AWAY:
        raise
    except ApiError as problem:
        passes = QUOTA in problem.message or THERE in problem.message
        return None if passes else one_line(problem.message)
    return None


def refused(
    requests: Requests,
    entry: Entry,
    template: Template,
    nodes: list[NodeSeen],
    possible: Candidates,
) -> Trouble | None:
    """Asked of the namespace itself: its own admission knows best what it lets in."""
    first = possible.placements[0]
    name = trial_name(entry.name, first, attempt=1)
    document = _document(entry, template, nodes, first, name, entry.spec.limits.trial_seconds)
    words = [said for said in _refusals(requests, document) if QUOTA not in said]
    return Trouble("Refused", words[0]) if words else None


def kept_out(
    requests: Requests, entry: Entry, template: Template, nodes: list[NodeSeen], trial: Trial
) -> str | None:
    """Why a trial's job gets no pods: only its controller is told, so it is asked once more."""
    document = _document(entry, template, nodes, trial.placement, trial.job, trial.planned_seconds)
    return next(_refusals(requests, document), None)


def _refusals(requests: Requests, document: dict[str, Any]) -> Iterator[str]:
    """In the words of the namespace's admission, of the pods of each role."""
    for pod in trial_pods(document):
        try:
            requests.would_admit(pod)
        except (ForbiddenError, RefusedError) as problem:
            yield problem.message


def _document(
    entry: Entry,
    template: Template,
    nodes: list[NodeSeen],
    placement: Placement,
    name: str,
    planned_seconds: float,
) -> dict[str, Any]:
    try_on, limits = entry.spec.try_on, entry.spec.limits
    return trial_job(
        template,
        placement,
        name=name,
        owner=Owner(namespace=entry.namespace, name=entry.name, uid=entry.uid),
        type_label=try_on.type_label,
        one_node=fits_one_node(placement, try_on, template, nodes),
        deadline_seconds=int(reserved_seconds(entry.spec, planned_seconds)),
        pending_seconds=int(limits.pending_seconds),
    )
