"""How do several jobs compare, had they begun at the same moment? A line a job in every picture."""

from cepheid.plots.chart import Chart, curve, layout, time_axis, value_axis
from cepheid.plots.course import Course, together
from cepheid.plots.palette import line
from cepheid.plots.panels import Panel, panels_of
from cepheid.plots.scale import Quantity
from cepheid.plots.subject import Subject
from cepheid.plots.wording import label

MOST_JOBS = 30
"""So many lines differ in colour or dash."""


def overlay(subjects: list[Subject]) -> list[Chart]:
    """Of those whose time series were kept."""
    drawn = [one for one in subjects if one.courses][:MOST_JOBS]
    until = max((one.seconds for one in drawn), default=0.0)
    metrics = {metric for one in drawn for metric in one.courses}
    charts = [_chart(panel, drawn, until) for panel in panels_of(metrics)]
    return [chart for chart in charts if chart is not None]


def _chart(panel: Panel, subjects: list[Subject], until: float) -> Chart | None:
    found = [
        (place, subject, course)
        for place, subject in enumerate(subjects)
        if (course := _whole(panel, subject)) is not None and course.known.size
    ]
    if not found:
        return None
    top = max(float(course.known.max()) for _, _, course in found)
    if panel.quantity is Quantity.PERCENT:
        top = 100.0
    scale, unit = panel.quantity.scale(top), Quantity.SECONDS.scale(until)
    return Chart(
        title=panel.title,
        words=_called(panel, subjects),
        traces=[
            curve(
                course,
                unit,
                scale,
                label(f"{subject.name} {subject.short_uid}"),
                # One and the same in every picture: a click on it there is a click on it here.
                line={**line(place), "width": 1.6},
                legendgroup=subject.profile.job.uid,
            )
            for place, subject, course in found
        ],
        layout=layout(
            x=time_axis(unit, until),
            y=value_axis(scale, top),
            hovermode="x unified",
            showlegend=True,
        ),
        height_pixels=240,
        shares_time=True,
    )


def _first(panel: Panel, subject: Subject) -> str | None:
    """Of a panel's measurements the foremost that the job has: of several, lines would mix."""
    return next((one.metric for one in panel.measured if one.metric in subject.courses), None)


def _whole(panel: Panel, subject: Subject) -> Course | None:
    metric = _first(panel, subject)
    if metric is None:
        return None
    by_worker = subject.courses[metric]
    course = by_worker.get(None) or together(list(by_worker.values()), panel.combine)
    factor = next(one.times for one in panel.measured if one.metric == metric)
    return None if course is None else course.times(factor)


def _called(panel: Panel, subjects: list[Subject]) -> str:
    called = {one.metric: one.called for one in panel.measured}
    return ", ".join(sorted({called[m] for s in subjects if (m := _first(panel, s))}))
