"""What ran when? A bar from beginning to end for each task of a workflow, or worker of a job."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from cepheid.jobprofile import JobProfile, Outcome, Worker
from cepheid.plots.chart import Chart, Part, layout, time_axis
from cepheid.plots.course import Course
from cepheid.plots.palette import OUTCOMES, pattern_of
from cepheid.plots.panels import PANELS, Panel
from cepheid.plots.scale import Quantity, Scale, number
from cepheid.plots.subject import Subject
from cepheid.plots.wording import label
from cepheid.units import in_bytes, in_time

MOST_ROWS = 200
ROW_PIXELS, AROUND_PIXELS = 24, 84
NAME_CHARACTERS = 18
"""On the axis: a phone has no room for more, and the whole name is where one points."""
DEEPER, MOST_DEEP = "\N{DOWNWARDS ARROW WITH TIP RIGHTWARDS} ", 4
"""Before a task of a task."""
COLUMNS = 300
LOADS = ("gpu_util_percent", "engine_active_ratio", "cpu_cores")
"""What a worker does, the best that is known first."""


@dataclass(frozen=True, slots=True)
class Row:
    name: str
    begin_seconds: float
    end_seconds: float
    outcome: Outcome
    about: str
    """Its figures."""
    depth: int = 0


def waterfall(subject: Subject) -> list[Chart]:
    """Nothing where it had neither tasks nor workers whose time is known."""
    charts = []
    if subject.tasks:
        charts.append(_chart("Tasks", [*_tasks(subject)], subject.seconds))
    # What a process has beside itself are GPUs, which are there all the time.
    workers = [*_workers(subject)] if subject.profile.process is None else []
    if len(workers) > 1:
        charts.append(_chart("Workers", workers, subject.seconds))
        load = _load(subject, [row.name for row in workers[:MOST_ROWS]])
        if load is not None:
            charts.append(load)
    return charts


def _tasks(subject: Subject) -> Iterator[Row]:
    """The workflow itself first, then its tasks in the order in which they began."""
    depths = {subject.profile.job.uid: 0}
    origin = subject.profile.started or subject.profile.created
    for one in (subject.profile, *subject.tasks):
        parent = None if one.process is None else one.process.parent
        begin = one.started or one.created
        if one is not subject.profile:
            depths[one.job.uid] = depths.get(parent or "", 0) + 1
        after = (begin - origin).total_seconds()
        yield Row(
            one.job.name,
            after,
            after + (one.duration_seconds or 0.0),
            one.outcome,
            _used(one),
            depths[one.job.uid],
        )


def _used(profile: JobProfile) -> str:
    usage, words = profile.usage, []
    if usage is not None and usage.cpu_cores is not None and usage.cpu_cores.mean is not None:
        words.append(f"{Quantity.CORES(usage.cpu_cores.mean)} on average")
    if usage is not None and usage.memory_bytes is not None and usage.memory_bytes.max is not None:
        words.append(f"{Quantity.BYTES(usage.memory_bytes.max)} at most")
    return ", ".join(words)


def _workers(subject: Subject) -> Iterator[Row]:
    """As long as anything was measured of each."""
    about = {worker.name: worker for worker in subject.workers}
    lives: dict[str, tuple[float, float]] = {}
    for by_worker in subject.courses.values():
        for name, course in by_worker.items():
            life = course.life
            if name is not None and life is not None:
                old = lives.get(name, life)
                lives[name] = (min(old[0], life[0]), max(old[1], life[1]))
    for name, (begin, end) in sorted(lives.items(), key=lambda one: (one[1][0], one[0])):
        worker = about.get(name)
        lags = worker is not None and worker.straggles is not None
        outcome = Outcome.ERROR if lags else Outcome.SUCCESS
        yield Row(name, begin, end, outcome, "" if worker is None else _most(worker))


def _most(worker: Worker) -> str:
    words = [] if worker.straggles is None else [worker.straggles]
    if worker.cpu_cores is not None:
        words.append(f"{Quantity.CORES(worker.cpu_cores)} at most")
    if worker.memory_bytes is not None:
        words.append(f"{in_bytes(worker.memory_bytes)} at most")
    if worker.gpu_util_percent is not None:
        words.append(f"GPU {worker.gpu_util_percent:.0f} % at most")
    return ", ".join(words)


def _chart(title: str, rows: Sequence[Row], until: float) -> Chart:
    shown = rows[:MOST_ROWS]
    until = max([until, *(row.end_seconds for row in shown)])
    unit = Quantity.SECONDS.scale(until)
    called = _WORKERS if title == "Workers" else _TASKS
    traces = [
        _bars(rows_of, outcome, called[outcome], unit)
        for outcome in OUTCOMES
        if (rows_of := [(at, row) for at, row in enumerate(shown) if row.outcome is outcome])
    ]
    left_out = len(rows) - len(shown)
    return Chart(
        title=title,
        words=f"{len(rows)}" + (f", the last {left_out} are not drawn" if left_out else ""),
        traces=traces,
        layout=layout(
            x=time_axis(unit, until),
            y=_names([row.name for row in shown], [row.depth for row in shown]),
            barmode="overlay",
            hovermode="closest",
            showlegend=len(traces) > 1 or title == "Tasks",
        ),
        height_pixels=ROW_PIXELS * len(shown) + AROUND_PIXELS,
    )


_TASKS = {outcome: str(outcome) for outcome in Outcome}
_WORKERS = {**_TASKS, Outcome.SUCCESS: "keeps up", Outcome.ERROR: "lags behind"}


def _bars(rows: Sequence[tuple[int, Row]], outcome: Outcome, name: str, unit: Scale) -> Part:
    colour, _, pattern = OUTCOMES[outcome]
    # A bar that would be too short to be seen is as wide as a hair.
    return {
        "type": "bar",
        "orientation": "h",
        "name": name,
        "y": [at for at, _ in rows],
        "base": [number(row.begin_seconds / unit.one) for _, row in rows],
        "x": [number((row.end_seconds - row.begin_seconds) / unit.one) for _, row in rows],
        "width": 0.62,
        "marker": {
            "color": colour,
            "pattern": pattern_of(pattern),
            "line": {"color": colour, "width": 1},
        },
        "customdata": [
            [
                label(row.name, 80),
                in_time(max(0.0, row.end_seconds - row.begin_seconds)),
                label(row.about, 120) if row.about else "",
            ]
            for _, row in rows
        ],
        "hovertemplate": "<b>%{customdata[0]}</b><br>%{customdata[1]} from %{base:.4~g}"
        f" {unit.unit} on<br>%{{customdata[2]}}<extra></extra>",
    }


def _names(names: Sequence[str], depths: Sequence[int]) -> Part:
    """Rows by their number: two may have the same name."""
    return {
        "tickmode": "array",
        "tickvals": list(range(len(names))),
        "ticktext": [
            DEEPER * min(depth, MOST_DEEP) + label(name, NAME_CHARACTERS)
            for name, depth in zip(names, depths, strict=True)
        ],
        "range": [len(names) - 0.4, -0.6],
        "automargin": True,
        "fixedrange": True,
        "showgrid": False,
        "zeroline": False,
        "ticks": "",
    }


def _load(subject: Subject, names: Sequence[str]) -> Chart | None:
    """Each worker's load over time, as shades: who waits for whom shows at once."""
    metric = next((one for one in LOADS if _by_name(subject, one, names)), None)
    if metric is None:
        return None
    panel = next(one for one in PANELS if any(m.metric == metric for m in one.measured))
    factor = next(one.times for one in panel.measured if one.metric == metric)
    courses = _by_name(subject, metric, names)
    until = subject.seconds
    unit = Quantity.SECONDS.scale(until)
    edges = np.linspace(0.0, until, COLUMNS + 1)
    rows = [_columns(courses[name].times(factor), edges) for name in courses]
    return Chart(
        title=f"{panel.title} of each worker",
        words="dark is little, light is much",
        traces=[_shades(rows, edges, panel, unit)],
        layout=layout(
            x=time_axis(unit, until),
            y=_names(list(courses), [0] * len(courses)),
            hovermode="closest",
            showlegend=False,
        ),
        height_pixels=ROW_PIXELS * len(courses) + AROUND_PIXELS,
    )


def _by_name(subject: Subject, metric: str, names: Sequence[str]) -> dict[str, Course]:
    by_worker = subject.courses.get(metric, {})
    found = {name: by_worker[name] for name in names if name in by_worker}
    return found if len(found) > 1 else {}


def _columns(course: Course, edges: np.ndarray) -> list[float | None]:
    """The mean of what was measured in each column."""
    there = np.isfinite(course.values)
    place = np.clip(np.searchsorted(edges, course.seconds[there], "right") - 1, 0, COLUMNS - 1)
    count = np.bincount(place, minlength=COLUMNS)
    total = np.bincount(place, course.values[there], minlength=COLUMNS)
    mean = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    # Between two samples it was what it was: a column without one is no gap while others have.
    known = np.flatnonzero(count)
    if known.size > 1:
        nearest = np.abs(np.arange(COLUMNS)[:, None] - known).argmin(axis=1)
        apart = np.abs(np.arange(COLUMNS) - known[nearest])
        mean = np.where(apart <= 2 * np.median(np.diff(known)), mean[known[nearest]], np.nan)
    return [number(float(one)) for one in mean]


def _shades(rows: list[list[float | None]], edges: np.ndarray, panel: Panel, unit: Scale) -> Part:
    middle = (edges[:-1] + edges[1:]) / 2 / unit.one
    scale = panel.quantity.scale(1.0)
    return {
        "type": "heatmap",
        "z": rows,
        "x": [number(float(one)) for one in middle],
        "y": list(range(len(rows))),
        "colorscale": "Cividis",
        "zmin": 0,
        **({"zmax": 100} if panel.quantity is Quantity.PERCENT else {}),
        "ygap": 2,
        "colorbar": {
            "thickness": 10,
            "outlinewidth": 0,
            "tickfont": {"color": "@soft", "size": 11},
            "ticksuffix": f" {scale.unit}" if scale.unit == "%" else "",
        },
        "hovertemplate": f"%{{z:.4~g}} {scale.unit} after %{{x:.4~g}} {unit.unit}<extra></extra>",
    }
