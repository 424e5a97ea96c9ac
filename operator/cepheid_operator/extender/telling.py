"""An Event a pod: what was considered when it was placed.

Told when the pod has got its node, or when it waits for one for a while. A bounded number a second,
and what there is no room for is left out and counted: an Event is a kindness, and placing is not
held up by it.
"""

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from cepheid.annotations.api import ApiServer
from cepheid.errors import ApiError
from cepheid.jobs import fields
from cepheid.logs import Troubles
from cepheid.whynode import KEY, REASON, to_text
from cepheid_operator.eventing import About, Word, tell
from cepheid_operator.extender.answering import Case
from cepheid_operator.extender.telemetry import Telemetry
from cepheid_operator.extender.wording import considered, sentence

LOG = logging.getLogger("cepheid.extender")
MOST = 512
"""Pods that are remembered until they have a node."""
MOST_NODES = 300_000
"""Of all of those pods together: each costs some 130 bytes, 5,000 of 512 pods would be 300 MB."""
WAITED_SECONDS = 15.0
"""A pod without a node for so long is told of as it is."""
TELLING = "telling of what was considered"


@dataclass(slots=True)
class _Noted:
    case: Case
    about: About
    at: datetime
    since: float
    node: str | None = None
    told: bool = False
    """While it waited."""


class Telling:
    def __init__(
        self,
        server: ApiServer,
        telemetry: Telemetry,
        per_second: float,
        *,
        clock: Callable[[], float],
        wall: Callable[[], datetime],
    ) -> None:
        self._server, self._telemetry, self._per_second = server, telemetry, per_second
        self._clock, self._wall = clock, wall
        self._noted: OrderedDict[str, _Noted] = OrderedDict()
        self._nodes = 0
        """Of all that are noted."""
        self._lock = threading.Lock()
        self._troubles = Troubles(LOG)

    def note(self, case: Case) -> None:
        """The newest of a pod that is tried again and again."""
        about = _about(case)
        if about is None or not self._per_second:
            return
        with self._lock:
            before = self._take(about.uid)
            since = self._clock() if before is None else before.since
            told = before is not None and before.told
            self._noted[about.uid] = _Noted(case, about, self._wall(), since, told=told)
            self._nodes += len(case.names)
            while len(self._noted) > MOST or self._nodes > MOST_NODES:
                self._take(next(iter(self._noted)))
                self._telemetry.told.labels("left out").inc()

    def bound(self, uid: str, node: str) -> None:
        with self._lock:
            noted = self._noted.get(uid)
            if noted is not None:
                noted.node = node

    def run(self, stop: threading.Event) -> None:
        if not self._per_second:
            return
        while not stop.wait(1 / self._per_second):
            noted = self._due()
            if noted is not None:
                self._tell(noted)

    def _due(self) -> _Noted | None:
        """One that has its node, else one that has waited for it."""
        with self._lock:
            placed = next((one for one in self._noted.values() if one.node is not None), None)
            if placed is not None:
                return self._take(placed.about.uid)
            limit = self._clock() - WAITED_SECONDS
            for one in self._noted.values():
                if one.since < limit and not one.told:
                    one.told = True
                    return one
        return None

    def _take(self, uid: str) -> _Noted | None:
        noted = self._noted.pop(uid, None)
        self._nodes -= 0 if noted is None else len(noted.case.names)
        return noted

    def _tell(self, noted: _Noted) -> None:
        case = noted.case
        told = considered(case.asked, case.names, case.judged, noted.node, noted.at)
        word = Word(
            reason=REASON,
            words=sentence(told),
            action="Placing",
            key="" if noted.node is None else noted.node,
            annotations={KEY: to_text(told)},
        )
        try:
            tell(self._server, noted.about, word, self._wall())
        except ApiError as problem:
            self._telemetry.told.labels("failed").inc()
            self._troubles.happened(TELLING, problem)
            return
        self._telemetry.told.labels("told").inc()
        self._troubles.over(TELLING)


def _about(case: Case) -> About | None:
    parts = [fields.name(case.pod, "metadata", key) for key in ("namespace", "name", "uid")]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    namespace, name, uid = known
    return About(api_version="v1", kind="Pod", namespace=namespace, name=name, uid=uid)
