"""The agent's own figures, and whether it is well."""

import time
from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

PASSES_MISSED = 5
"""For so long without a sign of life it counts as stuck. Passes that fail come every fourth time,
give or take a tenth: that is no reason yet."""


class Telemetry:
    def __init__(
        self,
        pass_seconds: float,
        clock: Callable[[], float] = time.monotonic,
        answer_seconds: float = 0.0,
    ) -> None:
        """`answer_seconds`: so long a server may take to answer, or to be given up."""
        self.registry = CollectorRegistry()
        self.pass_seconds = Histogram(
            "cepheid_agent_pass_seconds",
            "Time that a pass takes.",
            buckets=(0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30),
            registry=self.registry,
        )
        self.series = Gauge("cepheid_agent_series", "Series in the window.", registry=self.registry)
        self.bytes_read = Counter(
            "cepheid_agent_prometheus_bytes", "Bytes read from Prometheus.", registry=self.registry
        )
        self.writes = Counter(
            "cepheid_agent_writes", "Patches sent.", ["kind", "why"], registry=self.registry
        )
        self.skips = Counter(
            "cepheid_agent_skips",
            "Objects left as they are, or not written.",
            ["kind", "why"],
            registry=self.registry,
        )
        self.errors = Counter(
            "cepheid_agent_errors", "What went wrong.", ["kind"], registry=self.registry
        )
        self.lag = Gauge(
            "cepheid_agent_lag_seconds", "Age of the newest sample.", registry=self.registry
        )
        self.valid_until = Gauge(
            "cepheid_agent_valid_until_seconds",
            "Until when the annotations on the node count, as a Unix time.",
            registry=self.registry,
        )
        self._clock = clock
        self._patience = PASSES_MISSED * pass_seconds + answer_seconds
        self._alive = clock()
        self._good = False

    def alive(self) -> None:
        """A server was asked, and answered or not: a pass may take long, but goes on."""
        self._alive = self._clock()

    def pass_ended(self, *, good: bool) -> None:
        self.alive()
        self._good = self._good or good

    @property
    def healthy(self) -> bool:
        """It goes on. That Prometheus is away is no reason to be restarted."""
        return self._clock() - self._alive < self._patience

    @property
    def ready(self) -> bool:
        """It has read and written once."""
        return self._good
