"""One question, one answer, whatever is wrong.

While nothing is known yet, where we fail, and for pods that did not ask for us, every node is as
good as any other: a scheduler must never wait for us, nor place nothing because of us.
"""

import logging
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass

from cepheid.jobs import fields
from cepheid.jobs.fields import Raw
from cepheid.logs import Troubles
from cepheid_operator.extender.index import Asked, Index
from cepheid_operator.extender.judging import Judged, Verdict
from cepheid_operator.extender.protocol import (
    FilterResult,
    HostPriority,
    QuestionError,
    read,
    write,
)
from cepheid_operator.extender.telemetry import Outcome, Telemetry
from cepheid_operator.extender.wording import reason

LOG = logging.getLogger("cepheid.extender")
SAME_SECONDS = 1.0
"""A scheduler filters, and asks for scores milliseconds later: for so long it is one judgement, and
what an Event tells is what was scored."""
NOT_UNDERSTOOD = "a scheduler asks what cannot be understood"
FORGED = "pods or jobs claim what no agent and no trial wrote; that is ignored"


@dataclass(frozen=True, slots=True)
class Case:
    """One pod, the nodes that it fits by count, and what was found."""

    pod: Raw
    asked: Asked
    names: list[str]
    judged: Judged


@dataclass(frozen=True, slots=True)
class Filtered:
    """What was left of the nodes of a case, and when."""

    case: Case
    names: list[str]
    scores: list[int]
    at: float


class Answers:
    def __init__(
        self,
        index: Index,
        telemetry: Telemetry,
        note: Callable[[Case], None],
        profiles: Collection[str],
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`note` is told of every case that was filtered; pods of other profiles are none."""
        self._index, self._telemetry, self._note, self._clock = index, telemetry, note, clock
        self._profiles = profiles
        self._filtered: Filtered | None = None
        """The last one: a scheduler places one pod after the other."""
        self._troubles = Troubles(LOG)

    def filter(self, body: bytes) -> bytes:
        pod, names = self._read(body)
        case = self._judge("filter", pod, names)
        if case is None:
            return write(FilterResult(names))
        self._note(case)
        verdicts = case.judged.verdicts.tolist()
        why = {one: reason(Verdict(one), case.asked.needs) for one in set(verdicts) if one}
        for verdict in why:
            count = verdicts.count(verdict)
            self._telemetry.left_out.labels(Verdict(verdict).name.lower()).inc(count)
        judged = list(zip(names, verdicts, case.judged.scores.tolist(), strict=True))
        kept = [name for name, verdict, _ in judged if not verdict]
        scores = [score for _, verdict, score in judged if not verdict]
        failed = {name: why[verdict] for name, verdict, _ in judged if verdict}
        self._filtered = Filtered(case, kept, scores, self._clock())
        return write(FilterResult(kept, failed))

    def prioritize(self, body: bytes) -> bytes:
        pod, names = self._read(body)
        before = self._filtered
        if before is not None and self._is_same(before, pod, names):
            self._count("prioritize", before.case.asked)
            return _scored(names, before.scores)
        case = self._judge("prioritize", pod, names)
        return _scored(names, [0] * len(names) if case is None else case.judged.scores.tolist())

    def _is_same(self, before: Filtered, pod: Raw, names: list[str]) -> bool:
        is_soon = 0 <= self._clock() - before.at < SAME_SECONDS
        return is_soon and before.names == names and before.case.pod == pod

    def _read(self, body: bytes) -> tuple[Raw, list[str]]:
        try:
            found = read(body)
        except QuestionError as problem:
            self._troubles.happened(NOT_UNDERSTOOD, problem)
            raise
        # Not over with the next good one: that may be of another scheduler.
        return found

    def _judge(self, verb: str, pod: Raw, names: list[str]) -> Case | None:
        # The extenders of a kube-scheduler are asked for all of its profiles.
        if fields.name(pod, "spec", "schedulerName") not in self._profiles:
            self._telemetry.answered(verb, Outcome.NOT_OURS)
            return None
        if not self._telemetry.ready:
            self._telemetry.answered(verb, Outcome.NOT_READY)
            return None
        try:
            asked = self._index.asked(pod)
            judged = self._index.judge(names, asked.needs, self._clock())
        except Exception as problem:  # a bug of ours must not keep a pod waiting
            name = fields.name(pod, "metadata", "name")
            LOG.error("pod %s is scheduled without us", name, exc_info=problem)
            self._telemetry.answered(verb, Outcome.FAILED)
            return None
        self._count(verb, asked)
        return Case(pod, asked, names, judged)

    def _count(self, verb: str, asked: Asked) -> None:
        if asked.forged:
            self._telemetry.forged.inc()
            self._troubles.say(FORGED, happens=True)
        self._telemetry.answered(verb, Outcome.KNOWN if asked.unknown is None else Outcome.UNKNOWN)


def _scored(names: list[str], scores: list[int]) -> bytes:
    return write(list(map(HostPriority, names, scores)))
