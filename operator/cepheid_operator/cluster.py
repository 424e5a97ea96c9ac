"""Jobs and pods as they were last seen, and which jobs have to be looked at again.

Events come from the watches at any time, lists every few minutes; both say the same things, and
whichever says the newer one is believed. An object that a list does not have any more is gone.
Nothing here asks or writes; what is kept is small, since a cluster has thousands of pods.
"""

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import msgspec

from cepheid.annotations.job_codec import decode_job
from cepheid.annotations.job_facts import JobFacts
from cepheid.jobs import fields
from cepheid.jobs.fields import Raw
from cepheid.jobs.kinds import POD
from cepheid.jobs.owners import (
    BETWEEN,
    LeftAlone,
    Owned,
    Reference,
    Unknown,
    Why,
    job_of,
    top_of,
)
from cepheid.jobs.pods import PodState, applied_keys, pod_state
from cepheid_operator.discovery import Served
from cepheid_operator.profiles import MANAGER

MOST_PODS = 4096
"""Of one job. A job that is restarted for ever has no end of dead ones: the oldest go."""
FORGET_SECONDS = 600.0
"""So long an owner that is gone is remembered: its pods may follow later."""
_SHOWN = ("apiVersion", "kind", "metadata", "spec", "status")
_OWNER_KEYS = ("name", "namespace", "uid", "ownerReferences")


@dataclass(slots=True, eq=False)
class Run:
    """One job, from when it is first seen until its profile is complete."""

    job: Reference
    namespace: str
    served: Served | None = None
    """None for a bare pod: it is not annotated by us, its agent does that."""
    series: Reference | None = None
    document: bytes | None = None
    """The job as JSON: a tenth of what it takes as objects."""
    pods: dict[str, PodState] = field(default_factory=dict)
    """All that were ever seen of it, the last state of each."""
    there: set[str] = field(default_factory=set)
    """Those of them that still exist."""
    standing: dict[str, str] = field(default_factory=dict)
    """Our annotations on it."""
    deleted: datetime | None = None
    changed: bool = True

    def raw(self) -> Raw | None:
        return None if self.document is None else msgspec.json.decode(self.document)

    def facts(self) -> JobFacts:
        return decode_job(self.standing).facts

    def __str__(self) -> str:
        return f"{self.job.kind} {self.namespace}/{self.job.name}"


class Cluster:
    """For several threads: watches tell, and the rounds ask."""

    def __init__(
        self,
        *,
        clock: Callable[[], float],
        wall: Callable[[], datetime],
        is_done: Callable[[str], bool] = lambda _: False,
    ) -> None:
        """`is_done` says of a job that is not tracked that there is nothing left to do for it."""
        self.runs: dict[str, Run] = {}
        self._clock, self._wall, self._is_done = clock, wall, is_done
        self._lock = threading.RLock()
        self._versions: dict[str, int] = {}
        self._kinds: dict[str, tuple[str, str]] = {}
        """By uid: of everything that is known to exist."""
        self._owners: dict[str, Raw] = {}
        self._gone_owners: dict[str, float] = {}
        self._readable: set[tuple[str, str]] = set()
        self._left: dict[str, LeftAlone] = {}
        self._waiting: dict[str, tuple[Served, Raw, float]] = {}
        """Pods and jobs whose owner was not seen yet, and since when."""

    def see(self, served: Served, thing: Raw, deleted: bool) -> None:
        """One event, or one object of a list."""
        uid = fields.name(thing, "metadata", "uid")
        if uid is None:
            return
        with self._lock:
            if not self._is_news(uid, thing, deleted):
                return
            if deleted:
                self._kinds.pop(uid, None)
                self._versions.pop(uid, None)
            else:
                self._kinds[uid] = served.key
            if served.key == (POD.group, POD.name):
                self._attribute(served, uid, thing, deleted)
            else:
                self._see_owner(served, uid, thing, deleted)

    def relisted(self, served: Served, known_before: frozenset[str], listed: set[str]) -> int:
        """What was known before a list was made, and is not in it, is gone; returns how many."""
        with self._lock:
            self._readable.add(served.key)
            gone = [uid for uid in known_before - listed if self._kinds.get(uid) == served.key]
            for uid in gone:
                del self._kinds[uid]
                self._versions.pop(uid, None)
                self._is_gone(uid)
            return len(gone)

    def known(self, served: Served) -> frozenset[str]:
        with self._lock:
            return frozenset(uid for uid, key in self._kinds.items() if key == served.key)

    def unreadable(self, served: Served) -> None:
        with self._lock:
            self._readable.discard(served.key)

    def look_again(self) -> None:
        """At what waits for its owner, for a while; and forgets owners that are long gone."""
        with self._lock:
            limit = self._clock() - FORGET_SECONDS
            waiting, self._waiting = self._waiting, {}
            for uid, (served, thing, since) in waiting.items():
                if since < limit:
                    continue
                see = self._attribute if served.key == (POD.group, POD.name) else self._place
                see(served, uid, thing, deleted=uid not in self._kinds)
                if uid in self._waiting:
                    self._waiting[uid] = (served, thing, since)
            for uid in [uid for uid, since in self._gone_owners.items() if since < limit]:
                del self._gone_owners[uid]
                self._owners.pop(uid, None)

    def changed(self) -> list[Run]:
        """Those that something happened to since they were last asked for."""
        with self._lock:
            found = [run for run in self.runs.values() if run.changed]
            for run in found:
                run.changed = False
            return found

    def touch(self, run: Run) -> None:
        with self._lock:
            run.changed = True

    def forget(self, run: Run) -> None:
        with self._lock:
            self.runs.pop(run.job.uid, None)

    def pods_of(self, run: Run) -> list[PodState]:
        with self._lock:
            return list(run.pods.values())

    def pods_there(self, run: Run) -> list[PodState]:
        """Those that still exist."""
        with self._lock:
            return [run.pods[uid] for uid in run.there if uid in run.pods]

    def all_runs(self) -> dict[str, Run]:
        """By the job's uid; those whose job is there."""
        with self._lock:
            return {uid: run for uid, run in self.runs.items() if run.deleted is None}

    def exists(self, uid: str) -> bool:
        with self._lock:
            return uid in self._kinds

    def could_read(self, kind: tuple[str, str]) -> bool:
        """Whether the last list had all objects of that kind."""
        with self._lock:
            return kind in self._readable

    def may_learn_of(self, uid: str, kind: tuple[str, str]) -> bool:
        """Whether it is followed, or could be: as long as its kind was not listed nobody knows."""
        with self._lock:
            return uid in self.runs or kind not in self._readable

    def left_alone(self) -> Counter[tuple[Why, str]]:
        """How many pods and jobs, why, and at which kind the way ended."""
        with self._lock:
            return Counter((left.why, left.kind) for left in self._left.values())

    def __len__(self) -> int:
        return len(self._kinds)

    def _is_news(self, uid: str, thing: Raw, deleted: bool) -> bool:
        """A list may be older than what a watch said meanwhile."""
        text = fields.name(thing, "metadata", "resourceVersion") or ""
        version = int(text) if text.isascii() and text.isdigit() and len(text) < 20 else 0  # noqa: PLR2004
        if version < self._versions.get(uid, 0) and not deleted:
            return False
        self._versions[uid] = version
        return True

    def _attribute(self, served: Served, uid: str, thing: Raw, deleted: bool) -> None:
        owned = job_of(thing, self._lookup)
        if isinstance(owned, LeftAlone):
            self._leave(served, uid, _without_managers(thing, keep=True), owned, deleted)
            return
        self._left.pop(uid, None)
        state = pod_state(thing)
        if state is None or self._is_known_to_be_done(owned.job.uid):
            return
        bare = owned.job.uid == uid
        if bare and not (state.gpu_count or state.facts.gpus):
            return
        run = self._run(owned)
        if bare:
            run.document = _document({**thing, "apiVersion": "v1", "kind": POD.name})
            if deleted:
                run.deleted = run.deleted or self._wall()
        run.pods[uid] = state
        (run.there.discard if deleted else run.there.add)(uid)
        if len(run.pods) > MOST_PODS:
            self._drop_oldest_pod(run)
        run.changed = True

    def _see_owner(self, served: Served, uid: str, thing: Raw, deleted: bool) -> None:
        whole = {**thing, "apiVersion": _api_version(served), "kind": served.name}
        self._owners[uid] = _slim_owner(whole)
        if deleted:
            self._gone_owners[uid] = self._clock()
        if served.key not in BETWEEN:
            self._place(served, uid, whole, deleted)

    def _place(self, served: Served, uid: str, thing: Raw, deleted: bool) -> None:
        top = top_of(thing, self._lookup)
        if isinstance(top, LeftAlone):
            self._leave(served, uid, thing, top, deleted)
            return
        self._left.pop(uid, None)
        if top.job.uid != uid:
            self.runs.pop(uid, None)  # it looked like a job until its owner was seen
            return
        if self._is_known_to_be_done(uid):
            return
        run = self._run(top)
        run.served, run.series = served, top.series
        run.document = _document(thing)
        applied = applied_keys(thing, MANAGER)
        annotations = fields.part(thing, "metadata", "annotations")
        run.standing = {
            key: text
            for key, text in annotations.items()
            if key in applied and isinstance(text, str)
        }
        if deleted:
            run.deleted = run.deleted or self._wall()
        run.changed = True

    def _is_known_to_be_done(self, uid: str) -> bool:
        return uid not in self.runs and self._is_done(uid)

    def _run(self, owned: Owned) -> Run:
        run = self.runs.get(owned.job.uid)
        if run is None:
            run = self.runs[owned.job.uid] = Run(owned.job, owned.namespace, series=owned.series)
        return run

    def _is_gone(self, uid: str) -> None:
        """Its deletion was missed: what was seen of it last is all there is."""
        self._left.pop(uid, None)
        self._waiting.pop(uid, None)
        if uid in self._owners:
            self._gone_owners.setdefault(uid, self._clock())
        for run in self.runs.values():
            if uid in run.there:
                run.there.discard(uid)
                run.changed = True
        if uid in self.runs:
            run = self.runs[uid]
            run.deleted = run.deleted or self._wall()
            run.changed = True

    def _leave(self, served: Served, uid: str, thing: Raw, left: LeftAlone, deleted: bool) -> None:
        if deleted:
            self._left.pop(uid, None)
        else:
            self._left[uid] = left
        if left.why is Why.GONE:
            self._waiting[uid] = (served, thing, self._clock())

    def _lookup(self, reference: Reference, _namespace: str) -> Raw | Unknown | None:
        found = self._owners.get(reference.uid)
        if found is not None:
            return found
        readable = (reference.group, reference.kind) in self._readable
        return None if readable else Unknown.FORBIDDEN

    def _drop_oldest_pod(self, run: Run) -> None:
        over = [pod for pod in run.pods.values() if pod.uid not in run.there]
        if over:
            del run.pods[min(over, key=lambda pod: pod.created).uid]


def _document(thing: Raw) -> bytes:
    slim = {key: thing[key] for key in _SHOWN if key in thing}
    slim["metadata"] = _without_managers(thing)["metadata"]
    return msgspec.json.encode(slim)


def _without_managers(thing: Raw, *, keep: bool = False) -> dict[str, Any]:
    metadata = dict(fields.part(thing, "metadata"))
    if not keep:
        metadata.pop("managedFields", None)
    return {**thing, "metadata": metadata}


def _slim_owner(thing: Raw) -> Raw:
    metadata = fields.part(thing, "metadata")
    return {
        "apiVersion": thing["apiVersion"],
        "kind": thing["kind"],
        "metadata": {key: metadata[key] for key in _OWNER_KEYS if key in metadata},
    }


def _api_version(served: Served) -> str:
    return f"{served.group}/{served.version}" if served.group else served.version
