"""How `cepheid usage` looks: tables and a heat map for people, one document for programs."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from cepheid.cli.formats import Column, Output, document, screen_columns, show, table, write_lines
from cepheid.cli.job import wrapped
from cepheid.cli.places import say
from cepheid.reports import words
from cepheid.reports.fleet_use.ahead import Ahead, DayAhead, days, lines, outage
from cepheid.reports.fleet_use.apportion import CLOCK, By
from cepheid.reports.fleet_use.capacity import ForecastRow
from cepheid.reports.fleet_use.heatmap import HeatCell, picture
from cepheid.reports.fleet_use.hours import Offset
from cepheid.reports.fleet_use.usage import UsageReport, UsageRow


@dataclass(frozen=True, slots=True)
class Zone:
    offset: Offset
    name: str


@dataclass(frozen=True, slots=True)
class Parts:
    """Each None where nobody asked for it."""

    usage: UsageReport | None
    heatmap: tuple[HeatCell, ...] | None
    ahead: Ahead | None
    currency: str = ""


def show_parts(parts: Parts, by: str, zone: Zone, limit: int, output: Output) -> None:
    if by and By(by) in CLOCK:
        limit = len(CLOCK[By(by)])
    rows = [] if parts.usage is None else list(parts.usage.rows[:limit])
    if output is Output.TABLE:
        _show_all(parts, rows, by, zone)
    elif parts.heatmap is None and parts.ahead is None:
        show(rows, UsageRow, (), output)
    elif output is Output.CSV and parts.heatmap is not None:
        show(parts.heatmap, HeatCell, (), output)
    elif output is Output.CSV and parts.ahead is not None:
        hours = () if parts.ahead.forecast is None else parts.ahead.forecast.rows
        show(hours, ForecastRow, (), output)
    else:
        document(_document(parts, rows, zone), output)
    if parts.usage is not None and len(parts.usage.rows) > limit:
        said = f"the {limit} groups with the most GPU hours of {len(parts.usage.rows)}"
        say(f"{said}: --limit shows more")


def _show_all(parts: Parts, rows: list[UsageRow], by: str, zone: Zone) -> None:
    columns = screen_columns()
    blocks: list[list[str]] = []
    if parts.usage is not None and rows:
        shown = [*rows, parts.usage.total] if len(parts.usage.rows) > 1 else rows
        blocks.append(table(shown, _columns(by, parts.currency), columns))
    if parts.heatmap is not None:
        blocks.append([*picture(parts.heatmap, columns)])
    if parts.ahead is not None:
        said = [line for text in lines(parts.ahead, zone.offset) for line in wrapped(text, columns)]
        blocks.append(said)
        if parts.ahead.forecast is not None:
            coming = days(parts.ahead.forecast.rows, zone.offset)
            blocks.append(table(coming, _DAYS, columns))
    for place, block in enumerate(blocks):
        write_lines([*([""] if place else []), *block])
    has_clock = parts.heatmap is not None or parts.ahead is not None
    if has_clock or (by and By(by) in CLOCK):
        say(f"hours and weekdays are those of {zone.name}")


def _document(parts: Parts, rows: Sequence[UsageRow], zone: Zone) -> dict[str, Any]:
    found: dict[str, Any] = {"zone": zone.name}
    if parts.usage is not None:
        found["usage"] = [asdict(row) for row in rows]
    if parts.heatmap is not None:
        found["heatmap"] = [asdict(cell) for cell in parts.heatmap]
    if parts.ahead is not None:
        found["forecast"] = _forecast(parts.ahead)
    return found


def _forecast(ahead: Ahead) -> dict[str, Any]:
    forecast, capacity, out = ahead.forecast, ahead.capacity, outage(ahead)
    return {
        "history_hours": ahead.history_hours,
        "needed_hours": ahead.needed_hours,
        "gpus": None if capacity is None else capacity.gpus,
        "gpus_told_by": None if capacity is None else capacity.told_by,
        "runs_out_expected": None if out is None else out.expected,
        "runs_out_possible": None if out is None else out.possible,
        "method": None if forecast is None else forecast.method.value,
        "season_hours": None if forecast is None else list(forecast.season_hours),
        "tested": None if forecast is None else asdict(forecast.tested),
        "hours": [] if forecast is None else [asdict(row) for row in forecast.rows],
    }


def _figure(value: float | None) -> str:
    return "" if value is None else words.figure(value)


def _money(value: float | None) -> str:
    return "" if value is None else f"{value:,.2f}"


def _energy(kwh: float | None) -> str:
    return "" if kwh is None else words.in_energy(3.6e6 * kwh)


def _share(part: float | None, whole: float | None) -> str:
    return words.in_percent(100 * part / whole) if part is not None and whole else ""


def _columns(by: str, currency: str) -> list[Column[UsageRow]]:
    return [
        Column(by.upper(), lambda row: row.group, matters=9, least=14, middle=True),
        Column("JOBS", lambda row: f"{row.jobs:,}", right=True, matters=4),
        Column("HELD h", lambda row: _figure(row.gpu_hours_held), right=True, matters=9),
        Column("USED h", lambda row: _figure(row.gpu_hours_used), right=True, matters=8),
        Column("WASTED h", lambda row: _figure(row.gpu_hours_wasted), right=True, matters=9),
        Column(
            "%",
            lambda row: _share(row.gpu_hours_wasted, row.gpu_hours_held),
            right=True,
            matters=6,
        ),
        Column("UNKNOWN h", lambda row: _figure(row.gpu_hours_unknown), right=True, matters=3),
        Column("FAILED h", lambda row: _figure(row.gpu_hours_failed), right=True, matters=7),
        Column("CPU h", lambda row: _figure(row.cpu_hours), right=True, matters=5),
        Column("ENERGY", lambda row: _energy(row.energy_kwh), right=True, matters=4),
        Column(f"COST {currency}".strip(), lambda row: _money(row.cost), right=True, matters=8),
        Column("WASTED COST", lambda row: _money(row.cost_wasted), right=True, matters=2),
    ]


_DAYS: list[Column[DayAhead]] = [
    Column("DAY", lambda row: row.day, matters=9),
    Column("GPUS", lambda row: words.figure(row.gpus_mean), right=True, matters=9),
    Column("PEAK", lambda row: words.figure(row.gpus_peak), right=True, matters=9),
    Column("AT", lambda row: row.peak_at, matters=7),
    Column("UP TO", lambda row: words.figure(row.high), right=True, matters=9),
]
