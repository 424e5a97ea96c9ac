"""In which unit does a number read best?"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from cepheid.units import in_time


@dataclass(frozen=True, slots=True)
class Scale:
    """A number divided by `one` is in `unit`."""

    unit: str
    one: float = 1.0

    def __call__(self, amount: float) -> str:
        """With its unit, and no more digits than anybody reads."""
        return f"{told(amount / self.one)} {self.unit}".rstrip()


class Quantity(Enum):
    """What is measured: its units from small to large."""

    CORES = (Scale("cores"),)
    COUNT = (Scale(""),)
    PERCENT = (Scale("%"),)
    WATTS = (Scale("W"), Scale("kW", 1e3))
    BYTES = (
        Scale("B"),
        Scale("KiB", 2.0**10),
        Scale("MiB", 2.0**20),
        Scale("GiB", 2.0**30),
        Scale("TiB", 2.0**40),
    )
    BYTES_A_SECOND = (
        Scale("B/s"),
        Scale("KiB/s", 2.0**10),
        Scale("MiB/s", 2.0**20),
        Scale("GiB/s", 2.0**30),
    )
    JOULES = (Scale("J"), Scale("kJ", 1e3), Scale("kWh", 3.6e6))
    HOURS = (Scale("h", 3600.0),)
    SECONDS = (Scale("s"), Scale("min", 60.0), Scale("h", 3600.0), Scale("d", 86_400.0))

    def scale(self, most: float) -> Scale:
        """The largest unit of which there is at least one; of time at least three."""
        least = 3.0 if self is Quantity.SECONDS else 1.0
        units: tuple[Scale, ...] = self.value
        fits = [one for one in units if most >= least * one.one]
        return fits[-1] if fits else units[0]

    def __call__(self, amount: float) -> str:
        return in_time(amount) if self is Quantity.SECONDS else self.scale(amount)(amount)


def told(figure: float) -> str:
    """Three of them: 0.031, 3.9, 71, 1,204."""
    if abs(figure) >= 100:  # noqa: PLR2004
        return f"{figure:,.0f}"
    text = f"{figure:.3g}" if abs(figure) < 10 else f"{figure:.1f}"  # noqa: PLR2004
    return text.removesuffix(".0")


def number(figure: float | None, digits: int = 5) -> float | None:
    """As a page holds it: more digits than that no screen shows; JSON has no infinity."""
    rounded = math.nan if figure is None else float(f"{figure:.{digits}g}")
    # Asked after it was rounded: the largest number is rounded up to one that there is not.
    return rounded if math.isfinite(rounded) else None


def most_of(amounts: Iterable[float | None]) -> float:
    """The largest that is known; 0 where none is."""
    known = (each for each in amounts if each is not None and math.isfinite(each))
    return max(known, default=0.0)
