"""Who held how much of what, and when?

What a job asked for is its own from start to end, used or not. Where it asked for nothing it holds
what it used, and so its share of the node. Amounts are whole numbers of a small unit, times whole
microseconds: sums of ten thousand of them are exact, in whichever order.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from msgspec import Struct

from cepheid.history.rows import LONGEST_SECONDS, microseconds
from cepheid.jobprofile import Asked, JobProfile, Spread, Usage
from cepheid.jobs.gpu_names import MOST_GPUS, is_gpu
from cepheid.reports.contention.moving import NO_GPUS, UNKNOWN_GPUS, Inventory, system_of
from cepheid.units import quantity

WHOLE_GPU = "nvidia.com/gpu"
"""What a job asks for that does not say what it is called."""
WHOLE, SHARED = "/gpu", ".shared"
"""How the name of a GPU ends that one job has to itself, or with others."""


Stretch = tuple[int, int]
"""From and to, in microseconds."""


class Resource(StrEnum):
    GPU = "gpu"
    GPU_MEMORY = "gpu-memory"
    CPU = "cpu"
    MEMORY = "memory"
    DISK = "disk"
    NETWORK = "network"


PER_UNIT: Mapping[Resource, float] = {
    Resource.GPU: 1.0,
    Resource.GPU_MEMORY: 2.0**-20,
    Resource.CPU: 1e3,
    Resource.MEMORY: 2.0**-20,
    Resource.DISK: 2.0**-10,
    Resource.NETWORK: 2.0**-10,
}
"""GPUs, millicores, MiB, KiB a second: of one core, byte or byte a second."""
MOST = 2**36
"""Of any of them: who claims more is not believed, and sums must fit in 64 bits."""


class Pool(NamedTuple):
    """What is of one kind: who waits for some of it could use any of it."""

    resource: Resource
    system: str
    """Of which nodes: by the model of their GPUs."""
    name: str = ""
    """Of GPUs: what Kubernetes calls them. A slice or a share of one is another thing."""
    node: str = ""
    """Only neighbours on one node take disk, network and memory in use from each other."""


class Claim(Struct, frozen=True, gc=False, cache_hash=True):
    """What a job asks for or takes, in small units, and where: as long as it runs.

    Many jobs claim the same: what follows from a claim is worked out once for all of them.
    """

    gpus: tuple[tuple[str, int], ...]
    """By system."""
    gpu_name: str
    gpu_count: int
    """As many as it asked for, wherever it got them."""
    places: tuple[tuple[str, int], ...]
    """On how many nodes of which system."""
    cpu: int
    memory: int
    gpu_memory: int
    """Of what is shared, where a whole GPU is nobody's."""

    @property
    def systems(self) -> tuple[str, ...]:
        """Of its GPUs; of one without, those that it ran on."""
        return tuple([system for system, _ in self.gpus or self.places])


def claim_of(profile: JobProfile, inventory: Inventory) -> Claim:
    gpus = gpus_by_system(profile, inventory)
    asked = _all_asked(_signature(profile.asked))
    name = asked.gpu_name if gpus else ""
    used = None if profile.usage is None else profile.usage.gpu_memory_bytes
    return Claim(
        (*gpus.items(),),
        name,
        min(profile.gpu_count, MOST_GPUS),
        (*systems_of(profile, inventory).items(),),
        asked.whole_cpu or whole(Resource.CPU, _used_instead(profile, Resource.CPU)),
        asked.whole_memory or whole(Resource.MEMORY, _used_instead(profile, Resource.MEMORY)),
        whole(Resource.GPU_MEMORY, _most(used)) if name.endswith(SHARED) else 0,
    )


def held_by(claim: Claim) -> Iterator[tuple[Pool, int]]:
    for system, count in claim.gpus:
        yield Pool(Resource.GPU, system, claim.gpu_name), count
        if claim.gpu_memory:
            yield Pool(Resource.GPU_MEMORY, system, claim.gpu_name), claim.gpu_memory
    nodes = sum([count for _, count in claim.places])
    for resource, amount in ((Resource.CPU, claim.cpu), (Resource.MEMORY, claim.memory)):
        for system, count in claim.places if amount else ():
            yield Pool(resource, system), amount * count // nodes


def used_on_each(profile: JobProfile, resource: Resource) -> int:
    """What it really used on each of its nodes, if they did alike."""
    if profile.usage is None or not profile.nodes:
        return 0
    amount = _used(profile.usage, resource)
    return whole(resource, None if amount is None else amount / len(profile.nodes))


def _used(usage: Usage, resource: Resource) -> float | None:
    """What neighbours on a node take from each other."""
    match resource:
        case Resource.DISK:
            return _mean(usage.disk_bytes_per_second)
        case Resource.NETWORK:
            return _mean(usage.network_bytes_per_second)
        case Resource.MEMORY:
            return _most(usage.memory_bytes)
        case _:
            return None


def ran(profile: JobProfile, window: Stretch) -> Stretch | None:
    """From when to when, within the window; one that runs, up to its end.

    The live record of a cluster's job is written again only when it says more: one whose figures
    stand still, as those of an idle one do, has an old duration.
    """
    if profile.started is None:
        return None
    begin = microseconds(profile.started)
    if profile.ended is not None:
        end = microseconds(profile.ended)
    elif profile.is_active and profile.process is None:
        end = window[1]
    elif profile.duration_seconds is not None:
        end = begin + int(1e6 * min(profile.duration_seconds, LONGEST_SECONDS))
    else:
        return None
    begin, end = max(begin, window[0]), min(end, window[1])
    return (begin, end) if begin < end else None


def gpus_by_system(profile: JobProfile, inventory: Inventory) -> dict[str, int]:
    """As many as it held at once; of a list that was cut, the rest is as what is listed."""
    count = min(profile.gpu_count or len(profile.gpus), MOST_GPUS)
    if not count:
        return {}
    listed = [
        system_of(gpu.model) if gpu.model else inventory.system(gpu.node) or UNKNOWN_GPUS
        for gpu in profile.gpus
    ] or [inventory.system(node) or UNKNOWN_GPUS for node in profile.nodes]
    if not listed:
        return {UNKNOWN_GPUS: count}
    times, rest = divmod(count, len(listed))
    first = listed[:rest]
    return {
        system: some
        for system in dict.fromkeys(listed)
        if (some := times * listed.count(system) + first.count(system))
    }


def systems_of(profile: JobProfile, inventory: Inventory) -> dict[str, int]:
    """On how many nodes of which system it ran."""
    found: dict[str, int] = {}
    for node in dict.fromkeys(profile.nodes or [gpu.node for gpu in profile.gpus]):
        system = inventory.system(node)
        found[system] = found.get(system, 0) + 1
    return found or {NO_GPUS: 1}


def taken(profile: JobProfile, resource: Resource) -> float | None:
    """What it asked for; else what it used, of CPU on average, of memory at most."""
    asked = _all_asked(_signature(profile.asked))
    amount = asked.cpu if resource is Resource.CPU else asked.memory
    return amount or _used_instead(profile, resource)


def _used_instead(profile: JobProfile, resource: Resource) -> float | None:
    if profile.usage is None:
        return None
    if resource is Resource.CPU:
        return _mean(profile.usage.cpu_cores)
    return _most(profile.usage.memory_bytes)


def whole(resource: Resource, amount: float | None) -> int:
    """In its small unit; what is not nothing is at least one."""
    if amount is None or not amount > 0:
        return 0
    scaled = amount * PER_UNIT[resource]
    return max(1, round(scaled)) if scaled < MOST else MOST


def natural(resource: Resource, amount: float) -> float:
    """Back in GPUs, cores, bytes."""
    found = amount / PER_UNIT[resource]
    return found if math.isfinite(found) else 0.0


class _Asked(NamedTuple):
    """By all pods of a job."""

    cpu: float
    memory: float
    gpu_name: str
    whole_cpu: int
    whole_memory: int
    """In small units."""


_Texts = tuple[tuple[str, str], ...]
_Signature = tuple[tuple[int, _Texts, _Texts], ...]
"""Of each container: how many pods have it, its requests and its limits."""


def _signature(asked: Sequence[Asked]) -> _Signature:
    return tuple([(one.pods, (*one.requests.items(),), (*one.limits.items(),)) for one in asked])


@lru_cache(maxsize=4096)
def _all_asked(containers: _Signature) -> _Asked:
    """Tens of thousands of jobs ask for a few different things."""
    names = [name for _, requests, limits in containers for name, _ in (*limits, *requests)]
    cpu, memory = _sum(containers, Resource.CPU), _sum(containers, Resource.MEMORY)
    return _Asked(
        cpu=cpu,
        memory=memory,
        gpu_name=next(filter(is_gpu, names), WHOLE_GPU),
        whole_cpu=whole(Resource.CPU, cpu),
        whole_memory=whole(Resource.MEMORY, memory),
    )


def _sum(containers: _Signature, resource: Resource) -> float:
    """Of requests; of a container without, of its limit."""
    asked = [
        (pods, {**dict(limits), **dict(requests)}.get(resource))
        for pods, requests, limits in containers
    ]
    return sum(pods * (quantity(text) or 0.0) for pods, text in asked if text is not None)


def _mean(spread: Spread | None) -> float | None:
    return None if spread is None else spread.mean if spread.mean is not None else spread.max


def _most(spread: Spread | None) -> float | None:
    return None if spread is None else spread.max if spread.max is not None else spread.mean
