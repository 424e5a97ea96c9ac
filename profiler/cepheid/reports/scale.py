"""Would more GPUs help a job, how much, how sure is that, and what was not seen?"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from cepheid.jobprofile import JobProfile
from cepheid.jobs.scaling import (
    CurvePoint,
    Helps,
    ScalingVerdict,
    scaling_curve,
    scaling_verdict,
)
from cepheid.reports import words

BAR = 24
"""Characters of the picture."""
SURELY, MAYBE, MEASURED = "█", "▒", "●"
MOST_TIMES = 1e6
"""No number of GPUs does so much more than another: what says so is a broken figure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleRow:
    """One number of GPUs; what the job does, in times what it does on those that it has now."""

    gpus: int
    speedup: float | None
    low: float | None
    high: float | None
    """Between these with 90 %."""
    efficiency_percent: float | None
    """What a GPU would do of what it does now."""
    runs: int
    measured: float | None
    is_now: bool


@dataclass(frozen=True, slots=True)
class Scale:
    name: str
    verdict: ScalingVerdict
    rows: tuple[ScaleRow, ...]

    @property
    def headline(self) -> str:
        return f"{_ANSWERS[self.verdict.helps].format(name=self.name)} {self.reason}"

    @property
    def reason(self) -> str:
        return words.sentence(self.verdict.reason)

    @property
    def not_seen(self) -> str | None:
        """Also of the curve: where it is not measured it is foretold."""
        never = [str(row.gpus) for row in self.rows if not row.runs and row.speedup is not None]
        if not never:
            return self.verdict.not_seen
        return f"it was never run on {words.listed(never, most=6)} GPUs: that is foretold"


_ANSWERS = {
    Helps.YES: "Yes, twice the GPUs would help {name}.",
    Helps.LITTLE: "Hardly: twice the GPUs would help {name} little.",
    Helps.NO: "No, twice the GPUs would not help {name}.",
    Helps.NOT_KNOWN: "It is not known whether more GPUs would help {name}.",
}


def scale(profile: JobProfile, earlier: Sequence[JobProfile]) -> Scale:
    """Of a run and those of the same job before it."""
    runs = [*earlier, profile]
    verdict = scaling_verdict(runs)
    curve = scaling_curve(runs)
    rows = (
        tuple(_fitted(point, verdict) for point in curve if _is_sane(point))
        if curve
        else tuple(_bounds(verdict, sum(run.gpu_count == verdict.gpus for run in runs)))
    )
    return Scale(profile.series, verdict, rows)


def bar(row: ScaleRow, top: float) -> str:
    """`████▒▒●▒`: that far surely, so far perhaps, and what was measured."""
    low = row.low if row.low is not None else row.speedup
    high = row.high if row.high is not None else row.speedup
    if high is None or top <= 0:
        return ""
    sure, most = _cells(low or 0.0, top), _cells(high, top)
    cells = [SURELY] * sure + [MAYBE] * (most - sure)
    if row.measured is not None:
        at = max(0, _cells(row.measured, top) - 1)
        cells += [" "] * (at + 1 - len(cells))
        cells[at] = MEASURED
    return "".join(cells)


def top_of(rows: Sequence[ScaleRow]) -> float:
    """What the longest bar stands for."""
    return max((figure for row in rows for figure in (row.high, row.measured) if figure), default=0)


def _fitted(point: CurvePoint, verdict: ScalingVerdict) -> ScaleRow:
    now = verdict.gpus or point.gpus
    return ScaleRow(
        gpus=point.gpus,
        speedup=point.speedup,
        low=point.low,
        high=point.high,
        efficiency_percent=100 * point.speedup * now / point.gpus,
        runs=point.runs,
        measured=point.measured,
        is_now=point.gpus == verdict.gpus,
    )


def _bounds(verdict: ScalingVerdict, runs: int) -> list[ScaleRow]:
    """Without a curve: what it has, and what holds it back says of twice as much."""
    if verdict.gpus is None:
        return []
    now = ScaleRow(
        gpus=verdict.gpus,
        speedup=1.0,
        low=1.0,
        high=1.0,
        efficiency_percent=100.0,
        runs=runs,
        measured=1.0,
        is_now=True,
    )
    twice = ScaleRow(
        gpus=2 * verdict.gpus,
        speedup=None,
        low=verdict.low,
        high=verdict.high,
        efficiency_percent=None,
        runs=0,
        measured=None,
        is_now=False,
    )
    return [now, twice]


def _is_sane(point: CurvePoint) -> bool:
    figures = (point.speedup, point.low, point.high, point.measured or 0.0)
    return all(math.isfinite(figure) and figure <= MOST_TIMES for figure in figures)


def _cells(value: float, top: float) -> int:
    return min(BAR, max(0, round(BAR * value / top)))
