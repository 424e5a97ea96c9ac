"""Who this process is among the workers of its job.

Under mpirun the ranks really meet by an all-reduce where mpi4py is installed; a PyTorchJob only
tells its numbers.
"""

from __future__ import annotations

import array
import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from .errors import SimgpuError


@dataclass(frozen=True)
class Ranks:
    rank: int
    size: int
    local_rank: int
    local_size: int

    def devices(self, visible: Sequence[str]) -> list[str]:
        """Several ranks in one pod take a GPU each; a rank alone takes all that the pod has."""
        if self.local_size == 1:
            return list(visible)
        return [visible[self.local_rank % len(visible)]]


def find_ranks(environ: Mapping[str, str]) -> Ranks:
    names = (
        ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE")
        if "OMPI_COMM_WORLD_SIZE" in environ
        else ("RANK", "WORLD_SIZE")
    )
    local_names = (
        ("OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE")
        if "OMPI_COMM_WORLD_SIZE" in environ
        else ("LOCAL_RANK", "LOCAL_WORLD_SIZE")
    )
    rank, size = (_number(environ, name) for name in names)
    local_rank, local_size = (_number(environ, name) for name in local_names)
    return Ranks(rank or 0, size or 1, local_rank or 0, local_size or 1)


def _number(environ: Mapping[str, str], name: str) -> int | None:
    text = environ.get(name, "")
    # torchrun's "auto" and the operator's empty strings mean: not told.
    if text in ("", "auto"):
        return None
    if not text.isdecimal():
        raise SimgpuError(f"{name} is {text!r}", hint="a whole number, or unset it")
    return int(text)


def mpi_meeting(environ: Mapping[str, str]) -> Callable[[], Callable[[], bool]] | None:
    """How ranks under mpirun meet at the end of a step; None where there is nobody to meet."""
    if _number(environ, "OMPI_COMM_WORLD_SIZE") in (None, 1):
        return None
    try:
        world = importlib.import_module("mpi4py.MPI").COMM_WORLD
    except ImportError:
        return None

    def begin() -> Callable[[], bool]:
        mine, everyone = array.array("d", [1.0]), array.array("d", [0.0])
        request = world.Iallreduce(mine, everyone)
        # The buffers must live until the request is done: the closure keeps them.
        return lambda: bool(request.Test()) and everyone[0] > 0 and mine[0] > 0

    return begin
