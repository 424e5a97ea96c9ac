"""`cepheid report`: what the fleet held, used and wasted, as one page for who has one minute."""

import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cepheid.cli.filters import moment
from cepheid.cli.hogs import nodes_at, runs_since
from cepheid.cli.places import Place, at_a_place, say, why_none
from cepheid.cli.stats import read_prices
from cepheid.errors import UsageError

if TYPE_CHECKING:
    from cepheid.jobprofile import JobProfile
    from cepheid.plots.fleet import Cell, FleetSeen, Hours
    from cepheid.reports.fleet_use.hours import Offset
    from cepheid.reports.fleet_use.usage import Period, UsageRow
    from cepheid.reports.prices import Prices

SINCE = "30d"
MOST_HOGS = 5
MOST_TABLED = 200
TITLES = ("user", "jobs", "held h", "used h", "unused h", "unused", "failed h", "cost")


@at_a_place
def fleet_report(
    path: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="Where the page goes.")
    ] = Path("fleet.html"),
    since: Annotated[
        str, typer.Option("--since", help="Of the time since then: 7d, 4w, 2026-03-01.")
    ] = SINCE,
    prices: Annotated[
        Path | None,
        typer.Option("--prices", help="File with money an hour for each GPU model, and cpuHour."),
    ] = None,
    utc: Annotated[
        bool, typer.Option("--utc", help="Hours and weekdays in UTC, not in local time.")
    ] = False,
    *,
    place: Place,
) -> None:
    """Write one page on the fleet, which opens in any browser.

    GPU hours held, used and unused, by namespace, user and model; over time and over the week; who
    held what others waited for. The page holds all that it shows.
    """
    if path.suffix != ".html":
        raise UsageError(f"--output is {path}", hint="a page's name ends in .html: -o fleet.html")
    now = datetime.now(UTC)
    begin = moment(since, "--since", now) or now
    if begin >= now:
        raise UsageError(f"--since {since} is not in the past", hint="such as 7d, 4w, 2026-03-01")
    listed = None if prices is None else read_prices(prices)
    runs = runs_since(place, begin)
    if not runs:
        say(why_none(place))
    seen = _seen(runs, begin, now, listed, utc=utc)
    says = [*seen.says, *_hogs(runs, begin, now, place)]
    from dataclasses import replace

    from cepheid.plots.file import Sheet, write
    from cepheid.plots.fleet import fleet_page

    page = fleet_page(replace(seen, says=says))
    typer.echo(str(write(Sheet(path.stem, page), path.parent)))


def _seen(
    runs: "Sequence[JobProfile]",
    begin: datetime,
    now: datetime,
    prices: "Prices | None",
    *,
    utc: bool,
) -> "FleetSeen":
    from cepheid.plots.fleet import FleetSeen
    from cepheid.plots.page import Table
    from cepheid.reports.fleet_use import told
    from cepheid.reports.fleet_use.apportion import By
    from cepheid.reports.fleet_use.hours import in_utc, local
    from cepheid.reports.fleet_use.usage import Period, usages

    offset, zone = (in_utc, "UTC") if utc else (local, time.strftime("%Z"))
    period = Period(now=now.timestamp(), begin=begin.timestamp())

    by = (By.USER, By.NAMESPACE, By.GPU_MODEL)
    users, spaces, models = usages(runs, by, period, prices=prices, offset=offset).values()
    currency = "" if prices is None else prices.currency
    return FleetSeen(
        title=f"GPUs from {begin:%Y-%m-%d} to {now:%Y-%m-%d}",
        lead=told.lead(users.total),
        says=[*told.says(spaces, "namespaces")],
        tiles=told.tiles(users.total, currency),
        bars=[
            ("GPU hours by namespace", _hours(spaces.rows)),
            ("GPU hours by user", _hours(users.rows)),
            ("GPU hours by model", _shortly_named(_hours(models.rows))),
        ],
        held=_held(runs, period),
        week=_week(runs, period, offset),
        zone=zone,
        table=Table(
            TITLES,
            told.table(users.rows[:MOST_TABLED]),
            frozenset(range(1, len(TITLES))),
            f"The first {MOST_TABLED} of {len(users.rows):,} users."
            if len(users.rows) > MOST_TABLED
            else "",
        )
        if users.rows
        else None,
    )


def _hours(rows: "Sequence[UsageRow]") -> "list[Hours]":
    from cepheid.plots.fleet import Hours

    return [
        Hours(row.group, row.gpu_hours_used, row.gpu_hours_wasted, row.gpu_hours_unknown)
        for row in rows
        if row.gpu_hours_held
    ]


def _shortly_named(models: "list[Hours]") -> "list[Hours]":
    from dataclasses import replace

    from cepheid.jobs.gpu_names import told_apart

    names = told_apart(one.name for one in models)
    return [replace(one, name=names[one.name]) for one in models]


def _held(runs: "Sequence[JobProfile]", period: "Period") -> list[tuple[str, float]]:
    from cepheid.reports.fleet_use.capacity import held_over_time, hourly
    from cepheid.reports.fleet_use.hours import HOUR

    first, series = hourly(held_over_time(runs, period.now), period.begin)
    return [
        (f"{datetime.fromtimestamp(first + HOUR * place, UTC):%Y-%m-%dT%H:%M}", float(gpus))
        for place, gpus in enumerate(series)
    ]


def _week(runs: "Sequence[JobProfile]", period: "Period", offset: "Offset") -> "list[Cell]":
    from cepheid.plots.fleet import Cell
    from cepheid.reports.fleet_use.heatmap import heatmap

    cells = heatmap(runs, period, offset=offset)
    return [Cell(cell.weekday, cell.hour, cell.gpus_held_mean) for cell in cells]


def _hogs(runs: "Sequence[JobProfile]", begin: datetime, now: datetime, place: Place) -> list[str]:
    """Who held what others waited for, in a sentence each."""
    from cepheid.reports.contention.hogs import Question, worst
    from cepheid.reports.words import sentence

    found = worst(runs, Question(since=begin, now=now, nodes=nodes_at(place)), MOST_HOGS)
    said = [f"{row.who}: {row.why}. {sentence(row.advice)}" for row in found.rows]
    return [*said, f"`cepheid hogs` names {found.others} more."] if found.others else said
