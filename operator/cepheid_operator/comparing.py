"""A finished run against the earlier runs of the same job, and a word where people look for it."""

import logging
from collections.abc import Callable

from cepheid.errors import ApiError, HistoryError
from cepheid.history import History
from cepheid.jobprofile import JobProfile, Outcome, ProfileError
from cepheid.jobs.compare import MOST_RUNS
from cepheid_operator.composing import compared, regression_words
from cepheid_operator.eventing import About, Word, tell
from cepheid_operator.hands import AWAY
from cepheid_operator.means import Means
from cepheid_operator.profiles import Profiles

LOG = logging.getLogger("cepheid.operator")
REASON = "JobRegressed"
REST_SECONDS = 120.0
"""A server that swallows what it is sent costs ten seconds a question, and profiles wait for it."""


class Comparing:
    def __init__(
        self, means: Means, profiles: Profiles, history: Callable[[], History | None]
    ) -> None:
        self._means, self._profiles, self._history = means, profiles, history
        self._ask_at = 0.0

    def compared(self, profile: JobProfile) -> JobProfile:
        return compared(profile, self._earlier(profile))

    def tell(self, profile: JobProfile) -> None:
        """An Event on the job; once, however often it is told."""
        if not profile.regression:
            return
        self._means.check()
        try:
            server = self._means.hands.server()
            if not tell(server, *regression(profile), self._means.wall()):
                return
        except ApiError as problem:
            # The profile says it too: not worth another try.
            self._means.troubles.happened("writing Events", problem)
            return
        self._means.troubles.over("writing Events")
        self._means.telemetry.writes.labels("Event", REASON).inc()

    def _earlier(self, profile: JobProfile) -> list[JobProfile]:
        """From the history, which reaches further back; else from the cluster."""
        history = self._history() if self._means.steady() >= self._ask_at else None
        if history is not None:
            try:
                return history.earlier_runs(profile, limit=MOST_RUNS)
            except HistoryError as problem:
                LOG.debug("earlier runs are taken from the cluster: %s", problem)
                self._ask_at = self._means.steady() + REST_SECONDS
        found = []
        runs = self._profiles.of_job(profile.job.namespace, profile.series, profile.template)
        for entry in [run for run in runs if run.outcome is Outcome.SUCCESS][:MOST_RUNS]:
            try:
                found.append(self._profiles.read(entry))
            except AWAY:
                raise
            except (ApiError, ProfileError) as problem:
                LOG.debug("%s cannot be compared with: %s", entry, problem)
        return found


def regression(profile: JobProfile) -> tuple[About, Word]:
    job = profile.job
    about = About(
        api_version=job.api_version,
        kind=job.kind,
        namespace=job.namespace,
        name=job.name,
        uid=job.uid,
    )
    words = regression_words(profile)
    return about, Word(reason=REASON, words=words, action="Compared", warning=True)
