"""What should be asked for, and how does everything else compare? Pure."""

from collections.abc import Collection, Mapping, Sequence

import msgspec

from cepheid.analysis.scaling import Scaling
from cepheid.jobs.fields import one_line
from cepheid.jobs.gpu_names import told_apart
from cepheid.placementtrial import (
    MOST_CANDIDATES,
    Answer,
    Foreseen,
    Optimise,
    Placement,
    State,
    TrialSpec,
    TrialStatus,
    TrialSummary,
)
from cepheid_operator.trials.answering.choice import Choice, choose
from cepheid_operator.trials.answering.figures import SECONDS_PER_HOUR, Figure, figure_of, ratio
from cepheid_operator.trials.answering.patch import patch
from cepheid_operator.trials.answering.sentence import Case, number, sentence, short
from cepheid_operator.trials.copying.template import Template
from cepheid_operator.trials.searching import search
from cepheid_operator.trials.searching.search import Problem, Tried

MOST_SURE_PERCENT = 99.0
FEW_HOURS = 10.0
IMMUTABLE = "A Job that began keeps its pods as they are: the patch is for its manifest."


def with_answer(
    spec: TrialSpec,
    status: TrialStatus,
    problem: Problem,
    tried: Sequence[Tried],
    template: Template | None,
) -> TrialStatus:
    """The status, with what follows from its trials."""
    figures = {
        trial.placement: figure_of(trial)
        for trial in status.trials
        if trial.state is State.MEASURED and trial.throughput is not None
    }
    front = _front(figures.values())
    trials = tuple(
        msgspec.structs.replace(
            trial, best_possible=trial.state is State.MEASURED and trial.placement in front
        )
        for trial in status.trials
    )
    curve: tuple[Foreseen, ...] = ()
    best, model = None, None
    if figures:
        scaling = search.scaling_of(problem, tried)
        curve = _curve(scaling, problem, figures)
        model = one_line(scaling.words())
        is_over = status.phase is not None and status.phase.is_over
        choice = choose(problem, tried, scaling, figures, is_over=is_over)
        if choice is not None:
            known = msgspec.structs.replace(status, curve=curve, model=model)
            best = _answer(spec, known, choice, figures, template)
    return msgspec.structs.replace(
        status,
        trials=trials,
        curve=curve,
        model=model,
        best=best,
        summary=_summary(spec, status, best, _names(status, curve)),
    )


def _front(figures: Collection[Figure]) -> set[Placement]:
    """Those that no other beats both in throughput and in cost, or without prices in GPUs."""
    priced = all(one.cost_per_unit is not None for one in figures)

    def cost(one: Figure) -> float:
        return (one.cost_per_unit or 0.0) if priced else float(one.placement.gpus)

    points = {one.placement: (one.per_second, -cost(one)) for one in figures}
    return {
        placement
        for placement, point in points.items()
        if not any(
            other != point
            and all(theirs >= mine for theirs, mine in zip(other, point, strict=True))
            for other in points.values()
        )
    }


def _curve(
    scaling: Scaling, problem: Problem, measured: Collection[Placement]
) -> tuple[Foreseen, ...]:
    """By type, then GPUs; of too many the measured ones are kept."""
    placements = list(dict.fromkeys([*measured, *(one.placement for one in problem.candidates)]))
    placements = sorted(placements[:MOST_CANDIDATES], key=_order)
    return tuple(
        Foreseen(
            placement=placement,
            per_second=_neat(band.per_second),
            low=_neat(band.low),
            high=_neat(band.high),
            tried=placement in measured,
        )
        for placement, band in zip(placements, scaling.band(placements), strict=True)
    )


def _order(placement: Placement) -> tuple[str, int, int, str]:
    arrange = placement.arrange or ""
    return placement.gpu_type, placement.gpus, placement.workers, str(arrange)


def _answer(
    spec: TrialSpec,
    status: TrialStatus,
    choice: Choice,
    figures: Mapping[Placement, Figure],
    template: Template | None,
) -> Answer:
    goal, placement, curve = spec.optimise.goal, choice.placement, status.curve
    ranked = sorted(figures.values(), key=lambda one: -(one.merit(goal) or 0.0))
    foreseen = None
    if placement not in figures:
        foreseen = next(one for one in curve if one.placement == placement)
    chosen = (
        figures[placement] if foreseen is None else _foretold(foreseen, ranked[0], spec.optimise)
    )
    gain = ratio(chosen, ranked[-1], goal) if len(ranked) > 1 else None
    change = None if template is None else patch(template, placement, spec.try_on.type_label)
    case = Case(
        optimise=spec.optimise,
        names=_names(status, curve),
        chosen=chosen,
        foreseen=foreseen,
        measured=ranked,
        present=_present(ranked, template),
        more=_more(curve, placement),
        trials=status.trials,
        confidence=choice.confidence,
        notes=[IMMUTABLE] if template and _is_immutable(template, change) else [],
        model=status.model,
    )
    return Answer(
        placement=placement,
        gain=None if gain is None else float(f"{gain:.3g}"),
        confidence_percent=min(MOST_SURE_PERCENT, round(100 * choice.confidence, 1)),
        sentence=sentence(case),
        patch=change,
    )


def _foretold(foreseen: Foreseen, like: Figure, optimise: Optimise) -> Figure:
    price = optimise.prices.get(foreseen.placement.gpu_type)
    hourly = None if price is None else price * foreseen.placement.gpus
    return Figure(
        placement=foreseen.placement,
        per_second=foreseen.per_second,
        error_percent=100 * (foreseen.high - foreseen.low) / 2 / foreseen.per_second,
        unit=like.unit,
        cost_per_unit=hourly and hourly / SECONDS_PER_HOUR / foreseen.per_second,
    )


def _names(status: TrialStatus, curve: Sequence[Foreseen]) -> dict[str, str]:
    placements = [one.placement for one in curve] + [one.placement for one in status.trials]
    return told_apart(placement.gpu_type for placement in placements)


def _is_immutable(template: Template, change: str | None) -> bool:
    """Of a Job that began the API server takes another number of pods, but no other pods."""
    return template.kind == "Job" and change is not None and '"template"' in change


def _present(figures: Sequence[Figure], template: Template | None) -> Figure | None:
    """As the job stands now; None where its type is not known, or that was not measured."""
    if template is None:
        return None
    found = [
        one
        for one in figures
        if (one.placement.workers, one.placement.gpus_per_worker)
        == (template.workers, template.gpus_per_worker)
        and template.gpu_type in (None, one.placement.gpu_type)
    ]
    free = [one for one in found if one.placement.arrange is None]
    only = free or found
    return only[0] if len(only) == 1 else None


def _more(curve: Sequence[Foreseen], chosen: Placement) -> Foreseen | None:
    larger = [
        one
        for one in curve
        if one.placement.gpu_type == chosen.gpu_type and one.placement.gpus > chosen.gpus
    ]
    return max(larger, key=lambda one: one.per_second, default=None)


def _summary(
    spec: TrialSpec, status: TrialStatus, best: Answer | None, names: Mapping[str, str]
) -> TrialSummary:
    over = {trial.placement for trial in status.trials if trial.state.is_over}
    return TrialSummary(
        trials=f"{len(over)}/{max(status.candidates, len(over))}",
        best=None if best is None else short(best.placement, names),
        gain=None if best is None or best.gain is None else f"{number(best.gain)}x",
        spent=_hours(status.spent_gpu_seconds / SECONDS_PER_HOUR),
        budget=f"{spec.limits.gpu_hours:g} GPUh",
    )


def _hours(hours: float) -> str:
    return f"{hours:.2f} GPUh" if hours < FEW_HOURS else f"{hours:.0f} GPUh"


def _neat(figure: float) -> float:
    return float(f"{figure:.4g}")
