"""`cepheid usage`: what the fleet held, used and wasted, when, and what comes next."""

import math
import time
from collections.abc import Iterator
from dataclasses import replace
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cepheid.cli.filters import Chosen, filters
from cepheid.cli.formats import Output
from cepheid.cli.places import Jobs, Place, at_a_place, say, why_none
from cepheid.cli.progress import progress
from cepheid.cli.stats import read_prices
from cepheid.errors import ApiError, UsageError
from cepheid.units import length_seconds

if TYPE_CHECKING:
    from cepheid.cli.usage_shown import Parts
    from cepheid.jobprofile import JobProfile
    from cepheid.reports.fleet_use.ahead import Ahead, Capacity
    from cepheid.reports.fleet_use.capacity import Held
    from cepheid.reports.fleet_use.heatmap import HeatCell
    from cepheid.reports.fleet_use.hours import Offset
    from cepheid.reports.fleet_use.usage import UsageReport
    from cepheid.reports.prices import Prices


class By(StrEnum):
    """As cepheid.reports.fleet_use.apportion has them, which takes a library to load."""

    USER = "user"
    NAMESPACE = "namespace"
    HOUR = "hour"
    WEEKDAY = "weekday"
    NODE = "node"
    GPU_MODEL = "gpu-model"


@at_a_place
@filters
def usage(  # noqa: PLR0913 - options of a command line
    by: Annotated[
        By | None,
        typer.Option("--by", help="Whose, where or when.", show_default="user"),
    ] = None,
    heatmap: Annotated[
        bool, typer.Option("--heatmap", help="GPUs held by weekday and hour.")
    ] = False,
    forecast: Annotated[
        str | None,
        typer.Option("--forecast", metavar="TIME", help="GPUs held so far ahead: 3d, 7d."),
    ] = None,
    gpus: Annotated[
        int | None,
        typer.Option(
            "--gpus", min=1, help="How many there are, for --forecast. Default: the cluster's."
        ),
    ] = None,
    prices: Annotated[
        Path | None,
        typer.Option("--prices", help="File with money an hour for each GPU model, and cpuHour."),
    ] = None,
    utc: Annotated[
        bool, typer.Option("--utc", help="Hours and weekdays in UTC, not in local time.")
    ] = False,
    limit: Annotated[
        int, typer.Option("--limit", "-l", min=1, help="At most so many groups.")
    ] = 24,
    output: Annotated[
        Output, typer.Option("--output", "-o", help="Tables for people, or for programs.")
    ] = Output.TABLE,
    *,
    chosen: Chosen,
    place: Place,
) -> None:
    """Show what the fleet held, used and wasted, and what comes.

    In GPU hours, CPU hours, energy and money, each where and when it was. --since and --until cut
    jobs off there. A job that runs counts up to now.
    """
    horizon = _horizon(forecast, gpus)
    if output is Output.CSV and (by is not None) + heatmap + (horizon is not None) > 1:
        raise UsageError("CSV holds one list", hint="ask for --by, --heatmap or --forecast alone")
    from cepheid.cli.usage_shown import Parts, Zone, show_parts
    from cepheid.reports.fleet_use.hours import in_utc, local

    listed = None if prices is None else read_prices(prices)
    zone = Zone(in_utc, "UTC") if utc else Zone(local, time.strftime("%Z"))
    if by is None and not heatmap and horizon is None:
        by = By.USER
    with place.open() as kept:
        jobs = _Jobs(kept, chosen, place.namespace)
        parts = Parts(
            None if by is None else jobs.usage(by, listed, zone.offset),
            jobs.heatmap(zone.offset) if heatmap else None,
            None if horizon is None else jobs.ahead(horizon, gpus, place),
            "" if listed is None else listed.currency,
        )
    show_parts(parts, "" if by is None else by.value, zone, limit, output)
    _tell(parts, listed, place)


class _Jobs:
    """Those that were asked for, read once for every part of the answer."""

    def __init__(self, kept: Jobs, chosen: Chosen, namespace: str | None) -> None:
        from cepheid.reports.fleet_use.hours import seconds_of
        from cepheid.reports.fleet_use.usage import Period

        self._kept, self._chosen, self._namespace = kept, chosen, namespace
        self.period = Period(
            now=time.time(),
            begin=-math.inf if chosen.since is None else seconds_of(chosen.since),
            until=math.inf if chosen.until is None else seconds_of(chosen.until),
        )

    def __iter__(self) -> "Iterator[JobProfile]":
        """Also those that ended after the period, or run still: they were in it too."""
        from cepheid.jobprofile import Outcome

        asked = replace(self._chosen.query(self._namespace), until=None)
        running = replace(asked, since=None, outcome=Outcome.RUNNING)
        with progress("reading jobs") as step:
            if asked.since is not None and asked.outcome is not Outcome.RUNNING:
                ended = (
                    one
                    for one in self._kept.each(asked)
                    if one.profile.outcome is not Outcome.RUNNING
                )
                also = () if asked.outcome is not None else self._kept.each(running)
                found = chain(ended, also)
            else:
                found = chain(self._kept.each(replace(asked, since=None)))
            for one in step(found):
                if self._chosen.fits(one.profile):
                    yield one.profile

    def usage(self, by: By, prices: "Prices | None", offset: "Offset") -> "UsageReport":
        from cepheid.reports.fleet_use.apportion import By as Group
        from cepheid.reports.fleet_use.usage import usage

        return usage(self, Group(by.value), self.period, prices=prices, offset=offset)

    def heatmap(self, offset: "Offset") -> "tuple[HeatCell, ...]":
        from cepheid.reports.fleet_use.heatmap import heatmap

        return heatmap(self, self.period, offset=offset)

    def ahead(self, horizon_hours: int, gpus: int | None, place: Place) -> "Ahead":
        from cepheid.reports.fleet_use.ahead import Ahead
        from cepheid.reports.fleet_use.capacity import (
            forecast,
            held_over_time,
            hourly,
            needed_hours,
        )

        held = held_over_time(self, min(self.period.now, self.period.until))
        begin, series = hourly(held, self.period.begin)
        needed = needed_hours(horizon_hours)
        is_enough = len(series) >= needed
        return Ahead(
            forecast=forecast(begin, series, horizon_hours) if is_enough else None,
            capacity=_capacity(gpus, place, held),
            history_hours=len(series),
            needed_hours=needed,
        )


def _horizon(forecast: str | None, gpus: int | None) -> int | None:
    """In hours."""
    if forecast is None:
        if gpus is not None:
            raise UsageError("--gpus is for a forecast", hint="give --forecast 7d too")
        return None
    from cepheid.reports.fleet_use.capacity import MOST_HORIZON_HOURS
    from cepheid.reports.fleet_use.hours import HOUR

    seconds = length_seconds(forecast)
    if seconds is None or not HOUR <= seconds <= MOST_HORIZON_HOURS * HOUR:
        raise UsageError(f"--forecast is {forecast!r}", hint="from 1h to 4w: 24h, 7d")
    return math.ceil(seconds / HOUR)


def _capacity(gpus: int | None, place: Place, held: "Held") -> "Capacity | None":
    from cepheid.reports.fleet_use.ahead import Capacity

    if gpus is not None:
        return Capacity(gpus, "--gpus")
    if place.is_cluster:
        from cepheid.cli.nodes import gpu_count

        try:
            if found := gpu_count(place.context):
                return Capacity(found, "what the nodes of the cluster offer")
        except ApiError as problem:
            say(f"note: how many GPUs the nodes have is not known: {problem.message}")
    if not held.most:
        return None
    return Capacity(held.most, "the most that were ever held at once")


def _tell(parts: "Parts", prices: "Prices | None", place: Place) -> None:
    """What the figures leave out."""
    from cepheid.reports.words import counted

    report = parts.usage
    if report is None:
        return
    if not report.total.jobs:
        say(why_none(place))
    if report.running:
        say(f"note: {counted(report.running, 'job')} of them still running, up to now")
    if report.not_believed:
        jobs = counted(report.not_believed, "job")
        say(f"note: left out for a clock in the future, or ten years back: {jobs}")
    if report.total.jobs_without_cost and prices is not None:
        models = ", ".join(report.unpriced[:3])
        why = f": no price for {models}" if models else ": not everything was measured"
        say(f"note: without a cost are {counted(report.total.jobs_without_cost, 'job')}{why}")
