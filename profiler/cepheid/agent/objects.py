"""The Node and the Pods that this agent writes to: what stands on each, and what may be written."""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

from lightkube.models.core_v1 import Container
from lightkube.resources.core_v1 import Node, Pod

from cepheid.agent.telemetry import Telemetry
from cepheid.annotations.api import ApiServer
from cepheid.annotations.change import Budget, Cause, Decision, Policy, decide
from cepheid.annotations.writer import Kind, Standing, Writer, shown, standing_of
from cepheid.errors import (
    ApiError,
    ForbiddenError,
    GoneError,
    LoginError,
    ThrottledError,
    UnavailableError,
)
from cepheid.logs import Troubles

LOG = logging.getLogger("cepheid.agent")
AWAY = (LoginError, ThrottledError, UnavailableError)
"""After one of these there is no use in asking for another object."""
REACHING = "reaching the API server"
STARTING = 5
"""So often in a row an API server that comes back may refuse what it allowed before."""
REFUSED_INTERVALS = 3
"""Between two tries of what the API server refused: 20 an hour."""
CPU_UNITS = {"n": 1e-9, "u": 1e-6, "m": 1e-3}


@dataclass(frozen=True, slots=True)
class Identity:
    """What is measured. Its uid is the one that metrics name, where they do."""

    kind: Kind
    name: str
    namespace: str | None = None
    uid: str | None = None

    def __str__(self) -> str:
        within = "" if self.namespace is None else f"{self.namespace}/"
        return f"{self.kind.name} {within}{self.name}"


@dataclass(slots=True)
class Known:
    """One object, from the first time that it is written to until it is gone."""

    identity: Identity
    standing: Standing
    budget: Budget
    cpu_limit_cores: float | None = None
    refused_until_seconds: float = 0.0
    """Until then the same would be refused again."""


class Objects:
    """Reads an object once, when it is first met; then remembers what it wrote itself."""

    def __init__(self, server: ApiServer, telemetry: Telemetry, troubles: Troubles) -> None:
        self._server = server
        self._writer = Writer(server)
        self._telemetry = telemetry
        self._troubles = troubles
        self._known: dict[Identity, Known] = {}
        self._refusals = 0

    def meet(self, identity: Identity, policy: Policy, steady_seconds: float) -> Known:
        """Raises GoneError where there is no such object (any more)."""
        if identity not in self._known:
            kind, namespace, name = identity.kind, identity.namespace, identity.name
            resource = kind.resource
            with self._asking(identity):
                found: Node | Pod = self._server.ask(
                    f"reading {shown(kind, name, namespace)}",
                    lambda client: client.get(resource, name, namespace=namespace),
                )
                _check_uid(found, identity)
            limit = _cpu_limit(found) if isinstance(found, Pod) else None
            budget = Budget.full(policy, steady_seconds)
            self._known[identity] = Known(identity, standing_of(found, kind), budget, limit)
        return self._known[identity]

    def keep_only(self, pods: set[Identity]) -> None:
        """What is not measured any more is not remembered either."""
        for identity in [i for i in self._known if i.kind is Kind.POD and i not in pods]:
            del self._known[identity]
            self._troubles.forget(f"annotating {identity}")

    def write(
        self, known: Known, wanted: Mapping[str, str], policy: Policy, steady_seconds: float
    ) -> Decision:
        """One patch, if somebody would act on the difference."""
        target = known.standing.target
        kind = target.kind.name
        decision = decide(known.standing.annotations, wanted, known.budget, steady_seconds, policy)
        if decision.write and steady_seconds < known.refused_until_seconds:
            left = known.refused_until_seconds - steady_seconds
            decision = Decision(False, Cause.WAITING, f"{decision.why}; it was refused", left)
        if not decision.write:
            self._telemetry.skips.labels(kind, str(decision.cause)).inc()
            LOG.debug("%s left as it is: %s", target, decision.why)
            return decision
        try:
            with self._asking(known.identity):
                known.standing = self._writer.apply(target, wanted, known.standing)
        except AWAY:
            raise
        except ApiError as problem:
            # It cost the server something, and an object that it refuses is not tried every pass.
            # No write was spent, though: when it is taken again, there is news to tell.
            known.refused_until_seconds = (
                steady_seconds + REFUSED_INTERVALS * policy.interval_seconds
            )
            if isinstance(problem, GoneError):
                self._known.pop(known.identity, None)
            raise
        known.budget = known.budget.written(steady_seconds, policy)
        self._telemetry.writes.labels(kind, str(decision.cause)).inc()
        LOG.debug("%s written: %s", target, decision.why)
        return decision

    @contextmanager
    def _asking(self, identity: Identity) -> Iterator[None]:
        """Says once of the server, or of the object, that it fails; once that it is over."""
        doing = f"annotating {identity}"
        try:
            try:
                yield
            finally:
                self._telemetry.alive()
        except GoneError:
            self._troubles.over(REACHING)
            self._troubles.forget(doing)
            raise
        except AWAY as problem:
            self._telemetry.errors.labels("api-away").inc()
            self._troubles.happened(REACHING, problem)
            raise
        except ApiError as problem:
            if isinstance(problem, ForbiddenError) and self._is_starting():
                self._telemetry.errors.labels("api-away").inc()
                self._troubles.happened(REACHING, problem)
                raise UnavailableError(problem.message) from problem
            self._telemetry.errors.labels("api").inc()
            self._troubles.over(REACHING)
            self._troubles.happened(doing, problem)
            raise
        self._refusals = 0
        self._troubles.over(REACHING)
        self._troubles.over(doing)

    def _is_starting(self) -> bool:
        """It answers before it has read who may do what, and then nobody may do anything."""
        self._refusals += 1
        return REACHING in self._troubles and self._refusals <= STARTING


def _check_uid(found: Node | Pod, identity: Identity) -> None:
    """Metrics of a pod live on for minutes: its successor of the same name must not get them."""
    metadata = found.metadata
    if identity.uid is None or metadata is None or metadata.uid == identity.uid:
        return
    # The kubelet runs a static pod under a hash of its file; the API server shows a mirror of it.
    if (metadata.annotations or {}).get("kubernetes.io/config.hash") != identity.uid:
        raise GoneError(f"{identity} was deleted and made again")


def _cpu_limit(pod: Pod) -> float | None:
    """Of all its containers together; None where one of them has none."""
    if pod.spec is None:
        return None
    limits = [_cores(container) for container in pod.spec.containers]
    known = [limit for limit in limits if limit is not None]
    return sum(known) if known and len(known) == len(limits) else None


def _cores(container: Container) -> float | None:
    limits = container.resources.limits if container.resources is not None else None
    text = (limits or {}).get("cpu")
    if text is None:
        return None
    unit = CPU_UNITS.get(text[-1:])
    try:
        return float(text) if unit is None else float(text[:-1]) * unit
    except ValueError:
        return None


def with_intervals(policy: Policy, *, write_seconds: float, valid_seconds: float) -> Policy:
    return replace(policy, interval_seconds=write_seconds, valid_seconds=valid_seconds)
