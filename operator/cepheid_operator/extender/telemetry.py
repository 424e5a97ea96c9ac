"""The extender's own figures, and whether it is well."""

import time
from collections.abc import Callable, Iterable
from enum import StrEnum

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import GaugeMetricFamily

from cepheid_operator.extender.index import Index

PATIENCE_SECONDS = 120.0
"""Without a sign of life of the thread that follows the cluster, for so long: it is stuck."""


class Outcome(StrEnum):
    """Of a question."""

    KNOWN = "known"
    UNKNOWN = "unknown"
    """Of the pod's job nothing is known; what is known of the nodes counted."""
    NOT_OURS = "not-ours"
    """Of a pod that did not choose a profile of ours."""
    NOT_READY = "not-ready"
    FAILED = "failed"


class Telemetry:
    def __init__(self, index: Index, clock: Callable[[], float] = time.monotonic) -> None:
        self.registry = CollectorRegistry()
        self.requests = self._counter("requests", "Questions that were answered.", "verb", "known")
        self.left_out = self._counter("left_out", "Nodes that a pod was kept from.", "why")
        self.forged = self._counter(
            "forged", "Questions about pods or jobs that claim what nobody of ours wrote."
        )
        self.told = self._counter("told", "Events that say what was considered.", "outcome")
        self.watch_restarts = self._counter("watch_restarts", "Watches that had to begin anew.")
        self.seconds = Histogram(
            "cepheid_extender_seconds",
            "From a question's last byte until its answer is known.",
            ["verb"],
            buckets=(0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5),
            registry=self.registry,
        )
        self.registry.register(_Collector(index))
        self._clock = clock
        self._alive = clock()
        self.ready = False
        """Once everything was listed, and from then on."""

    def alive(self) -> None:
        """It goes on, whether or not what it tries succeeds."""
        self._alive = self._clock()

    @property
    def healthy(self) -> bool:
        return self._clock() - self._alive < PATIENCE_SECONDS

    def answered(self, verb: str, outcome: Outcome) -> None:
        self.requests.labels(verb, outcome).inc()

    def _counter(self, name: str, words: str, *labels: str) -> Counter:
        return Counter(f"cepheid_extender_{name}", words, labels, registry=self.registry)


class _Collector:
    """Counted when somebody asks."""

    def __init__(self, index: Index) -> None:
        self._index = index

    def collect(self) -> Iterable[GaugeMetricFamily]:
        ignored = GaugeMetricFamily(
            "cepheid_extender_ignored_nodes",
            "Nodes of whose annotations some are not believed, by the reason.",
            labels=["why"],
        )
        for why, count in self._index.ignored(time.time()).items():
            ignored.add_metric([why], count)
        others = GaugeMetricFamily(
            "cepheid_extender_ignored_others",
            "JobProfiles, and best placements on jobs, that cannot be read.",
            labels=["kind"],
        )
        others.add_metric(["profile"], self._index.unreadable_profiles())
        others.add_metric(["best-placement"], self._index.malformed_placements())
        kept = GaugeMetricFamily(
            "cepheid_extender_kept", "What is kept in memory, by kind.", labels=["kind"]
        )
        for kind, count in self._index.counts().items():
            kept.add_metric([kind], count)
        return ignored, others, kept
