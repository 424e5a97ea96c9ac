"""What is asked of the search, and what is left to try? Pure."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cepheid.analysis.memoryneed import MemoryNeed
from cepheid.analysis.scaling import GpuType, Seen
from cepheid.placementtrial import Goal, Limits, Optimise, Placement, State

FAILURES_OF_A_TYPE = 2
"""With so many failures, and nothing else, a type cannot run the job: an architecture that its
image was not built for."""


@dataclass(frozen=True, slots=True)
class Candidate:
    placement: Placement
    price: float | None = None
    """Of one of its GPUs for an hour."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    candidates: tuple[Candidate, ...]
    types: tuple[GpuType, ...]
    optimise: Optimise
    limits: Limits
    known: tuple[Seen, ...] = ()
    """Earlier runs of this job and of similar ones, with errors that say how much they count."""
    left_gpu_seconds: float
    """Of the budget, less what is spent and what the trials that run have reserved."""
    overhead_seconds: float
    """That a trial holds its GPUs beside the warm-up and being measured: start, grace."""

    def memory_mib(self, placement: Placement) -> float | None:
        """Of one GPU."""
        return next((one.memory_mib for one in self.types if one.name == placement.gpu_type), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """A trial that is over and is not repeated; for `is_clear`, one that runs, as far as it is."""

    placement: Placement
    state: State
    seen: Seen | None = None
    watts: float | None = None
    """Of all of its GPUs."""
    gpu_memory_mib: float | None = None
    """The most that any of its GPUs held."""


def is_measured(problem: Problem, tried: Tried) -> bool:
    """Whether what was measured is enough for the goal."""
    if tried.seen is None or not tried.seen.is_usable:
        return False
    return problem.optimise.goal is not Goal.ENERGY or bool(tried.watts)


def left_to_try(
    problem: Problem, tried: Sequence[Tried], running: Sequence[Placement]
) -> list[Placement]:
    """Not those that cannot hold the job, cannot be had, or of whose type all fail."""
    begun = {*running, *(one.placement for one in tried)}
    short = [one.placement for one in tried if one.state is State.UNAVAILABLE]
    broken = _broken_types(tried)
    left = [
        one.placement
        for one in problem.candidates
        if one.placement not in begun
        and one.placement.gpu_type not in broken
        and not (problem.optimise.goal is Goal.COST and one.price is None)
        and not any(_asks_for_more(one.placement, than) for than in short)
    ]
    holds = memory_need(problem, tried).can_hold(
        [one.gpus for one in left], [problem.memory_mib(one) for one in left]
    )
    return [one for one, can in zip(left, holds, strict=True) if can]


def memory_need(problem: Problem, tried: Iterable[Tried]) -> MemoryNeed:
    held, burst = [], []
    for one in tried:
        if one.state is State.OUT_OF_MEMORY:
            mib = problem.memory_mib(one.placement)
            if mib is not None:
                burst.append((one.placement.gpus, mib))
        elif one.gpu_memory_mib:
            held.append((one.placement.gpus, one.gpu_memory_mib))
    return MemoryNeed(tuple(held), tuple(burst))


def _broken_types(tried: Sequence[Tried]) -> set[str]:
    failed = Counter(one.placement.gpu_type for one in tried if one.state is State.FAILED)
    worked = {one.placement.gpu_type for one in tried if one.seen is not None}
    return {name for name, times in failed.items() if times >= FAILURES_OF_A_TYPE} - worked


def _asks_for_more(placement: Placement, than: Placement) -> bool:
    """The same, and more of it: what did not get fewer GPUs does not get these."""
    return (
        placement.gpu_type == than.gpu_type
        and placement.arrange is than.arrange
        and placement.gpus_per_worker >= than.gpus_per_worker
        and placement.workers >= than.workers
    )
