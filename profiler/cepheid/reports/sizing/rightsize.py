"""What should a job ask for next time, and how sure is that?

Of each resource the most that a run needed, with a buffer, in figures that somebody would write:

    memory     peak of the largest pod * (1 + buffer), rounded up; * 1.5 of a limit that killed
    CPU        sustained, rounded up to the step; where request and limit are alike, so that the pod
               is Guaranteed, the peak; * 1.5 of a limit that throttled
    runtime    the longest run * (1 + buffer), to the minute; twice of a deadline that stopped it
    GPUs       those that were ever used; a smaller type, or a slice, that has room for it

docs/asked-and-used.md has it with an example by hand.
"""

from collections.abc import Iterator, Sequence

from cepheid.reports.nexttime import DEADLINES, ROOM_AFTER_DEADLINE, deadline_seconds
from cepheid.reports.sizing.advised import Action, Advised, Amount, Part, Rules, part
from cepheid.reports.sizing.asked import SERVICES
from cepheid.reports.sizing.backtest import Need, broken_by_most
from cepheid.reports.sizing.evidence import Runs, RunSeen
from cepheid.reports.sizing.gpus import gpu_parts
from cepheid.reports.sizing.pods import pod_parts


def advise(runs: Runs, rules: Rules) -> Advised:
    """No row where too few runs show anything."""
    if len(runs.seen) < rules.min_runs:  # as of most jobs of a large fleet
        return Advised(runs.newest, runs.kept, len(runs.seen), (), 0)
    parts = [*pod_parts(runs, rules), *gpu_parts(runs, rules), *_runtime(runs, rules)]
    hit = frozenset[str]().union(*(part.broken for part in parts))
    rows = tuple(part.row for part in parts)
    return Advised(runs.newest, runs.kept, len(runs.seen), rows, len(hit))


def _runtime(runs: Runs, rules: Rules) -> Iterator[Part]:
    """A deadline that nobody is known to have set is said, and not written."""
    kind = runs.newest.job.kind
    found = [(run.uid, need) for run in runs.seen if (need := _lasting(run, rules)) is not None]
    needs = [need for _, need in found]
    if kind in SERVICES or len(needs) < rules.min_runs or not (value := _deadline(needs)):
        return
    stopped = [run.stopped_seconds for run in runs.seen if run.stopped_seconds is not None]
    why = "if it is to have a deadline"
    action = Action.CONSIDER
    if stopped:
        why = f"its deadline stopped {len(stopped)} of {len(needs)} runs"
        action = Action.RAISE if value > stopped[0] else Action.KEEP
    said = Amount(
        field=DEADLINES.get(kind, "runtime"),
        unit="seconds",
        now=stopped[0] if stopped else None,
        advised=value,
        now_written=f"{stopped[0]:.0f}" if stopped else None,
        advised_written=f"{value:.0f}",
        why=why,
    )
    lost = broken_by_most(needs, lambda wanted, _: float(deadline_seconds(wanted) or 0))
    is_patched = action is Action.RAISE and kind in DEADLINES
    yield part(runs, said, action, [uid for uid, _ in found], lost, is_patched=is_patched)


def _deadline(needs: Sequence[Need]) -> float:
    return float(deadline_seconds(max(need.wanted for need in needs)) or 0)


def _lasting(run: RunSeen, rules: Rules) -> Need | None:
    if run.stopped_seconds is not None:
        after = run.stopped_seconds
        return Need(after, ROOM_AFTER_DEADLINE * after, is_open=True)
    if run.seconds is None:
        return None
    return Need(run.seconds, run.seconds * (1 + rules.runtime_buffer_percent / 100))
