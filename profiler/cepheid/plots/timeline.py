"""What did a job use, and when? A picture a resource, one under the other, on one time axis.

Drawn in: limits, phases, where each cycle begins, and what may have come after the end.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cepheid.jobprofile import CycleSeen, Phase, Spread
from cepheid.jobs.series import averaged
from cepheid.plots.ahead import LEVEL, Ahead, ahead
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
from cepheid.plots.course import Course, highest, lowest, regular, together
from cepheid.plots.marks import cycle_starts
from cepheid.plots.palette import line, seen_through
from cepheid.plots.panels import Limit, Measured, Panel, panels_of
from cepheid.plots.scale import Quantity, Scale, number
from cepheid.plots.subject import Subject
from cepheid.plots.wording import label, plain

MOST_WORKERS = 6
"""Drawn one by one; of more their mean, and from the lowest to the highest."""
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


@dataclass(frozen=True, slots=True)
class Line:
    name: str
    """Made safe already."""
    course: Course
    aside: bool = False
    band: tuple[Course, Course] | None = None
    """From the lowest to the highest of many."""


def timeline(subject: Subject) -> list[Chart]:
    """One chart a resource that was measured."""
    made = [(panel, _lines(panel, subject)) for panel in panels_of(subject.courses)]
    pictures = [_Picture(subject, panel, lines) for panel, lines in made if lines]
    until = max([subject.seconds, *(picture.until for picture in pictures)], default=0.0)
    unit = Quantity.SECONDS.scale(until)
    return [
        picture.chart(unit, until, named_phases=place == 0)
        for place, picture in enumerate(pictures)
    ]


def _lines(panel: Panel, subject: Subject) -> list[Line]:
    there = [one for one in panel.measured if one.metric in subject.courses]
    # Where each has several workers, only what they have together can still be told apart.
    several = sum(not one.aside for one in there) > 1
    found: list[Line] = []
    for one in there:
        by_worker = {
            worker: course.times(one.times)
            for worker, course in subject.courses[one.metric].items()
        }
        found += _one_or_many(panel, one, by_worker, whole_only=several)
    return [each for each in found if each.course.known.size]


def _one_or_many(
    panel: Panel, one: Measured, by_worker: Mapping[str | None, Course], *, whole_only: bool
) -> Iterator[Line]:
    workers = {name: course for name, course in by_worker.items() if name is not None}
    whole = by_worker.get(None)
    if whole is None and (whole_only or len(workers) > MOST_WORKERS or len(workers) == 1):
        whole = together(list(workers.values()), panel.combine)
    if whole is None or (len(workers) > 1 and not whole_only and len(workers) <= MOST_WORKERS):
        for name in sorted(workers):
            yield Line(label(name), workers[name], one.aside)
        return
    if len(workers) > MOST_WORKERS and not whole_only:
        yield from _range(one, list(workers.values()))
        return
    yield Line(label(one.called), whole, one.aside)


def _range(one: Measured, workers: Sequence[Course]) -> Iterator[Line]:
    from_, to = together(workers, lowest), together(workers, highest)
    middle = together(workers, averaged)
    if middle is not None and from_ is not None and to is not None:
        yield Line(label(f"mean of {len(workers)} workers"), middle, one.aside, (from_, to))


class _Picture:
    """One panel of one job, before the time axis of them all is known."""

    def __init__(self, subject: Subject, panel: Panel, lines: list[Line]) -> None:
        self.subject = subject
        self.panel = panel
        self.lines = lines
        shown = [one for one in lines if not one.aside] or lines
        self.highest = max(_top(one) for one in shown)
        self.grid = regular(lines[0].course)
        limit = panel.limit(subject.profile)
        self.limit = limit_of(limit, whole=len(shown) == 1 or subject.profile.process is not None)
        self.cycle = _cycle(subject.profile.cycle, panel)
        self.ahead = self._ahead()
        self.until = 0.0 if self.ahead is None else float(self.ahead.seconds[-1])

    def _ahead(self) -> Ahead | None:
        if not self.panel.foretold or self.grid is None or len(self.lines[0].course.known) == 0:
            return None
        most = 100.0 if self.panel.quantity is Quantity.PERCENT else None
        return ahead(self.grid, most=most, cycle=self.cycle)

    @property
    def top(self) -> float:
        """Of the axis."""
        reach = [self.highest]
        if self.limit is not None and self.limit <= NEAR * self.highest:
            reach.append(self.limit)
        if self.ahead is not None:
            reach.append(min(float(self.ahead.upper.max()), SWELLS * self.highest))
        if self.panel.quantity is Quantity.PERCENT:
            reach.append(100.0)
        return max(reach)

    def chart(self, unit: Scale, until: float, *, named_phases: bool) -> Chart:
        scale = self.panel.quantity.scale(self.top)
        phases = _phases(self.subject.profile.process, unit, until, named=named_phases)
        traces = [
            *self._lines_drawn(unit, scale),
            *self._ahead_drawn(unit, scale),
            *self._limit_drawn(unit, scale, until),
            *self._marks_drawn(unit, scale),
        ]
        return Chart(
            title=self.panel.title,
            words=words_of(self.panel, self.panel.figures(self.subject.profile), self.limit),
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
        name = f"had it gone on ({LEVEL:.0%} band)".replace("%", " %")
        yield merged(band, {**group, "showlegend": False, **filled(colour)})
        yield curve(
            Course(seen.seconds, seen.middle),
            unit,
            scale,
            name,
            line={"color": colour, "dash": "dot", "width": 1.4},
            **group,
        )

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


def _cycle(cycle: CycleSeen | None, panel: Panel) -> CycleSeen | None:
    if cycle is None or cycle.metric not in panel.cycles or cycle.confirmed is False:
        return None
    return cycle if cycle.period_seconds > 0 else None


def number_of(seconds: float) -> str:
    return f"{seconds:.3g}" if seconds < 1000 else f"{seconds:.0f}"  # noqa: PLR2004


def _phases(process: object, unit: Scale, until: float, *, named: bool) -> list[Part]:
    """All but the steady one shaded: that is what the run is about."""
    phases: tuple[Phase, ...] = getattr(process, "phases", ())
    shapes, begin = [], 0.0
    for phase in phases:
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
    return plain(", ".join(parts)) if parts else ""
