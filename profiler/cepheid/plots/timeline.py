"""What did a job use, and when? A picture a resource, one under the other, on one time axis.

Drawn in: limits, phases, where each cycle begins, and what may have come after the end.
"""

from collections.abc import Iterator

import numpy as np

from cepheid.analysis.grid import Grid
from cepheid.jobprofile import CycleSeen, MemoryLeak, ProcessSeen, Spread
from cepheid.plots.ahead import HORIZON_SECONDS, HORIZON_SHARE, LEVEL, Ahead, ahead
from cepheid.plots.chart import (
    Chart,
    Part,
    curve,
    filled,
    layout,
    merged,
    numbers,
    stretch,
    time_axis,
    value_axis,
)
from cepheid.plots.course import Course, regular
from cepheid.plots.lines import Line, lines_of
from cepheid.plots.marks import cycle_starts
from cepheid.plots.palette import line, seen_through
from cepheid.plots.panels import Limit, Panel, panels_of
from cepheid.plots.scale import Quantity, Scale, number
from cepheid.plots.subject import Subject
from cepheid.plots.wording import label, plain

NEAR = 2.5
"""Times the highest value: a limit further up would flatten what is drawn, and is only told."""
SWELLS = 1.6
"""Times the highest value: a band that reaches higher is cut there."""
MOST_MARKS = 400
TALL_MARKS = 40
"""Of more cycles only short marks at the foot, or they would hide the line."""
LABELLED = 0.12
"""Of the width: a phase that is narrower has no room for its name."""
STEADY = "steady"
LEAKS = "Memory"
"""The panel whose growth is a leak's."""


def timeline(subject: Subject) -> list[Chart]:
    """One chart a resource that was measured."""
    made = [(panel, lines_of(panel, subject)) for panel in panels_of(subject.courses)]
    pictures = [_Picture(subject, panel, lines) for panel, lines in made if any(map(_top, lines))]
    until = max([subject.seconds, *(picture.until for picture in pictures)], default=0.0)
    unit = Quantity.SECONDS.scale(until)
    return [
        picture.chart(unit, until, named_phases=place == 0)
        for place, picture in enumerate(pictures)
    ]


def silent(subject: Subject) -> list[str]:
    """What was measured and was 0 all along: a word is enough."""
    made = [(panel, lines_of(panel, subject)) for panel in panels_of(subject.courses)]
    return [panel.title for panel, lines in made if lines and not any(map(_top, lines))]


class _Picture:
    """One panel of one job, before the time axis of them all is known."""

    def __init__(self, subject: Subject, panel: Panel, lines: list[Line]) -> None:
        self.subject = subject
        self.panel = panel
        self.lines = lines
        shown = [one for one in lines if not one.aside] or lines
        self.highest = max(_top(one) for one in shown)
        self.grid = regular(lines[0].course)
        self.several = any(one.of_worker for one in lines)
        limit = panel.limit(subject.profile)
        self.limit = limit_of(limit, whole=not self.several)
        self.whole_limit = limit_of(limit, whole=True)
        self.steady = _steady(subject.profile.process)
        self.cycle = _cycle(subject.profile.cycle, panel)
        self.ahead = self._ahead()
        self.grown = self._grown()
        ends = [one.seconds[-1] for one in (self.ahead, self.grown) if one is not None]
        self.until = float(max(ends, default=0.0))

    def _ahead(self) -> Ahead | None:
        if not self.panel.foretold or self.grid is None or self.leak is not None:
            return None
        most = 100.0 if self.panel.quantity is Quantity.PERCENT else None
        return ahead(_until(self.grid, self.steady), most=most, cycle=self.cycle)

    @property
    def leak(self) -> MemoryLeak | None:
        """Where it grows: of that the profile knows more than a forecast."""
        if self.panel.title != LEAKS or self.several:
            return None
        return self.subject.profile.leak

    @property
    def top(self) -> float:
        """Of the axis."""
        reach = [self.highest]
        if self.limit is not None and self.limit <= NEAR * self.highest:
            reach.append(self.limit)
        if self.ahead is not None:
            reach.append(min(float(self.ahead.upper.max()), SWELLS * self.highest))
        if self.grown is not None:
            reach.append(min(float(self.grown.values[-1]), SWELLS * self.highest))
        if self.panel.quantity is Quantity.PERCENT:
            reach.append(100.0)
        return max(reach)

    def chart(self, unit: Scale, until: float, *, named_phases: bool) -> Chart:
        scale = self.panel.quantity.scale(self.top)
        phases = _phases(self.subject.profile.process, unit, until, named=named_phases)
        traces = [
            *self._lines_drawn(unit, scale),
            *self._ahead_drawn(unit, scale),
            *self._grown_drawn(unit, scale),
            *self._limit_drawn(unit, scale, until),
            *self._marks_drawn(unit, scale),
        ]
        return Chart(
            title=self.panel.title,
            words=words_of(self.panel, self.panel.figures(self.subject.profile), self.whole_limit),
            traces=traces,
            layout=layout(
                x=time_axis(unit, until),
                y=value_axis(scale, self.top),
                hovermode="x unified",
                showlegend=len([one for one in traces if one.get("showlegend", True)]) > 1,
                shapes=phases,
            ),
            shares_time=True,
        )

    def _lines_drawn(self, unit: Scale, scale: Scale) -> Iterator[Part]:
        for place, one in enumerate(self.lines):
            style = line(place)
            if one.band is not None:
                lower, upper = one.band
                band = stretch(lower.seconds, lower.values, upper.values, unit, scale)
                yield merged(band, {"name": "lowest to highest", **filled(style["color"])})
            yield curve(
                one.course,
                unit,
                scale,
                one.name,
                line={**style, "width": 1.6},
                **({"visible": "legendonly"} if one.aside else {}),
            )

    def _ahead_drawn(self, unit: Scale, scale: Scale) -> Iterator[Part]:
        if self.ahead is None:
            return
        seen = self.ahead
        colour = line(0)["color"]
        band = stretch(seen.seconds, seen.lower, seen.upper, unit, scale)
        group = {"legendgroup": "ahead"}
        whose = f"{self.lines[0].name}, " if self.several else ""
        name = f"{whose}had it gone on ({100 * LEVEL:.0f} %)"
        yield merged(band, {**group, "showlegend": False, **filled(colour)})
        yield curve(
            Course(seen.seconds, seen.middle),
            unit,
            scale,
            name,
            line={"color": colour, "dash": "dot", "width": 1.4},
            **group,
        )

    def _grown(self) -> Course | None:
        """On from the last value, as fast as the profile says."""
        life, leak = self.lines[0].course.life, self.leak
        if leak is None or life is None or not np.isfinite(leak.bytes_per_second):
            return None
        seconds = min(HORIZON_SECONDS, HORIZON_SHARE * (life[1] - life[0]))
        last = float(self.lines[0].course.known[-1])
        values = np.array([last, last + leak.bytes_per_second * seconds])
        return Course(np.array([life[1], life[1] + seconds]), values)

    def _grown_drawn(self, unit: Scale, scale: Scale) -> Iterator[Part]:
        if self.grown is not None and self.leak is not None:
            rate = Quantity.BYTES(60 * self.leak.bytes_per_second)
            style = {"color": line(0)["color"], "dash": "dot", "width": 1.6}
            yield curve(self.grown, unit, scale, f"had it gone on: {rate} a minute", line=style)

    def _limit_drawn(self, unit: Scale, scale: Scale, until: float) -> Iterator[Part]:
        if self.limit is None or self.limit > self.top or self.panel.quantity is Quantity.PERCENT:
            return
        yield {
            "type": "scatter",
            "mode": "lines",
            "name": f"limit {scale(self.limit)}",
            "x": [0, number(until / unit.one)],
            "y": [number(self.limit / scale.one)] * 2,
            "line": {"color": "@ink", "dash": "longdash", "width": 1.2},
            "hoverinfo": "skip",
        }

    def _marks_drawn(self, unit: Scale, scale: Scale) -> Iterator[Part]:
        if self.cycle is None or self.grid is None:
            return
        period = self.cycle.period_seconds
        starts = cycle_starts(self.grid, period)
        begin, end = self.steady or (-np.inf, np.inf)
        starts = starts[(starts >= begin - period / 4) & (starts <= end)]
        if not 0 < starts.size <= MOST_MARKS:
            return
        height = self.top * (1.08 if starts.size <= TALL_MARKS else 0.07) / scale.one
        yield {
            "type": "scatter",
            "mode": "lines",
            "name": f"repeats every {number_of(period)} s",
            "x": [x for start in numbers(starts, unit, digits=7) for x in (start, start, None)],
            "y": [y for _ in starts for y in (0.0, number(height), None)],
            "line": {"color": seen_through("@soft", 0.75), "width": 1, "dash": "dot"},
            "hoverinfo": "skip",
        }


def _top(one: Line) -> float:
    course = one.course if one.band is None else one.band[1]
    return float(course.known.max()) if course.known.size else 0.0


def limit_of(limit: Limit, *, whole: bool) -> float | None:
    amount = limit.whole if whole else limit.each
    return amount if amount is not None and 0 < amount < np.inf else None


def _steady(process: ProcessSeen | None) -> tuple[float, float] | None:
    """From when to when, since it began."""
    begin = 0.0
    for phase in () if process is None else process.phases:
        if phase.name == STEADY:
            return begin, begin + phase.seconds
        begin += phase.seconds
    return None


def _until(grid: Grid, steady: tuple[float, float] | None) -> Grid:
    """Without the tail: of how a job ends nothing follows for how it would have gone on."""
    if steady is None:
        return grid
    slots = max(1, int((steady[1] - grid.start_seconds) / grid.step_seconds))
    return Grid(grid.start_seconds, grid.step_seconds, grid.values[:slots])


def _cycle(cycle: CycleSeen | None, panel: Panel) -> CycleSeen | None:
    if cycle is None or cycle.metric not in panel.cycles or cycle.confirmed is False:
        return None
    return cycle if cycle.period_seconds > 0 else None


def number_of(seconds: float) -> str:
    return f"{seconds:.3g}" if seconds < 1000 else f"{seconds:.0f}"  # noqa: PLR2004


def _phases(process: ProcessSeen | None, unit: Scale, until: float, *, named: bool) -> list[Part]:
    """All but the steady one shaded: that is what the run is about."""
    shapes, begin = [], 0.0
    for phase in () if process is None else process.phases:
        end = begin + phase.seconds
        if phase.name != STEADY and np.isfinite(end):
            shape: Part = {
                "type": "rect",
                "xref": "x",
                "yref": "paper",
                "x0": number(begin / unit.one),
                "x1": number(end / unit.one),
                "y0": 0,
                "y1": 1,
                "layer": "below",
                "line": {"width": 0},
                "fillcolor": seen_through("@soft", 0.13),
            }
            if named and phase.seconds >= LABELLED * until:
                shape["label"] = {
                    "text": label(phase.name),
                    "textposition": "top left",
                    "font": {"color": "@soft", "size": 11},
                }
            shapes.append(shape)
        begin = end
    return shapes


def words_of(panel: Panel, found: Spread | None, limit: float | None) -> str:
    """What the profile says of it."""
    parts = []
    if found is not None:
        for words, figure in (
            ("mean", found.mean),
            ("95 % below", found.p95),
            ("at most", found.max),
        ):
            if figure is not None:
                parts.append(f"{words} {panel.quantity(figure)}")
    if limit is not None and panel.quantity is not Quantity.PERCENT:
        parts.append(f"limit {panel.quantity(limit)}")
    told = plain(", ".join(parts)) if parts else ""
    return f"{panel.figured}: {told}" if told and panel.figured else told
