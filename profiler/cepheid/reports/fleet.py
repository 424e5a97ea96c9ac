"""Who holds which GPU of a cluster, as far as the annotations of its Nodes and Pods tell?

What stands on a node whose `valid-until` is over is of the past, and so is what its pods say.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from cepheid.annotations.codec import decode_node, decode_pod, name_part
from cepheid.annotations.facts import GpuFacts, NodeFacts, PodFacts, PodGpuFacts
from cepheid.annotations.standing import Thing
from cepheid.reports.words import lasting

JOB_LABELS = (
    "training.kubeflow.org/job-name",
    "jobset.sigs.k8s.io/jobset-name",
    "ray.io/cluster",
    "volcano.sh/job-name",
    "batch.kubernetes.io/job-name",
    "job-name",
)
"""Who owns a pod, by what its controllers write on it: the highest first."""
_SAFE_CHARACTERS = 40
"""Names up to here stand in the keys of a pod as they are."""


class Place(NamedTuple):
    """Of a GPU, or of a MIG slice of it."""

    node: str
    number: int
    mig: int | None = None

    @property
    def gpu(self) -> str:
        return str(self.number) if self.mig is None else f"{self.number}/{self.mig}"


@dataclass(frozen=True, slots=True)
class Holder:
    """A pod, and what it uses of one GPU."""

    pod: Thing
    facts: PodFacts
    gpu: PodGpuFacts

    @property
    def job(self) -> tuple[str, str]:
        return self.pod.namespace, job_of(self.pod)


@dataclass(frozen=True, slots=True)
class Fleet:
    nodes: Mapping[str, NodeFacts]
    """Those with GPUs. Of one that is stale only what it is made of."""
    stale: Mapping[str, str]
    """For how long, in words, by node."""
    gpus: Mapping[Place, GpuFacts]
    holders: Mapping[Place, Sequence[Holder]]


def fleet(nodes: Iterable[Thing], pods: Iterable[Thing], now: datetime) -> Fleet:
    read = {node.name: decode_node(node.annotations).facts for node in nodes}
    read = {name: facts for name, facts in read.items() if facts.static or facts.gpus}
    stale = {name: _stale(facts, now) for name, facts in read.items() if not facts.holds(now)}
    known = {name: _of_the_past(facts) if name in stale else facts for name, facts in read.items()}
    gpus = {
        Place(name, gpu.index, gpu.mig): gpu for name, facts in known.items() for gpu in facts.gpus
    }
    places = {key: place for place in gpus for key in _as_pods_say(place)}
    holders: dict[Place, list[Holder]] = {}
    for pod in pods:
        facts = decode_pod(pod.annotations).facts
        for gpu in facts.gpus:
            place = places.get((facts.node or "", gpu.index, gpu.mig))
            if place is not None and place.node not in stale:
                holders.setdefault(place, []).append(Holder(pod, facts, gpu))
    return Fleet(known, stale, gpus, holders)


def job_of(pod: Thing) -> str:
    """Its name; of a pod that nobody made, the pod's own."""
    for label in JOB_LABELS:
        if pod.labels.get(label):
            return pod.labels[label]
    return pod.name if pod.owner is None else pod.owner.name


def _stale(facts: NodeFacts, now: datetime) -> str:
    if facts.valid_until is None:
        return "no longer written"
    return f"stale for {lasting((now - facts.valid_until).total_seconds())}"


def _of_the_past(facts: NodeFacts) -> NodeFacts:
    gpus = tuple(GpuFacts(gpu.index, gpu.mig) for gpu in facts.gpus)
    return NodeFacts(static=facts.static, gpus=gpus, valid_until=facts.valid_until)


def _as_pods_say(place: Place) -> Iterator[tuple[str, int, int | None]]:
    """How pods call the GPU; of a node's long name they keep what there is room for."""
    node, number, mig = place
    yield node, number, mig
    if len(node) > _SAFE_CHARACTERS:
        part = f"-gpu-{number}" if mig is None else f"-gpu-{number}-mig-{mig}"
        for suffix in (f"{part}_util", f"{part}_mem_mb"):
            yield name_part(node, suffix).removesuffix(suffix), number, mig
