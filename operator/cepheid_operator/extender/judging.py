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
    pack      how much room it leaves to large jobs, which need whole nodes: half of it how few GPUs
              would be left over there, half whether it leaves those nodes alone that are entirely
              free. Of GPUs that are shared in turns it says nothing, since it would crowd them
    sound     the share of the GPUs that it could be given which are well and roomy

What is not known is neutral, the same for all nodes.
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import Self

import numpy as np
from numpy.typing import NDArray

from cepheid_operator.extender.needs import Needs
from cepheid_operator.extender.supply import Supply
from cepheid_operator.extender.views import UNKNOWN, Bools, Counts, Floats, View, could_be_given

WEIGHTS = {"type": 5.0, "fit": 1.0, "free": 1.5, "apart": 1.5, "pack": 2.0, "sound": 1.0}
MOST_SCORE = 10
"""Of an extender; kube-scheduler multiplies it by the weight of its configuration, and by ten."""
SPAN = 0.09
"""A node that is worse than the best by so much or more has 0; less keeps to its share, so that the
scheduler's own scores decide where ours hardly differ. There are ten steps: were they spread over
all nodes up to the worst, `pack` would be lost in the rounding between two nodes of one type, and
the scheduler's own scores, which spread pods, would break up both."""


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
        whole = np.rint(MOST_SCORE * (1.0 - (best - self.score) / SPAN))
        clipped: NDArray[np.int64] = np.clip(whole, 0, MOST_SCORE).astype(np.int64)
        return clipped


def judge(supply: Supply, names: list[str], needs: Needs, now: float) -> Judged:
    view = supply.view(names, now)
    room = _Room.of(view, needs)
    parts = {
        "type": _type(view, supply, needs),
        "fit": _fit(view, needs),
        "free": _free(view, room, needs),
        "apart": 1.0 - (needs.draws or 0.0) * (1.0 - view.nodes["spared"]),
        "pack": _pack(view, needs),
        "sound": _sound(view, room),
    }
    score = sum((WEIGHTS[name] * part for name, part in parts.items()), np.zeros(len(names)))
    return Judged(_verdicts(view, room, needs), parts, score / sum(WEIGHTS.values()))


@dataclass(frozen=True, slots=True)
class _Room:
    """Which GPUs have the memory that the pod's job is known to need?"""

    good: Bools
    """A choice, well, large enough and with as much left."""
    goods: Counts
    """How many, a row."""
    given: Counts
    """As of `could_be_given`."""

    @classmethod
    def of(cls, view: View, needs: Needs) -> Self:
        if needs.memory_gb is None:
            large, good = view.well, view.choice & view.well
        else:
            # What is not known is NaN, and not less than anything: it counts as room.
            least_gb = needs.memory_gb - ROUGH_GB
            large = view.well & ~(view.total_gb < least_gb)
            good = view.choice & large & ~(view.room_gb < least_gb)
        # Of those that have been given back since, nobody else holds any memory.
        given = could_be_given(good, large & ~view.choice, view.ended)
        return cls(good, good.sum(axis=1), given)


def _verdicts(view: View, room: _Room, needs: Needs) -> NDArray[np.int8]:
    # Of GPUs in turns any may be given out again, and one is enough to begin with.
    wanted = np.where(view.shared, min(1, needs.gpus), needs.gpus)
    left = np.where(view.shared, wanted, view.left)
    # Where there is no room by count, or by slices, it is the scheduler who says so.
    judged = view.described & ~view.nodes["divided"] & (left >= wanted)
    verdicts = np.zeros(len(view.nodes), np.int8)
    verdicts[judged & (np.minimum(left, room.given) < wanted)] = Verdict.NO_ROOM
    verdicts[judged & (np.minimum(left, view.well_given) < wanted)] = Verdict.ILL
    return verdicts


def _type(view: View, supply: Supply, needs: Needs) -> Floats:
    """Whoever comes first gets the fastest. Leaving them to jobs that gain more, while most are
    held, made jobs slower by 4 % in simulation: a score cannot hold a GPU for one that is yet to
    come."""
    speeds = [needs.speeds.get(kind, UNKNOWN) for kind in supply.types]
    found: Floats = np.array([*speeds, UNKNOWN])[view.nodes["kind"]]  # -1, the last: no type
    return found


def _fit(view: View, needs: Needs) -> Floats:
    size = view.size_gb
    if needs.memory_gb is None or np.isnan(size).all():
        return np.full(len(size), UNKNOWN)
    unused = np.clip(size - needs.memory_gb, 0.0, None) / np.nanmax(size)
    return np.nan_to_num(1.0 - unused, nan=UNKNOWN)


def _free(view: View, room: _Room, needs: Needs) -> Floats:
    of_gpus = np.ones(len(view.nodes))
    shared = np.flatnonzero(view.shared)
    if shared.size:
        busy = np.where(room.good[shared], view.busy[shared], np.nan)
        taken = np.sort(busy, axis=1)[:, : max(1, needs.gpus)]  # NaN sorts last
        counted = np.maximum(1, (~np.isnan(taken)).sum(axis=1))
        of_gpus[shared] -= np.nansum(taken, axis=1) / counted
    seen = (of_gpus + view.idle_cores) / 2
    covered = np.clip(view.horizon_seconds / needs.seconds, 0.0, 1.0) if needs.seconds else 1.0
    found: Floats = np.where(view.fresh, covered * seen + (1 - covered) * UNKNOWN, UNKNOWN)
    return found


def _pack(view: View, needs: Needs) -> Floats:
    after = np.clip(view.left - needs.gpus, 0, None)
    packed = 1.0 - after / np.maximum(1, view.nodes["allocatable"])
    known = np.where(view.shared | (view.nodes["allocatable"] == 0), UNKNOWN, packed)
    found: Floats = (known + _kept_whole(view, needs)) / 2
    return found


def _kept_whole(view: View, needs: Needs) -> Floats:
    """1 but for nodes of the largest size that are entirely free, where it is the share of them
    that would be left: none of the last one, nearly all of many, where one less matters little."""
    sizes = np.where(view.shared | view.nodes["divided"], 0, view.nodes["allocatable"])
    largest = sizes.max(initial=0)
    if needs.gpus >= largest:
        return np.ones(len(sizes))
    whole = (sizes == largest) & (view.left == largest)
    found: Floats = 1.0 - whole / max(1, whole.sum())
    return found


def _sound(view: View, room: _Room) -> Floats:
    found: Floats = np.where(view.choices > 0, room.goods / np.maximum(1, view.choices), 1.0)
    return found
