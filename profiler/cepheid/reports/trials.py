"""What did the trials of a placement find, and what is new since the last look?

A placement that was tried has what was measured of it, with its standard error; one that was not
has what the fitted model foretells, between which bounds with 90 %.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from cepheid.jobs.gpu_names import told_apart
from cepheid.placementtrial import (
    Foreseen,
    Phase,
    Placement,
    State,
    Trial,
    TrialSpec,
    TrialStatus,
)
from cepheid.reports.words import counted, figure

FORESEEN = "foreseen"
NOT_SEEN = "no operator has looked at it yet"
SECONDS_PER_HOUR = 3600.0
_DIGITS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialRow:
    """One PlacementTrial."""

    namespace: str
    name: str
    job: str
    phase: str | None
    """None where the operator has not seen it yet."""
    trials: str | None
    best: str | None
    gain: float | None
    """How many times better than the worst that was measured."""
    confidence_percent: float | None
    spent_gpu_hours: float
    budget_gpu_hours: float
    created: datetime | None
    message: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementRow:
    """One placement of it: the trial's last attempt, or what is foretold."""

    placement: str
    gpu_type: str
    gpus: int
    state: str
    per_second: float | None
    error_percent: float | None
    """Standard error of what was measured."""
    unit: str | None
    measured_by: str | None
    low_per_second: float | None
    high_per_second: float | None
    """The 90 % band of the fitted model."""
    cost_per_unit: float | None
    joules_per_unit: float | None
    gpu_seconds: float | None
    is_best: bool
    best_possible: bool
    """No other is both faster and cheaper."""
    message: str | None


def trial_row(
    namespace: str, name: str, created: datetime | None, spec: TrialSpec, status: TrialStatus
) -> TrialRow:
    best, summary = status.best, status.summary
    return TrialRow(
        namespace=namespace,
        name=name,
        job=f"{spec.job.kind}/{spec.job.name}" if spec.job.name else f"{spec.job.kind} (template)",
        phase=None if status.phase is None else status.phase.value,
        trials=None if summary is None else summary.trials,
        best=None if best is None else short(best.placement, names_of(status)),
        gain=None if best is None else best.gain,
        confidence_percent=None if best is None else best.confidence_percent,
        spent_gpu_hours=status.spent_gpu_seconds / SECONDS_PER_HOUR,
        budget_gpu_hours=spec.limits.gpu_hours,
        created=created,
        message=NOT_SEEN if status.phase is None else status.message,
    )


def placement_rows(status: TrialStatus) -> list[PlacementRow]:
    """By type, then GPUs."""
    names = names_of(status)
    foreseen = {one.placement: one for one in status.curve}
    tried = {trial.placement: trial for trial in status.trials}
    best = None if status.best is None else status.best.placement
    placements = dict.fromkeys((*tried, *foreseen, *(() if best is None else (best,))))
    return [
        _placement_row(place, tried.get(place), foreseen.get(place), names, is_best=place == best)
        for place in sorted(placements, key=_order)
    ]


def headline(name: str, status: TrialStatus) -> str:
    """The answer, or where it stands."""
    phase = status.phase
    if status.best is not None and phase is not None and phase.is_over:
        return status.best.sentence
    if phase is None:
        return f"{name}: {NOT_SEEN}."
    best = status.best
    so_far = "" if best is None else f" So far: {best.sentence}"
    why = f" ({status.message})" if status.message else ""
    return f"{name} {_STANDS[phase]}{why}.{so_far}"


def facts(spec: TrialSpec, status: TrialStatus) -> Iterator[tuple[str, str]]:
    """What stands below the figures, by label."""
    over = sum(trial.state.is_over for trial in status.trials)
    if status.candidates:  # else nobody has looked which there are
        yield "tried", f"{over} of {counted(status.candidates, 'placement')}"
    spent = figure(status.spent_gpu_seconds / SECONDS_PER_HOUR)
    yield "spent", f"{spent} of {figure(spec.limits.gpu_hours)} GPU hours"
    yield "goal", spec.optimise.goal.value
    if status.best is not None and status.best.confidence_percent is not None:
        sure = f"{status.best.confidence_percent:.0f} %"
        yield "sure", f"{sure} that nothing else is better by {spec.optimise.margin_percent:g} %"
    if status.model:
        yield "why", status.model
    if status.message:
        yield (
            "ended" if status.phase is not None and status.phase.is_over else "now",
            status.message,
        )


def changes(before: TrialStatus | None, after: TrialStatus) -> list[str]:
    """In words, in the order in which they matter to who waits."""
    names = names_of(after)
    old = {} if before is None else {(one.job, one.attempt): one for one in before.trials}
    said = [
        f"{short(trial.placement, names)}: {_fate(trial)}"
        for trial in after.trials
        if (was := old.get((trial.job, trial.attempt))) is None
        or (was.state, was.throughput) != (trial.state, trial.throughput)
    ]
    best = None if after.best is None else after.best.placement
    was_best = None if before is None or before.best is None else before.best.placement
    if best is not None and best != was_best:
        said.append(f"best so far: {short(best, names)}")
    if after.phase is not None and (before is None or before.phase is not after.phase):
        said.append(f"it {_STANDS[after.phase]}{f': {after.message}' if after.message else ''}")
    return said


def names_of(status: TrialStatus) -> Mapping[str, str]:
    """Of the types of GPUs, as people call them."""
    placements = [one.placement for one in status.trials]
    placements += [one.placement for one in status.curve]
    if status.best is not None:
        placements.append(status.best.placement)
    return told_apart(dict.fromkeys(one.gpu_type for one in placements))


def short(placement: Placement, names: Mapping[str, str]) -> str:
    """`4xA100-80`; `4x2xA100-80` are 4 workers with 2 each."""
    each = f"{placement.gpus_per_worker}x" if placement.gpus_per_worker > 1 else ""
    how = f" {placement.arrange}" if placement.arrange is not None else ""
    return f"{placement.workers}x{each}{names.get(placement.gpu_type, placement.gpu_type)}{how}"


def rate(per_second: float | None) -> str:
    """Throughputs differ in the third digit."""
    return "" if per_second is None else f"{per_second:.{_DIGITS}g}"


def cost_scale(rows: Sequence[PlacementRow]) -> int:
    """So many units of work cost at least one of the currency: 100 iterations, not one."""
    costs = [row.cost_per_unit for row in rows if row.cost_per_unit]
    least = min(costs, default=1.0)
    return 10 ** min(12, max(0, math.ceil(-math.log10(least)))) if least < 1 else 1


def unit_of(rows: Sequence[PlacementRow]) -> str:
    return next((row.unit for row in rows if row.unit is not None), "iterations")


def _placement_row(
    placement: Placement,
    trial: Trial | None,
    foreseen: Foreseen | None,
    names: Mapping[str, str],
    *,
    is_best: bool,
) -> PlacementRow:
    measured = None if trial is None else trial.throughput
    rate = foreseen.per_second if measured is None and foreseen is not None else None
    return PlacementRow(
        placement=short(placement, names),
        gpu_type=placement.gpu_type,
        gpus=placement.gpus,
        state=FORESEEN if trial is None else trial.state.value,
        per_second=rate if measured is None else measured.per_second,
        error_percent=None if measured is None else measured.error_percent,
        unit=None if measured is None else measured.unit,
        measured_by=None if measured is None else measured.by.value,
        low_per_second=None if foreseen is None else foreseen.low,
        high_per_second=None if foreseen is None else foreseen.high,
        cost_per_unit=None if trial is None else trial.cost_per_unit,
        joules_per_unit=None if trial is None else trial.joules_per_unit,
        gpu_seconds=None if trial is None else trial.gpu_seconds,
        is_best=is_best,
        best_possible=trial is not None and trial.best_possible,
        message=None if trial is None else trial.message,
    )


def _fate(trial: Trial) -> str:
    found = trial.throughput
    if trial.state is State.MEASURED and found is not None:
        error = f"±{found.error_percent:.2g} %"
        return f"measured, {rate(found.per_second)} {found.unit} a second {error}, by {found.by}"
    return f"{trial.state}{f', {trial.message}' if trial.message else ''}"


def _order(placement: Placement) -> tuple[str, int, int, str]:
    return (placement.gpu_type, placement.gpus, placement.workers, str(placement.arrange or ""))


_STANDS = {
    Phase.WAITING: "is waiting",
    Phase.RUNNING: "is running",
    Phase.SUSPENDED: "is suspended",
    Phase.DONE: "is done",
    Phase.ABORTED: "was aborted",
    Phase.FAILED: "failed",
}
