"""Which nodes must a pod not get, and how good are the others?

Excluded is a node only where it is certain, by annotations that still hold: of the GPUs that the
pod could be given there, too few are well and have room for the memory that its job is known to
need. Of the GPUs that Kubernetes may hand out, those that pods hold are no choice. What the
annotations do not know yet (a pod that has just ended) counts as good.

    could be given = min(allocatable - held, empty, well and roomy ones + those freed since)

Every other node has a score, the weighted mean of what speaks for it, each 0 to 1:

    type      how fast the job is on such GPUs, beside the fastest
    fit       how little memory of the GPUs it leaves unused
    free      how much of the GPUs, where others share them, and of the cores is foretold to be free
              for as long as the pod will run: what is beyond the horizon counts as half free
    apart     how seldom it would draw on the node for input while others do: jobs whose pulses
              leave each other room may share one, two that always wait for data should not
    pack      how few GPUs would be left over there: large jobs need whole nodes. Of GPUs that are
              shared in turns it says nothing, since it would crowd them
    sound     the share of the GPUs that it could be given which are well and roomy

What is not known is neutral, the same for all nodes.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from cepheid_operator.extender.needs import Needs
from cepheid_operator.extender.supply import GPU, Floats, Supply, Table

Bools = NDArray[np.bool_]

WEIGHTS = {"type": 5.0, "fit": 1.0, "free": 1.5, "apart": 1.5, "pack": 1.0, "sound": 1.0}
UNKNOWN = 0.5
MOST_SCORE = 10
"""Of an extender; kube-scheduler multiplies it by the weight of its configuration, and by ten."""
SPAN = 0.25
"""Nodes that differ by so much or more have the highest score and 0; less keeps to its share, so
that the scheduler's own scores decide where ours hardly differ."""


ROUGH_GB = 0.5
"""Less than so much is no lack of room. What a job was seen to hold has the driver's own memory in
it, as has what an empty GPU holds, and both are rounded: a job that fills its GPU, as those that
allocate all of it at their start do, would find no room on the very GPU that it ran on."""


class Verdict(IntEnum):
    TAKES = 0
    NO_ROOM = 1
    """Its GPUs are too small, or foretold to be too full."""
    ILL = 2
    """Too many of its GPUs are lost or have an XID."""


@dataclass(frozen=True, slots=True)
class Judged:
    verdicts: NDArray[np.int8]
    parts: dict[str, Floats]
    score: Floats
    """0 to 1."""

    @property
    def scores(self) -> NDArray[np.int64]:
        """0 to 10, the best one that is not excluded being 10 or near it."""
        takes = self.verdicts == Verdict.TAKES
        best = self.score[takes].max(initial=0.0)
        worst = self.score[takes].min(initial=best)
        span = max(SPAN, best - worst)
        whole = np.rint(MOST_SCORE * (1.0 - (best - self.score) / span))
        clipped: NDArray[np.int64] = np.clip(whole, 0, MOST_SCORE).astype(np.int64)
        return clipped


def judge(supply: Supply, names: list[str], needs: Needs, now: float) -> Judged:
    view = _View.of(*supply.take(names), needs, now)
    parts = {
        "type": _type(view, supply, needs),
        "fit": _fit(view, needs),
        "free": _free(view, needs),
        "apart": 1.0 - (needs.draws or 0.0) * (1.0 - view.nodes["spared"]),
        "pack": _pack(view, needs),
        "sound": _sound(view),
    }
    score: Floats = np.average(
        np.stack(list(parts.values())), axis=0, weights=[WEIGHTS[name] for name in parts]
    )
    return Judged(_verdicts(view, needs), parts, score)


@dataclass(frozen=True, slots=True)
class _View:
    """The nodes in question: a row each, and where something is said of GPUs a column each."""

    nodes: Table
    gpus: Mapping[str, NDArray[Any]]
    """By field."""
    fresh: Bools
    """Rows whose annotations hold."""
    known: Bools
    """GPUs that are described by such."""
    shared: Bools
    """Rows whose GPUs are handed out to several pods each, in turns."""
    choice: Bools
    """GPUs that the pod could be given: of those that are shared any, else the empty ones."""
    well: Bools
    large: Bools
    """With as much memory in all as is needed."""
    roomy: Bools
    """With as much memory left."""
    left: NDArray[np.int64]
    """GPUs that Kubernetes has not handed out, a row."""

    @classmethod
    def of(cls, nodes: Table, table: Table, needs: Needs, now: float) -> Self:
        # A column after the other in memory: sums along rows of eight are then 10 times as fast.
        gpus = {name: np.asfortranarray(table[name]) for name in GPU.names or ()}
        fresh = nodes["valid_until"] > now
        known = ((np.arange(table.shape[1])[:, None] < nodes["count"]) & fresh).T
        shared = known.any(axis=1) & (nodes["allocatable"] > nodes["count"])
        memory = -np.inf if needs.memory_gb is None else needs.memory_gb - ROUGH_GB
        # What is not known is NaN, and less than nothing: it counts as room.
        return cls(
            nodes,
            gpus,
            fresh,
            known,
            shared,
            choice=known & (gpus["empty"] | shared[:, None]),
            well=known & ~gpus["ill"],
            large=known & ~(gpus["total_gb"] < memory),
            roomy=known & ~(gpus["total_gb"] - gpus["peak_gb"] < memory),
            left=np.maximum(0, nodes["allocatable"] - nodes["held"]),
        )

    @property
    def good(self) -> Bools:
        return self.choice & self.well & self.roomy & self.large


def _verdicts(view: _View, needs: Needs) -> NDArray[np.int8]:
    # Of GPUs in turns any may be given out again, and one is enough to begin with.
    wanted = np.where(view.shared, min(1, needs.gpus), needs.gpus)
    left = np.where(view.shared, wanted, view.left)
    well = np.minimum(left, _could_be_given(view, view.well))
    good = np.minimum(left, _could_be_given(view, view.well & view.large, view.roomy))
    # Where there is no room by count, or by slices, it is the scheduler who says so.
    judged = view.known.any(axis=1) & ~view.nodes["divided"] & (left >= wanted)
    verdicts = np.zeros(len(view.nodes), np.int8)
    verdicts[judged & (good < wanted)] = Verdict.NO_ROOM
    verdicts[judged & (well < wanted)] = Verdict.ILL
    return verdicts


def _could_be_given(view: _View, fine: Bools, roomy: Bools | None = None) -> NDArray[np.int64]:
    """How many of those GPUs, at most: the annotations are a minute old, and a pod may have ended
    since. `roomy` matters of those alone that are empty, or shared."""
    now = (view.choice & fine if roomy is None else view.choice & fine & roomy).sum(axis=1)
    told = view.known.sum(axis=1)
    ended = np.maximum(0, told - view.choice.sum(axis=1) - view.nodes["held"])
    released = np.minimum(ended, (view.known & ~view.choice & fine).sum(axis=1))
    found: NDArray[np.int64] = now + np.where(view.shared, 0, released)
    return found


def _type(view: _View, supply: Supply, needs: Needs) -> Floats:
    """Whoever comes first gets the fastest. Leaving them to jobs that gain more, while most are
    held, made jobs slower by 4 % in simulation: a score cannot hold a GPU for one that is yet to
    come."""
    speeds = [needs.speeds.get(kind, UNKNOWN) for kind in supply.types]
    found: Floats = np.array([*speeds, UNKNOWN])[view.nodes["kind"]]  # -1, the last: no type
    return found


def _fit(view: _View, needs: Needs) -> Floats:
    sizes = np.where(view.known, view.gpus["total_gb"], np.nan)
    size: Floats = np.fmax.reduce(sizes, axis=1, initial=np.nan)
    if needs.memory_gb is None or np.isnan(size).all():
        return np.full(len(size), UNKNOWN)
    unused = np.clip(size - needs.memory_gb, 0.0, None) / np.nanmax(size)
    return np.nan_to_num(1.0 - unused, nan=UNKNOWN)


def _free(view: _View, needs: Needs) -> Floats:
    busy = np.where(view.good, np.nan_to_num(view.gpus["busy"]), np.nan)
    taken = np.sort(busy, axis=1)[:, : max(1, needs.gpus)]  # NaN sorts last
    counted = np.maximum(1, (~np.isnan(taken)).sum(axis=1))
    of_gpus = np.where(view.shared, 1.0 - np.nansum(taken, axis=1) / counted, 1.0)
    of_cores = 1.0 - np.nan_to_num(view.nodes["cpu_busy"], nan=UNKNOWN)
    seen = (of_gpus + of_cores) / 2
    horizon = np.nan_to_num(view.nodes["horizon_seconds"])
    covered = np.clip(horizon / needs.seconds, 0.0, 1.0) if needs.seconds else 1.0
    found: Floats = np.where(view.fresh, covered * seen + (1 - covered) * UNKNOWN, UNKNOWN)
    return found


def _pack(view: _View, needs: Needs) -> Floats:
    after = np.clip(view.left - needs.gpus, 0, None)
    packed = 1.0 - after / np.maximum(1, view.nodes["allocatable"])
    found: Floats = np.where(view.shared | (view.nodes["allocatable"] == 0), UNKNOWN, packed)
    return found


def _sound(view: _View) -> Floats:
    choice = view.choice.sum(axis=1)
    found: Floats = np.where(choice > 0, view.good.sum(axis=1) / np.maximum(1, choice), 1.0)
    return found
