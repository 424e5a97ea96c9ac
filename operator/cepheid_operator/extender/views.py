"""What of the nodes is the same for every pod?

A row a node, and where something is said of GPUs a column each. Seen once and then good for all
questions, until a node changes or what is said of one expires: two are asked about every pod, and
most of what a judgement takes is this.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

Bools = NDArray[np.bool_]
Counts = NDArray[np.int64]
Floats = NDArray[np.float64]
Table = NDArray[np.void]
UNKNOWN = 0.5
"""Of what is not known, and 0 to 1: neither good nor bad."""


@dataclass(frozen=True, slots=True)
class View:
    nodes: Table
    fresh: Bools
    """Rows whose annotations hold."""
    known: Bools
    """GPUs that are described by such."""
    described: Bools
    """Rows with any."""
    shared: Bools
    """Rows whose GPUs are handed out to several pods each, in turns."""
    choice: Bools
    """GPUs that a pod could be given: of those that are shared any, else the empty ones."""
    choices: Counts
    """How many, a row."""
    well: Bools
    size_gb: Floats
    """Of the largest GPU of a row; NaN where it is not known."""
    total_gb: Floats
    room_gb: Floats
    """Of each GPU: what is left by those who hold it."""
    busy: Floats
    """Of each GPU, and what is not known is not busy."""
    idle_cores: Floats
    """Share of a row's cores that is foretold to be free."""
    horizon_seconds: Floats
    left: Counts
    """GPUs that Kubernetes has not handed out, a row."""
    ended: Counts
    """GPUs that are described as held, a row, and are not any more: that was a minute ago."""
    well_given: Counts
    """As of `could_be_given`."""

    @classmethod
    def of(cls, nodes: Table, table: Table, now: float) -> Self:
        # A column after the other in memory: sums along rows of eight are then 10 times as fast.
        def column(name: str) -> NDArray[Any]:
            return np.asfortranarray(table[name])

        fresh = nodes["valid_until"] > now
        known = ((np.arange(table.shape[1])[:, None] < nodes["count"]) & fresh).T
        described: Bools = np.asarray(known.any(axis=1))
        shared = described & (nodes["allocatable"] > nodes["count"])
        choice = known & (column("empty") | shared[:, None])
        choices = choice.sum(axis=1)
        well = known & ~column("ill")
        total_gb = column("total_gb")
        ended = np.where(shared, 0, np.maximum(0, known.sum(axis=1) - choices - nodes["held"]))
        return cls(
            nodes,
            fresh,
            known,
            described,
            shared,
            choice,
            choices,
            well,
            size_gb=np.fmax.reduce(np.where(known, total_gb, np.nan), axis=1, initial=np.nan),
            total_gb=total_gb,
            room_gb=total_gb - column("peak_gb"),
            busy=np.nan_to_num(column("busy")),
            idle_cores=1.0 - np.nan_to_num(nodes["cpu_busy"], nan=UNKNOWN),
            horizon_seconds=np.nan_to_num(nodes["horizon_seconds"]),
            left=np.maximum(0, nodes["allocatable"] - nodes["held"]),
            ended=ended,
            well_given=could_be_given(choice & well, known & ~choice & well, ended),
        )

    def holds(self, now: float) -> bool:
        """Whether the same annotations are fresh as when it was made."""
        return bool(((self.nodes["valid_until"] > now) == self.fresh).all())


def could_be_given(now: Bools, held: Bools, ended: Counts) -> Counts:
    """How many GPUs at most, a row: those that are a choice now, and of those that are described as
    held so many as may have been given back since."""
    found: Counts = now.sum(axis=1) + np.minimum(ended, held.sum(axis=1))
    return found
