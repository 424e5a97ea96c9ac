"""Who held how much of what, and when?

What a job asked for is its own from start to end, used or not. Where it asked for nothing it holds
what it used, and so its share of the node. Amounts are whole numbers of a small unit, times whole
microseconds: sums of ten thousand of them are exact, in whichever order.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from cepheid.history.rows import LONGEST_SECONDS, microseconds
from cepheid.jobprofile import Asked, JobProfile, Outcome, Spread
from cepheid.jobs.pods import MOST_GPUS, is_gpu
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


class Hold(NamedTuple):
    run: int
    """Its place among the jobs that are looked at."""
    pool: Pool
    begin_us: int
    end_us: int
    amount: int


class Claim(NamedTuple):
    """What one job asks for or takes, in small units, and where: as long as it runs."""

    gpus: Mapping[str, int]
    """By system."""
    gpu_name: str
    places: Mapping[str, int]
    """On how many nodes of which system."""
    cpu: int
    memory: int
    gpu_memory: int
    """Of what is shared, where a whole GPU is nobody's."""

    @property
    def systems(self) -> Iterable[str]:
        """Of its GPUs; of one without, those that it ran on."""
        return self.gpus or self.places


def claim_of(profile: JobProfile, inventory: Inventory) -> Claim:
    gpus = gpus_by_system(profile, inventory)
    name = gpu_name(profile) if gpus else ""
    used = None if profile.usage is None else profile.usage.gpu_memory_bytes
    return Claim(
        gpus,
        name,
        systems_of(profile, inventory),
        whole(Resource.CPU, taken(profile, Resource.CPU)),
        whole(Resource.MEMORY, taken(profile, Resource.MEMORY)),
        whole(Resource.GPU_MEMORY, _most(used)) if name.endswith(SHARED) else 0,
    )


def held_by(claim: Claim, run: int, span: Stretch) -> Iterator[Hold]:
    for system, count in claim.gpus.items():
        yield Hold(run, _pool(Resource.GPU, system, claim.gpu_name), *span, count)
        if claim.gpu_memory:
            memory = _pool(Resource.GPU_MEMORY, system, claim.gpu_name)
            yield Hold(run, memory, *span, claim.gpu_memory)
    nodes = sum(claim.places.values())
    for resource, amount in ((Resource.CPU, claim.cpu), (Resource.MEMORY, claim.memory)):
        for system, count in claim.places.items() if amount else ():
            yield Hold(run, _pool(resource, system), *span, amount * count // nodes)


def used_on_nodes(
    profile: JobProfile, run: int, span: Stretch, nodes: Mapping[Resource, set[str]]
) -> Iterator[Hold]:
    """Of these nodes, for each resource: what it really used there, if its nodes did alike."""
    usage = profile.usage
    if usage is None or not profile.nodes:
        return
    amounts = {
        Resource.DISK: _mean(usage.disk_bytes_per_second),
        Resource.NETWORK: _mean(usage.network_bytes_per_second),
        Resource.MEMORY: _most(usage.memory_bytes),
    }
    for resource, amount in amounts.items():
        each = whole(resource, None if amount is None else amount / len(profile.nodes))
        for node in {*profile.nodes} & nodes.get(resource, set()) if each else ():
            yield Hold(run, Pool(resource, NO_GPUS, node=node), *span, each)


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
    elif profile.outcome is Outcome.RUNNING and profile.process is None:
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
    if len({*listed}) <= 1:
        return {listed[0] if listed else UNKNOWN_GPUS: count}
    times, rest = divmod(count, len(listed))
    found = dict(Counter(listed[:rest]))
    for system in listed if times else ():
        found[system] = found.get(system, 0) + times
    return found


def systems_of(profile: JobProfile, inventory: Inventory) -> dict[str, int]:
    """On how many nodes of which system it ran."""
    found: dict[str, int] = {}
    for node in dict.fromkeys(profile.nodes or [gpu.node for gpu in profile.gpus]):
        system = inventory.system(node)
        found[system] = found.get(system, 0) + 1
    return found or {NO_GPUS: 1}


def taken(profile: JobProfile, resource: Resource) -> float | None:
    """What it asked for; else what it used, of CPU on average, of memory at most."""
    asked = sum(one.pods * _asked(one, resource) for one in profile.asked)
    if asked:
        return asked
    if profile.usage is None:
        return None
    if resource is Resource.CPU:
        return _mean(profile.usage.cpu_cores)
    return _most(profile.usage.memory_bytes)


def gpu_name(profile: JobProfile) -> str:
    for one in profile.asked:
        for name in (*one.limits, *one.requests):
            if is_gpu(name):
                return name
    return WHOLE_GPU


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


def _asked(one: Asked, resource: Resource) -> float:
    text = one.requests.get(resource, one.limits.get(resource))
    return 0.0 if text is None else _quantity(text) or 0.0


# As many as there are kinds of things, in tens of thousands of holds.
@lru_cache(maxsize=4096)
def _pool(resource: Resource, system: str, name: str = "") -> Pool:
    return Pool(resource, system, name)


@lru_cache(maxsize=4096)
def _quantity(text: str) -> float | None:
    return quantity(text)


def _mean(spread: Spread | None) -> float | None:
    return None if spread is None else spread.mean if spread.mean is not None else spread.max


def _most(spread: Spread | None) -> float | None:
    return None if spread is None else spread.max if spread.max is not None else spread.mean
