"""Gets the Lease, keeps it, and tells everybody who writes whether it is still ours.

The main thread does nothing else: whatever the others are busy with, the Lease is renewed. What
they write is fenced: `check` refuses as soon as our own clock says that somebody else may act.
"""

import logging
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from cepheid.annotations.api import ApiServer, RefusedError
from cepheid.annotations.writer import Kind
from cepheid.errors import ApiError, GoneError, LeaseLostError
from cepheid.jobs import fields
from cepheid.logs import Troubles
from cepheid_operator.lease import NOBODY, Record, Step, Terms, View

LOG = logging.getLogger("cepheid.operator")
LEASE = Kind.of("coordination.k8s.io", "v1", "Lease", "leases")
NAME = "cepheid-operator"
TIMEOUT_SECONDS = 3.0
"""Of one request: three of them fit between a renewal and giving up."""


def steady() -> float:
    """Seconds that go on while the machine sleeps: a lease does not wait for it."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def our_clock() -> datetime:
    """Which may be wrong, or jump: others count by `Holding.skew_seconds`."""
    return datetime.fromtimestamp(time.time(), UTC)


class Holding:
    """One instance's hold of the Lease."""

    def __init__(
        self,
        server: ApiServer,
        namespace: str,
        identity: str,
        troubles: Troubles,
        *,
        terms: Terms | None = None,
        clock: Callable[[], float] = steady,
        looked: Callable[[], None] = lambda: None,
        tried: Callable[[], None] = lambda: None,
    ) -> None:
        """`tried` is called after every look, `looked` where the API server answered."""
        self.terms = terms or Terms()
        self._server = server
        self._namespace = namespace
        self._troubles = troubles
        self._clock = clock
        self._looked, self._tried = looked, tried
        self._view = View(identity)
        self._found: dict[str, Any] = {}
        self.skew_seconds: float | None = None
        """How far the API server's clock is ahead of ours."""

    @property
    def acts(self) -> bool:
        return self._view.acts(self._clock(), self.terms)

    def check(self) -> None:
        """Before every write."""
        if not self.acts:
            raise LeaseLostError(
                "the Lease is not ours any more: another instance may act",
                hint="was the API server out of reach for 10 s, or this process not scheduled?",
            )

    def acquire(self, stop: threading.Event) -> bool:
        """Waits until it is ours; False when told to stop before."""
        while not stop.is_set():
            self._step()
            self._tried()
            if self.acts:
                LOG.info("acting, as %s", self._view.me)
                return True
            stop.wait(self.terms.look_seconds)
        return False

    def keep(self, stop: threading.Event) -> None:
        """Renews it until told to stop; LeaseLostError when it is not ours any more."""
        pause = self.terms.renew_seconds
        while not stop.wait(max(0.0, min(pause, self._left_seconds()))):
            done = self._step()
            self._tried()
            self.check()
            pause = self.terms.renew_seconds if done else self.terms.renew_seconds / 4

    def release(self) -> None:
        """So that another one need not wait; of no consequence where it fails."""
        if self.acts:
            try:
                self._write("", self._found)
            except ApiError as problem:
                LOG.info("the Lease was not released: %s", problem.message)
            self._view = View(self._view.me)

    def _left_seconds(self) -> float:
        return self._view.deadline(self.terms) - self._clock()

    def _step(self) -> bool:
        """One look, and a write where it is our turn; whether it is as it should be."""
        now = self._clock()
        doing = "looking after the Lease"
        try:
            self._look(now)
            match self._view.next_step(now, self.terms):
                case Step.ANNOUNCE:
                    self._view = self._view.seen(self._write(NOBODY, self._found), self._clock())
                case Step.CREATE | Step.TAKE | Step.RENEW as step:
                    sent = self._clock()
                    record = self._write(self._view.me, self._found)
                    self._view = self._view.written(record, sent)
                    LOG.debug("the Lease: %s", step)
                case Step.LOST:
                    self._view = View(self._view.me, self._view.record, self._view.since_seconds)
                case Step.WAIT:
                    pass
        except (RefusedError, GoneError) as problem:
            LOG.debug("somebody else was faster: %s", problem.message)
            return False
        except ApiError as problem:
            self._troubles.happened(doing, problem)
            return False
        self._troubles.over(doing)
        self._looked()
        return True

    def _look(self, now_seconds: float) -> None:
        try:
            self._found = self._server.ask(
                f"reading Lease {self._namespace}/{NAME}",
                lambda client: client.get(LEASE.resource, NAME, namespace=self._namespace),
            )
        except GoneError:
            self._found = {}
        self._view = self._view.seen(_record(self._found), now_seconds)

    def _write(self, holder: str, found: dict[str, Any]) -> Record:
        now = our_clock().isoformat(timespec="microseconds").replace("+00:00", "Z")
        before = _record(found)
        spec = {
            "holderIdentity": holder,
            "leaseDurationSeconds": round(self.terms.free_seconds),
            "renewTime": now,
            "acquireTime": now if before.holder != holder else found["spec"].get("acquireTime"),
            "leaseTransitions": before.transitions + (before.holder != holder and bool(holder)),
        }
        metadata = {"name": NAME, "namespace": self._namespace}
        if found:
            metadata["resourceVersion"] = before.version
        lease = LEASE.resource(metadata=metadata, spec=spec)
        # To replace a version is to lose against whoever wrote in between.
        written = self._server.ask(
            f"writing Lease {self._namespace}/{NAME}",
            lambda client: client.replace(lease) if found else client.create(lease),
        )
        self._found = written
        if (there := _written_at(written)) is not None:
            self.skew_seconds = (there - our_clock()).total_seconds()
        return _record(written)


def _written_at(found: dict[str, Any]) -> datetime | None:
    """By the API server's clock, to the second."""
    entries = fields.items(found, "metadata", "managedFields")
    return max((at for one in entries if (at := fields.moment(one, "time"))), default=None)


def _record(found: dict[str, Any]) -> Record:
    if not found:
        return Record()
    spec = found.get("spec") or {}
    transitions = spec.get("leaseTransitions")
    return Record(
        holder=str(spec.get("holderIdentity") or ""),
        version=str((found.get("metadata") or {}).get("resourceVersion") or ""),
        transitions=transitions if isinstance(transitions, int) else 0,
    )
