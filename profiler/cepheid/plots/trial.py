"""How fast was, or would be, a job on each placement? A line a type of GPU, over their number."""

from collections.abc import Mapping, Sequence

from cepheid.jobs.gpu_names import told_apart
from cepheid.placementtrial import Foreseen, Placement, State, Trial, TrialSpec, TrialStatus
from cepheid.plots.chart import Chart, Part, layout
from cepheid.plots.page import Page, Table
from cepheid.plots.palette import line, seen_through
from cepheid.plots.scale import number, told
from cepheid.plots.wording import label

SECONDS_PER_HOUR = 3600.0


def trial_page(name: str, spec: TrialSpec, status: TrialStatus) -> Page:
    names = told_apart(dict.fromkeys(one.gpu_type for one in _placements(status)))
    best = status.best
    says = [text for text in (status.model, status.message) if text]
    return Page(
        title=f"{name}: where it runs best",
        lead="Nothing is known yet." if best is None else best.sentence,
        says=says,
        facts=_facts(spec, status),
        charts=_charts(status, names),
        table=_table(status, names),
    )


def _charts(status: TrialStatus, names: Mapping[str, str]) -> list[Chart]:
    measured = [one for one in status.trials if one.throughput is not None]
    unit = next((one.throughput.unit for one in measured if one.throughput), "iterations")
    kinds = dict.fromkeys(_kind(one) for one in _placements(status))
    traces: list[Part] = []
    for place, kind in enumerate(kinds):
        foreseen = sorted(
            (one for one in status.curve if _kind(one.placement) == kind),
            key=lambda one: one.placement.gpus,
        )
        points = [one for one in measured if _kind(one.placement) == kind]
        called = label(" ".join((names.get(kind[0], kind[0]), *kind[1:])).strip())
        traces += _traces(place, called, foreseen, points)
    if not traces:
        return []
    title = f"{label(unit)} a second"
    return [
        Chart(
            title="Throughput by the number of GPUs",
            words="Points were measured, with their standard error; lines are what the fitted"
            " model says, and with 90 % the truth lies in their bands.",
            traces=traces,
            layout=layout(
                x={"title": {"text": "GPUs"}, "rangemode": "tozero", "dtick": _ticks(status)},
                y={"title": {"text": title}, "rangemode": "tozero"},
                bottom_pixels=44,
                showlegend=True,
            ),
            height_pixels=380,
        )
    ]


def _traces(
    place: int, called: str, foreseen: Sequence[Foreseen], points: Sequence[Trial]
) -> list[Part]:
    style = line(place)
    found: list[Part] = []
    if foreseen:
        gpus = [one.placement.gpus for one in foreseen]
        found.append(
            {
                "type": "scatter",
                "mode": "lines",
                "x": [*gpus, *reversed(gpus)],
                "y": [number(one.high) for one in foreseen]
                + [number(one.low) for one in reversed(foreseen)],
                "fill": "toself",
                "fillcolor": seen_through(style["color"], 0.15),
                "line": {"width": 0, "color": style["color"]},
                "hoverinfo": "skip",
                "showlegend": False,
                "legendgroup": called,
            }
        )
        found.append(
            {
                "type": "scatter",
                "mode": "lines",
                "name": called,
                "x": gpus,
                "y": [number(one.per_second) for one in foreseen],
                "line": {**style, "width": 1.6},
                "legendgroup": called,
                "hovertemplate": "%{x} GPUs: %{y:.4~g}",
            }
        )
    if points:
        rates = [one.throughput for one in points if one.throughput is not None]
        errors = [number(rate.per_second * rate.error_percent / 100) for rate in rates]
        found.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": f"{called}, measured",
                "x": [one.placement.gpus for one in points],
                "y": [number(rate.per_second) for rate in rates],
                "error_y": {"type": "data", "array": errors, "color": style["color"]},
                "marker": {"color": style["color"], "size": 9, "symbol": "circle"},
                "legendgroup": called,
                "hovertemplate": "%{x} GPUs: %{y:.4~g} measured",
            }
        )
    return found


def _facts(spec: TrialSpec, status: TrialStatus) -> list[tuple[str, str]]:
    over = sum(one.state.is_over for one in status.trials)
    spent = told(status.spent_gpu_seconds / SECONDS_PER_HOUR)
    return [
        ("phase", "not seen yet" if status.phase is None else status.phase.value),
        ("tried", f"{over} of {status.candidates} placements"),
        ("spent", f"{spent} of {told(spec.limits.gpu_hours)} GPU hours"),
        ("goal", spec.optimise.goal.value),
    ]


def _table(status: TrialStatus, names: Mapping[str, str]) -> Table | None:
    if not status.trials:
        return None
    return Table(
        ("placement", "GPUs", "state", "a second", "±", "GPU seconds", "what happened"),
        [_row(one, names) for one in status.trials],
        frozenset({1, 3, 4, 5}),
    )


def _row(trial: Trial, names: Mapping[str, str]) -> tuple[str, ...]:
    rate = trial.throughput if trial.state is State.MEASURED else None
    placement = trial.placement
    each = f"{placement.gpus_per_worker}x" if placement.gpus_per_worker > 1 else ""
    how = f" {placement.arrange}" if placement.arrange is not None else ""
    return (
        f"{placement.workers}x{each}{names.get(placement.gpu_type, placement.gpu_type)}{how}",
        str(placement.gpus),
        trial.state.value,
        "" if rate is None else f"{rate.per_second:.4g}",
        "" if rate is None else f"{rate.error_percent:.2g} %",
        told(trial.gpu_seconds),
        trial.message or "",
    )


def _kind(placement: Placement) -> tuple[str, ...]:
    """What is one line: of another arrangement it is another."""
    arrange = () if placement.arrange is None else (placement.arrange.value,)
    return (placement.gpu_type, *arrange)


def _placements(status: TrialStatus) -> list[Placement]:
    foreseen = [one.placement for one in status.curve]
    return [*foreseen, *(one.placement for one in status.trials)]


def _ticks(status: TrialStatus) -> int:
    """Whole GPUs, and not more than a screen has room for."""
    most = max((one.gpus for one in _placements(status)), default=1)
    return max(1, most // 8)
