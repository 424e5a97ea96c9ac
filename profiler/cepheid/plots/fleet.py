"""What did the fleet hold, and use of it? Bars by whom and of what, a line over time, a week.

Who computes is elsewhere: here come hours that are known already, and the words for them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from cepheid.plots.chart import Chart, Part, layout
from cepheid.plots.page import Page, Table
from cepheid.plots.palette import pattern_of, seen_through
from cepheid.plots.scale import number, told
from cepheid.plots.wording import label

MOST_BARS = 15
ROW_PIXELS, AROUND_PIXELS, BELOW_PIXELS = 26, 96, 44
LEAST_PIXELS = 180
"""On a phone the names of the parts take three lines of it."""
FAINTEST = 0.06
DAY_HOURS = 24
NAME_CHARACTERS = 24


@dataclass(frozen=True, slots=True)
class Hours:
    """Of GPUs, of one user, namespace or model."""

    name: str
    used: float | None
    unused: float | None
    unknown: float | None
    """Held, and nobody measured the load."""


@dataclass(frozen=True, slots=True)
class Cell:
    weekday: str
    hour: int
    gpus: float | None
    """Held on average; None where that hour has not come by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetSeen:
    title: str
    lead: str
    says: Sequence[str]
    tiles: Sequence[tuple[str, str]]
    bars: Sequence[tuple[str, Sequence[Hours]]]
    """Each picture with its title; the most first."""
    held: Sequence[tuple[str, float]]
    """A moment, as ISO 8601 has it, and how many GPUs were held then."""
    week: Sequence[Cell]
    zone: str
    """Whose clock the week is of."""
    table: Table | None


def fleet_page(seen: FleetSeen) -> Page:
    charts = [
        *(_bars(title, rows) for title, rows in seen.bars),
        _over_time(seen.held),
        _week(seen.week, seen.zone),
    ]
    return Page(
        title=seen.title,
        lead=seen.lead,
        says=seen.says,
        tiles=seen.tiles,
        charts=[chart for chart in charts if chart is not None],
        table=seen.table,
    )


# Told apart by pattern too: no picture rests on colour alone.
_PARTS = (("used", "@3", ""), ("unused", "@2", "/"), ("not measured", "@soft", "."))


def _bars(title: str, rows: Sequence[Hours]) -> Chart | None:
    shown = rows[:MOST_BARS]
    amounts = {
        "used": [one.used for one in shown],
        "unused": [one.unused for one in shown],
        "not measured": [one.unknown for one in shown],
    }
    traces: list[Part] = [
        {
            "type": "bar",
            "orientation": "h",
            "name": name,
            "y": list(range(len(shown))),
            "x": [number(amount) for amount in amounts[name]],
            "marker": {"color": colour, "pattern": pattern_of(pattern)},
            "customdata": [label(one.name, 80) for one in shown],
            "hovertemplate": f"<b>%{{customdata}}</b><br>%{{x:.4~g}} h<extra>{name}</extra>",
        }
        for name, colour, pattern in _PARTS
        if any(amounts[name])
    ]
    if not traces:
        return None
    more = f"the first {MOST_BARS} of {len(rows)}" if len(rows) > MOST_BARS else ""
    return Chart(
        title=title,
        words=more,
        traces=traces,
        layout=layout(
            x={"title": {"text": "GPU hours"}, "fixedrange": True, "rangemode": "tozero"},
            y={
                "tickmode": "array",
                "tickvals": list(range(len(shown))),
                "ticktext": [label(one.name, NAME_CHARACTERS) for one in shown],
                "range": [len(shown) - 0.4, -0.6],
                "automargin": True,
                "fixedrange": True,
                "showgrid": False,
                "zeroline": False,
            },
            bottom_pixels=BELOW_PIXELS,
            barmode="stack",
            hovermode="closest",
            showlegend=True,
        ),
        height_pixels=max(LEAST_PIXELS, ROW_PIXELS * len(shown) + AROUND_PIXELS),
    )


def _over_time(held: Sequence[tuple[str, float]]) -> Chart | None:
    most = max((gpus for _, gpus in held), default=0.0)
    if not most:
        return None
    return Chart(
        title="GPUs held, hour by hour",
        words=f"at most {told(most)}; times are UTC",
        traces=[
            {
                "type": "scatter",
                "mode": "lines",
                "x": [moment for moment, _ in held],
                "y": [number(gpus) for _, gpus in held],
                "line": {"color": "@1", "width": 1.4},
                "fill": "tozeroy",
                "fillcolor": seen_through("@1", 0.15),
                "hovertemplate": "%{x}: %{y:.4~g} GPUs<extra></extra>",
            }
        ],
        layout=layout(
            x={"type": "date"},
            y={"title": {"text": "GPUs"}, "rangemode": "tozero", "fixedrange": True},
            bottom_pixels=BELOW_PIXELS,
            showlegend=False,
        ),
        height_pixels=260,
    )


def _week(cells: Sequence[Cell], zone: str) -> Chart | None:
    """A square for each hour of the week, the fuller the more GPUs were held, with their number.

    Days side by side and hours below each other: a phone has room for seven columns, not for 24.
    """
    known = [cell for cell in cells if cell.gpus is not None]
    most = max((cell.gpus or 0.0 for cell in known), default=0.0)
    if not most:
        return None
    days = list(dict.fromkeys(cell.weekday for cell in cells))
    shares = [max(FAINTEST, (cell.gpus or 0.0) / most) for cell in known]
    return Chart(
        title="GPUs held, by hour and weekday",
        words=f"on average; hours of {zone}",
        traces=[
            {
                "type": "scatter",
                "mode": "markers+text",
                "x": [days.index(cell.weekday) for cell in known],
                "y": [cell.hour for cell in known],
                "marker": {
                    "symbol": "square",
                    "size": 22,
                    "color": [seen_through("@1", round(0.7 * share, 3)) for share in shares],
                },
                "text": [_brief(cell.gpus or 0.0) for cell in known],
                "textfont": {"color": "@ink", "size": 10},
                "customdata": [[cell.weekday, told(cell.gpus or 0.0)] for cell in known],
                "hovertemplate": "%{customdata[0]} %{y}:00: %{customdata[1]} GPUs<extra></extra>",
            }
        ],
        layout=layout(
            x={
                "tickmode": "array",
                "tickvals": list(range(len(days))),
                "ticktext": days,
                "range": [-0.6, len(days) - 0.4],
                "side": "top",
                "fixedrange": True,
                "showgrid": False,
                "zeroline": False,
            },
            y={
                "range": [DAY_HOURS - 0.4, -0.6],
                "tickvals": list(range(0, DAY_HOURS, 3)),
                "ticktext": [f"{hour}:00" for hour in range(0, DAY_HOURS, 3)],
                "fixedrange": True,
                "showgrid": False,
                "zeroline": False,
            },
            margin={"l": 52, "r": 14, "t": 30, "b": 10},
            hovermode="closest",
            showlegend=False,
        ),
        height_pixels=640,
    )


def _brief(gpus: float) -> str:
    """Room is for two or three characters."""
    thousand = 1000
    return f"{gpus / thousand:.0f}k" if gpus >= thousand else f"{gpus:.0f}"
