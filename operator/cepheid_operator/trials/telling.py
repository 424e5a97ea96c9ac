"""What is told of a PlacementTrial as Events: the story that `kubectl describe` shows. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass

from cepheid.placementtrial import Phase, State, Trial, TrialStatus

_REASONS = {
    State.MEASURED: "TrialMeasured",
    State.UNMEASURED: "TrialUnmeasured",
    State.FAILED: "TrialFailed",
    State.OUT_OF_MEMORY: "TrialOutOfMemory",
    State.UNAVAILABLE: "TrialUnavailable",
    State.LOST: "TrialLost",
    State.CUT: "TrialCut",
}
_GOOD = frozenset({State.MEASURED, State.CUT})


@dataclass(frozen=True, slots=True)
class Told:
    reason: str
    words: str
    about: str
    """Tells two of the same reason apart: the same is told once, by whichever instance."""
    warning: bool = False


def told(before: TrialStatus, after: TrialStatus) -> Iterator[Told]:
    """In the order in which it happened."""
    were = {trial.job: trial.state for trial in before.trials}
    for trial in after.trials:
        was = were.get(trial.job)
        if was is None:
            words = f"{trial.placement} is tried, for {trial.planned_seconds:.0f} s at most"
            yield Told("TrialStarted", words, trial.job)
        if trial.state.is_over and (was is None or not was.is_over):
            yield _ended(trial)
    if after.phase is not before.phase and after.phase is not None:
        words = after.message or after.phase
        if after.best is not None and after.phase.is_over:
            words = f"{after.best.sentence} ({words})"
        # Suspended and resumed again it is told again.
        about = f"{after.phase} {len(after.trials)}"
        yield Told(after.phase, words, about, warning=after.phase is Phase.FAILED)


def _ended(trial: Trial) -> Told:
    figure = trial.throughput
    words = f"{trial.placement}: {trial.message or trial.state}"
    if trial.state is State.MEASURED and figure is None:
        words = f"{trial.placement}: measured, but by nothing that the others were measured by"
    elif trial.state is State.MEASURED and figure is not None:
        words = (
            f"{trial.placement}: {figure.per_second:.4g} {figure.unit} a second"
            f" +-{figure.error_percent:.1f} %, by {figure.by}, for {trial.gpu_seconds:.0f}"
            " GPU-seconds"
        )
    return Told(_REASONS[trial.state], words, trial.job, warning=trial.state not in _GOOD)
