"""The recommendation in words that people would use, with its figures and reasons. Pure."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from cepheid.placementtrial import Arrange, Foreseen, Goal, Optimise, Placement, State, Trial
from cepheid.units import in_time
from cepheid_operator.trials.answering.figures import SECONDS_PER_HOUR, Figure, ratio

MOST_CHARACTERS = 300
MOST_NOTES = 2
LIKELY = 0.9
MUCH = 100.0
"""From here on figures are whole numbers."""
_TIMES = ((1.0, "a second"), (60.0, "a minute"), (SECONDS_PER_HOUR, "an hour"), (86_400.0, "a day"))
_JOULES = ((1e6, "MJ"), (1e3, "kJ"), (1.0, "J"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """All that the sentence is about."""

    optimise: Optimise
    names: Mapping[str, str]
    """Of the types, as people call them."""
    chosen: Figure
    foreseen: Foreseen | None
    """Where the chosen one was not tried."""
    measured: Sequence[Figure]
    """Best first."""
    present: Figure | None
    """As the job asks for now, if that was measured."""
    more: Foreseen | None
    """With more GPUs of the same type, the fastest."""
    trials: Sequence[Trial]
    confidence: float
    """0 to 1."""
    notes: Sequence[str] = ()
    """What else must be said."""
    model: str | None = None
    """What a step consists of, in words."""

    def short(self, placement: Placement) -> str:
        return short(placement, self.names)


def short(placement: Placement, names: Mapping[str, str]) -> str:
    """`4xA100-80`; `4x2xA100-80` are 4 workers with 2 each."""
    each = f"{placement.gpus_per_worker}x" if placement.gpus_per_worker > 1 else ""
    how = f" {placement.arrange}" if placement.arrange is not None else ""
    name = names.get(placement.gpu_type, placement.gpu_type)
    return f"{placement.workers}x{each}{name}{how}"


def sentence(case: Case) -> str:
    """The first part always, and as many of the others as there is room for."""
    first, *rest = (part for part in _parts(case) if part)
    text = first[:MOST_CHARACTERS]
    for part in rest:
        if len(text) + 1 + len(part) <= MOST_CHARACTERS:
            text = f"{text} {part}"
    return text


def _parts(case: Case) -> Iterator[str | None]:
    if case.optimise.goal is Goal.DEADLINE:
        yield _in_time(case)
    elif case.foreseen is not None:
        yield _untried(case, case.foreseen)
    elif len(case.measured) > 1:
        yield _better_than(case)
    else:
        yield _only_one(case)
    yield from case.notes
    yield _present(case)
    yield _more(case)
    yield _fastest(case)
    yield from _lost(case)
    yield _step(case)


def _ask(case: Case) -> str:
    placement = case.chosen.placement
    name = case.names.get(placement.gpu_type, placement.gpu_type)
    workers = "1 worker" if placement.workers == 1 else f"{placement.workers} workers"
    each = "" if placement.workers == 1 else " each"
    how = {Arrange.PACKED: ", packed", Arrange.SPREAD: ", spread", None: ""}[placement.arrange]
    return f"Ask for {workers} with {placement.gpus_per_worker} {name}{each}{how}"


def _better_than(case: Case) -> str:
    """Than the worst; one that is chosen for its fewer GPUs may itself be that."""
    worst = case.measured[-1]
    if worst.placement != case.chosen.placement:
        return f"{_ask(case)}: {_compared(case, worst)}."
    first = case.measured[0]
    a, b, per = _rates(case.chosen, first, lambda one: one.per_second)
    error = _percent(max(case.chosen.error_percent, first.error_percent))
    name = case.short(first.placement)
    return f"{_ask(case)}: no worse than {name} within the error ({a} and {b} {per}, +-{error})."


def _compared(case: Case, other: Figure) -> str:
    chosen, goal, name = case.chosen, case.optimise.goal, case.short(other.placement)
    times = ratio(chosen, other, goal)
    often = "" if times is None else f"{number(times)} times"
    error = _percent(max(chosen.error_percent, other.error_percent))
    match goal:
        case Goal.COST:
            scale, a, b = _costs(chosen.cost_per_unit, other.cost_per_unit)
            cost = f"{_one(chosen.unit)} costs" if scale == 1 else f"{scale:g} {chosen.unit} cost"
            return f"{cost} {a}, on {name} {b}, {often} as much (+-{error})"
        case Goal.ENERGY:
            a, b = _energies(chosen.joules_per_unit, other.joules_per_unit)
            return f"{_one(chosen.unit)} takes {a}, on {name} {b}, {often} as much (+-{error})"
        case Goal.THROUGHPUT_PER_GPU:
            a, b, per = _rates(chosen, other, lambda one: one.per_second / one.placement.gpus)
            figures = f"{a} against {b} {per} and GPU, +-{error}"
            return f"{often} the throughput per GPU of {name} ({figures})"
        case _:
            a, b, per = _rates(chosen, other, lambda one: one.per_second)
            return f"{often} the throughput of {name} ({a} against {b} {per}, +-{error})"


def _untried(case: Case, foreseen: Foreseen) -> str:
    low, high, per = _rates(
        _at(case.chosen, foreseen.low), _at(case.chosen, foreseen.high), lambda one: one.per_second
    )
    against = _against(case, case.measured[0])
    than = "" if against is None else f", {against}"
    return f"{_ask(case)}. It was not tried: {low} to {high} {per} are foreseen{than}."


def _against(case: Case, other: Figure) -> str | None:
    """How the chosen one compares, in the fewest words."""
    times = ratio(case.chosen, other, case.optimise.goal)
    if times is None:
        return None
    how = {Goal.THROUGHPUT: "as fast as", Goal.COST: "cheaper than"}
    words = how.get(case.optimise.goal, "better than")
    return f"{number(times)} times {words} {case.short(other.placement)}"


def _only_one(case: Case) -> str:
    rate = _rate(case.chosen)
    if any(trial.placement != case.chosen.placement for trial in case.trials):
        rest = "nothing else could be measured, so nothing is known to be worse"
    elif case.confidence >= LIKELY:
        margin = _percent(case.optimise.margin_percent)
        rest = f"no other was tried, since none is likely to be better by {margin}"
    else:
        rest = "no other was tried yet"
    return f"{_ask(case)} ({rate}): {rest}."


def _in_time(case: Case) -> str:
    work, limit = case.optimise.work, case.optimise.deadline_seconds
    if work is None or limit is None:
        return f"{_ask(case)} ({_rate(case.chosen)})."
    took = in_time(work / case.chosen.per_second)
    if case.chosen.per_second * limit < work:
        return (
            f"No placement that was tried is done within {in_time(limit)}."
            f" {_ask(case)}: it comes nearest, with {took}."
        )
    foreseen = " (foreseen, not tried)" if case.foreseen is not None else ""
    priced = case.chosen.cost_per_unit is not None
    cost = (
        f"for {number(work * (case.chosen.cost_per_unit or 0.0))}, the cheapest"
        if priced
        else ("with the fewest GPUs")
    )
    return (
        f"{_ask(case)}: done in {took}, within {in_time(limit)}, {cost} of those in time{foreseen}."
    )


def _present(case: Case) -> str | None:
    present = case.present
    if present is None:
        return None
    if present.placement == case.chosen.placement:
        return "That is what the job asks for now."
    if (
        case.measured
        and present.placement == case.measured[-1].placement
        and len(case.measured) > 1
    ):
        return f"{case.short(present.placement)} is what the job asks for now."
    work = case.optimise.work
    if case.optimise.goal is Goal.DEADLINE and work is not None:
        took = in_time(work / present.per_second)
        return f"{case.short(present.placement)}, which it has now, takes {took}."
    against = _against(case, present)
    return None if against is None else f"That is {against}, which it has now."


def _more(case: Case) -> str | None:
    """Why not more of them, where that would be the way to more throughput."""
    if case.optimise.goal is not Goal.THROUGHPUT or case.more is None:
        return None
    added = 100 * (case.more.per_second / case.chosen.per_second - 1)
    name = case.short(case.more.placement)
    if case.more.tried:
        gave = _rate(_at(case.chosen, case.more.per_second))
        return f"More did not help: {name} gave {gave}."
    if added <= 0:
        return f"More GPUs would add nothing: {name} would be {_percent(-added)} slower."
    if added <= case.optimise.margin_percent:
        return f"More GPUs would hardly help: {name} would add {_percent(added)}."
    return f"{name} was not tried: it might add {_percent(added)}."


def _fastest(case: Case) -> str | None:
    """What another goal would have chosen."""
    if case.optimise.goal is Goal.THROUGHPUT or len(case.measured) <= 1:
        return None
    fastest = max(case.measured, key=lambda one: one.per_second)
    times = fastest.per_second / case.chosen.per_second
    if fastest.placement == case.chosen.placement or times < 1.05:  # noqa: PLR2004
        return None
    return f"{case.short(fastest.placement)} is the fastest, {number(times)} times as fast."


def _step(case: Case) -> str | None:
    """What it consists of: the first half of what the model says."""
    if case.model is None:
        return None
    words = case.model.partition(";")[0]
    for gpu_type, name in case.names.items():
        words = words.replace(gpu_type, name)
    return f"{words[:1].upper()}{words[1:]}."


def _lost(case: Case) -> Iterator[str]:
    said = {
        State.UNAVAILABLE: "did not get its GPUs in time",
        State.OUT_OF_MEMORY: "ran out of memory",
        State.FAILED: "failed",
        State.UNMEASURED: "could not be measured",
    }
    for state, words in said.items():
        names = [case.short(trial.placement) for trial in case.trials if trial.state is state]
        names = list(dict.fromkeys(names))
        if names:
            more = "" if len(names) <= MOST_NOTES else f" and {len(names) - MOST_NOTES} more"
            yield f"{', '.join(names[:MOST_NOTES])}{more} {words}."


def number(amount: float) -> str:
    """Two or three digits: no measurement here has more."""
    if amount >= MUCH:
        return f"{amount:.0f}"
    return f"{amount:.3g}" if amount >= 10 else f"{amount:.2g}"  # noqa: PLR2004


def _percent(amount: float) -> str:
    return f"{amount:.0f} %" if amount >= 1 else f"{amount:.1f} %"


def _at(figure: Figure, per_second: float) -> Figure:
    return Figure(
        placement=figure.placement,
        per_second=per_second,
        error_percent=figure.error_percent,
        unit=figure.unit,
    )


def _rate(figure: Figure) -> str:
    amount, _, per = _rates(figure, figure, lambda one: one.per_second)
    return f"{amount} {per}"


def _rates(one: Figure, other: Figure, of: Callable[[Figure], float]) -> tuple[str, str, str]:
    """Both in the unit of time in which the smaller is a figure that people say."""
    a, b = of(one), of(other)
    if one.unit == "teraflops":
        return number(a), number(b), one.unit
    scale, per = next((each for each in _TIMES if min(a, b) * each[0] >= 1), _TIMES[-1])
    return number(a * scale), number(b * scale), f"{one.unit} {per}"


def _costs(one: float | None, other: float | None) -> tuple[float, str, str]:
    """Of so many units that neither of them is a fraction."""
    a, b = one or 0.0, other or 0.0
    least = min(a, b) or 1.0
    scale = 1.0 if least >= 1 else 10.0 ** math.ceil(-math.log10(least))
    return scale, number(a * scale), number(b * scale)


def _energies(one: float | None, other: float | None) -> tuple[str, str]:
    a, b = one or 0.0, other or 0.0
    scale, unit = next((each for each in _JOULES if min(a, b) >= each[0]), _JOULES[-1])
    return f"{number(a / scale)} {unit}", f"{number(b / scale)} {unit}"


def _one(unit: str) -> str:
    """`iterations of a GPU` in the singular, as far as that can be told."""
    word, space, rest = unit.partition(" ")
    single = word.removesuffix("s")
    return f"{'an' if single[:1] in 'aeiou' else 'a'} {single}{space}{rest}"
