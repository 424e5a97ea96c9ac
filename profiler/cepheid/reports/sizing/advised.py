"""What is advised, as a row: which field, from what to what, how sure, and what it frees?"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from cepheid.jobprofile import JobProfile
from cepheid.reports.sizing.evidence import Runs


class Action(StrEnum):
    RAISE = "raise"
    LOWER = "lower"
    ADD = "add"
    REMOVE = "remove"
    CONSIDER = "consider"
    """It cannot be written into the job alone: other workers, other nodes."""
    KEEP = "keep"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    memory_buffer_percent: float = 15.0
    runtime_buffer_percent: float = 20.0
    cpu_step_cores: float = 0.5
    min_runs: int = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class AdviceRow:
    job: str
    namespace: str
    kind: str
    role: str | None
    container: str | None
    field: str
    """requests.memory, limits.cpu, a deadline's path, or a word where no field says it alone."""
    unit: str
    now: float | None
    advised: float | None
    now_written: str | None
    advised_written: str
    action: Action
    runs: int
    """That it rests on."""
    broken_runs: int
    """Of those, which the advice of all the others would have broken."""
    broken_percent: float
    frees: float | None
    """In the unit of the row, over all pods; negative where it takes more."""
    gpu_hours: float | None
    """That a run of usual length would hold less."""
    why: str | None
    is_patched: bool
    """Whether the patch has it."""


@dataclass(frozen=True, slots=True)
class Advised:
    newest: JobProfile
    kept_runs: int
    runs: int
    """That show something."""
    rows: tuple[AdviceRow, ...]
    """None where there are too few runs."""
    broken_runs: int
    """By any of the rows."""

    @property
    def changes(self) -> tuple[AdviceRow, ...]:
        """A deadline that it might have is none."""
        return tuple(
            row
            for row in self.rows
            if row.action is not Action.KEEP and (row.unit != "seconds" or row.is_patched)
        )

    @property
    def is_raised(self) -> bool:
        """Something broke, or nearly did."""
        return any(row.action is Action.RAISE for row in self.rows)

    def frees(self, unit: str) -> float:
        """Of what is reserved: a limit counts where there is no request beside it."""
        rows = {(row.role, row.container, row.field): row for row in self.rows if row.unit == unit}
        total = 0.0
        for (role, container, field), row in rows.items():
            beside = (role, container, field.replace("limits.", "requests."))
            if row.action is not Action.KEEP and (beside not in rows or field == beside[2]):
                total += row.frees or 0.0
        return total

    @property
    def gpu_hours(self) -> float:
        """That a run would hold less, by GPUs that were never used."""
        return sum(row.gpu_hours or 0.0 for row in self.changes if row.unit == "GPUs")


@dataclass(frozen=True, slots=True)
class Part:
    """A row, and which of the runs it would have broken."""

    row: AdviceRow
    broken: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """What a row is about, and what it says."""

    field: str
    unit: str
    now: float | None
    advised: float | None
    now_written: str | None
    advised_written: str
    role: str | None = None
    container: str | None = None
    frees: float | None = None
    gpu_hours: float | None = None
    why: str | None = None


def part(
    runs: Runs,
    amount: Amount,
    action: Action,
    uids: Sequence[str],
    lost: Sequence[int] | None,
    *,
    is_patched: bool = False,
) -> Part:
    """`uids` are the runs that it rests on, `lost` the places of those that it would break."""
    hit = frozenset(uids[place] for place in lost or ())
    of = {name: getattr(amount, name) for name in Amount.__dataclass_fields__}
    row = AdviceRow(
        job=runs.newest.series,
        namespace=runs.newest.job.namespace,
        kind=runs.newest.job.kind,
        action=action,
        runs=len(uids),
        broken_runs=len(hit),
        broken_percent=100 * len(hit) / max(1, len(uids)),
        is_patched=is_patched,
        **of,
    )
    return Part(row, hit)
