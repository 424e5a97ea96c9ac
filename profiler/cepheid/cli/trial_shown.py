"""How `cepheid trial` looks: its rows, the curve as a picture, and as a page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Self

from cepheid.cli.formats import Column, Output, document, screen_columns, show, table, write_lines
from cepheid.cli.job import wrapped
from cepheid.placementtrial import (
    TrialError,
    TrialSpec,
    TrialStatus,
    spec_from,
    status_from,
    to_document,
)
from cepheid.reports import words
from cepheid.reports.plain import padded
from cepheid.reports.trial_picture import FORETOLD, MEASURED, curve
from cepheid.reports.trials import (
    PlacementRow,
    TrialRow,
    cost_scale,
    facts,
    headline,
    placement_rows,
    rate,
    trial_row,
    unit_of,
)

LABEL = 7


@dataclass(frozen=True, slots=True)
class Look:
    """A PlacementTrial as it was read."""

    namespace: str
    name: str
    uid: str
    created: datetime | None
    spec: TrialSpec
    status: TrialStatus

    @classmethod
    def read(cls, thing: Mapping[str, Any]) -> Self:
        metadata = thing.get("metadata") or {}
        return cls(
            str(metadata.get("namespace") or ""),
            str(metadata.get("name") or ""),
            str(metadata.get("uid") or ""),
            _moment(metadata.get("creationTimestamp")),
            spec_from(thing.get("spec")),
            status_from(thing.get("status")),
        )

    @classmethod
    def of(cls, thing: Mapping[str, Any]) -> Self | None:
        """None for what a newer version wrote."""
        try:
            return cls.read(thing)
        except TrialError:
            return None

    @property
    def row(self) -> TrialRow:
        return trial_row(self.namespace, self.name, self.created, self.spec, self.status)


def show_list(
    looks: Sequence[Look], now: datetime, output: Output, *, has_namespaces: bool
) -> None:
    rows = [look.row for look in looks]
    rows.sort(key=lambda row: (-_seconds(row.created), row.namespace, row.name))
    show(rows, TrialRow, _list_columns(now, has_namespaces=has_namespaces), output)


def show_one(look: Look, output: Output) -> None:
    rows = placement_rows(look.status)
    if output is Output.CSV:
        show(rows, PlacementRow, (), output)
    elif output is not Output.TABLE:
        document(
            {
                "namespace": look.namespace,
                "name": look.name,
                "created": look.created,
                "spec": to_document(look.spec),
                "status": to_document(look.status),
            },
            output,
        )
    else:
        _show_words(look, rows)


def draw(look: Look, path: Path) -> Path:
    from cepheid.plots.file import Sheet, write
    from cepheid.plots.trial import trial_page

    return write(Sheet(path.stem, trial_page(look.name, look.spec, look.status)), path.parent)


def _show_words(look: Look, rows: Sequence[PlacementRow]) -> None:
    columns = screen_columns()
    lines = wrapped(headline(look.name, look.status), columns)
    if rows:
        lines += ["", *table(rows, _placement_columns(rows), columns)]
    if picture := [*curve(rows, columns)]:
        lines += ["", f"{unit_of(rows)} a second: {MEASURED} measured, {FORETOLD} foreseen"]
        lines += picture
    lines.append("")
    for label, said in facts(look.spec, look.status):
        begin = f"  {padded(label, LABEL)}"
        for line in wrapped(said, columns - len(begin)):
            lines.append(f"{begin}{line}")
            begin = " " * len(begin)
    write_lines(lines)
    if look.status.best is not None and look.status.best.patch and look.spec.job.name:
        write_lines(["", "take it over:", *_patch_command(look)])


def _patch_command(look: Look) -> list[str]:
    """Lines to copy: the patch itself may be long."""
    where = f"--namespace={look.namespace}"
    path = "jsonpath='{.status.best.patch}'"
    return [
        f"  kubectl patch {look.spec.job.kind.lower()} {look.spec.job.name} {where} \\",
        "    --type=merge --patch \\",
        f'    "$(kubectl get placementtrial {look.name} {where} \\',
        f'      -o {path})"',
    ]


def _list_columns(now: datetime, *, has_namespaces: bool) -> list[Column[TrialRow]]:
    def hours(amount: float) -> str:
        return words.figure(amount)

    namespace: list[Column[TrialRow]] = [
        Column("NAMESPACE", lambda row: row.namespace, matters=9, least=9, middle=True)
    ]
    return [
        *(namespace if has_namespaces else []),
        Column("NAME", lambda row: row.name, matters=9, least=12, middle=True),
        Column("JOB", lambda row: row.job, matters=3, least=12, middle=True),
        Column("PHASE", lambda row: row.phase or "", matters=9),
        Column("TRIALS", lambda row: row.trials or "", right=True, matters=7),
        Column("BEST", lambda row: row.best or "", matters=8, least=10),
        Column("GAIN", lambda row: "" if row.gain is None else f"{row.gain:.1f}x", right=True),
        Column("SPENT h", lambda row: hours(row.spent_gpu_hours), right=True, matters=6),
        Column("OF h", lambda row: hours(row.budget_gpu_hours), right=True, matters=4),
        Column("AGE", lambda row: words.age(row.created, now), right=True, matters=6),
    ]


def _placement_columns(rows: Sequence[PlacementRow]) -> list[Column[PlacementRow]]:
    scale = cost_scale(rows)

    def error(row: PlacementRow) -> str:
        return "" if row.error_percent is None else f"{row.error_percent:.2g} %"

    def cost(row: PlacementRow) -> str:
        return "" if row.cost_per_unit is None else words.figure(row.cost_per_unit * scale)

    def energy(row: PlacementRow) -> str:
        return "" if row.joules_per_unit is None else words.in_energy(row.joules_per_unit)

    def held(row: PlacementRow) -> str:
        return "" if row.gpu_seconds is None else words.figure(row.gpu_seconds)

    def mark(row: PlacementRow) -> str:
        return "best" if row.is_best else "possible" if row.best_possible else ""

    return [
        Column("PLACEMENT", lambda row: row.placement, matters=9, least=12, middle=True),
        Column("STATE", lambda row: row.state, matters=8),
        Column("PER SECOND", lambda row: rate(row.per_second), right=True, matters=9),
        Column("±", error, right=True, matters=8),
        Column("BY", lambda row: row.measured_by or "", matters=4),
        Column(f"COST OF {scale:,}", cost, right=True, matters=7),
        Column("ENERGY OF 1", energy, right=True, matters=3),
        Column("GPU s", held, right=True, matters=5),
        Column("", mark, matters=9),
        Column("WHAT HAPPENED", lambda row: row.message or "", matters=2, least=16),
    ]


def _moment(text: object) -> datetime | None:
    try:
        return datetime.fromisoformat(str(text)) if text else None
    except ValueError:
        return None


def _seconds(moment: datetime | None) -> float:
    return 0.0 if moment is None else moment.timestamp()
