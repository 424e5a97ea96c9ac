"""Looks at each job when it is due, and carries out what was decided: `one_pass` is the map of it.

A busy job is looked at as often as it could have become idle, one that was named every half minute
and whenever its object changes. People are told before it is written on the job: an instance that
ends in between tells it again, rather than never.
"""

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from cepheid.annotations.api import RefusedError
from cepheid.annotations.codec import PREFIX
from cepheid.annotations.job_facts import IdleFacts
from cepheid.errors import (
    ApiError,
    ForbiddenError,
    GoneError,
    HistoryError,
    LeaseLostError,
    SourceError,
    UsageError,
)
from cepheid.history import History
from cepheid.history.acts import Act
from cepheid.jobs.fields import Raw
from cepheid.jobs.kinds import KINDS, POD, Kind
from cepheid.jobs.pods import PodState
from cepheid.sources.jobs import JobReader, PodHistory, Span
from cepheid_operator.cluster import Cluster, Run
from cepheid_operator.eventing import About, tell
from cepheid_operator.idle import looking
from cepheid_operator.idle.deciding import Seen, Step, Told, decide
from cepheid_operator.idle.keeping import Kept, is_exempt
from cepheid_operator.idle.requests import MANAGER, Requests
from cepheid_operator.idle.telling import Subject, word
from cepheid_operator.idle.terms import Policy, policy_of
from cepheid_operator.idle.use import MOST_GAP_SECONDS, Use, continued, holders, use_of
from cepheid_operator.means import Means

LOG = logging.getLogger("cepheid.operator")
PASS_SECONDS = 5.0
LIST_SECONDS = 10.0
LOOK_SECONDS = 30.0
"""From one look to the next at a job that is called idle, or of which nobody knows."""
SETTLED_SECONDS = 600.0
"""At one where nothing but people can change anything; and after a refusal."""
MOST_REFUSALS = 3
MOST_BACK_SECONDS = 2 * 86_400.0
CHUNK_SECONDS = 3600.0
"""Read at once: so long every sample is read as it was scraped."""
MARK = f'"{PREFIX}idle"'.encode()
"""In a job's document, where it was named."""
WATCHING = "the idle policy"
ASKING = "the idle policy asks Prometheus"
KEEPING = "writing down what the idle policy does"

ReadHistory = Callable[[], History | None]
"""None where there is none. Raises HistoryError where it cannot be reached."""


@dataclass(slots=True)
class _Memory:
    """What is not worth writing on the job."""

    policy: Policy | None = None
    due_seconds: float = 0.0
    document: bytes | None = None
    """As it was at the last look."""
    idle_until_seconds: float | None = None
    """Up to then it was idle, as far as what stands on it says; a Unix time."""
    refusals: int = 0
    """In a row."""
    told: set[str] = field(default_factory=set)
    standing: IdleFacts | None = None
    """Of a bare pod, which is not ours to annotate."""


class Driving:
    """For one thread."""

    def __init__(
        self,
        means: Means,
        cluster: Cluster,
        reader: JobReader,
        history: ReadHistory,
        defaults: Policy,
    ) -> None:
        self._means, self._cluster, self._reader = means, cluster, reader
        self._history, self._defaults = history, defaults
        self._requests = Requests(means)
        self._policies: dict[str, Policy] = {}
        self._list_at = 0.0
        self._memories: dict[str, _Memory] = {}

    def run(self, stop: threading.Event) -> None:
        while not stop.wait(PASS_SECONDS):
            self._means.telemetry.alive("idle")
            self.one_pass()

    def one_pass(self) -> None:
        if not self._list_policies():
            return
        runs = self._cluster.all_runs()
        self._memories = {uid: kept for uid, kept in self._memories.items() if uid in runs}
        for uid, run in runs.items():
            policy = self._policies.get(run.namespace)
            known = uid in self._memories
            if policy is None and not known and not _is_marked(run):
                continue
            memory = self._memories.setdefault(uid, _Memory(policy))
            if self._is_due(run, policy, memory):
                self._means.telemetry.alive("idle")
                self._look(run, policy, memory)

    def _is_due(self, run: Run, policy: Policy | None, memory: _Memory) -> bool:
        is_news = _is_marked(run) and memory.document is not run.document
        return is_news or policy != memory.policy or self._means.steady() >= memory.due_seconds

    def _list_policies(self) -> bool:
        """Whether it is known what the namespaces want."""
        now = self._means.steady()
        if now < self._list_at:
            return WATCHING not in self._means.troubles
        self._list_at = now + LIST_SECONDS
        try:
            listed = self._requests.namespaces()
        except ApiError as problem:
            # With a role of an older version there is no such right, and no policy.
            self._means.troubles.happened(WATCHING, problem)
            return False
        self._means.troubles.over(WATCHING)
        self._policies = {name: policy for one in listed for name, policy in self._wanted(one)}
        return True

    def _wanted(self, namespace: Raw) -> Iterator[tuple[str, Policy]]:
        name = str(namespace["metadata"]["name"])
        trouble = f"{WATCHING} of {name}"
        try:
            policy = policy_of(namespace, self._defaults)
        except UsageError as problem:
            self._means.troubles.happened(trouble, problem)
            self._means.telemetry.errors.labels("idle-policy").inc()
            return
        self._means.troubles.over(trouble)
        if policy is not None:
            yield name, policy

    def _look(self, run: Run, policy: Policy | None, memory: _Memory) -> None:
        now = self._means.steady()
        memory.policy, memory.document = policy, run.document
        memory.due_seconds = now + LOOK_SECONDS
        trouble = f"{WATCHING} for {run}"
        try:
            wait = self._one(run, policy, memory)
        except GoneError:
            return  # its deletion will be told
        except SourceError as problem:
            self._means.troubles.happened(ASKING, problem)
        except HistoryError as problem:
            self._means.troubles.happened(KEEPING, problem)
        except RefusedError as problem:
            # Somebody changed it between our look and our word, and it is looked at again. Again
            # and again it is something else: a policy of an older version, a webhook.
            memory.refusals += 1
            memory.due_seconds = now + PASS_SECONDS
            if memory.refusals > MOST_REFUSALS:
                self._means.troubles.happened(trouble, problem)
                memory.due_seconds = now + SETTLED_SECONDS
        except ApiError as problem:
            self._means.troubles.happened(trouble, problem)
            if isinstance(problem, ForbiddenError):
                memory.due_seconds = now + SETTLED_SECONDS
        except LeaseLostError:
            raise
        except Exception as problem:  # noqa: BLE001 # one job's; the others go on
            self._means.lived_through(run, problem)
            memory.due_seconds = now + SETTLED_SECONDS
        else:
            for what in (ASKING, KEEPING, trouble):
                self._means.troubles.over(what)
            memory.refusals, memory.due_seconds = 0, now + wait

    def _one(self, run: Run, policy: Policy | None, memory: _Memory) -> float:
        """For how many seconds nothing is to be done."""
        pods = holders(self._cluster.pods_there(run))
        is_named = _is_marked(run) or memory.standing is not None
        if not is_named:
            # Most jobs, most of the time: nothing but Prometheus is asked.
            if policy is None or not pods:
                return LOOK_SECONDS
            use = self._use(run, pods, policy, None, memory)
            if use is None:
                return LOOK_SECONDS
            left = policy.idle_seconds - (self._now_seconds() - use.idle_seconds)
            if left > 0:
                return left
        job, seen = self._seen(run, pods, memory)
        step = self._decided(run, pods, job, seen, policy, memory)
        if step.suspend:
            self._tell(run, seen, step, memory)
            self._suspend(run, job)
            job, seen = self._seen(run, pods, memory)
            step = self._decided(run, pods, job, seen, policy, memory)
        self._carry_out(run, seen, step, memory)
        return self._wait(step.standing)

    def _decided(
        self,
        run: Run,
        pods: Sequence[PodState],
        job: Raw,
        seen: Seen,
        policy: Policy | None,
        memory: _Memory,
    ) -> Step:
        is_left_alone = looking.is_over(job, _kind(run)) or looking.is_trial(job) or is_exempt(job)
        wanted = None if is_left_alone else policy
        use = None
        if wanted is not None and not seen.is_suspended:
            use = self._use(run, pods, wanted, seen.standing, memory)
        step = decide(wanted, seen, use, self._means.wall())
        is_idle = use is not None and step.standing is not None
        memory.idle_until_seconds = self._now_seconds() if is_idle else None
        return step

    def _seen(self, run: Run, pods: Sequence[PodState], memory: _Memory) -> tuple[Raw, Seen]:
        gpus = max(1, sum(pod.gpu_count for pod in pods))
        if run.served is not None:
            job = self._requests.read(run, run.served.kind)
            return job, looking.seen(job, _kind(run), gpus, MANAGER)
        return run.raw() or {}, Seen(
            gpus=gpus,
            can_be_suspended=False,
            is_suspended=False,
            by_us=False,
            standing=memory.standing,
        )

    def _use(
        self,
        run: Run,
        pods: Sequence[PodState],
        policy: Policy,
        standing: IdleFacts | None,
        memory: _Memory,
    ) -> Use | None:
        now = self._now_seconds()
        if standing is None:
            return self._read(run, pods, now - policy.idle_seconds, now)
        since, known = standing.since.timestamp(), memory.idle_until_seconds
        use = self._read(run, pods, since if known is None else known, now)
        return continued(use, since, known)

    def _read(self, run: Run, pods: Sequence[PodState], begin: float, end: float) -> Use | None:
        """Some more before: the first sample comes when it comes."""
        names = {pod.name: pod for pod in pods}
        begin = max(begin - MOST_GAP_SECONDS, end - MOST_BACK_SECONDS)

        def pieces() -> Iterator[PodHistory]:
            at = begin
            while at < end:
                span = Span(at, min(at + CHUNK_SECONDS, end))
                yield from self._reader.read(run.namespace, list(names), span)
                self._means.telemetry.alive("idle")
                at = span.end_seconds

        return use_of(names, pieces(), end)

    def _suspend(self, run: Run, job: Raw) -> None:
        if run.served is None:
            return
        history = self._history()
        if history is not None:
            history.acts(limit=1)  # while nothing can be written down, nothing is done
        version = str(job["metadata"]["resourceVersion"])
        self._requests.suspend(run, run.served.kind, _kind(run), version)

    def _carry_out(self, run: Run, seen: Seen, step: Step, memory: _Memory) -> None:
        self._tell(run, seen, step, memory)
        if step.standing == seen.standing:
            return
        if run.served is None:
            memory.standing = step.standing
        else:
            self._requests.annotate(run, run.served.kind, step.standing)

    def _tell(self, run: Run, seen: Seen, step: Step, memory: _Memory) -> None:
        facts = step.standing or seen.standing
        if facts is not None:
            for told in step.tell:
                self._tell_one(run, told, facts, seen.kept, memory)

    def _tell_one(
        self, run: Run, told: Told, facts: IdleFacts, kept: Kept | None, memory: _Memory
    ) -> None:
        job = run.job
        about = About(
            api_version=job.api_version,
            kind=job.kind,
            namespace=run.namespace,
            name=job.name,
            uid=job.uid,
        )
        resource = "pod" if run.served is None else str(run.served)
        now = self._means.wall()
        said = word(told, Subject(about, _kind(run), resource), facts, kept, now)
        occasion = f"{said.reason} {said.key}"
        if occasion in memory.told:
            return
        history = self._history()
        if history is not None:
            self._means.check()
            history.note(
                Act(
                    at=now,
                    what=said.reason,
                    namespace=run.namespace,
                    kind=job.kind,
                    name=job.name,
                    uid=job.uid,
                    words=said.words,
                    occasion=said.key,
                )
            )
        self._means.check()
        if tell(self._means.hands.server(), about, said, now):
            LOG.info("%s: %s: %s", run, said.reason, said.words)
            self._means.telemetry.idle_acts.labels(said.reason).inc()
        memory.told.add(occasion)

    def _wait(self, standing: IdleFacts | None) -> float:
        if standing is None or standing.done or standing.at is None:
            return LOOK_SECONDS
        left = standing.at.timestamp() - self._now_seconds()
        return min(LOOK_SECONDS, max(0.0, left))

    def _now_seconds(self) -> float:
        return self._means.wall().timestamp()


def _kind(run: Run) -> Kind:
    return POD if run.served is None else KINDS[run.served.key]


def _is_marked(run: Run) -> bool:
    return run.document is not None and MARK in run.document
