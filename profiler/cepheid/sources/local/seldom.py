"""How often something costly may be done, so that it takes only a small share of the time."""

import time
from collections.abc import Callable
from dataclasses import dataclass

Clock = Callable[[], float]


@dataclass(slots=True, eq=False)
class Seldom:
    """After a reading that took long the next one is long in coming."""

    share: float = 0.001
    """Of the time, at most."""
    least_seconds: float = 1.0
    now: Clock = time.monotonic
    cost: Clock = time.thread_time
    """What a reading is counted to have taken: time of a CPU, not of waiting for one."""
    _next: float = 0.0
    _began: float = 0.0

    def due(self) -> bool:
        """If so a reading begins now; `done` ends it."""
        if self.now() < self._next:
            return False
        self._began = self.cost()
        return True

    def done(self) -> None:
        took = max(self.cost() - self._began, 0.0)
        self._next = self.now() + max(self.least_seconds, took / self.share)
