"""One picture, as the plotting library wants it: plain dictionaries, colours as tokens.

Not its own classes: they take a second to load and know no tokens. Tests give them every picture,
so that nothing is in one that the library does not know.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from cepheid.model import FloatArray
from cepheid.plots.course import Course, drawn
from cepheid.plots.palette import seen_through
from cepheid.plots.scale import Scale, number

Part: TypeAlias = dict[str, Any]
"""A trace or a layout."""

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"
CLEAR = "rgba(0,0,0,0)"
FEW = 4
LEFT_PIXELS, RIGHT_PIXELS = 52, 14
"""The same in all that share a time axis, so that a moment stands in one column."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    title: str
    """As text: it is made safe where it is written."""
    words: str = ""
    """The same for who does not see the picture, or wants the figure."""
    traces: Sequence[Part]
    layout: Part = field(default_factory=dict)
    height_pixels: int = 210
    shares_time: bool = False
    """Who zooms one zooms all, and who points at a moment in one sees it in all."""


def layout(
    *, x: Part | None = None, y: Part | None = None, bottom_pixels: int = 26, **more: Any
) -> Part:
    axis = {
        "gridcolor": "@grid",
        "linecolor": "@grid",
        "zerolinecolor": "@grid",
        "tickfont": {"color": "@soft", "size": 11},
        "title": {"font": {"color": "@soft", "size": 11}, "standoff": 6},
    }
    return {
        "margin": {"l": LEFT_PIXELS, "r": RIGHT_PIXELS, "t": 10, "b": bottom_pixels},
        "paper_bgcolor": CLEAR,
        "plot_bgcolor": CLEAR,
        "font": {"color": "@ink", "family": FONT, "size": 12},
        "hoverlabel": {
            "bgcolor": "@card",
            "bordercolor": "@soft",
            "font": {"color": "@ink", "family": FONT, "size": 12},
            "namelength": 40,
        },
        "modebar": {"bgcolor": CLEAR, "color": "@soft", "activecolor": "@ink"},
        "legend": {
            "orientation": "h",
            "x": 0,
            "xanchor": "left",
            "y": 1.03,
            "yanchor": "bottom",
            "font": {"color": "@ink", "size": 11},
            "bgcolor": CLEAR,
            "itemwidth": 30,
            "traceorder": "normal",
        },
        "xaxis": merged(axis, x or {}),
        "yaxis": merged(axis, y or {}),
        **more,
    }


def merged(one: Part, other: Part) -> Part:
    """The second wins, part by part."""
    result = dict(one)
    for key, value in other.items():
        old = result.get(key)
        result[key] = (
            merged(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
        )
    return result


def time_axis(unit: Scale, until_seconds: float) -> Part:
    """Since the beginning."""
    return {
        "ticksuffix": f" {unit.unit}",
        "nticks": 9,
        "range": [0, number(max(until_seconds, 1e-3) / unit.one)],
        "zeroline": False,
        "hoverformat": ".4~g",
        "unifiedhovertitle": {"text": f"<b>after %{{x:.4~g}} {unit.unit}</b>"},
        "showspikes": True,
        "spikemode": "across",
        "spikethickness": 1,
        "spikedash": "solid",
        "spikecolor": "@soft",
        "spikesnap": "cursor",
    }


def value_axis(scale: Scale, top: float) -> Part:
    """From 0: a line that seems to plunge has really fallen."""
    return {
        "range": [0, number(1.08 * top / scale.one) or 1.0],
        "fixedrange": True,
        "ticksuffix": f" {scale.unit}" if scale.unit == "%" else "",
        "title": {"text": "" if scale.unit == "%" else scale.unit},
        "nticks": 5,
    }


def curve(course: Course, unit: Scale, scale: Scale, name: str, **more: Any) -> Part:
    """A line over time, `name` already made safe."""
    thin = drawn(course)
    trace = {
        "type": "scatter",
        # A line of one point is none.
        "mode": "lines" if thin.known.size >= FEW else "lines+markers",
        "name": name,
        "x": numbers(thin.seconds, unit, digits=7),
        "y": numbers(thin.values, scale),
        "connectgaps": False,
        "hovertemplate": f"%{{y:.4~g}} {scale.unit}",
    }
    return merged(trace, more)


def stretch(
    seconds: FloatArray, lower: FloatArray, upper: FloatArray, unit: Scale, scale: Scale
) -> Part:
    """What lies between two lines, filled."""
    there = np.isfinite(lower) & np.isfinite(upper)
    seconds, lower, upper = seconds[there], lower[there], upper[there]
    return {
        "type": "scatter",
        "mode": "lines",
        "x": numbers(np.concatenate((seconds, seconds[::-1])), unit, digits=7),
        "y": numbers(np.concatenate((upper, lower[::-1])), scale),
        "fill": "toself",
        "line": {"width": 0},
        "hoverinfo": "skip",
    }


def filled(token: str) -> Part:
    return {"fillcolor": seen_through(token, 0.2), "line": {"color": token, "width": 0}}


def numbers(values: FloatArray, scale: Scale, *, digits: int = 5) -> list[float | None]:
    return [number(float(one), digits) for one in values / scale.one]
