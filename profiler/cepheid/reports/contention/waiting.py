"""Who waited for what that others held, and when?

A job waits from when it was made until its first container runs, and what it could have used is
what it, or an earlier run of it, got in the end; where none ever ran, any GPU of the name that it
asks for. One that runs is starved where its node had no more disk, network or memory for it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from cepheid.analysis.findings import Cause
from cepheid.history.rows import LONGEST_SECONDS, microseconds
from cepheid.jobprofile import JobProfile, Reason
from cepheid.jobs.advice import LEAST_LOST_PERCENT
from cepheid.reports.contention.holding import (
    WHOLE,
    Claim,
    Pool,
    Resource,
    Stretch,
    whole,
)
from cepheid.reports.contention.moving import NO_GPUS, UNKNOWN_GPUS, Inventory
from cepheid.reports.figures import memory_limit_bytes, peak_memory_bytes

LEAST_WAIT_SECONDS = 60.0
"""Shorter waits are for an image or a volume, which nobody holds."""
STARVED_SECONDS = 600.0
"""So long before its end a job was short of the memory that its node had no more of."""
AT_LIMIT = 0.9
"""Of its own limit: killed there, a job has itself to blame."""
_NOT_WAITING = frozenset({Reason.IMAGE, Reason.CONFIG, Reason.COMMAND})
_STARVES: Mapping[str, Resource] = {
    Cause.DISK: Resource.DISK,
    Cause.NETWORK: Resource.NETWORK,
}

Series = tuple[str, str]
Usual = Mapping[Series, frozenset[str]]
Where = tuple[str, ...] | frozenset[str] | None
"""On which systems; None for any."""


class Offer(NamedTuple):
    """What there is of something, for a job that could wait for it."""

    pool: Pool
    most: int | None
    """As far as is known. What asks for more than there is waits for nobody."""

    def may_hold_up(self, claim: Claim) -> bool:
        """With GPUs a job waits for those, and for cores and memory beside them only where it is
        known how many there are: otherwise nobody knows whether any were missing."""
        if self.pool.name:
            return self.pool.name == claim.gpu_name
        return self.most is not None or not claim.gpus


def offers_of(pools: Iterable[Pool], inventory: Inventory) -> dict[str, list[Offer]]:
    """`pools` that all on their nodes share."""
    found: dict[str, list[Offer]] = {}
    for pool in pools:
        found.setdefault(pool.system, []).append(Offer(pool, _most(pool, inventory)))
    return found


def usual_systems(
    profiles: Sequence[JobProfile], claims: Sequence[Claim], waiting: Iterable[int]
) -> dict[Series, frozenset[str]]:
    """Where runs of a job got their GPUs; of one without, on which systems they ran.

    Of those alone that never started: what the others could use is what they got.
    """
    unknown = {series(profiles[run]) for run in waiting if profiles[run].started is None}
    found: dict[Series, set[str]] = {}
    for profile, claim in zip(profiles, claims, strict=True) if unknown else ():
        if profile.started is not None and series(profile) in unknown:
            found.setdefault(series(profile), set()).update(claim.systems)
    return {key: frozenset(systems) for key, systems in found.items()}


def could_run_on(profile: JobProfile, claim: Claim, usual: Usual) -> Where:
    where = claim.systems if profile.started is not None else usual.get(series(profile))
    return None if where is None or UNKNOWN_GPUS in where else where


def wanted_by(
    claim: Claim, where: Where, offers: Mapping[str, Sequence[Offer]]
) -> Iterator[tuple[Pool, int]]:
    """`offers` by system."""
    amounts = {
        Resource.GPU: claim.gpu_count,
        Resource.GPU_MEMORY: claim.gpu_memory,
        Resource.CPU: claim.cpu,
        Resource.MEMORY: claim.memory,
    }
    for system in offers if where is None else where:
        for offer in offers.get(system, ()):
            amount = amounts[offer.pool.resource]
            fits = amount and (offer.most is None or amount <= offer.most)
            if fits and offer.may_hold_up(claim):
                yield offer.pool, amount


def starved(profile: JobProfile, span: Stretch) -> Iterator[tuple[Pool, Stretch]]:
    """`span`: when it ran. It would have taken whatever it got."""
    held = profile.held_back_by
    if held is not None and held.share_percent >= LEAST_LOST_PERCENT:
        resource = _STARVES.get(held.kind)
        for node in {*profile.nodes} if resource is not None else ():
            yield Pool(resource or Resource.DISK, NO_GPUS, node=node), span
    if profile.ended is not None and _node_was_full(profile):
        begin = max(span[0], span[1] - int(1e6 * STARVED_SECONDS))
        for node in {*profile.nodes}:
            yield Pool(Resource.MEMORY, NO_GPUS, node=node), (begin, span[1])


def waited(profile: JobProfile, window: Stretch) -> Stretch | None:
    """From when to when, within the window."""
    if profile.reason in _NOT_WAITING or profile.process is not None:
        return None
    begin = microseconds(profile.created)
    if profile.started is not None and profile.waited_seconds is None:
        end = microseconds(profile.started)
    elif profile.waited_seconds is not None:
        end = begin + int(1e6 * min(profile.waited_seconds, LONGEST_SECONDS))
    elif profile.is_active:
        end = window[1]
    elif profile.ended is not None:
        end = microseconds(profile.ended)
    else:
        return None
    if end - begin < 1e6 * LEAST_WAIT_SECONDS:
        return None
    begin, end = max(begin, window[0]), min(end, window[1])
    return (begin, end) if begin < end else None


def series(profile: JobProfile) -> Series:
    return profile.job.namespace, profile.series


def _most(pool: Pool, inventory: Inventory) -> int | None:
    has: float | None = None
    match pool.resource:
        case Resource.GPU if inventory.is_told and pool.name.endswith(WHOLE):
            has = inventory.gpu_count(pool.system) or None
        case Resource.CPU:
            has = inventory.cpu_cores(pool.system)
        case Resource.MEMORY:
            has = inventory.memory_bytes(pool.system)
    return None if has is None else whole(pool.resource, has)


def _node_was_full(profile: JobProfile) -> bool:
    if profile.reason is Reason.EVICTED:
        return "memory" in (profile.message or "").lower()
    if profile.reason is not Reason.OOM_KILLED:
        return False
    limit, peak = memory_limit_bytes(profile), peak_memory_bytes(profile)
    return limit is None or (peak is not None and peak < AT_LIMIT * limit)
