"""The default scheduler, bin packing, and the default one with our extender.

Scores as kube-scheduler 1.34 computes them: pkg/scheduler/framework/plugins/noderesources and
prioritizeNodes in schedule_one.go. Its other default plugins give these pods the same on all nodes.
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from cepheid_operator.extender.judging import MOST_SCORE, Verdict, judge
from tests.bench.scheduler.cluster import CPU, GPU, MEMORY, Cluster, Ints, asked
from tests.bench.scheduler.programs import Job
from tests.bench.scheduler.sight import Sight

MAX_NODE_SCORE = 100
GPU_WEIGHT = 3
"""As Kubernetes' page on bin packing weighs extended resources."""
EXTENDER_WEIGHT = 10
Nodes = NDArray[np.intp]


class Policy(Protocol):
    name: str

    @property
    def sight(self) -> Sight | None:
        """None of one that asks nobody."""

    def choose(self, cluster: Cluster, job: Job, fitting: Nodes, now: float) -> int | None:
        """One of the nodes that it fits; None where it has to wait."""


class Default:
    name = "default"
    sight: Sight | None = None

    def __init__(self, seed: int) -> None:
        self._chance = np.random.default_rng([seed, 3])

    def choose(self, cluster: Cluster, job: Job, fitting: Nodes, now: float) -> int | None:  # noqa: ARG002
        return self.one_of_the_best(fitting, self.scores(cluster, job, fitting))

    def scores(self, cluster: Cluster, job: Job, fitting: Nodes) -> Ints:
        return least_allocated(cluster, job, fitting) + balanced(cluster, job, fitting)

    def one_of_the_best(self, nodes: Nodes, scores: Ints) -> int:
        return int(self._chance.choice(nodes[scores == scores.max()]))


class Packing(Default):
    name = "bin packing"

    def scores(self, cluster: Cluster, job: Job, fitting: Nodes) -> Ints:
        return most_allocated(cluster, job, fitting) + balanced(cluster, job, fitting)


class Ours(Default):
    name = "ours"

    def __init__(self, seed: int, sight: Sight, weight: int = EXTENDER_WEIGHT) -> None:
        super().__init__(seed)
        self.sight: Sight = sight
        self.weight = weight

    def choose(self, cluster: Cluster, job: Job, fitting: Nodes, now: float) -> int | None:
        names = [self.sight.names[node] for node in fitting]
        needs = self.sight.needs(job)
        judged = judge(self.sight.look(cluster, now), names, needs, now)
        takes = judged.verdicts == Verdict.TAKES
        if not takes.any():
            return None
        left = fitting[takes]
        if not takes.all():  # asked again about those that are left, as kube-scheduler does
            names = [self.sight.names[node] for node in left]
            judged = judge(self.sight.supply, names, needs, now)
        total = judged.scores * self.weight * (MAX_NODE_SCORE // MOST_SCORE)
        return self.one_of_the_best(left, self.scores(cluster, job, left) + total)


def least_allocated(cluster: Cluster, job: Job, nodes: Nodes) -> Ints:
    there, after = _after(cluster, job, nodes)
    each = (there - after) * MAX_NODE_SCORE // there
    return (each[:, CPU] + each[:, MEMORY]) // 2


def most_allocated(cluster: Cluster, job: Job, nodes: Nodes) -> Ints:
    there, after = _after(cluster, job, nodes)
    each = after * MAX_NODE_SCORE // there
    found: Ints = (each[:, CPU] + each[:, MEMORY] + GPU_WEIGHT * each[:, GPU]) // (2 + GPU_WEIGHT)
    return found


def balanced(cluster: Cluster, job: Job, nodes: Nodes) -> Ints:
    there, after = _after(cluster, job, nodes)
    shares = after / there
    apart = np.abs(shares[:, CPU] - shares[:, MEMORY]) / 2
    return ((1 - apart) * MAX_NODE_SCORE).astype(np.int64)


def _after(cluster: Cluster, job: Job, nodes: Nodes) -> tuple[Ints, Ints]:
    return cluster.there[nodes], cluster.used[nodes] + asked(job)
