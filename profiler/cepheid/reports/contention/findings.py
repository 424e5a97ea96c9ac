"""In which ways does somebody hold what others wait for?

Each is found whether anybody waited or not, with how long somebody did: who is left out for want
of that is counted.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from cepheid.jobprofile import JobProfile
from cepheid.jobs.advice import IDLE_PERCENT
from cepheid.reports.contention.holding import Hold, Pool, Resource, Stretch, taken
from cepheid.reports.contention.moving import (
    NO_GPUS,
    Inventory,
    fits_on,
    holds_memory_of,
    without_gpus,
)
from cepheid.reports.contention.overlap import Contention, Waiters, merged
from cepheid.reports.contention.scene import Scene
from cepheid.reports.contention.shares import Beyond

LEAST_OF_NODE = 0.1
"""Of a node's cores or memory, as Jobanalyzer has it: less of it stands in nobody's way."""
LEAST_CORES = 1.0
"""The same where nobody knows what the nodes have."""
SHOWN_NODES = 3


class Kind(StrEnum):
    IDLE = "idle GPUs"
    SMALL = "small job on large GPUs"
    NO_GPU = "no GPU needed"
    BEYOND = "beyond fair share"
    HEAVY = "heavy use"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    kind: Kind
    owner: int
    pool: Pool
    holds: Sequence[Hold]
    """What it is about."""
    seconds: float
    """So long others waited meanwhile."""
    held: float
    """On average of that time; where nobody waited, of all the time. In the pool's small unit."""
    excess: float
    """What others could have had, times seconds."""
    share: float | None = None
    stretches: Sequence[Stretch]
    """When it was held; of what is beyond the fair share, when it was beyond it."""

    @property
    def held_seconds(self) -> float:
        spans = merged((hold.begin_us, hold.end_us) for hold in self.holds)
        return sum(end - begin for begin, end in spans) / 1e6


def beyond_shares(scene: Scene, least_seconds: float) -> Iterator[Finding]:
    for pool in [*scene.wants]:
        for one in scene.beyond(pool) if pool in scene.holds else ():
            if one.seconds >= least_seconds:
                yield _beyond(scene, pool, one)


def named(scene: Scene) -> Iterator[Finding]:
    """All jobs of one owner that hold the same in the same way are one, however short each is."""
    groups: defaultdict[tuple[Kind, int, Pool], list[Hold]] = defaultdict(list)
    for pool, holds in scene.holds.items():
        for hold in holds if not pool.node else ():
            run = scene.runs[hold.run]
            kind = kind_of(run, pool, scene.inventory)
            if kind is not None:
                groups[kind, scene.owners[hold.run], pool].append(hold)
    for (kind, owner, pool), holds in groups.items():
        yield _of_time(scene, kind, owner, pool, holds)


def heavy(scene: Scene, but: Container[int]) -> Iterator[Finding]:
    """Who held more than an equal part of all that was held, or all of it; `but` these.

    Cores and memory beside GPUs go with them, and are not looked at.
    """
    for pool in scene.holds:
        if pool.node:
            continue
        each = {
            owner: theirs
            for owner, holds in scene.by_owner(pool).items()
            if (theirs := [one for one in holds if pool.name or not scene.claims[one.run].gpus])
        }
        sums = {owner: _amount_seconds(theirs) for owner, theirs in each.items()}
        even = sum(sums.values()) / max(1, len(sums))
        for owner, total in sums.items():
            if owner not in but and (total > even or len(sums) == 1):
                yield _of_time(scene, Kind.HEAVY, owner, pool, each[owner])


def kind_of(run: JobProfile, pool: Pool, inventory: Inventory) -> Kind | None:
    """Of one job and what it holds, by itself."""
    if pool.resource is Resource.GPU:
        if is_idle(run):
            return Kind.IDLE
        return Kind.SMALL if fits_on(run, inventory, pool.system) is not None else None
    if pool.system == NO_GPUS or run.gpu_count or run.gpus:
        return None
    takes_cores = _is_much(run, Resource.CPU, pool.system, inventory)
    if pool.resource is Resource.CPU:
        return Kind.NO_GPU if takes_cores else None
    if pool.resource is Resource.MEMORY and not takes_cores:
        return Kind.NO_GPU if _is_much(run, Resource.MEMORY, pool.system, inventory) else None
    return None


def is_idle(run: JobProfile) -> bool:
    """By the mean load of its GPUs; by the highest, where only that was noted."""
    util = None if run.usage is None else run.usage.gpu_util_percent
    if util is None:
        return False
    load = util.max if util.mean is None else util.mean
    return load is not None and load <= IDLE_PERCENT


def _is_much(run: JobProfile, resource: Resource, system: str, inventory: Inventory) -> bool:
    amount = (taken(run, resource) or 0.0) / max(1, len(run.nodes))
    nodes = inventory.of(system)
    sizes = [
        size
        for node in nodes
        if (size := node.cpu_cores if resource is Resource.CPU else node.memory_bytes)
    ]
    if not sizes:
        return resource is Resource.CPU and amount >= LEAST_CORES
    return amount >= LEAST_OF_NODE * min(sizes)


def _beyond(scene: Scene, pool: Pool, found: Beyond) -> Finding:
    stretches = [(begin, end) for begin, end in found.times_us.tolist()]
    holds = [hold for hold in scene.by_owner(pool)[found.owner] if _overlap(hold, stretches)]
    return Finding(
        kind=Kind.BEYOND,
        owner=found.owner,
        pool=pool,
        holds=holds,
        seconds=found.seconds,
        held=found.held,
        share=found.share,
        excess=found.excess,
        stretches=stretches,
    )


def _of_time(scene: Scene, kind: Kind, owner: int, pool: Pool, holds: list[Hold]) -> Finding:
    """While others waited; all of it counts, since all of it could have been theirs."""
    contention, plain = _contention(scene, kind, pool), scene.plain(owner)
    spans = [(hold.begin_us, hold.end_us) for hold in holds]
    stretches = merged(spans)
    waited = contention.seconds(plain, [*spans, *stretches]).tolist()
    seconds = sum(waited[len(holds) :])
    excess = sum(hold.amount * each for hold, each in zip(holds, waited, strict=False))
    lasted = sum(end - begin for begin, end in stretches) / 1e6
    average = excess / seconds if seconds > 0 else _amount_seconds(holds) / lasted
    return Finding(
        kind=kind,
        owner=owner,
        pool=pool,
        holds=holds,
        seconds=seconds,
        held=average,
        excess=excess,
        stretches=stretches,
    )


def _contention(scene: Scene, kind: Kind, pool: Pool) -> Contention:
    return scene.beside_free_gpus(pool) if kind is Kind.NO_GPU else scene.contention(pool)


def waiters(scene: Scene, found: Finding) -> Waiters:
    if not found.seconds:
        return Waiters(0, 0)
    contention = _contention(scene, found.kind, found.pool)
    return contention.waiters(scene.plain(found.owner), found.stretches, scene.users)


def move_to(scene: Scene, found: Finding) -> tuple[str, ...]:
    """Systems that would do, or nodes without GPUs."""
    pool, run = found.pool, scene.runs[heaviest(found.holds)]
    match found.kind:
        case Kind.SMALL:
            fitting = fits_on(run, scene.inventory, pool.system)
        case Kind.IDLE:
            smaller = scene.inventory.smaller(pool.system)
            fitting = holds_memory_of(run, scene.inventory, smaller)
        case Kind.NO_GPU:
            return tuple(without_gpus(run, scene.inventory)[:SHOWN_NODES])
        case Kind.BEYOND:
            return _elsewhere(scene, pool, run)
        case Kind.HEAVY:
            return ()
    return () if fitting is None else (fitting,)


def _elsewhere(scene: Scene, pool: Pool, run: JobProfile) -> tuple[str, ...]:
    """A system that nobody waits for, and whose GPUs have memory enough."""
    if pool.resource is not Resource.GPU:
        needs_none = pool.system != NO_GPUS and not run.gpu_count
        return tuple(without_gpus(run, scene.inventory)[:SHOWN_NODES]) if needs_none else ()
    asked_for = {one.system for one in scene.wants if one.resource is Resource.GPU}
    others = [
        system
        for system in scene.inventory.systems
        if system not in (NO_GPUS, pool.system)
        and system not in asked_for
        and scene.inventory.gpu_count(system)
    ]
    found = holds_memory_of(run, scene.inventory, others)
    return () if found is None else (found,)


def heaviest(holds: Sequence[Hold]) -> int:
    """The run that holds the most, for the longest."""
    most = max(holds, key=lambda hold: (hold.amount * (hold.end_us - hold.begin_us), -hold.run))
    return most.run


def _overlap(hold: Hold, stretches: Sequence[Stretch]) -> bool:
    at = bisect_right(stretches, hold.begin_us, key=lambda one: one[1])
    return at < len(stretches) and stretches[at][0] < hold.end_us


def _amount_seconds(holds: Sequence[Hold]) -> float:
    return sum(hold.amount * (hold.end_us - hold.begin_us) for hold in holds) / 1e6
