"""What is to be done for a PlacementTrial now? Pure: spec, status and what is observed in; the next
status and the actions out. `decide` is the map of it.

Who carries it out writes the status first, then acts. Whatever of the actions is lost is decided
again, since it rests on what is there: a trial that is `starting` has no job yet, a job whose trial
is over is still to be deleted. Names of trial jobs follow from their placement, so that nothing is
made twice; and a measurement stands in the status before its job is deleted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeAlias

import msgspec

from cepheid.analysis.scaling import GpuType, Seen
from cepheid.jobs.fields import one_line
from cepheid.placementtrial import (
    MOST_TRIALS,
    Phase,
    Placement,
    State,
    Trial,
    TrialSpec,
    TrialStatus,
)
from cepheid_operator.trials.answering import answer
from cepheid_operator.trials.copying.builders import GRACE_SECONDS, trial_name
from cepheid_operator.trials.copying.candidates import Candidates, Quota
from cepheid_operator.trials.copying.template import Template
from cepheid_operator.trials.fates import Sight, followed, is_due, is_usable, over, settled
from cepheid_operator.trials.following import Course
from cepheid_operator.trials.measuring.comparing import compare
from cepheid_operator.trials.searching import search

MOST_ATTEMPTS: Mapping[State, int] = {State.LOST: 2, State.CUT: 3}
"""Of a placement whose trial ended in a way that says nothing of it."""
_NOTHING = Sight()


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why the job cannot be tried, for good."""

    reason: str
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    now: datetime
    name: str
    """Of the PlacementTrial."""
    template: Template | None = None
    """None where there is trouble with it, or where it is of no use any more."""
    trouble: Trouble | None = None
    candidates: Candidates | None = None
    types: tuple[GpuType, ...] = ()
    quota: Quota = field(default_factory=Quota)
    known: tuple[Seen, ...] = ()
    """From earlier runs."""
    sights: Mapping[str, Sight] = field(default_factory=dict)
    """By the name of the trial's job; those of jobs that no trial knows among them."""
    waits: str | None = None
    """Why nothing may begin yet, in words: another PlacementTrial of the same job was first."""


@dataclass(frozen=True, slots=True)
class Start:
    """Its job is to be made."""

    trial: Trial


@dataclass(frozen=True, slots=True)
class Remove:
    """The job of a trial that is over."""

    job: str
    uid: str


Action: TypeAlias = Start | Remove


@dataclass(frozen=True, slots=True)
class Decision:
    status: TrialStatus
    actions: tuple[Action, ...] = ()


@dataclass(frozen=True, slots=True)
class _Halt:
    phase: Phase
    reason: str
    words: str


def decide(spec: TrialSpec, status: TrialStatus, observed: Observed) -> Decision:
    if status.phase is not None and status.phase.is_over:
        return _afterwards(status, observed)
    trials = [_now(trial, spec, observed) for trial in status.trials]
    trials = list(compare(trials, spec.measure, spec.optimise))
    halt = _halt(spec, status, observed)
    if halt is not None:
        trials = [_cut(trial, halt, observed) for trial in trials]
        stop = None
    else:
        trials = _ended_early(trials, spec, observed)
        trials, stop = _begun(trials, spec, observed)
    after = _concluded(spec, status, observed, trials, halt, stop)
    starts = [] if halt is not None else _starts(after.trials, observed)
    return Decision(after, (*starts, *_removals(after.trials, observed)))


def _afterwards(status: TrialStatus, observed: Observed) -> Decision:
    """All that is left to do is to delete, and to count what it cost."""
    trials = tuple(settled(one, _course(one, observed), observed.now) for one in status.trials)
    spent = sum(trial.gpu_seconds for trial in trials)
    after = msgspec.structs.replace(status, trials=trials, spent_gpu_seconds=spent)
    return Decision(after, tuple(_removals(trials, observed)))


def reserved_seconds(spec: TrialSpec, planned_seconds: float) -> float:
    """So long a pod of a trial may run: then the kubelet ends it, whoever else is there."""
    limits = spec.limits
    return limits.start_seconds + limits.warmup_seconds + planned_seconds


def problem_of(spec: TrialSpec, trials: Sequence[Trial], observed: Observed) -> search.Problem:
    placements = () if observed.candidates is None else observed.candidates.placements
    prices = spec.optimise.prices
    spent = sum(trial.gpu_seconds + trial.reserved_gpu_seconds for trial in trials)
    return search.Problem(
        candidates=tuple(search.Candidate(one, prices.get(one.gpu_type)) for one in placements),
        types=observed.types,
        optimise=spec.optimise,
        limits=spec.limits,
        known=observed.known if _in_iterations(trials) else (),
        left_gpu_seconds=3600 * spec.limits.gpu_hours - spent,
        overhead_seconds=spec.limits.start_seconds + GRACE_SECONDS,
    )


def _in_iterations(trials: Sequence[Trial]) -> bool:
    """As earlier runs are: only then they can be compared."""
    return all(one.throughput is None or one.throughput.unit == "iterations" for one in trials)


def tried(trials: Sequence[Trial]) -> list[search.Tried]:
    """Those that are over and say something, or may not be repeated."""
    return [_tried(trial) for trial in trials if trial.state.is_over and _counts(trial)]


def _tried(trial: Trial) -> search.Tried:
    throughput, reading = trial.throughput, trial.reading
    return search.Tried(
        placement=trial.placement,
        state=trial.state,
        seen=None
        if throughput is None
        else Seen(trial.placement, throughput.per_second, throughput.error_percent / 100),
        watts=None if reading is None else reading.watts,
        gpu_memory_mib=None if reading is None else reading.gpu_memory_mib,
    )


def _counts(trial: Trial) -> bool:
    most = MOST_ATTEMPTS.get(trial.state)
    return most is None or trial.attempt >= most


def _now(trial: Trial, spec: TrialSpec, observed: Observed) -> Trial:
    if trial.state.is_over:
        return settled(trial, _course(trial, observed), observed.now)
    sight = observed.sights.get(trial.job, _NOTHING)
    return followed(trial, sight, observed.now, spec.limits, spec.measure)


def _halt(spec: TrialSpec, status: TrialStatus, observed: Observed) -> _Halt | None:
    """Why nothing may run."""
    if spec.abort:
        return _Halt(Phase.ABORTED, "Aborted", "it was aborted")
    trouble = observed.trouble or _trouble(status, observed)
    if trouble is not None:
        return _Halt(Phase.FAILED, trouble.reason, trouble.words)
    if spec.suspend:
        return _Halt(Phase.SUSPENDED, "Suspended", "spec.suspend is true")
    if observed.waits is not None:
        return _Halt(Phase.WAITING, "Waits", observed.waits)
    return None


def _trouble(status: TrialStatus, observed: Observed) -> Trouble | None:
    template, found = observed.template, observed.candidates
    if template is not None and status.template not in (None, template.digest):
        words = "what the job runs was changed: measurements of both cannot be compared"
        return Trouble("TemplateChanged", f"{words}; delete this PlacementTrial and apply it anew")
    if found is not None and not found.placements:
        why = "; ".join(f"{one.placement}: {one.why}" for one in found.left_out[:3])
        return Trouble("NoPlacement", f"there is no placement to try; {why}")
    return None


def _cut(trial: Trial, halt: _Halt, observed: Observed) -> Trial:
    if trial.state.is_over:
        return trial
    course = observed.sights.get(trial.job, _NOTHING).course
    return over(trial, State.CUT, f"cut: {halt.words}", course, observed.now)


def _ended_early(trials: list[Trial], spec: TrialSpec, observed: Observed) -> list[Trial]:
    """Those of which more seconds would change nothing."""
    done = tried(trials)
    problem = problem_of(spec, trials, observed)
    return [
        over(trial, State.MEASURED, None, _course(trial, observed), observed.now)
        if _is_clear(trial, trials, spec, observed)
        and search.is_clear(problem, done, _tried(trial))
        else trial
        for trial in trials
    ]


def _is_clear(trial: Trial, trials: Sequence[Trial], spec: TrialSpec, observed: Observed) -> bool:
    """Measured by the same ruler as the others: a pulse may still show itself."""
    if trial.state is not State.RUNNING or trial.throughput is None or trial.reading is None:
        return False
    if not is_usable(observed.sights.get(trial.job, _NOTHING).reading, spec.measure):
        return False
    if is_due(trial, observed.now, spec.limits):
        return False
    if spec.measure.by != "auto" or trial.reading.period_seconds is not None:
        return True
    measured = [one.reading for one in trials if one.state is State.MEASURED]
    return bool(measured) and all(one and one.period_seconds is None for one in measured)


def _begun(
    trials: list[Trial], spec: TrialSpec, observed: Observed
) -> tuple[list[Trial], search.Stop | None]:
    """As many more as may run at once; and why no other, where there is none."""
    while True:
        running = [trial for trial in trials if not trial.state.is_over]
        if len(running) >= spec.limits.parallel or observed.candidates is None:
            return trials, None
        if len(trials) >= MOST_TRIALS:
            return trials, search.Stop(f"{MOST_TRIALS} trials are enough", 0.0)
        problem = problem_of(spec, trials, observed)
        choice = search.choose(problem, tried(trials), [trial.placement for trial in running])
        if isinstance(choice, search.Stop):
            # What the last one reserved is perhaps enough for another, once it is given back.
            given_back = not any(one.reserved_gpu_seconds for one in trials if one.state.is_over)
            return trials, choice if given_back else None
        if not _has_room(choice.placement, running, observed.candidates):
            return trials, None
        trials = [*trials, _new(choice, trials, spec, observed)]


def _has_room(placement: Placement, running: Sequence[Trial], found: Candidates) -> bool:
    """Beside the trials that run: else it would wait for them, and be called unavailable."""
    there = found.gpus.get(placement.gpu_type)
    own = [one.placement for one in running if one.placement.gpu_type == placement.gpu_type]
    return there is None or sum(one.gpus for one in own) + placement.gpus <= there


def _new(choice: search.Try, trials: Sequence[Trial], spec: TrialSpec, observed: Observed) -> Trial:
    placement = choice.placement
    attempt = 1 + sum(trial.placement == placement for trial in trials)
    held = reserved_seconds(spec, choice.seconds) + GRACE_SECONDS
    return Trial(
        job=trial_name(observed.name, placement, attempt),
        placement=placement,
        state=State.STARTING,
        attempt=attempt,
        planned_seconds=choice.seconds,
        created=observed.now,
        reserved_gpu_seconds=held * placement.gpus,
    )


def _concluded(
    spec: TrialSpec,
    status: TrialStatus,
    observed: Observed,
    trials: list[Trial],
    halt: _Halt | None,
    stop: search.Stop | None,
) -> TrialStatus:
    phase, reason, words = _phase(trials, halt, stop)
    after = msgspec.structs.replace(
        status,
        phase=phase,
        reason=reason,
        message=None if words is None else one_line(words),
        template=status.template or (observed.template and observed.template.digest),
        candidates=status.candidates
        if observed.candidates is None
        else len(observed.candidates.placements),
        trials=tuple(trial if trial.state.is_over else _without_reading(trial) for trial in trials),
        spent_gpu_seconds=sum(trial.gpu_seconds for trial in trials),
    )
    if not _is_news(status, after):
        # Fitting costs: what was concluded from the same trials still holds.
        return after
    problem = problem_of(spec, trials, observed)
    return answer.with_answer(spec, after, problem, tried(trials), observed.template)


def _without_reading(trial: Trial) -> Trial:
    """Of one that runs it changes with every scrape, and can be read again."""
    return msgspec.structs.replace(
        trial, reading=None, throughput=None, cost_per_unit=None, joules_per_unit=None
    )


def _is_news(before: TrialStatus, after: TrialStatus) -> bool:
    """Something that the answer rests on."""

    def essence(status: TrialStatus) -> tuple[object, ...]:
        states = [(trial.job, trial.state) for trial in status.trials]
        return status.phase, status.candidates, states

    return essence(before) != essence(after)


def _phase(
    trials: Sequence[Trial], halt: _Halt | None, stop: search.Stop | None
) -> tuple[Phase, str | None, str | None]:
    if halt is not None:
        return halt.phase, halt.reason, halt.words
    running = [trial for trial in trials if not trial.state.is_over]
    if stop is None or running:
        waits = [f"{one.placement}: {one.message}" for one in running if one.message]
        named = ", ".join(str(one.placement) for one in running)
        return Phase.RUNNING, None, waits[0] if waits else f"trying {named}" if named else None
    if any(trial.state is State.MEASURED for trial in trials):
        return Phase.DONE, "Done", stop.words
    why = [f"{one.placement} was {one.state}: {one.message}" for one in trials if one.message]
    words = f"nothing could be measured; {'; '.join(why[:3]) or stop.words}"
    return Phase.FAILED, "NothingMeasured", words


def _starts(trials: Sequence[Trial], observed: Observed) -> list[Start]:
    """Those that the quota has room for, the oldest first."""
    free, found = observed.quota.free, []
    for trial in trials:
        sight = observed.sights.get(trial.job, _NOTHING)
        if trial.state is not State.STARTING or sight.course is not None:
            continue
        if free is not None:
            if trial.placement.gpus > free:
                continue
            free -= trial.placement.gpus
        found.append(Start(trial))
    return found


def _removals(trials: Sequence[Trial], observed: Observed) -> list[Remove]:
    """Jobs of trials that are over, and of none."""
    kept = {trial.job for trial in trials if not trial.state.is_over}
    return [
        Remove(name, sight.course.uid)
        for name, sight in observed.sights.items()
        if sight.course is not None and not sight.course.is_going and name not in kept
    ]


def _course(trial: Trial, observed: Observed) -> Course | None:
    return observed.sights.get(trial.job, _NOTHING).course
