"""Which PlacementTrials are there, and which of them have something left to do?

The watch and the lists say what a person wants; of the status the one that we wrote last counts,
since nobody else writes it.
"""

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime

from cepheid.jobs import fields
from cepheid.jobs.fields import Raw
from cepheid.placementtrial import Phase, TrialError, TrialSpec, TrialStatus, spec_from, status_from

Wrong = Callable[[str, TrialError], None]
"""Hears of one that cannot be read."""


@dataclass(slots=True, eq=False)
class Entry:
    """One PlacementTrial."""

    namespace: str
    name: str
    uid: str
    created: datetime
    generation: int
    spec: TrialSpec
    status: TrialStatus
    at_rest: bool = False
    """It is over, and so is everything that was to be done after it."""

    @property
    def is_over(self) -> bool:
        return self.status.phase is not None and self.status.phase.is_over

    @property
    def has_answer(self) -> bool:
        """One that still holds: of a job that was changed meanwhile it says nothing."""
        phase = self.status.phase
        return self.is_over and phase is not Phase.FAILED and self.status.best is not None

    def tries_the_same(self, other: "Entry") -> bool:
        one, two = self.spec.job, other.spec.job
        return (
            one.name is not None
            and (self.namespace, one.name, one.kind) == (other.namespace, two.name, two.kind)
            and self.uid != other.uid
        )

    def __str__(self) -> str:
        return f"PlacementTrial {self.namespace}/{self.name}"


class Book:
    """For several threads: watches tell, and who drives the trials asks."""

    def __init__(self, wrong: Wrong) -> None:
        self._wrong = wrong
        self._lock = threading.Lock()
        self._entries: dict[str, Entry] = {}

    def see(self, thing: Raw, deleted: bool) -> None:
        """One event, or one object of a list."""
        uid = fields.name(thing, "metadata", "uid")
        if uid is None:
            return
        with self._lock:
            if deleted:
                self._entries.pop(uid, None)
                return
            self._take(uid, thing)

    def relisted(self, listed: Iterable[Raw]) -> None:
        """Those, and no others."""
        uids = set()
        for thing in listed:
            self.see(thing, deleted=False)
            uids.add(fields.name(thing, "metadata", "uid"))
        with self._lock:
            for uid in self._entries.keys() - uids:
                del self._entries[uid]

    def to_do(self) -> list[Entry]:
        """The oldest first."""
        with self._lock:
            found = [entry for entry in self._entries.values() if not entry.at_rest]
        return sorted(found, key=_age)

    def before(self, entry: Entry) -> Entry | None:
        """Another of the same job that goes on first: it runs already, or it is older."""
        with self._lock:
            others = [
                other
                for other in self._entries.values()
                if other.tries_the_same(entry) and not other.is_over and not other.spec.suspend
            ]
        runs = [other for other in others if other.status.phase is Phase.RUNNING]
        if entry.status.phase is Phase.RUNNING:
            # Two that run at once were told so by two instances: the older one goes on.
            older = [other for other in runs if _age(other) < _age(entry)]
        else:
            older = runs or [other for other in others if _age(other) < _age(entry)]
        return min(older, key=_age, default=None)

    def is_superseded(self, entry: Entry) -> bool:
        """A later one of the same job has found an answer: the job carries that."""
        with self._lock:
            return any(
                other.tries_the_same(entry) and other.has_answer and _age(other) > _age(entry)
                for other in self._entries.values()
            )

    def forget(self, entry: Entry) -> None:
        with self._lock:
            self._entries.pop(entry.uid, None)

    def phases(self) -> list[str]:
        """For a metric."""
        with self._lock:
            return [str(entry.status.phase or "New") for entry in self._entries.values()]

    def _take(self, uid: str, thing: Raw) -> None:
        name = fields.name(thing, "metadata", "name")
        namespace = fields.name(thing, "metadata", "namespace")
        created = fields.moment(thing, "metadata", "creationTimestamp")
        generation = fields.count(thing, "metadata", "generation") or 0
        if name is None or namespace is None or created is None:
            return
        known = self._entries.get(uid)
        if known is not None and generation <= known.generation:
            return
        try:
            spec = spec_from(thing.get("spec"))
            status = known.status if known is not None else status_from(thing.get("status"))
        except TrialError as problem:
            # The definition refuses what we cannot read; unless it is a newer one than we are.
            self._wrong(f"{namespace}/{name}", problem)
            return
        self._entries[uid] = Entry(namespace, name, uid, created, generation, spec, status)


def _age(entry: Entry) -> tuple[datetime, str]:
    return entry.created, entry.uid
