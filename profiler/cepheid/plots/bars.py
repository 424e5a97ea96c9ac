"""What did a job use, where only the summary of its run was kept?

A bar a resource: up to the mean in full colour, then to what 95 % of the samples lie below, then to
the highest; and its limit.
"""

from collections.abc import Iterator

from cepheid.jobprofile import JobProfile, Spread
from cepheid.plots.chart import Chart, Part, layout
from cepheid.plots.palette import pattern_of, seen_through
from cepheid.plots.panels import PANELS, Panel
from cepheid.plots.scale import Quantity, Scale, most_of, number
from cepheid.plots.timeline import NEAR, limit_of, words_of


def bars(profile: JobProfile) -> list[Chart]:
    return [
        _chart(profile, panel, found)
        for panel in PANELS
        if (found := panel.figures(profile)) is not None and found != Spread()
    ]


def _chart(profile: JobProfile, panel: Panel, found: Spread) -> Chart:
    limit = limit_of(panel.limit(profile), whole=True)
    top = most_of((found.mean, found.p95, found.max))
    if panel.quantity is Quantity.PERCENT:
        top = 100.0
    elif limit is not None and limit <= NEAR * top:
        top = limit
    scale = panel.quantity.scale(top)
    return Chart(
        title=panel.title,
        words=words_of(panel, found, limit),
        traces=[*_parts(found, scale), *_limit(limit, top, scale)],
        layout=layout(
            x={
                "range": [0, number(1.04 * top / scale.one) or 1.0],
                "title": {"text": scale.unit},
                "fixedrange": True,
            },
            y={"visible": False, "fixedrange": True, "range": [-0.6, 0.6]},
            bottom_pixels=36,
            barmode="overlay",
            hovermode="closest",
            showlegend=True,
        ),
        height_pixels=130,
    )


def _parts(found: Spread, scale: Scale) -> Iterator[Part]:
    for name, figure, colour, pattern, width in (
        ("at most", found.max, seen_through("@1", 0.25), "", 0.5),
        ("95 % below", found.p95, seen_through("@1", 0.5), "/", 0.5),
        ("mean", found.mean, "@1", "", 0.5),
    ):
        length = None if figure is None else number(figure / scale.one)
        if length is not None:
            yield {
                "type": "bar",
                "orientation": "h",
                "name": name,
                "x": [length],
                "y": [0],
                "width": width,
                "marker": {"color": colour, "pattern": pattern_of(pattern)},
                "hovertemplate": f"{name} %{{x:.4~g}} {scale.unit}<extra></extra>",
            }


def _limit(limit: float | None, top: float, scale: Scale) -> Iterator[Part]:
    if limit is not None and limit <= top:
        at = number(limit / scale.one)
        yield {
            "type": "scatter",
            "mode": "lines",
            "name": f"limit {scale(limit)}",
            "x": [at, at],
            "y": [-0.45, 0.45],
            "line": {"color": "@ink", "width": 2},
            "hoverinfo": "skip",
        }
