"""What Prometheus has of finished runs, one run after the other, in a thread of its own.

A profile does not wait for it: it stands at once, from what the agents wrote, and is written once
more when the figures are there. Prometheus away, they are asked for again, for a while.
"""

import heapq
import itertools
import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cepheid.errors import CepheidError, QueryRejectedError, SourceError
from cepheid.jobs.measure import measure
from cepheid.jobs.pods import PodState
from cepheid.jobs.series import JobSeries
from cepheid.logs import Troubles
from cepheid.sources.jobs import JobReader, Span
from cepheid_operator.composing import Figures
from cepheid_operator.gridded import JobGrid

LOG = logging.getLogger("cepheid.operator")
AFTER_SECONDS = 25.0
"""The last samples are scraped up to 15 s after the end, and a kubelet's are 10 s old by then."""
GIVE_UP_SECONDS = 900.0
AGAIN_SECONDS = 30.0
READING = "reading Prometheus"
LONGEST_SECONDS = 31 * 86_400.0
"""No Prometheus keeps much more; of a longer job the last month is looked at."""


@dataclass(frozen=True, slots=True)
class Question:
    namespace: str
    pods: tuple[PodState, ...]
    ended_seconds: float


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    figures: Figures
    series: JobSeries | None = None


Tell = Callable[[Answer | None], None]
"""None when it was given up."""


class Measuring:
    """`ask` from any thread; answers come from the one of `run`."""

    def __init__(
        self,
        reader: JobReader,
        troubles: Troubles,
        *,
        clock: Callable[[], float],
        alive: Callable[[], None] = lambda: None,
        after_seconds: float = AFTER_SECONDS,
    ) -> None:
        self._reader = reader
        self._troubles = troubles
        self._clock = clock
        self._alive = alive
        self._after_seconds = after_seconds
        self._waiting: list[tuple[float, int, float, Question, Tell]] = []
        self._numbers = itertools.count()
        self._lock = threading.Lock()

    def ask(self, question: Question, tell: Tell, *, ended_ago_seconds: float = 0.0) -> None:
        now = self._clock()
        due = now + max(0.0, self._after_seconds - ended_ago_seconds)
        self._put(due, now + GIVE_UP_SECONDS, question, tell)

    def run(self, stop: threading.Event) -> None:
        while not stop.wait(0.5):
            self._alive()
            self.step()

    def step(self) -> None:
        """All that is due now."""
        while (entry := self._next()) is not None:
            give_up, question, tell = entry
            self._alive()
            try:
                answer = read(self._reader, question)
            except QueryRejectedError as problem:
                self._troubles.happened("asking for a job's series", problem)
                tell(None)
                continue
            except SourceError as problem:
                self._troubles.happened(READING, problem)
                now = self._clock()
                if now >= give_up:
                    tell(None)
                else:
                    self._put(now + AGAIN_SECONDS, give_up, question, tell)
                continue
            self._troubles.over(READING)
            tell(answer)

    def __len__(self) -> int:
        return len(self._waiting)

    def _put(self, due: float, give_up: float, question: Question, tell: Tell) -> None:
        with self._lock:
            heapq.heappush(self._waiting, (due, next(self._numbers), give_up, question, tell))

    def _next(self) -> tuple[float, Question, Tell] | None:
        with self._lock:
            if not self._waiting or self._waiting[0][0] > self._clock():
                return None
            _, _, give_up, question, tell = heapq.heappop(self._waiting)
            return give_up, question, tell


def read(reader: JobReader, question: Question) -> Answer:
    """Raises SourceError; what cannot be analysed was not measured."""
    ran = _ran(question.pods)
    pods = {pod.name: pod for pod in ran}
    begin = min((pod.started.timestamp() for pod in ran if pod.started), default=None)
    if begin is None or question.ended_seconds <= begin:
        return Answer(Figures(None))
    span = Span(max(begin, question.ended_seconds - LONGEST_SECONDS), question.ended_seconds)
    grid = JobGrid(span)
    try:
        for history in reader.read(question.namespace, list(pods), span):
            grid.add(history, pods[history.pod])
        series = grid.series()
        measured = None if series is None else measure(series)
    except SourceError:
        raise
    except (CepheidError, ValueError) as problem:
        LOG.warning("the series of a job in %s say nothing: %s", question.namespace, problem)
        return Answer(Figures(None))
    return Answer(Figures(measured, tuple(grid.gpus)), series)


def _ran(pods: Sequence[PodState]) -> list[PodState]:
    """Of several of one name the last."""
    ran = [pod for pod in pods if pod.started is not None and pod.node is not None]
    return sorted(ran, key=lambda pod: (pod.created, pod.uid))
