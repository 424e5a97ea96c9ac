"""One thread that takes a sample every so often, on a schedule that does not drift.

A sample that is late is taken late and the next one in time: counters are cumulative, so that
nothing is lost but the detail in between. A run of days is sampled ever less often, else its
recording would be a gigabyte.
"""

import threading
import time
from collections.abc import Callable

INTERVAL_SECONDS = 0.5
SHORTEST_SECONDS, LONGEST_SECONDS = 0.01, 3600.0
LESS_OFTEN_AFTER = 100_000
"""Samples: after 14 hours of half a second it takes one a second, after 28 more one in two."""
EARLY_SECONDS = (0.02, 0.1)
"""Most commands are short: these are seen too, and so is how a long one begins."""
LAST_WORDS_SECONDS = 2.0
"""So long a sample may take at the end; a driver that hangs must not hold up whoever waits."""


class Sampling:
    def __init__(
        self,
        take: Callable[[], None],
        interval_seconds: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._take = take
        self._interval = interval_seconds
        self._clock = clock
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="cepheid", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> bool:
        """Whether no sample is being taken any more: then the caller may take the last one."""
        self._over.set()
        self._thread.join(LAST_WORDS_SECONDS)
        return not self._thread.is_alive()

    def _run(self) -> None:
        begin = self._clock()
        for early in EARLY_SECONDS:
            if early < self._interval and not self._over.wait(begin + early - self._clock()):
                self._take()
        due = begin + self._interval
        taken = 0
        while not self._over.wait(max(0.0, due - self._clock())):
            self._take()
            taken += 1
            due = after(due, interval_after(taken, self._interval), self._clock())


def interval_after(samples: int, interval: float) -> float:
    return float(interval * 2 ** (samples // LESS_OFTEN_AFTER))


def after(due: float, interval: float, now: float) -> float:
    """The next moment of the schedule that is still to come."""
    missed = max(0.0, now - due) // interval
    return due + (1 + missed) * interval
