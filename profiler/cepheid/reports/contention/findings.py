"""In which ways does somebody hold what others wait for?

Each is found whether anybody waited or not, with how long somebody did: who is left out for want
of that is counted.
"""

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from operator import mul

from cepheid.analysis.findings import BUSY_NETWORK
from cepheid.analysis.pauses import BUSY_DISK
from cepheid.jobprofile import JobProfile, Outcome
from cepheid.jobs.advice import IDLE_PERCENT, is_told
from cepheid.reports.contention.holding import Pool, Resource, Stretch, natural, taken
from cepheid.reports.contention.moving import (
    NO_GPUS,
    Inventory,
    fits_on,
    holds_memory_of,
    without_gpus,
)
from cepheid.reports.contention.overlap import Contention, Waiters, meets, merged
from cepheid.reports.contention.rows import Rows
from cepheid.reports.contention.scene import Scene
from cepheid.reports.contention.shares import Beyond

LEAST_OF_NODE = 0.1
"""Of a node's cores or memory, as Jobanalyzer has it: less of it stands in nobody's way."""
LEAST_CORES = 1.0
"""The same where nobody knows what the nodes have."""
HOLDS_BACK = {Resource.DISK: BUSY_DISK, Resource.NETWORK: BUSY_NETWORK}
"""In bytes a second: who uses less takes it from nobody, whatever a neighbour is short of."""
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
    holds: Rows
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
        return sum(end - begin for begin, end in merged(self.holds.stretches())) / 1e6


def beyond_shares(scene: Scene, least_seconds: float) -> Iterator[Finding]:
    for pool in [*scene.wants]:
        for one in scene.beyond(pool) if pool in scene.holds else ():
            held = natural(pool.resource, one.held)
            if one.seconds >= least_seconds and held >= HOLDS_BACK.get(pool.resource, 0.0):
                yield _beyond(scene, pool, one)


def named(scene: Scene) -> Iterator[Finding]:
    """All jobs of one owner that hold the same in the same way are one, however short each is."""
    for pool in scene.holds:
        holds = _by_itself(scene, pool)
        groups: dict[tuple[Kind, int], list[int]] = {}
        owners = scene.owners[holds.runs].tolist()
        for place, run in enumerate(holds.runs.tolist()):
            kind = kind_of(scene.runs[run], pool, scene.inventory)
            if kind is not None:
                groups.setdefault((kind, owners[place]), []).append(place)
        for (kind, owner), places in groups.items():
            yield _of_time(scene, kind, owner, pool, holds.at(places))


def heavy(scene: Scene, but: Container[int]) -> Iterator[Finding]:
    """Who held more than an equal part of all that was held, or all of it; `but` these."""
    for pool in scene.holds:
        holds = _by_itself(scene, pool)
        owners = scene.owners[holds.runs]
        each: dict[int, int] = {}
        for owner, amount_us in zip(owners.tolist(), holds.amounts_us(), strict=True):
            each[owner] = each.get(owner, 0) + amount_us
        sums = {owner: amount_us / 1e6 for owner, amount_us in each.items()}
        even = sum(sums.values()) / max(1, len(sums))
        for owner, total in sums.items():
            if owner not in but and (total > even or len(sums) == 1):
                yield _of_time(scene, Kind.HEAVY, owner, pool, holds.at(owners == owner))


def _by_itself(scene: Scene, pool: Pool) -> Rows:
    """Cores and memory beside GPUs go with them, and are not looked at; nor is what only
    neighbours on a node take from each other."""
    holds = scene.holds[pool]
    if pool.node:
        return holds.at([])
    return holds if pool.name else holds.at(~scene.has_gpus[holds.runs])


def kind_of(run: JobProfile, pool: Pool, inventory: Inventory) -> Kind | None:
    """Of one job and what it holds, by itself."""
    if pool.resource is Resource.GPU:
        return None if _is_young(run) else _use_of_gpus(run, pool, inventory)
    if pool.system == NO_GPUS or run.gpu_count or run.gpus:
        return None
    takes_cores = _is_much(run, Resource.CPU, pool.system, inventory)
    if pool.resource is Resource.CPU:
        return Kind.NO_GPU if takes_cores else None
    if pool.resource is Resource.MEMORY and not takes_cores:
        return Kind.NO_GPU if _is_much(run, Resource.MEMORY, pool.system, inventory) else None
    return None


def _use_of_gpus(run: JobProfile, pool: Pool, inventory: Inventory) -> Kind | None:
    if is_idle(run):
        return Kind.IDLE
    return Kind.SMALL if fits_on(run, inventory, pool.system) is not None else None


def _is_young(run: JobProfile) -> bool:
    """The record is of the first minutes of a job that runs, which may have been loading."""
    if run.outcome is not Outcome.RUNNING:
        return False
    return run.duration_seconds is not None and not is_told(run)


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
    holds = scene.holds[pool]
    mine = holds.at(scene.owners[holds.runs] == found.owner)
    return Finding(
        kind=Kind.BEYOND,
        owner=found.owner,
        pool=pool,
        holds=mine.at(meets(mine.begins_us, mine.ends_us, found.times_us)),
        seconds=found.seconds,
        held=found.held,
        share=found.share,
        excess=found.excess,
        stretches=stretches,
    )


def _of_time(scene: Scene, kind: Kind, owner: int, pool: Pool, holds: Rows) -> Finding:
    """While others waited; all of it counts, since all of it could have been theirs."""
    contention, plain = _contention(scene, kind, pool), scene.plain(owner)
    spans = [*holds.stretches()]
    stretches = merged(spans)
    waited = contention.seconds(plain, [*spans, *stretches]).tolist()
    seconds = sum(waited[len(spans) :])
    excess = sum(map(mul, holds.amounts.tolist(), waited))
    lasted = sum(end - begin for begin, end in stretches) / 1e6
    average = excess / seconds if seconds > 0 else sum(holds.amounts_us()) / 1e6 / lasted
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


def heaviest(holds: Rows) -> int:
    """The run that holds the most, for the longest; of such the first."""
    amounts_us = holds.amounts_us()
    return int(holds.runs[amounts_us.index(max(amounts_us))])
