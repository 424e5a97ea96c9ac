"""Is what would be written worth a write, and may it wait?

etcd stores the whole object again for every patch, and a Node is large; agents that patched every
pass have drowned API servers. So a figure counts as changed when it moved further than a reader
would care about, and each object has a budget of writes that refills slowly. Some news must not
wait, a lost GPU above all: the lower a change ranks, the more of the budget it leaves for others.

    HEALTH     at once              a GPU or its health came or went
    TURN       at once              what runs there is another kind of job, or something, or nothing
    NEWS       after the interval   a fact came or went: a cycle, a forecast
    MOVE       after the interval   a figure moved, or it is sure now that there is no cycle

A sequence of these decisions never writes more often than `burst` and one per `refill_seconds`.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import Any

from cepheid.annotations import codec
from cepheid.annotations.codec import Decoded
from cepheid.annotations.facts import (
    CycleFacts,
    ForecastFacts,
    GpuFacts,
    HealthFacts,
    PodGpuFacts,
    StaticFacts,
)

# How far a figure may move before a reader cares: a share of it, and at least so much. By the end
# of its name, the first that fits; of whatever is not here every difference counts.
SLACK = (
    ("period_seconds", 0.03, 0.0),
    ("strength", 0.0, 0.1),
    ("mape_percent", 0.0, 10.0),
    ("_percent", 0.0, 5.0),
    ("_score", 0.0, 5.0),
    ("_gb", 0.02, 0.15),  # one decimal is written: a single step of it is rounding
    ("_mb", 0.02, 16.0),
    ("_mbps", 0.25, 1.0),
)
CLOCK_SECONDS = 60.0
"""A heartbeat that lies further ahead than it should was written by a clock that was wrong."""


class Rank(IntEnum):
    """Higher ones may use more of the budget."""

    MOVE = 0
    NEWS = 1
    TURN = 2
    HEALTH = 3


class Cause(StrEnum):
    """Why something is written, or why not."""

    FIRST = "first"
    HEALTH = "health"
    TURN = "turn"
    NEWS = "news"
    MOVE = "move"
    HEARTBEAT = "heartbeat"
    UNCHANGED = "unchanged"
    WAITING = "waiting"


@dataclass(frozen=True, slots=True)
class Policy:
    decode: Callable[[Mapping[str, str]], Decoded[Any]]
    interval_seconds: float = 60.0
    """At least between two writes, for what may wait."""
    burst: int = 6
    refill_seconds: float = 3600 / 14
    reserves: tuple[int, int, int, int] = (4, 1, 1, 0)
    """For each rank how many writes it leaves to the higher ones."""
    valid_seconds: float = 1200.0
    """How far ahead the heartbeat lies; half of it later it is renewed."""


NODE = Policy(codec.decode_node)
"""At most 6 + 14 writes in any hour, of which 2 + 14 for loads that move. More at once would leave
less for the hours after: a job that comes and goes is worth five, so three of them an hour."""
POD = Policy(codec.decode_pod, burst=8, refill_seconds=1800.0, reserves=(5, 2, 0, 0))
"""At most 8 + 2 writes in any hour: there are many of them to a node. A young one is soon told all
that there is to tell; of one that only keeps moving, twice an hour is enough."""


@dataclass(frozen=True, slots=True)
class Budget:
    """The writes of one object so far: what is left, and when the last one was."""

    left: float
    at_seconds: float
    last_seconds: float | None = None

    @classmethod
    def full(cls, policy: Policy, now_seconds: float) -> "Budget":
        return cls(policy.burst, now_seconds)

    def left_at(self, now_seconds: float, policy: Policy) -> float:
        earned = max(0.0, now_seconds - self.at_seconds) / policy.refill_seconds
        return min(float(policy.burst), self.left + earned)

    def written(self, now_seconds: float, policy: Policy) -> "Budget":
        left = max(0.0, self.left_at(now_seconds, policy) - 1)
        return Budget(left, now_seconds, now_seconds)


@dataclass(frozen=True, slots=True)
class Decision:
    write: bool
    cause: Cause
    why: str
    """For the log: which fact, from what to what."""
    wait_seconds: float = 0.0
    """So long the same would not be written."""


@dataclass(frozen=True, slots=True)
class Change:
    rank: Rank
    fact: str
    before: object
    after: object

    def __str__(self) -> str:
        return f"{self.fact}: {_said(self.before)} -> {_said(self.after)}"


def decide(
    standing: Mapping[str, str],
    wanted: Mapping[str, str],
    budget: Budget,
    now_seconds: float,
    policy: Policy,
) -> Decision:
    """`standing` are the keys that are ours on the object; `now_seconds` is of a steady clock."""
    changed = changes(standing, wanted, policy)
    beat = Decision(True, Cause.HEARTBEAT, "the heartbeat is due")
    due = _heartbeat_due(standing, wanted, policy)
    if not changed:
        unchanged = Decision(False, Cause.UNCHANGED, "nothing that a reader would act on")
        return beat if due else unchanged
    foremost = max(changed, key=lambda change: change.rank)
    rank, cause, why = foremost.rank, Cause(foremost.rank.name.lower()), str(foremost)
    if not standing:
        rank, cause, why = max(rank, Rank.TURN), Cause.FIRST, "nothing was written yet"
    elapsed = None if budget.last_seconds is None else now_seconds - budget.last_seconds
    lacking = 1 + policy.reserves[rank] - budget.left_at(now_seconds, policy)
    if rank < Rank.TURN and elapsed is not None and elapsed < policy.interval_seconds:
        waiting = f"{why}; waits, the last write was {elapsed:.0f} s ago"
        wait_seconds = policy.interval_seconds - elapsed
    elif lacking > 0:
        waiting = f"{why}; waits, there were many writes of late"
        wait_seconds = lacking * policy.refill_seconds
    else:
        return Decision(True, cause, why)
    return beat if due else Decision(False, Cause.WAITING, waiting, wait_seconds)


def changes(standing: Mapping[str, str], wanted: Mapping[str, str], policy: Policy) -> list[Change]:
    """What a reader would act on; the heartbeat is not among it."""
    if _without_heartbeat(standing) == _without_heartbeat(wanted):
        return []
    before, after = policy.decode(standing), policy.decode(wanted)
    then, now = dict(_figures(before.facts)), dict(_figures(after.facts))
    found = []
    for fact in dict.fromkeys((*then, *now)):
        one, two = then.get(fact), now.get(fact)
        if one is None and two is not None:
            rank = two.rank if two.value is False else max(two.rank, Rank.NEWS)
            found.append(Change(rank, fact, None, two.value))
        elif one is not None and two is None:
            found.append(Change(max(one.rank, Rank.NEWS), fact, one.value, None))
        elif one is not None and two is not None and one.is_left_by(two):
            found.append(Change(one.rank, fact, one.value, two.value))
    # What an earlier version wrote and this one cannot read is taken away.
    gone = [key for key in before.ignored if key in standing and key not in wanted]
    return found + [Change(Rank.NEWS, key, standing[key], None) for key in gone]


@dataclass(slots=True)
class _Figure:
    value: Any
    rank: Rank
    of: object = None
    """The facts that it is one of."""
    name: str = ""

    def is_left_by(self, other: "_Figure") -> bool:
        if self.value == other.value:
            return False
        if isinstance(self.value, bool) or not isinstance(self.value, int | float):
            return True
        return bool(abs(other.value - self.value) > self._slack())

    def _slack(self) -> float:
        scale = self.value
        if isinstance(self.of, GpuFacts) and self.name in {"mem_used_gb", "mem_free_gb"}:
            # Of the card: 2 % of the last GB that is free are nothing.
            scale = (self.of.mem_used_gb or 0.0) + (self.of.mem_free_gb or 0.0)
        for end, share, least in SLACK:
            if self.name.endswith(end):
                return float(max(least, share * scale))
        return 0.0


# A place, or a moment that comes with a fact and changes with it.
_NO_FACTS = frozenset({"index", "mig", "since", "valid_until"})
_BRANCHES = (CycleFacts, ForecastFacts, HealthFacts, StaticFacts)


def _figures(facts: Any, within: str = "", rank: Rank = Rank.MOVE) -> Iterator[tuple[str, _Figure]]:
    """Every known fact by its path, as in `gpu-0.cycle.period_seconds`."""
    for name in facts.__match_args__:
        value = getattr(facts, name)
        if value is None or name in _NO_FACTS:
            continue
        path = within + name
        if isinstance(value, tuple):
            for gpu in value:
                yield from _gpu_figures(gpu)
        elif isinstance(value, _BRANCHES):
            yield from _figures(value, f"{path}.", Rank.HEALTH if name == "health" else rank)
        elif name == "pods":
            yield path, _Figure(value, Rank.MOVE)
            yield f"{within}taken", _Figure(value > 0, Rank.TURN)
        else:
            yield path, _Figure(value, Rank.TURN if name == "job_type" else rank, facts, name)


def _gpu_figures(gpu: GpuFacts | PodGpuFacts) -> Iterator[tuple[str, _Figure]]:
    slice_part = "" if gpu.mig is None else f"-mig-{gpu.mig}"
    name = f"gpu-{gpu.index}{slice_part}"
    # That a node has a GPU no more, or a pod has it now, is known at once.
    yield name, _Figure("there", Rank.HEALTH if isinstance(gpu, GpuFacts) else Rank.TURN)
    yield from _figures(gpu, f"{name}.")


def _without_heartbeat(annotations: Mapping[str, str]) -> dict[str, str]:
    return {key: text for key, text in annotations.items() if not codec.is_heartbeat(key)}


def _heartbeat_due(standing: Mapping[str, str], wanted: Mapping[str, str], policy: Policy) -> bool:
    after = codec.heartbeat(wanted)
    if after is None:
        return False
    before = codec.heartbeat(standing)
    if before is None:
        return True
    passed_seconds = (after - before).total_seconds()
    # Whole seconds are written: more than half, so that it never comes a moment early.
    return passed_seconds > policy.valid_seconds / 2 or passed_seconds < -CLOCK_SECONDS


def _said(value: object) -> str:
    return "nothing" if value is None else str(value)
