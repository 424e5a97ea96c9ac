"""How many GPUs, and of which size, should a job ask for?

GPUs that no run ever used are left out; where only some workers never used theirs, there could be
fewer workers, which the job alone does not decide. A smaller type, or a MIG slice, is named where
every run would have had room on it; which of them a cluster has is not known here, so it is no part
of a patch.
"""

from collections.abc import Iterator, Sequence
from statistics import median

from cepheid.jobs.gpu_names import is_gpu, model_name
from cepheid.reports.sizing import asked as was
from cepheid.reports.sizing.advised import Action, Amount, Part, Rules, part
from cepheid.reports.sizing.backtest import Need, broken, broken_by_most
from cepheid.reports.sizing.evidence import Runs
from cepheid.reports.sizing.gpus_held import GpuSeen, does, peaks_of, slices_of, smaller_types

SECONDS_PER_HOUR = 3600.0
SLICE = " MIG "


def gpu_parts(runs: Runs, rules: Rules) -> Iterator[Part]:
    seen = [(run.uid, run.gpus) for run in runs.seen if run.gpus is not None]
    held = sum(given.gpus * given.pods for given in was.givens(runs.newest))
    if not held or len(seen) < rules.min_runs or runs.newest.process is not None:
        return
    used = max(gpus.used for _, gpus in seen)
    if not used:
        yield from _removed(runs, seen)
        return
    yield _counted(runs, seen, held, used)
    if used >= held:
        yield from _smaller(runs, seen, held, rules)


def _removed(runs: Runs, seen: Sequence[tuple[str, GpuSeen]]) -> Iterator[Part]:
    for given in was.givens(runs.newest):
        for one in given.containers:
            for name in sorted({*one.limits, *one.requests}):
                count = was.reserved(one, name)
                if not is_gpu(name) or count is None:
                    continue
                said = Amount(
                    role=given.role,
                    container=one.container,
                    field=f"limits.{name}",
                    unit="GPUs",
                    now=count,
                    advised=0.0,
                    now_written=one.limits.get(name, one.requests.get(name)),
                    advised_written="none",
                    frees=count * given.pods,
                    gpu_hours=count * given.pods * _hours(runs),
                    why="never used",
                )
                lost = _idle(seen)
                uids = [uid for uid, _ in seen]
                yield part(runs, said, Action.REMOVE, uids, lost, is_patched=True)


def _idle(seen: Sequence[tuple[str, GpuSeen]]) -> tuple[int, ...]:
    needs = [Need(float(gpus.used), float(gpus.used)) for _, gpus in seen]
    return tuple(broken_by_most(needs, lambda wanted, _: wanted))


def _counted(runs: Runs, seen: Sequence[tuple[str, GpuSeen]], held: int, used: int) -> Part:
    unused = max(0, held - used)
    said = Amount(
        field="GPUs",
        unit="GPUs",
        now=float(held),
        advised=float(min(held, used)),
        now_written=str(held),
        advised_written=str(min(held, used)),
        frees=float(unused),
        gpu_hours=unused * _hours(runs),
        why="fewer workers: the GPUs of some were never used" if unused else None,
    )
    action = Action.CONSIDER if unused else Action.KEEP
    return part(runs, said, action, [uid for uid, _ in seen], _idle(seen))


def _smaller(
    runs: Runs, seen: Sequence[tuple[str, GpuSeen]], held: int, rules: Rules
) -> Iterator[Part]:
    model = seen[0][1].model
    alike = [(uid, gpus) for uid, gpus in seen if gpus.model == model]
    own = peaks_of(model)
    if model is None or own is None or len(alike) < rules.min_runs:
        return
    # Slices do not talk to each other as GPUs do: they are for a job that has one.
    slices = slices_of(model) if held == 1 else []
    for field, candidates in (("GPU type", smaller_types(model)), ("MIG slice", slices)):
        chosen = _chosen(candidates, [gpus for _, gpus in alike], rules)
        other = peaks_of(chosen)
        if chosen is None or other is None:
            continue
        is_slice = field == "MIG slice"
        said = Amount(
            field=field,
            unit="GB of GPU memory",
            now=own.memory_gb,
            advised=other.memory_gb,
            now_written=model_name(model),
            advised_written=chosen.rpartition(SLICE)[2] if is_slice else model_name(chosen),
            gpu_hours=(1 - other.memory_gb / own.memory_gb) * _hours(runs) if is_slice else None,
            why="where the cluster has such",
        )
        lost = _too_small(candidates, [gpus for _, gpus in alike], rules)
        yield part(runs, said, Action.CONSIDER, [uid for uid, _ in alike], lost)


def _chosen(candidates: Sequence[str], seen: Sequence[GpuSeen], rules: Rules) -> str | None:
    """The first that has room for every run."""
    for candidate in candidates:
        if all(does(candidate, gpus, rules.memory_buffer_percent) for gpus in seen):
            return candidate
    return None


def _too_small(
    candidates: Sequence[str], seen: Sequence[GpuSeen], rules: Rules
) -> tuple[int, ...] | None:
    return broken(
        seen,
        lambda others: _chosen(candidates, others, rules),
        lambda chosen, gpus: chosen is None or does(chosen, gpus, 0.0),
    )


def _hours(runs: Runs) -> float:
    """Of a usual run."""
    lengths = [run.seconds for run in runs.seen if run.seconds is not None]
    return median(lengths) / SECONDS_PER_HOUR if lengths else 0.0
