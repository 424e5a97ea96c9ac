"""kopf, and nothing but kopf: every event of pods and jobs is handed on, nothing is ever written.

Only `on.event`: all other handlers of kopf put finalizers or annotations on what they watch. Its
finalizer has a name of our own, because kopf takes one that nobody needs off any object, and other
operators' has the name that kopf gives by default.

A watch that the API server refuses, or a kind that is deleted, ends the whole of kopf. So it runs
in a thread and an event loop of its own, is given only kinds that could be listed, and is started
again by who sees that it ended.
"""

import asyncio
import logging
import threading
from collections.abc import Callable, Iterable
from typing import Any

import kopf

from cepheid.jobs.fields import Raw
from cepheid_operator.discovery import Served

Seen = Callable[[Served, Raw, bool], None]
"""A kind, one object of it, and whether it was deleted."""
FINALIZER = "ai.centaurus.io/never"
PAGE = 250
"""At most so many objects of a list are in memory at once."""


class Watch:
    """From `start` to `stop`, or until it fails by itself."""

    def __init__(self, kinds: Iterable[Served], seen: Seen, page: int = PAGE) -> None:
        self.kinds = frozenset(kinds)
        self.failure: BaseException | None = None
        self._seen, self._page = seen, page
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)

    def start(self) -> None:
        self._thread.start()

    @property
    def running(self) -> bool:
        return self._thread.is_alive()

    def stop(self, timeout_seconds: float = 10.0) -> None:
        if self._loop is not None and self._stop is not None and self.running:
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(timeout_seconds)

    def _run(self) -> None:
        try:
            asyncio.run(self._watch())
        except BaseException as problem:  # noqa: BLE001 # kept for who asks: threads have no caller
            self.failure = problem

    async def _watch(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        await kopf.operator(
            registry=_registry(self.kinds, self._seen),
            settings=_settings(self._page),
            clusterwide=True,
            standalone=True,
            stop_flag=self._stop,
        )


def _registry(kinds: Iterable[Served], seen: Seen) -> kopf.OperatorRegistry:
    registry = kopf.OperatorRegistry()
    kopf.on.login(registry=registry, id="login")(_log_in)
    for served in kinds:
        where = (served.group, served.version, served.plural)
        kopf.on.event(*where, registry=registry, id=str(served))(_handler(served, seen))
    return registry


def _handler(served: Served, seen: Seen) -> Any:
    # A coroutine, so that it runs here and not in one of kopf's own threads.
    async def handle(event: Any, **_: Any) -> None:
        seen(served, event["object"], event["type"] == "DELETED")

    return handle


def _log_in(**given: Any) -> kopf.ConnectionInfo | None:
    """As often as a token is refused: both read their files again."""
    return kopf.login_with_service_account(**given) or kopf.login_with_kubeconfig(**given)


def _settings(page: int) -> kopf.OperatorSettings:
    settings = kopf.OperatorSettings()
    settings.persistence.finalizer = FINALIZER
    settings.persistence.diffbase_storage = _Nothing()
    settings.posting.enabled = False
    settings.scanning.disabled = True  # we look for new kinds ourselves, and need no right on CRDs
    settings.watching.server_timeout = 240
    settings.watching.client_timeout = 300
    # The API server sends at least a bookmark a minute: a stream that is silent for longer is dead.
    settings.watching.inactivity_timeout = 70
    settings.watching.chunk_size = page
    settings.networking.connect_timeout = 5
    settings.networking.request_timeout = 30
    settings.networking.error_backoffs = (1, 2, 4, 8)
    # A worker holds the object that it handled last: thousands of them at the start of a large
    # cluster would be hundreds of megabytes.
    settings.queueing.idle_timeout = 0.1
    settings.process.ultimate_exiting_timeout = None  # it would kill the whole process
    return settings


class _Nothing(kopf.DiffBaseStorage):
    """kopf copies every object whole at every event, to compare it for handlers that we do not
    have: a fifth of what an event takes."""

    def build(self, **_: Any) -> kopf.BodyEssence:
        return kopf.BodyEssence()

    def fetch(self, **_: Any) -> None:
        return None

    def store(self, **_: Any) -> None:
        return None


def quieten(level: int) -> None:
    """kopf says at every retry that it retries; we say once that something is wrong, and once more
    that it is over."""
    logging.getLogger("kopf").setLevel(max(level, logging.CRITICAL))
    # What a handler of ours raised is a bug, and its traceback is to be seen.
    logging.getLogger("kopf.objects").setLevel(max(level, logging.ERROR))
