"""At which hours of the week are GPUs held, and how many?

A cell is the mean over all times that its hour came by, from the first job to now. An hour of the
week that has not come by yet has no figure; one that came by with nobody there has 0.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from cepheid.jobprofile import JobProfile
from cepheid.reports.fleet_use.apportion import gpus_held
from cepheid.reports.fleet_use.hours import (
    HOUR,
    HOURS_A_DAY,
    HOURS_A_WEEK,
    WEEKDAYS,
    Offset,
    Ran,
    in_utc,
    ran,
    week_seconds,
)
from cepheid.reports.fleet_use.usage import Period, load_of

CELL = 3
LABEL = 4
NEEDS_COLUMNS = LABEL + HOURS_A_DAY * CELL
MOST_SHOWN = 99.5
NONE, LITTLE, NO_DATA = "0", ".", "-"
_LEAST = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatCell:
    weekday: str
    hour: int
    clock_hours: float
    """How long this hour of the week lasted, all times together."""
    gpus_held_mean: float | None
    gpus_used_mean: float | None
    """Of jobs whose load was measured."""


def heatmap(
    profiles: Iterable[JobProfile], period: Period, *, offset: Offset = in_utc
) -> tuple[HeatCell, ...]:
    """168 cells, from Monday at midnight on."""
    held, used = [0.0] * HOURS_A_WEEK, [0.0] * HOURS_A_WEEK
    first = math.inf
    for profile in profiles:
        whole = ran(profile, period.now)
        run = None if whole is None else period.within(whole)
        gpus = gpus_held(profile)
        if run is None:
            continue
        first = min(first, run.begin)
        if not gpus:
            continue
        load = load_of(profile) or 0.0
        for cell, seconds in week_seconds(run, offset).items():
            held[cell] += gpus * seconds
            used[cell] += gpus * seconds * load
    begin = period.begin if math.isfinite(period.begin) else first
    seen = Ran(begin, min(period.until, period.now))
    clock = week_seconds(seen, offset) if seen.begin < seen.end < math.inf else {}
    return tuple(
        HeatCell(
            weekday=WEEKDAYS[cell // HOURS_A_DAY],
            hour=cell % HOURS_A_DAY,
            clock_hours=clock.get(cell, 0.0) / HOUR,
            gpus_held_mean=_mean(held[cell], clock.get(cell)),
            gpus_used_mean=_mean(used[cell], clock.get(cell)),
        )
        for cell in range(HOURS_A_WEEK)
    )


def picture(cells: Sequence[HeatCell], columns: int) -> Iterator[str]:
    """A line a weekday; on a narrow screen a cell is two hours."""
    hours = 1 if columns >= NEEDS_COLUMNS else 2
    means = [_together(cells[place : place + hours]) for place in range(0, len(cells), hours)]
    scale = _scale(max((mean for mean in means if mean is not None), default=0.0))
    per_day = HOURS_A_DAY // hours
    unit = "" if scale == 1 else f", in units of {scale:,}"
    yield f"GPUs held on average{unit}"
    yield " " * LABEL + "".join(f"{hours * place:{CELL}}" for place in range(per_day))
    for day, name in enumerate(WEEKDAYS):
        row = means[day * per_day : (day + 1) * per_day]
        yield f"{name:{LABEL}}" + "".join(f"{_cell(mean, scale):>{CELL}}" for mean in row)


def _together(cells: Sequence[HeatCell]) -> float | None:
    known = [(one.gpus_held_mean, one.clock_hours) for one in cells]
    pairs = [(mean, hours) for mean, hours in known if mean is not None]
    weight = sum(hours for _, hours in pairs)
    return sum(mean * hours for mean, hours in pairs) / weight if weight > 0 else None


def _scale(most: float) -> int:
    scale = 1
    while most / scale >= MOST_SHOWN:
        scale *= 10
    return scale


def _cell(mean: float | None, scale: int) -> str:
    if mean is None:
        return NO_DATA
    if mean <= 0:
        return NONE
    return LITTLE if mean / scale < _LEAST else f"{mean / scale:.0f}"


def _mean(seconds: float, clock: float | None) -> float | None:
    mean = seconds / clock if clock else None
    return mean if mean is not None and math.isfinite(mean) else None
