"""What `decide` wants to know of a PlacementTrial, asked of the API server and of Prometheus.

Asked every time: the user's job, the trial jobs and their pods. Now and then: nodes, quotas, what
Prometheus says of a trial that runs. Once: what earlier runs of the job tell.
"""

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from cepheid.analysis.scaling import GpuType, Seen
from cepheid.errors import ApiError, GoneError, SourceError
from cepheid.gpu_models import peaks_of
from cepheid.jobs.fields import one_line
from cepheid.jobs.owners import controller_of
from cepheid.placementtrial import Ruler, Trial, TrialError
from cepheid.sources.jobs import JobReader
from cepheid_operator.means import Means
from cepheid_operator.trials.book import Book, Entry
from cepheid_operator.trials.copying import candidates, template
from cepheid_operator.trials.copying.builders import TRIAL_LABEL, label_value
from cepheid_operator.trials.copying.candidates import Candidates, NodeSeen, Quota
from cepheid_operator.trials.copying.template import Template
from cepheid_operator.trials.decide import Observed, Trouble
from cepheid_operator.trials.fates import Sight
from cepheid_operator.trials.following import Course, course_of
from cepheid_operator.trials.making import kept_out, refused
from cepheid_operator.trials.measuring import readings
from cepheid_operator.trials.measuring.readings import Read
from cepheid_operator.trials.requests import (
    NODES,
    PODS,
    QUOTAS,
    Requests,
    UnknownKindError,
    job_kind,
)

LOG = logging.getLogger("cepheid.operator")
NODES_SECONDS = 60.0
READ_SECONDS = 10.0
"""From one reading of a trial to the next: Prometheus is asked for all samples each time."""
FIRST_SECONDS = 20.0
"""After the warm-up: less would hold too few samples to say anything."""
APPLIED_SECONDS = 60.0
"""A job may be applied a moment after its PlacementTrial."""
Earlier = Callable[[Entry, Template], tuple[Seen, ...]]


@dataclass(slots=True)
class Memory:
    """Of one PlacementTrial: what costs too much to ask for every time. All of it can be lost."""

    readings: dict[str, tuple[float, Read]] = field(default_factory=dict)
    refusals: dict[str, str] = field(default_factory=dict)
    kept_out: dict[str, tuple[float, str | None]] = field(default_factory=dict)
    """When it was asked, and why the job gets no pods."""
    admitted: str | None = None
    """The digest of the template that the namespace would let in."""
    known: tuple[Seen, ...] | None = None


class Observing:
    """For one thread. Raises ApiError where the API server is away."""

    def __init__(
        self, means: Means, requests: Requests, book: Book, reader: JobReader, earlier: Earlier
    ) -> None:
        self._means, self._requests = means, requests
        self._book, self._reader, self._earlier = book, reader, earlier
        self._nodes: list[NodeSeen] = []
        self._nodes_at: float | None = None

    @property
    def nodes(self) -> list[NodeSeen]:
        return self._nodes

    def look(self, entry: Entry, memory: Memory) -> Observed:
        now = self._means.wall()
        courses = self._courses(entry)
        basis: dict[str, Any] = {"now": now, "name": entry.name}
        if entry.is_over:
            return Observed(**basis, sights={c.name: Sight(course=c) for c in courses})
        basis["waits"] = self._waits(entry)
        try:
            found = self._template(entry)
        except TrialError as problem:
            basis["trouble"] = Trouble("CannotBeTried", str(problem).replace("\n", "; "))
            found = None
        except UnknownKindError:
            job = entry.spec.job
            words = f"the cluster has no {job.kind} of {job.api_version}"
            basis["trouble"] = Trouble("CannotBeTried", words)
            found = None
        except GoneError:
            basis |= self._gone(entry)
            found = None
        if found is not None:
            basis |= self._possible(entry, found, memory)
        quota = basis.get("quota", Quota())
        sights = {c.name: self._sight(entry, memory, c, found) for c in courses}
        for trial in entry.status.trials:
            if trial.job not in sights and not trial.state.is_over:
                sights[trial.job] = Sight(
                    refusal=memory.refusals.get(trial.job), room=_room(trial.placement.gpus, quota)
                )
        return Observed(**basis, sights=sights)

    def _possible(self, entry: Entry, found: Template, memory: Memory) -> dict[str, Any]:
        nodes, quota = self._nodes_now(NODES_SECONDS), self._quota(entry, found)
        possible = candidates.candidates(entry.spec.try_on, found, nodes, quota)
        if not possible.placements:
            # For good it is only said of the nodes as they are: one may just have come.
            nodes = self._nodes_now(0.0)
            possible = candidates.candidates(entry.spec.try_on, found, nodes, quota)
        made: dict[str, Any] = {"template": found, "quota": quota, "candidates": possible}
        if possible.placements and memory.admitted != found.digest:
            trouble = refused(self._requests, entry, found, nodes, possible)
            if trouble is not None:
                return made | {"trouble": trouble}
            memory.admitted = found.digest
        if memory.known is None:
            memory.known = self._earlier(entry, found)
        types = _types(possible, nodes, found, entry.spec.try_on.type_label)
        return made | {"known": memory.known, "types": types}

    def _template(self, entry: Entry) -> Template:
        """Raises GoneError where there is no such job, TrialError for what cannot be tried."""
        job = entry.spec.job
        document = template.inline(job, entry.namespace)
        if document is None:
            kind = job_kind(job.api_version, job.kind)
            document = self._requests.get(kind, entry.namespace, job.name or "")
        return template.read(document, type_label=entry.spec.try_on.type_label)

    def _gone(self, entry: Entry) -> dict[str, Any]:
        job = entry.spec.job
        age = (self._means.wall() - entry.created).total_seconds()
        if entry.status.template is None and age < APPLIED_SECONDS:
            return {"waits": f"{job.kind} {job.name} is not there yet"}
        words = f"there is no {job.kind} {job.name} in {entry.namespace}"
        return {"trouble": Trouble("TemplateGone", words)}

    def _waits(self, entry: Entry) -> str | None:
        other = self._book.before(entry)
        if other is None:
            return None
        return f"PlacementTrial {other.name} tries the same job: this one comes after it"

    def _courses(self, entry: Entry) -> list[Course]:
        """Of the trial jobs that are there, whether or not the status knows them."""
        job = entry.spec.job
        labels = {TRIAL_LABEL: label_value(entry.name)}
        kind = job_kind(job.api_version, job.kind)
        try:
            jobs = self._requests.list(kind.resource, entry.namespace, labels)
        except UnknownKindError:
            return []
        own = [one for one in jobs if (owner := controller_of(one)) and owner.uid == entry.uid]
        pods = self._requests.list(PODS, entry.namespace, labels) if own else []
        kinds = {"apiVersion": job.api_version, "kind": job.kind}
        found = [course_of({**one, **kinds}, pods) for one in own]
        return [course for course in found if course is not None]

    def _sight(self, entry: Entry, memory: Memory, course: Course, found: Template | None) -> Sight:
        trial = next((one for one in entry.status.trials if one.job == course.name), None)
        began = course.began
        if trial is None or trial.state.is_over:
            return Sight(course=course)
        if began is None:
            if course.pods or found is None:
                return Sight(course=course)
            return Sight(course=course, room=self._kept_out(entry, memory, trial, found))
        ran = (self._means.wall() - began).total_seconds()
        if ran < entry.spec.limits.warmup_seconds + FIRST_SECONDS and not course.ending.is_over:
            return Sight(course=course)
        read = self._reading(entry, memory, course)
        return Sight(course=course, reading=read.reading, unread=read.why)

    def _kept_out(self, entry: Entry, memory: Memory, trial: Trial, found: Template) -> str | None:
        now = self._means.steady()
        at, words = memory.kept_out.get(trial.job, (None, None))
        if at is None:
            at = now  # its controller has just heard of it
        elif now - at >= READ_SECONDS:
            at, words = now, kept_out(self._requests, entry, found, self._nodes, trial)
        memory.kept_out[trial.job] = (at, words)
        return words

    def _reading(self, entry: Entry, memory: Memory, course: Course) -> Read:
        now = self._means.steady()
        at, last = memory.readings.get(course.name, (-READ_SECONDS, Read(None)))
        if now - at < READ_SECONDS:
            return last
        try:
            read = self._read(entry, course)
            self._means.troubles.over("measuring trials")
        except (SourceError, ApiError) as problem:
            # What was read before holds; it only does not get better.
            self._means.troubles.happened("measuring trials", problem)
            read = Read(last.reading, one_line(problem.message))
        memory.readings[course.name] = (now, read)
        return read

    def _read(self, entry: Entry, course: Course) -> Read:
        limits, measure = entry.spec.limits, entry.spec.measure
        began = 0.0 if course.began is None else course.began.timestamp()
        ended = course.ending.ended if course.ending.is_over else None
        lines = self._lines(entry, course) if measure.by is Ruler.LOG else tuple
        return readings.read(
            self._reader,
            entry.namespace,
            course.pods,
            measure,
            began_seconds=began,
            warmup_seconds=limits.warmup_seconds,
            now_seconds=(ended or self._means.wall()).timestamp(),
            lines=lines,
        )

    def _lines(self, entry: Entry, course: Course) -> Callable[[], list[str]]:
        seconds = entry.spec.limits.trial_seconds

        def lines() -> list[str]:
            server = self._means.hands.server()
            return readings.read_log(server, entry.namespace, course.pods, since_seconds=seconds)

        return lines

    def _nodes_now(self, most_seconds: float) -> list[NodeSeen]:
        """So long ago they may have been listed."""
        now = self._means.steady()
        if self._nodes_at is None or now - self._nodes_at >= most_seconds:
            seen = [candidates.node_seen(raw) for raw in self._requests.list(NODES)]
            self._nodes, self._nodes_at = [node for node in seen if node is not None], now
        return self._nodes

    def _quota(self, entry: Entry, found: Template) -> Quota:
        quotas = self._requests.list(QUOTAS, entry.namespace)
        return candidates.quota_seen(quotas, found.gpu_resource)


def _room(gpus: int, quota: Quota) -> str | None:
    if quota.free is None or quota.free >= gpus:
        return None
    return f"the namespace's quota has {quota.free} GPUs left of {quota.hard}, and it needs {gpus}"


def _types(
    possible: Candidates, nodes: Iterable[NodeSeen], found: Template, label: str
) -> tuple[GpuType, ...]:
    """What is known of each type beforehand: by its name, and by the labels of its nodes."""
    per_node: dict[str, int] = {}
    for node in nodes:
        name = node.labels.get(label)
        if name is not None:
            per_node[name] = max(per_node.get(name, 0), node.gpus(found.gpu_resource))
    made = []
    for name in dict.fromkeys(one.gpu_type for one in possible.placements):
        peak = peaks_of(name)
        made.append(
            GpuType(
                name,
                memory_mib=possible.memory_mib.get(name),
                tensor_teraflops=None if peak is None else peak.tensor_teraflops,
                dram_gbps=None if peak is None else peak.dram_gb_per_second,
                gpus_per_node=per_node.get(name),
            )
        )
    return tuple(made)
