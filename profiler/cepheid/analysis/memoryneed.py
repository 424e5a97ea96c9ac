"""How much memory does a job need on each GPU, when it has more or fewer of them?

Some of it every GPU needs (the model, and its batch where that is its own), the rest is divided
among them: need = whole (fixed + (1 - fixed) / n). What of these two is possible is kept on a
grid; each trial rules out a part of it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cepheid.model import FloatArray

SEED = 13
WHOLE_MIB = np.geomspace(500.0, 1e6, 400)
FIXED = np.linspace(0.0, 1.0, 21)
ALL_FIXED = 0.4
"""As often each GPU has a batch of its own, or the batch is nothing beside the model."""
TOLERANCE = 0.04
"""What was used on one type is not to the last percent what is needed on another."""
HARDLY = 0.02


@dataclass(frozen=True, slots=True)
class MemoryNeed:
    held: tuple[tuple[int, float], ...] = ()
    """With so many GPUs, so many MiB were used on the fullest of them."""
    burst: tuple[tuple[int, float], ...] = ()
    """With so many GPUs, so many MiB on each were not enough."""

    def draw_holds(
        self, gpus: Sequence[int], memory_mib: Sequence[float | None], draws: int
    ) -> npt.NDArray[np.bool_]:
        """Whether the job fits, [draw, placement]; it does where the size of a GPU is not known."""
        weights = self._weights().ravel()
        chance = np.random.default_rng(SEED)
        points = chance.choice(weights.size, draws, p=weights)
        whole, fixed = np.unravel_index(points, (WHOLE_MIB.size, FIXED.size))
        needs = _needs(np.array(gpus), WHOLE_MIB[whole, None], FIXED[fixed, None])
        return needs <= np.array([np.inf if mib is None else mib for mib in memory_mib])

    def can_hold(
        self, gpus: Sequence[int], memory_mib: Sequence[float | None]
    ) -> npt.NDArray[np.bool_]:
        """Whether each placement may be tried: where the size of a GPU is not known, it may."""
        weights = self._weights()
        chances = [
            1.0
            if mib is None
            else float(weights[_needs(np.array(count), WHOLE_MIB[:, None], FIXED) <= mib].sum())
            for count, mib in zip(gpus, memory_mib, strict=True)
        ]
        return np.array(chances) >= HARDLY

    def _weights(self) -> FloatArray:
        """[whole, fixed]: how possible each is."""
        logs = np.zeros((WHOLE_MIB.size, FIXED.size)) + np.log((1 - ALL_FIXED) / (FIXED.size - 1))
        logs[:, -1] = np.log(ALL_FIXED)
        for gpus, mib in self.held:
            off = np.log(_needs(np.array(gpus), WHOLE_MIB[:, None], FIXED) / max(mib, 1.0))
            logs -= 0.5 * (off / TOLERANCE) ** 2
        for gpus, mib in self.burst:
            over = np.log(_needs(np.array(gpus), WHOLE_MIB[:, None], FIXED) / max(mib, 1.0))
            logs -= 0.5 * (np.minimum(over, 0.0) / TOLERANCE) ** 2
        weights = np.exp(logs - logs.max())
        weights /= weights.sum()
        return np.asarray(weights)


def _needs(gpus: npt.NDArray[np.int_], whole: FloatArray, fixed: FloatArray) -> FloatArray:
    needs: FloatArray = whole * (fixed + (1 - fixed) / gpus)
    return needs
