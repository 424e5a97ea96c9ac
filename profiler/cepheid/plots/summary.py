"""How did many jobs fare? What there was of them in all, and a point or a bar for each."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence

from cepheid.jobprofile import JobProfile, Outcome
from cepheid.plots.chart import Chart, Part, layout
from cepheid.plots.heading import in_utc, minute
from cepheid.plots.page import Table
from cepheid.plots.palette import OUTCOMES, pattern_of
from cepheid.plots.scale import Quantity, Scale, most_of, number
from cepheid.plots.wording import label, plain
from cepheid.units import in_time

MOST_NAMES = 15
"""Bars: of more names the rest goes into one."""
MOST_TABLED = 500
MOST_POINTS = 5000
WIDE = 50.0
"""Times the smallest: then the axis is logarithmic, or the small ones would lie on each other."""
ROW_PIXELS, AROUND_PIXELS, BELOW_PIXELS = 26, 96, 44
MOMENTS = (1, 10, 60, 600, 3600, 36_000, 86_400, 864_000)
"""Seconds that stand on a logarithmic axis of time."""


def summary(profiles: Sequence[JobProfile]) -> list[Chart]:
    charts = [
        _outcomes(profiles),
        _durations(profiles),
        _used(profiles),
        _totals("CPU time", profiles, cpu_seconds),
        _totals("GPU time", profiles, gpu_seconds),
        _held_back(profiles),
    ]
    return [chart for chart in charts if chart is not None]


def tiles(profiles: Sequence[JobProfile]) -> list[tuple[str, str]]:
    ended = [one for one in profiles if one.outcome is not Outcome.RUNNING]
    found = [("jobs", f"{len(profiles):,}")]
    if ended:
        succeeded = sum(one.outcome is Outcome.SUCCESS for one in ended)
        found.append(("succeeded", f"{100 * succeeded / len(ended):.0f} %"))
    for name, quantity, figure in (
        ("run time", Quantity.HOURS, _duration),
        ("CPU time", Quantity.HOURS, cpu_seconds),
        ("GPU time", Quantity.HOURS, gpu_seconds),
        ("energy of GPUs", Quantity.JOULES, _energy),
    ):
        known = [amount for one in profiles if (amount := figure(one)) is not None]
        if known and any(known):
            found.append((name, quantity(sum(known))))
    return found


def table(profiles: Sequence[JobProfile]) -> Table:
    left_out = len(profiles) - MOST_TABLED
    return Table(
        ("job", "name", "status", "ended (UTC)", "took", "CPU", "memory", "GPU", "verdict"),
        [_row(one) for one in profiles[:MOST_TABLED]],
        frozenset({4, 5, 6, 7}),
        f"{left_out:,} more are not listed." if left_out > 0 else "",
    )


def _row(one: JobProfile) -> tuple[str, ...]:
    usage = one.usage
    cpu = None if usage is None or usage.cpu_cores is None else usage.cpu_cores.mean
    gpu = None if usage is None or usage.gpu_util_percent is None else usage.gpu_util_percent.mean
    peak = memory_bytes(one)
    return (
        one.job.uid[:8],
        plain(one.job.name, 32),
        str(one.outcome),
        "" if one.ended is None else minute(one.ended),
        "" if one.duration_seconds is None else in_time(one.duration_seconds),
        "" if cpu is None else Quantity.CORES(cpu),
        "" if peak is None else Quantity.BYTES(peak),
        "" if gpu is None else Quantity.PERCENT(gpu),
        one.verdict or "",
    )


def memory_bytes(one: JobProfile) -> float | None:
    """The most that it had, between two samples too where that is known."""
    if one.process is not None and one.process.peak_memory_bytes is not None:
        return one.process.peak_memory_bytes
    return (
        None if one.usage is None or one.usage.memory_bytes is None else one.usage.memory_bytes.max
    )


def cpu_seconds(one: JobProfile) -> float | None:
    """As the kernel had it, else the mean times how long it took."""
    if one.process is not None and one.process.cpu_seconds is not None:
        return one.process.cpu_seconds
    if one.usage is None or one.usage.cpu_cores is None or one.usage.cpu_cores.mean is None:
        return None
    return None if one.duration_seconds is None else one.usage.cpu_cores.mean * one.duration_seconds


def gpu_seconds(one: JobProfile) -> float | None:
    """That it held, used or not."""
    if not one.gpu_count or one.duration_seconds is None:
        return None
    return one.gpu_count * one.duration_seconds


def _duration(one: JobProfile) -> float | None:
    return one.duration_seconds


def _ended(one: JobProfile) -> str | None:
    return None if one.ended is None else in_utc(one.ended).isoformat(timespec="seconds")[:19]


def _energy(one: JobProfile) -> float | None:
    return None if one.usage is None else one.usage.energy_joules


def _outcomes(profiles: Sequence[JobProfile]) -> Chart | None:
    """By name: how many of each ended how."""
    names = _foremost(Counter(one.series for one in profiles))
    counted: dict[Outcome, Counter[str]] = defaultdict(Counter)
    for one in profiles:
        counted[one.outcome][one.series if one.series in names else REST] += 1
    rows = names + ([REST] if any(REST in each for each in counted.values()) else [])
    traces = [
        _bars(str(outcome), rows, [counted[outcome][name] for name in rows], outcome)
        for outcome in OUTCOMES
        if counted[outcome]
    ]
    return _bar_chart("How they ended, by name", rows, traces, "jobs")


REST = "\N{HORIZONTAL ELLIPSIS} all others"


def _foremost(weights: Counter[str]) -> list[str]:
    return [name for name, _ in weights.most_common(MOST_NAMES)]


def _durations(profiles: Sequence[JobProfile]) -> Chart | None:
    """When each ended, and how long it took."""
    timed = [one for one in profiles if one.ended is not None and one.duration_seconds is not None]
    lengths = [one.duration_seconds or 0.0 for one in timed]
    if not timed:
        return None
    unit = Scale("s") if _is_wide(lengths) else Quantity.SECONDS.scale(most_of(lengths))
    return Chart(
        title="When they ended, and how long they took",
        words="times are UTC",
        traces=[
            _points(rows, outcome, unit, _ended, _duration) for outcome, rows in _by_outcome(timed)
        ],
        layout=layout(
            x={"type": "date"},
            y=_time_axis(lengths, unit),
            bottom_pixels=BELOW_PIXELS,
            hovermode="closest",
            showlegend=True,
        ),
        height_pixels=280,
    )


def _used(profiles: Sequence[JobProfile]) -> Chart | None:
    """What each used of the two things that every job uses."""
    known = [one for one in profiles if _cores(one) is not None and memory_bytes(one) is not None]
    if not known:
        return None
    cores, memory = (
        [_cores(one) or 0.0 for one in known],
        [memory_bytes(one) or 0.0 for one in known],
    )
    scale = Quantity.BYTES.scale(most_of(memory))
    return Chart(
        title="CPU and memory of each",
        traces=[
            _points(rows, outcome, scale, lambda one: number(_cores(one)), memory_bytes)
            for outcome, rows in _by_outcome(known)
        ],
        layout=layout(
            x=_amount_axis(cores, "cores, on average"),
            y=_amount_axis(memory, f"{scale.unit} of memory, at most"),
            bottom_pixels=BELOW_PIXELS,
            hovermode="closest",
            showlegend=True,
        ),
        height_pixels=320,
    )


def _cores(one: JobProfile) -> float | None:
    return None if one.usage is None or one.usage.cpu_cores is None else one.usage.cpu_cores.mean


def _totals(
    title: str, profiles: Sequence[JobProfile], figure: Callable[[JobProfile], float | None]
) -> Chart | None:
    """In all, by name: who takes the most."""
    totals: Counter[str] = Counter()
    for one in profiles:
        amount = figure(one)
        if amount:
            totals[one.series] += amount  # type: ignore[assignment] # counts of hours, not of jobs
    if not totals:
        return None
    rows = _foremost(totals)
    amounts = [float(totals[name]) for name in rows]
    rest = sum(float(amount) for name, amount in totals.items() if name not in rows)
    if rest:
        rows, amounts = [*rows, REST], [*amounts, rest]
    unit = Quantity.SECONDS.scale(most_of(amounts))
    lengths = [number(amount / unit.one) for amount in amounts]
    return _bar_chart(f"{title}, by name", rows, [_bars("", rows, lengths, None)], unit.unit)


def _held_back(profiles: Sequence[JobProfile]) -> Chart | None:
    kinds = Counter(one.held_back_by.kind for one in profiles if one.held_back_by is not None)
    if not kinds:
        return None
    rows = _foremost(kinds)
    traces = [_bars("", rows, [kinds[kind] for kind in rows], None)]
    return _bar_chart("What held them back", rows, traces, "jobs")


def _by_outcome(
    profiles: Sequence[JobProfile],
) -> Iterator[tuple[Outcome, list[JobProfile]]]:
    for outcome in OUTCOMES:
        rows = [one for one in profiles[:MOST_POINTS] if one.outcome is outcome]
        if rows:
            yield outcome, rows


def _points(
    rows: Sequence[JobProfile],
    outcome: Outcome,
    scale: Scale,
    x: Callable[[JobProfile], str | float | None],
    y: Callable[[JobProfile], float | None],
) -> Part:
    colour, symbol, _ = OUTCOMES[outcome]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": str(outcome),
        "x": [x(one) for one in rows],
        "y": [_scaled(y(one), scale) for one in rows],
        "marker": {"color": colour, "symbol": symbol, "size": 8, "opacity": 0.85},
        "customdata": [[label(one.job.name), label(one.job.uid[:8])] for one in rows],
        "hovertemplate": "<b>%{customdata[0]}</b> %{customdata[1]}<br>"
        f"%{{y:.4~g}} {scale.unit}<extra>{outcome}</extra>",
    }


def _scaled(amount: float | None, scale: Scale) -> float | None:
    return None if amount is None else number(amount / scale.one)


def _amount_axis(amounts: Sequence[float], title: str) -> Part:
    axis: Part = {"title": {"text": title}, "automargin": True}
    wide = _is_wide(amounts)
    return {**axis, "type": "log", "dtick": 1} if wide else {**axis, "rangemode": "tozero"}


def _time_axis(lengths: Sequence[float], unit: Scale) -> Part:
    axis = _amount_axis(lengths, f"took, {unit.unit}")
    if not _is_wide(lengths):
        return axis
    return {
        **axis,
        "title": {"text": "took"},
        "tickmode": "array",
        "tickvals": list(MOMENTS),
        "ticktext": [in_time(seconds) for seconds in MOMENTS],
    }


def _is_wide(amounts: Sequence[float]) -> bool:
    return bool(amounts) and 0 < WIDE * min(amounts) < max(amounts)


def _bars(
    name: str, rows: Sequence[str], lengths: Sequence[float | None], outcome: Outcome | None
) -> Part:
    colour, _, pattern = ("@1", "", "") if outcome is None else OUTCOMES[outcome]
    return {
        "type": "bar",
        "orientation": "h",
        "name": name,
        "y": list(range(len(rows))),
        "x": list(lengths),
        "marker": {
            "color": colour,
            "pattern": pattern_of(pattern),
        },
        "customdata": [label(row, 80) for row in rows],
        "hovertemplate": f"<b>%{{customdata}}</b><br>%{{x:.4~g}}<extra>{name}</extra>",
    }


def _bar_chart(title: str, rows: Sequence[str], traces: Sequence[Part], unit: str) -> Chart:
    return Chart(
        title=title,
        traces=traces,
        layout=layout(
            x={"title": {"text": unit}, "fixedrange": True, "rangemode": "tozero"},
            y={
                "tickmode": "array",
                "tickvals": list(range(len(rows))),
                "ticktext": [label(row, 18) for row in rows],
                "range": [len(rows) - 0.4, -0.6],
                "automargin": True,
                "fixedrange": True,
                "showgrid": False,
                "zeroline": False,
            },
            bottom_pixels=BELOW_PIXELS,
            barmode="stack",
            hovermode="closest",
            showlegend=len(traces) > 1,
        ),
        height_pixels=ROW_PIXELS * len(rows) + AROUND_PIXELS,
    )


def lead(profiles: Sequence[JobProfile]) -> str:
    """How they fared, in a sentence."""
    ended = Counter(one.outcome for one in profiles)
    parts = ", ".join(f"{count:,} {FARED[outcome]}" for outcome, count in ended.most_common())
    return f"{len(profiles):,} jobs: {parts}."


FARED = {
    Outcome.SUCCESS: "succeeded",
    Outcome.FAILED: "failed",
    Outcome.TIMEOUT: "ran out of time",
    Outcome.ERROR: "ended from outside",
    Outcome.RUNNING: "still run",
}
