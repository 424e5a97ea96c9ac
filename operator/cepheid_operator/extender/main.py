"""The process: follows the cluster by watches, lists it now and then, and answers meanwhile."""

import gc
import logging
import signal
import sys
import threading
import time
from datetime import UTC, datetime
from functools import partial

from cepheid import __version__, logs
from cepheid.annotations.api import ApiServer, connect
from cepheid.errors import ApiError
from cepheid.logs import Troubles
from cepheid.serving import serve as serve_telemetry
from cepheid.settings import ExtenderSettings, names_in
from cepheid_operator import handlers
from cepheid_operator.discovery import Served
from cepheid_operator.extender.answering import Answers
from cepheid_operator.extender.index import NODES, PROFILES, Index
from cepheid_operator.extender.serving import serve
from cepheid_operator.extender.telemetry import Telemetry
from cepheid_operator.extender.telling import Telling
from cepheid_operator.handlers import Watch
from cepheid_operator.listing import relist

LOG = logging.getLogger("cepheid.extender")
ROUND_SECONDS = 2.0
SLOWEST_SECONDS = 30.0
LIST_SECONDS = 30.0
SWITCH_SECONDS = 0.0005
"""After so long a thread hands Python's lock to one that waits for it. By default it is 5 ms, and
who answers waits for it several times: while everything is listed anew, and when nodes change."""
NEEDED = (NODES, PROFILES)
PAGE = 50
"""Objects of a list that are parsed at once, during which nobody is answered: 16 ms, where 250 of
them took 80."""
LISTING = "listing everything"
WATCHING = "watching"


def run(settings: ExtenderSettings) -> int:
    logs.set_up(settings.log_format, settings.log_level)
    handlers.quieten(logging.getLogger().level)
    LOG.info("cepheid %s, extender", __version__)
    sys.setswitchinterval(SWITCH_SECONDS)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    with ApiServer(partial(connect, timeout_seconds=LIST_SECONDS)) as lister, ApiServer() as teller:
        index = Index()
        telemetry = Telemetry(index)
        telling = Telling(
            teller,
            telemetry,
            settings.tell_per_second,
            clock=time.monotonic,
            wall=lambda: datetime.now(UTC),
        )
        index.bound = telling.bound
        answers = Answers(index, telemetry, telling.note, names_in(settings.profiles))
        server = serve(
            settings,
            {"filter": answers.filter, "prioritize": answers.prioritize},
            lambda verb, seconds: telemetry.seconds.labels(verb).observe(seconds),
        )
        told = serve_telemetry(telemetry, settings.listen_address)
        threading.Thread(target=telling.run, args=(stop,), name="telling", daemon=True).start()
        gc.freeze()  # all modules: else they are looked through again and again, 40 ms each time
        Following(lister, index, telemetry, settings.relist_seconds).run(stop)
        server.shutdown()
        told.shutdown()
    LOG.info("stopped")
    return 0


class Following:
    """Keeps the index as the cluster is."""

    def __init__(
        self, lister: ApiServer, index: Index, telemetry: Telemetry, relist_seconds: float
    ) -> None:
        self._lister, self._index, self._telemetry = lister, index, telemetry
        self._relist_seconds = relist_seconds
        self._troubles = Troubles(LOG)
        self._watch: Watch | None = None
        self._list_at = 0.0

    def run(self, stop: threading.Event) -> None:
        wait = 0.0
        while not stop.wait(wait):
            self._telemetry.alive()
            self._look_after_watch()
            listed = time.monotonic() < self._list_at or self._list()
            wait = ROUND_SECONDS if listed else min(SLOWEST_SECONDS, max(ROUND_SECONDS, 2 * wait))
            self._say_what_is_ignored()
        if self._watch is not None:
            self._watch.stop()

    def _list(self) -> bool:
        try:
            kinds = relist(self._lister, self._index, self._telemetry.alive, NEEDED, PAGE)
        except ApiError as problem:
            self._troubles.happened(LISTING, problem)
            return False
        self._troubles.over(LISTING)
        self._list_at = time.monotonic() + self._relist_seconds
        self._telemetry.ready = True
        if self._watch is None or self._watch.kinds != kinds:
            self._begin_watch(kinds)
        return True

    def _begin_watch(self, kinds: frozenset[Served]) -> None:
        if self._watch is not None:
            self._watch.stop()
        LOG.info("watching %s", ", ".join(sorted(map(str, kinds))))
        self._watch = Watch(kinds, self._index.see, PAGE)
        self._watch.start()

    def _look_after_watch(self) -> None:
        """A kind that was deleted, or whose right was taken away, ends all watches."""
        watch = self._watch
        if watch is None:
            return
        if watch.running:
            self._troubles.over(WATCHING)
            return
        self._telemetry.watch_restarts.inc()
        failure = watch.failure
        self._troubles.happened(
            WATCHING, failure if isinstance(failure, Exception) else RuntimeError("it ended")
        )
        self._watch = None
        self._list_at = 0.0

    def _say_what_is_ignored(self) -> None:
        for why, count in self._index.ignored(time.time()).items():
            self._troubles.say(f"annotations of nodes are ignored: {why}", happens=count > 0)
        for what, count in (
            ("JobProfiles", self._index.unreadable_profiles()),
            ("best placements of jobs", self._index.malformed_placements()),
        ):
            self._troubles.say(f"{what} are ignored: they cannot be read", happens=count > 0)
