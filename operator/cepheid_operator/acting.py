"""All that the instance does which holds the Lease: put together, started, stopped.

    watch      kopf hands on what happens                      handlers
    rounds     lists everything now and then; plans, writes    listing, cluster, plan, rounds
    measure    asks Prometheus for what finished runs used     measuring
    archive    history, and what is old                        archive
    trials     PlacementTrials: short copies of a job          trials
    idle       jobs that hold GPUs and do not use them         idle

A thread each, because everything but kopf waits for servers.
"""

import logging
import threading
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial

from cepheid.annotations.api import ApiServer, connect
from cepheid.errors import ApiError, ForbiddenError, GoneError, LeaseLostError, UnavailableError
from cepheid.jobprofile import ProfileError
from cepheid.jobs.fields import Raw
from cepheid.jobs.profile import Kept
from cepheid.logs import Troubles
from cepheid.settings import OperatorSettings, names_in
from cepheid.sources.access import access_of
from cepheid.sources.jobs import JobReader
from cepheid.sources.prometheus import PrometheusClient
from cepheid_operator.archive import Archive, Terms
from cepheid_operator.cluster import Cluster
from cepheid_operator.comparing import Comparing
from cepheid_operator.composing import given_up
from cepheid_operator.discovery import TRIALS, Served
from cepheid_operator.finishing import Finishing
from cepheid_operator.handlers import Watch
from cepheid_operator.hands import Hands
from cepheid_operator.holding import Holding, our_clock, steady
from cepheid_operator.idle.driving import Driving as IdlePolicy
from cepheid_operator.idle.terms import Do, Policy
from cepheid_operator.idle.use import LOADS
from cepheid_operator.listing import relist
from cepheid_operator.means import Means
from cepheid_operator.measuring import GIVE_UP_SECONDS, Measuring
from cepheid_operator.plan import Paces
from cepheid_operator.profiles import Profiles, UndefinedError
from cepheid_operator.rounds import WRITING, Rounds
from cepheid_operator.telemetry import Telemetry
from cepheid_operator.trials.book import Book
from cepheid_operator.trials.driving import Driving
from cepheid_operator.trials.knowledge import Knowledge

LOG = logging.getLogger("cepheid.operator")
ROUND_SECONDS = 2.0
SLOWEST_SECONDS = 30.0
WRITE_SECONDS = 4.0
"""Of one request: what was sent before the Lease was given up has ended before another may act."""
LIST_SECONDS = 30.0
NOTICED_SECONDS = 2.0
"""A clock that is off by less than this is right."""
LISTING = "listing everything"
WATCHING = "watching"
OLDER = "the JobProfile definition is older than this operator: some fields are not kept"


class Acting:
    def __init__(
        self,
        settings: OperatorSettings,
        holding: Holding,
        telemetry: Telemetry,
        failed: Callable[[], None],
    ) -> None:
        """`failed` is called when a thread ended that should not have."""
        troubles, check = Troubles(LOG), holding.check
        hands = Hands(partial(_server, WRITE_SECONDS))
        wall = partial(_wall, holding)
        self._means = Means(hands, check, telemetry, troubles, steady, wall)
        self._lister = _server(LIST_SECONDS)
        self._failed = failed
        self._settings = settings
        self._profiles = Profiles(hands.server, check, lambda: troubles.say(OLDER, happens=True))
        self.cluster = Cluster(clock=steady, wall=wall, is_done=self._is_done)
        self._archive = Archive(
            self._means,
            self._profiles,
            _terms(settings),
            lambda: holding.skew_seconds,
            self.cluster.may_learn_of,
        )
        comparing = Comparing(self._means, self._profiles, self._archive.history)
        self._finishing = Finishing(comparing, self._archive)
        self._measuring = Measuring(
            JobReader(PrometheusClient(access_of(settings))),
            troubles,
            clock=steady,
            alive=partial(telemetry.alive, "measure"),
        )
        self._rounds = Rounds(
            self._means,
            self.cluster,
            self._profiles,
            self._measuring,
            self._finishing,
            Paces(
                write_seconds=settings.write_seconds,
                live_seconds=settings.live_seconds,
                kept=Kept(names_in(settings.labels), names_in(settings.users)),
            ),
        )
        self._book = Book(
            lambda name, problem: troubles.happened(f"PlacementTrial {name}", problem)
        )
        self._driving = Driving(
            self._means,
            self._book,
            JobReader(PrometheusClient(access_of(settings))),
            Knowledge(self._profiles).earlier,
        )
        self._idle = IdlePolicy(
            self._means,
            self.cluster,
            JobReader(PrometheusClient(access_of(settings)), LOADS),
            self._archive.reachable,
            Policy(Do.DRY_RUN, settings.idle_after_seconds, settings.suspend_after_seconds),
        )
        self._watch: Watch | None = None
        self._list_at = 0.0
        self._stop = threading.Event()

    def start(self) -> None:
        self._means.telemetry.watch(self.cluster, self._book.phases)
        for name, run in (
            ("rounds", self._run_rounds),
            ("measure", partial(self._measuring.run, self._stop)),
            ("archive", partial(self._archive.run, self._stop)),
            ("trials", partial(self._driving.run, self._stop)),
            ("idle", partial(self._idle.run, self._stop)),
        ):
            self._means.telemetry.alive(name)
            threading.Thread(target=self._guard, args=(run,), name=name, daemon=True).start()

    def stop(self) -> None:
        self._stop.set()
        if self._watch is not None:
            self._watch.stop()
        self._means.hands.close()

    def _guard(self, run: Callable[[], None]) -> None:
        try:
            run()
        except LeaseLostError as problem:
            LOG.warning("%s", problem.message)
        except BaseException:
            LOG.exception("a thread failed")
            self._failed()
            raise

    def _run_rounds(self) -> None:
        wait = 0.0
        while not self._stop.wait(wait):
            self._means.telemetry.alive("rounds")
            self._look_after_watch()
            if self._means.steady() >= self._list_at and not self._list():
                wait = min(SLOWEST_SECONDS, max(ROUND_SECONDS, 2 * wait))
                continue
            wait = ROUND_SECONDS
            with self._means.telemetry.round_seconds.time():
                self.cluster.look_again()
                self._rounds.one_round()

    def _list(self) -> bool:
        """Everything anew; the watches follow the kinds that could be read."""
        alive = partial(self._means.telemetry.alive, "rounds")
        try:
            broken = self._list_profiles()
            kinds = relist(self._lister, self.cluster, alive) | self._list_trials()
            self.cluster.look_again()
            self._finish_abandoned()
        except ApiError as problem:
            # Also a refusal: an API server that begins refuses what it allows a second later.
            self._means.troubles.happened(LISTING, problem)
            return False
        self._means.troubles.over(LISTING)
        self._means.troubles.say("some JobProfiles cannot be read", happens=broken > 0)
        self._means.telemetry.listed.set(self._means.wall().timestamp())
        self._list_at = self._means.steady() + self._settings.relist_seconds
        if self._watch is None or self._watch.kinds != kinds:
            self._begin_watch(kinds)
        return True

    def _list_profiles(self) -> int:
        try:
            return self._profiles.relist(self._lister)
        except UndefinedError as problem:
            # Jobs are annotated all the same, and their profiles are written when they can be.
            self._means.troubles.happened(WRITING, problem)
            return 0

    def _list_trials(self) -> frozenset[Served]:
        """None to watch where the cluster has no definition of them, or we no right."""
        try:
            found = self._lister.ask(
                f"listing {TRIALS}",
                lambda client: list(client.list(TRIALS.kind.resource, namespace="*")),
            )
        except (ForbiddenError, GoneError) as problem:
            LOG.debug("%s are left alone: %s", TRIALS, problem.message)
            return frozenset()
        except UnavailableError as problem:
            if f"{TRIALS}: 404" not in problem.message:
                raise
            return frozenset()  # of a kind that it does not know the API server says so
        self._book.relisted(found)
        return frozenset({TRIALS})

    def _begin_watch(self, kinds: frozenset[Served]) -> None:
        if self._watch is not None:
            self._watch.stop()
        LOG.info("watching %s", ", ".join(sorted(map(str, kinds))))
        self._watch = Watch(kinds, self._see)
        self._watch.start()

    def _see(self, served: Served, thing: Raw, deleted: bool) -> None:
        self._means.telemetry.events.labels(served.name).inc()
        if served == TRIALS:
            self._book.see(thing, deleted)
        else:
            self.cluster.see(served, thing, deleted)

    def _look_after_watch(self) -> None:
        """A kind that was deleted, or whose right was taken away, ends all watches."""
        watch = self._watch
        if watch is None or watch.running:
            return
        self._means.telemetry.watch_restarts.inc()
        problem = (
            watch.failure if isinstance(watch.failure, Exception) else RuntimeError("it ended")
        )
        self._means.troubles.happened(WATCHING, problem)
        self._watch = None
        self._list_at = 0.0

    def _finish_abandoned(self) -> None:
        """Jobs that were running when they were last seen, and are gone without a trace."""
        for entry in self._profiles.all():
            gone = not entry.is_over and not self.cluster.exists(entry.job_uid)
            if not gone or not self.cluster.could_read(entry.kind):
                continue
            try:
                profile = given_up(self._profiles.read(entry))
                self._profiles.write(profile)
            except ProfileError as problem:
                self._means.troubles.happened(f"reading {entry}", problem)

    def _is_done(self, uid: str) -> bool:
        if self._finishing.is_passed_over(uid):
            return True
        entry = self._profiles.find(uid)
        if entry is None or not entry.is_over or entry.ended is None:
            return False
        ago = (self._means.wall() - entry.ended).total_seconds()
        return entry.measured or entry.archived or ago > GIVE_UP_SECONDS


def _server(timeout_seconds: float) -> ApiServer:
    return ApiServer(partial(connect, timeout_seconds=timeout_seconds))


def _wall(holding: Holding) -> datetime:
    """As the API server has it: ours may be wrong, or jump."""
    skew = holding.skew_seconds or 0.0
    return our_clock() + timedelta(seconds=skew if abs(skew) > NOTICED_SECONDS else 0.0)


def _terms(settings: OperatorSettings) -> Terms:
    series = settings.history_granularity == "time_series"
    return Terms(
        url_file=settings.history_url_file,
        keep_days=settings.keep_days,
        keep_count=settings.keep_count,
        series_interval_seconds=settings.history_interval_seconds if series else None,
        history_days=settings.history_days or None,
        series_days=settings.history_series_days,
    )
