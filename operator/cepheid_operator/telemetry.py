"""The operator's own figures, and whether it is well."""

import time
from collections import Counter as Count
from collections.abc import Callable, Iterable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import GaugeMetricFamily

from cepheid_operator.cluster import Cluster

PATIENCE_SECONDS = 120.0
"""Without a sign of life for so long a thread counts as stuck: the longest that a server is waited
for is 10 s, and a list of a large cluster takes a few times that."""
STALE_SECONDS = 30.0
"""Of the Lease: who has not seen it for so long is not ready."""


class Telemetry:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.registry = CollectorRegistry()
        self.acting = self._gauge("acting", "1 for the instance that acts.")
        self.events = self._counter("events", "Events that the watches told of.", "kind")
        self.writes = self._counter("writes", "What was written.", "kind", "what")
        self.errors = self._counter("errors", "What went wrong.", "kind")
        self.idle_acts = self._counter("idle_acts", "What the idle policy told of.", "what")
        self.watch_restarts = self._counter("watch_restarts", "Watches that had to begin anew.")
        self.listed = self._gauge(
            "listed_seconds", "When everything was last listed, as a Unix time."
        )
        self.finished = self._counter(
            "jobs_finished", "Jobs that ended, once their profile stands.", "namespace", "outcome"
        )
        self.delay = Histogram(
            "cepheid_operator_profile_delay_seconds",
            "From the end of a job until its profile stands.",
            buckets=(1, 2, 5, 10, 20, 30, 60, 300, 1800),
            registry=self.registry,
        )
        self.round_seconds = Histogram(
            "cepheid_operator_round_seconds",
            "Time that a round over the changed jobs takes.",
            buckets=(0.001, 0.01, 0.1, 1, 10, 60),
            registry=self.registry,
        )
        self.archive_backlog = self._gauge(
            "archive_backlog", "Finished jobs that the history does not have yet."
        )
        self.archive_age = self._gauge(
            "archive_oldest_seconds", "For how long the oldest of them has been over."
        )
        self._clock = clock
        self._alive: dict[str, float] = {"lease": clock()}
        self._seen: float | None = None

    def watch(self, cluster: Cluster, phases: Callable[[], Iterable[str]]) -> None:
        """From now on their figures are shown; `phases` are those of all PlacementTrials."""
        self.registry.register(_Collector(cluster, phases))

    def alive(self, thread: str) -> None:
        """It goes on, whether or not what it tries succeeds."""
        self._alive[thread] = self._clock()

    def lease_seen(self) -> None:
        self._seen = self._clock()

    @property
    def healthy(self) -> bool:
        """That the API server or Prometheus is away is no reason to be restarted."""
        oldest = min(self._alive.values())
        return self._clock() - oldest < PATIENCE_SECONDS

    @property
    def ready(self) -> bool:
        """It acts, or would take over: it sees the Lease."""
        return self._seen is not None and self._clock() - self._seen < STALE_SECONDS

    def _gauge(self, name: str, words: str) -> Gauge:
        return Gauge(f"cepheid_operator_{name}", words, registry=self.registry)

    def _counter(self, name: str, words: str, *labels: str) -> Counter:
        return Counter(f"cepheid_operator_{name}", words, labels, registry=self.registry)


class _Collector:
    """Counted when somebody asks, not at every event."""

    def __init__(self, cluster: Cluster, phases: Callable[[], Iterable[str]]) -> None:
        self._cluster, self._phases = cluster, phases

    def collect(self) -> Iterable[GaugeMetricFamily]:
        jobs = GaugeMetricFamily("cepheid_operator_jobs", "Jobs without a complete profile yet.")
        jobs.add_metric([], len(self._cluster.runs))
        objects = GaugeMetricFamily("cepheid_operator_objects", "Pods and jobs that are known.")
        objects.add_metric([], len(self._cluster))
        left = GaugeMetricFamily(
            "cepheid_operator_left_alone",
            "Pods and jobs of no job that we know, by the kind at which the way up ended.",
            labels=["why", "kind"],
        )
        for (why, kind), count in self._cluster.left_alone().items():
            left.add_metric([str(why), kind], count)
        trials = GaugeMetricFamily(
            "cepheid_operator_placement_trials", "PlacementTrials, by phase.", labels=["phase"]
        )
        for phase, count in Count(self._phases()).items():
            trials.add_metric([phase], count)
        return jobs, objects, left, trials
