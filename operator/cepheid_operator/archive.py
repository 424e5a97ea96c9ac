"""Finished profiles to the history, and old JobProfile objects out of the cluster.

Oldest first, and nothing overtakes: while the database is away everything waits, and the objects in
the cluster are the queue, so a restart loses nothing. An object is marked when the history has it,
and only what is marked is ever deleted, where there is a history at all.
"""

import logging
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

import numpy as np

from cepheid.errors import ApiError, GoneError, HistoryError
from cepheid.history import History, TimeSeries
from cepheid.jobprofile import JobProfile, ProfileError, Worker
from cepheid.jobs.series import JobSeries
from cepheid_operator.hands import AWAY
from cepheid_operator.means import Means
from cepheid_operator.measuring import GIVE_UP_SECONDS
from cepheid_operator.profiles import Entry, Profiles

LOG = logging.getLogger("cepheid.operator")
STEP_SECONDS = 5.0
PRUNE_SECONDS = 60.0
BATCH = 100
MOST_DELETED = 200
"""In one go."""
SLOWEST_SECONDS = 60.0
MOST_SERIES = 200
"""Jobs whose time series wait in memory for the database; those of more are not kept."""
MOST_HOMELESS = 10_000
KEEPING = "keeping the history"
OPENING = "reading the history's address"
SETTLED = timedelta(seconds=GIVE_UP_SECONDS + 60)
MOST_SKEW_SECONDS = 300.0
"""With a clock that is further off nothing is called old."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    url_file: str = ""
    keep_days: float = 30.0
    keep_count: int = 1000
    series_interval_seconds: float | None = None
    """None where no time series are kept."""
    history_days: float | None = None
    series_days: float = 30.0


@dataclass(frozen=True, slots=True, eq=False)
class _Offered:
    profile: JobProfile
    workers: tuple[Worker, ...]
    series: JobSeries | None


class Archive:
    """`offer` from any thread; the rest in the one of `run`."""

    def __init__(
        self,
        means: Means,
        profiles: Profiles,
        terms: Terms,
        skew_seconds: Callable[[], float | None],
        may_learn_of: Callable[[str, tuple[str, str]], bool],
    ) -> None:
        """`skew_seconds`: how far our clock is off from the API server's, where that is known.

        `may_learn_of` says of a job, by uid and kind, whether its profile may still be completed.
        """
        self._means, self._profiles, self._terms = means, profiles, terms
        self._skew_seconds, self._may_learn_of = skew_seconds, may_learn_of
        self._offered: dict[str, _Offered] = {}
        self._homeless: dict[str, _Offered] = {}
        """Without an object in the cluster: the jobs are the queue, while they stand."""
        self._history: History | None = None
        self._prune_at = self._history_prune_at = 0.0

    @property
    def is_on(self) -> bool:
        return bool(self._terms.url_file)

    def history(self) -> History | None:
        """None where there is none, or its address cannot be read now."""
        if not self.is_on:
            return None
        if self._history is None:
            try:
                url = Path(self._terms.url_file).read_text(encoding="utf-8").strip()
                self._history = History.open(url)
            except (OSError, UnicodeDecodeError, HistoryError) as problem:
                self._means.troubles.happened(OPENING, problem)
                return None
            self._means.troubles.over(OPENING)
        return self._history

    def reachable(self) -> History | None:
        """None where there is none. Raises HistoryError where its address cannot be read now."""
        found = self.history()
        if found is None and self.is_on:
            raise HistoryError("the history's address cannot be read", hint=self._terms.url_file)
        return found

    def offer(
        self, profile: JobProfile, workers: tuple[Worker, ...], series: JobSeries | None
    ) -> None:
        """What the object has no room for, while it is in memory."""
        if self.is_on:
            full = len(self._offered) >= MOST_SERIES
            wanted = self._terms.series_interval_seconds is not None and not full
            self._offered[profile.job.uid] = _Offered(profile, workers, series if wanted else None)

    def offer_homeless(self, profile: JobProfile, workers: tuple[Worker, ...]) -> None:
        if self.is_on and len(self._homeless) < MOST_HOMELESS:
            self._homeless[profile.job.uid] = _Offered(profile, workers, None)

    def is_superfluous(self, profile: JobProfile) -> bool:
        """Whether the next `_prune` would delete it."""
        if profile.ended is None or self._clock_is_wrong():
            return False
        if profile.ended < self._oldest():
            return True
        namespace = profile.job.namespace
        newer = (
            entry
            for entry in self._profiles.all()
            if entry.namespace == namespace and entry.ended and entry.ended >= profile.ended
        )
        return sum(1 for _ in newer) >= self._terms.keep_count

    def run(self, stop: threading.Event) -> None:
        wait = STEP_SECONDS
        while not stop.wait(wait):
            self._means.telemetry.alive("archive")
            wait = STEP_SECONDS if self.step() else min(SLOWEST_SECONDS, 2 * wait)

    def step(self) -> bool:
        """Whether all that could be done was."""
        try:
            good = self._keep_all() if self.is_on else True
            now = self._means.steady()
            if now >= self._prune_at:
                self._prune_at = now + PRUNE_SECONDS
                self._prune()
        except AWAY as problem:
            self._means.troubles.happened("reaching the API server", problem)
            return False
        return good

    def _keep_all(self) -> bool:
        while backlog := self._backlog():
            batch = backlog[:BATCH]
            if not self._keep(batch):
                return False
            if len(backlog) <= BATCH:
                break
        if self._homeless and not self._keep_homeless():
            return False
        self._backlog()  # for its figures
        self._prune_history()
        return True

    def _keep_homeless(self) -> bool:
        some = list(self._homeless.values())[:BATCH]
        if not self._in_history(some):
            return False
        for offered in some:
            self._homeless.pop(offered.profile.job.uid, None)
        return True

    def _backlog(self) -> list[Entry]:
        now = self._means.wall()
        found = backlog(self._profiles.all(), lambda entry: self._is_final(entry, now))
        telemetry = self._means.telemetry
        telemetry.archive_backlog.set(len(found))
        oldest = found[0].ended if found else None
        age = 0.0 if oldest is None else (now - oldest).total_seconds()
        telemetry.archive_age.set(max(0.0, age))
        return found

    def _is_final(self, entry: Entry, now: datetime) -> bool:
        """Not to be written again: it is measured, or nobody will measure it any more."""
        if entry.measured or entry.job_uid in self._offered:
            return True
        if not self._may_learn_of(entry.job_uid, entry.kind):
            return True  # its job was deleted while nobody looked, and with it what to ask for
        return entry.ended is None or now - entry.ended > SETTLED

    def _keep(self, batch: list[Entry]) -> bool:
        found = [(entry, offered) for entry in batch if (offered := self._found(entry)) is not None]
        kept = self._in_history([offered for _, offered in found])
        return kept and self._mark(entry for entry, _ in found)

    def _in_history(self, found: list[_Offered]) -> bool:
        history = self.history()
        if history is None:
            return False
        self._means.check()
        try:
            history.keep(
                [offered.profile for offered in found],
                {offered.profile.job.uid: offered.workers for offered in found},
            )
            for offered in found:
                if offered.series is not None:
                    self._keep_series(history, offered.profile.job.uid, offered.series)
        except (HistoryError, ProfileError) as problem:
            self._means.troubles.happened(KEEPING, problem)
            self._means.telemetry.errors.labels("history").inc()
            self._close()  # with the address of then, which may be another one
            return False
        self._means.troubles.over(KEEPING)
        return True

    def _found(self, entry: Entry) -> _Offered | None:
        offered = self._offered.get(entry.job_uid)
        if offered is not None:
            return offered
        try:
            profile = self._profiles.read(entry)
        except GoneError:
            self._profiles.lost(entry)
            return None
        except ProfileError as problem:
            self._means.troubles.happened(f"reading {entry}", problem)
            return None
        return _Offered(profile, profile.workers, None)

    def _keep_series(self, history: History, uid: str, series: JobSeries) -> None:
        interval = self._terms.series_interval_seconds
        history.keep_series(uid, _time_series(series), interval_seconds=interval)

    def _mark(self, entries: Iterable[Entry]) -> bool:
        kept = list(entries)
        now = self._means.wall()
        results = self._means.hands.all(
            [partial(self._profiles.mark_archived, entry, now) for entry in kept]
        )
        good = True
        for entry, result in zip(kept, results, strict=True):
            if isinstance(result, GoneError):
                self._profiles.lost(entry)
            elif isinstance(result, AWAY):
                raise result
            elif isinstance(result, Exception):
                self._means.troubles.happened(f"marking {entry}", result)
                good = False
                continue
            self._offered.pop(entry.job_uid, None)
        return good

    def _prune(self) -> None:
        wrong = self._clock_is_wrong()
        self._means.troubles.say("the clock is off: no JobProfile is called old", happens=wrong)
        if wrong:
            return
        entries = [e for e in self._profiles.all() if e.archived or not self.is_on]
        gone = list(to_delete(entries, self._oldest(), self._terms.keep_count))[:MOST_DELETED]
        results = self._means.hands.all([partial(self._profiles.delete, entry) for entry in gone])
        for problem in results:
            if isinstance(problem, ApiError):
                self._means.troubles.happened("deleting old JobProfiles", problem)
        if gone:
            self._means.telemetry.writes.labels("JobProfile", "deleted").inc(len(gone))

    def _clock_is_wrong(self) -> bool:
        skew = self._skew_seconds()
        return skew is None or abs(skew) > MOST_SKEW_SECONDS

    def _oldest(self) -> datetime:
        return self._means.wall() - timedelta(days=self._terms.keep_days)

    def _prune_history(self) -> None:
        now = self._means.steady()
        history = self.history()
        if now < self._history_prune_at or history is None:
            return
        self._history_prune_at = now + 3600.0
        wall, days = self._means.wall(), self._terms.history_days
        try:
            history.prune(
                ended_before=None if days is None else wall - timedelta(days=days),
                series_ended_before=wall - timedelta(days=self._terms.series_days),
            )
        except HistoryError as problem:
            self._means.troubles.happened("pruning the history", problem)

    def _close(self) -> None:
        if self._history is not None:
            self._history.close()
            self._history = None


def backlog(entries: Iterable[Entry], is_final: Callable[[Entry], bool]) -> list[Entry]:
    """What is to be archived, the oldest first."""
    waiting = (entry for entry in entries if entry.is_over and not entry.archived)
    return sorted(filter(is_final, waiting), key=_ended_first)


def to_delete(entries: Iterable[Entry], oldest: datetime, most: int) -> Iterator[Entry]:
    """Of finished jobs, the oldest first: those too old, and those too many in a namespace."""
    namespaces: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        if entry.is_over and entry.ended is not None:
            namespaces[entry.namespace].append(entry)
    for found in namespaces.values():
        found.sort(key=_ended_first)
        too_many = max(0, len(found) - most)
        for place, entry in enumerate(found):
            if place < too_many or (entry.ended is not None and entry.ended < oldest):
                yield entry


def _ended_first(entry: Entry) -> tuple[float, str]:
    return (0.0 if entry.ended is None else entry.ended.timestamp()), entry.job_uid


def _time_series(series: JobSeries) -> Iterator[TimeSeries]:
    for worker, found in series.workers.items():
        for metric, values in found.signals.items():
            there = np.flatnonzero(np.isfinite(values))
            if there.size:
                part = slice(int(there[0]), int(there[-1]) + 1)
                slots = np.arange(values.size)[part]
                times = series.start_seconds + series.step_seconds * slots
                kept = [float(v) if np.isfinite(v) else None for v in values[part]]
                yield TimeSeries(metric, times.tolist(), kept, worker)
