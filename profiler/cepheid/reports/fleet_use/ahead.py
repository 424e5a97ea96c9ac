"""What does a forecast of GPUs say, in words and day by day?"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from cepheid.reports.fleet_use.capacity import Forecast, ForecastRow, Method, RunsOut, runs_out
from cepheid.reports.fleet_use.hours import HOURS_A_DAY, HOURS_A_WEEK, Offset, in_utc, seconds_of
from cepheid.reports.words import counted, figure, in_percent, lasting

MEANT_PERCENT = 90.0
SHORT_PERCENT = 10.0
"""A band that held so much less than it was meant to is called too narrow."""
_SEASONS = {HOURS_A_DAY: "every day", HOURS_A_WEEK: "every week"}


@dataclass(frozen=True, slots=True)
class Capacity:
    gpus: float
    told_by: str
    """In words: where the number comes from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ahead:
    """A forecast, or why there is none."""

    forecast: Forecast | None
    capacity: Capacity | None
    history_hours: int
    needed_hours: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DayAhead:
    day: str
    gpus_mean: float
    gpus_peak: float
    peak_at: str
    high: float
    """Where the band ends in its highest hour."""


def days(rows: Sequence[ForecastRow], offset: Offset = in_utc) -> list[DayAhead]:
    """By the days on the wall: the first and the last may be short."""
    found: dict[str, list[ForecastRow]] = {}
    for row in rows:
        found.setdefault(f"{on_the_wall(row.hour_begins, offset):%a %Y-%m-%d}", []).append(row)
    return [_day(day, hours, offset) for day, hours in found.items()]


def on_the_wall(moment: datetime, offset: Offset) -> datetime:
    """What a clock there shows; the zone is not part of it."""
    shown = moment.astimezone(UTC) + timedelta(seconds=offset(seconds_of(moment)))
    return shown.replace(tzinfo=None)


def lines(ahead: Ahead, offset: Offset = in_utc) -> Iterator[str]:
    """The answer first, then what it is worth."""
    if ahead.forecast is None:
        yield (
            f"There is no forecast: it takes {_days(ahead.needed_hours)} of history,"
            f" and there are {_days(ahead.history_hours)}. A shorter one takes less."
        )
        return
    yield _answer(ahead.forecast, ahead.capacity, offset)
    yield _worth(ahead.forecast)
    yield _band(ahead.forecast)


def outage(ahead: Ahead) -> RunsOut | None:
    if ahead.forecast is None or ahead.capacity is None:
        return None
    return runs_out(ahead.forecast.rows, ahead.capacity.gpus)


def _answer(forecast: Forecast, capacity: Capacity | None, offset: Offset) -> str:
    span = lasting(3600.0 * len(forecast.rows))
    if capacity is None:
        return f"How many GPUs there are is not known; {span} are foretold."
    out = runs_out(forecast.rows, capacity.gpus)
    all_of_them = f"all {figure(capacity.gpus)} GPUs ({capacity.told_by})"
    if out.expected is not None:
        early = ""
        if out.possible is not None and out.possible < out.expected:
            early = f", and it may be from {_moment(out.possible, offset)} on"
        return f"GPUs run out on {_moment(out.expected, offset)}: {all_of_them} are held{early}."
    if out.possible is not None:
        return (
            f"GPUs may run out on {_moment(out.possible, offset)}: the band reaches {all_of_them};"
            " the forecast itself does not."
        )
    most = max(row.high for row in forecast.rows)
    return f"GPUs do not run out within {span}: at most {figure(most)} of {all_of_them} are held."


def _worth(forecast: Forecast) -> str:
    tested = forecast.tested
    percent = tested.mean_error_percent
    relative = "" if percent is None else f", {in_percent(percent)} of what was held"
    seasons = " and ".join(_SEASONS[hours] for hours in forecast.season_hours)
    how = f"By {forecast.method}, which repeats {seasons}"
    if forecast.method is Method.STL_ETS:
        other = f"as it was a season ago: {_gpus(tested.naive_error_gpus)}"
    elif tested.stl_ets_error_gpus is None:
        other = f"{Method.STL_ETS} could not be fitted"
    else:
        other = f"{Method.STL_ETS} was no better: {_gpus(tested.stl_ets_error_gpus)}"
    return (
        f"{how}, from {_days(forecast.history_hours)} of history. Tried"
        f" {counted(tested.cuts, 'time')} on it, {lasting(3600.0 * tested.hours_each)} each, it was"
        f" wrong by {_gpus(tested.mean_error_gpus)} in the mean{relative} ({other})."
    )


def _band(forecast: Forecast) -> str:
    covered = forecast.tested.band_coverage_percent
    judged = ": it is too narrow" if covered < MEANT_PERCENT - SHORT_PERCENT else ""
    return (
        f"The band is meant to hold {in_percent(MEANT_PERCENT)} of the hours, and held"
        f" {in_percent(covered)} of those that came{judged}."
    )


def _day(day: str, rows: Sequence[ForecastRow], offset: Offset) -> DayAhead:
    peak = max(rows, key=lambda row: row.gpus)
    return DayAhead(
        day=day,
        gpus_mean=sum(row.gpus for row in rows) / len(rows),
        gpus_peak=peak.gpus,
        peak_at=f"{on_the_wall(peak.hour_begins, offset):%H:%M}",
        high=max(row.high for row in rows),
    )


def _moment(moment: datetime, offset: Offset) -> str:
    return f"{on_the_wall(moment, offset):%a %Y-%m-%d %H:%M}"


def _days(hours: int) -> str:
    return lasting(3600.0 * hours) if hours else "none"


def _gpus(amount: float) -> str:
    return f"{figure(amount)} GPUs"
