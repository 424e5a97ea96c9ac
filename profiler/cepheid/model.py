"""What travels between the steps: frozen, and with the unit in every name."""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Cycle:
    """A pattern that comes back."""

    period_seconds: float
    strength: float
    """0 to 1: the share of the variance within one period that repeats."""
    cycles_seen: float
    """How many periods the series covers, gaps not counted."""
    confirmed: bool | None = None
    """Whether signals that cannot alias show it too; None where there are none to ask."""


@dataclass(frozen=True, slots=True, eq=False)
class Forecast:
    """What comes, with how wrong the same method was on this series' own past."""

    mean: FloatArray
    """The middle of what may come: as often more as less."""
    lower: FloatArray
    upper: FloatArray
    average: float
    """Over the whole horizon. Of a load that is all or nothing the middle is no average."""
    mape: float | None
    """Mean absolute error of the back-test in percent of the mean level; None where that is 0."""
    coverage: float
    """The share of the back-test's values that lay inside the band."""
    method: str
    """Which forecasters the mean is made of, the heaviest first."""
