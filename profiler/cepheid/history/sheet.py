"""What is a job as a row of a table?

First what people sort and sum by, a figure a column, with its unit in the column's name. Last, as
`profile`, the whole of it as in JSON Lines: an import reads that column alone, and is exact.

A spreadsheet takes a cell that begins with one of a few characters for a formula, and users choose
names: before such a text stands an apostrophe. A cell of `profile` begins with a brace.
"""

import csv
import io
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from operator import attrgetter
from typing import Any, BinaryIO, NamedTuple

from cepheid.errors import ImportBrokenError
from cepheid.history.lines import MOST_BYTES, limited, to_line
from cepheid.history.rows import Kept
from cepheid.jobprofile import JobProfile, Spread, Usage

PROFILE = "profile"
# Signs, their full-width twins, and what some programs skip before they look at the first one.
FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
Cell = str | int | float | datetime | None


class Column(NamedTuple):
    name: str
    type: type[str | int | float | datetime]
    of: Callable[[JobProfile], Any]


def _figures() -> Iterator[Column]:
    for metric in Usage.__struct_fields__:
        if metric == "energy_joules":
            yield Column(metric, float, _part(f"usage.{metric}"))
            continue
        for part in Spread.__struct_fields__:
            yield Column(f"{metric}_{part}", float, _figure(metric, part))


def _figure(metric: str, part: str) -> Callable[[JobProfile], Any]:
    return lambda profile: getattr(getattr(profile.usage, metric, None), part, None)


def _part(path: str) -> Callable[[JobProfile], Any]:
    """Of a part that may not be there."""
    whole, _, field = path.partition(".")
    return lambda profile: getattr(getattr(profile, whole), field, None)


COLUMNS = (
    Column("uid", str, attrgetter("job.uid")),
    Column("kind", str, attrgetter("job.kind")),
    Column("namespace", str, attrgetter("job.namespace")),
    Column("name", str, attrgetter("job.name")),
    Column("series", str, attrgetter("series")),
    Column("template", str, attrgetter("template")),
    Column("user", str, attrgetter("user")),
    Column("service_account", str, attrgetter("service_account")),
    Column("created", datetime, attrgetter("created")),
    Column("started", datetime, attrgetter("started")),
    Column("ended", datetime, attrgetter("ended")),
    Column("waited_seconds", float, attrgetter("waited_seconds")),
    Column("duration_seconds", float, attrgetter("duration_seconds")),
    Column("outcome", str, attrgetter("outcome")),
    Column("reason", str, attrgetter("reason")),
    Column("exit_code", int, attrgetter("exit_code")),
    Column("restarts", int, attrgetter("restarts")),
    Column("nodes", str, lambda profile: " ".join(profile.nodes)),
    Column("gpu_models", str, lambda profile: ", ".join(_models(profile))),
    Column("gpu_count", int, attrgetter("gpu_count")),
    Column("worker_count", int, attrgetter("worker_count")),
    Column("samples", int, attrgetter("samples")),
    Column("interval_seconds", float, attrgetter("interval_seconds")),
    *_figures(),
    Column("job_type", str, attrgetter("job_type")),
    Column("cycle_period_seconds", float, _part("cycle.period_seconds")),
    Column("held_back_by", str, _part("held_back_by.kind")),
    Column("leak_bytes_per_second", float, _part("leak.bytes_per_second")),
    Column("forecast_error_percent", float, attrgetter("forecast_error_percent")),
    Column("verdict", str, attrgetter("verdict")),
)


def cells(profile: JobProfile) -> list[Cell]:
    return [_in_utc(column.of(profile)) for column in COLUMNS]


def neutral(text: str) -> str:
    """As a text that no spreadsheet computes."""
    return f"'{text}" if text.startswith(FORMULAS) else text


def write_csv(jobs: Iterable[Kept], stream: BinaryIO) -> int:
    written = 0
    text = io.TextIOWrapper(stream, "utf-8", newline="")
    try:
        table = csv.writer(text)
        table.writerow([*(column.name for column in COLUMNS), PROFILE])
        for kept in jobs:
            row = [_as_text(cell) for cell in cells(kept.profile)]
            table.writerow([*row, to_line(kept).decode()])
            written += 1
    finally:
        text.detach()
    return written


def read_csv(stream: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """The column `profile`, with the number of the line that it ends in."""
    text = io.TextIOWrapper(stream, "utf-8-sig", "surrogateescape", newline="")
    allowed = csv.field_size_limit(MOST_BYTES)
    try:
        table = csv.DictReader(limited(text.readline))
        if PROFILE not in (table.fieldnames or ()):
            raise ImportBrokenError(
                f"the table has no column {PROFILE!r}", hint="import what `export` wrote"
            )
        for row in table:
            yield table.line_num, (row[PROFILE] or "").encode("utf-8", "surrogateescape")
    except csv.Error as problem:
        raise ImportBrokenError(
            f"this is no table of comma-separated values: {problem}",
            hint="import what `export` wrote",
        ) from problem
    finally:
        csv.field_size_limit(allowed)
        text.detach()


def _models(profile: JobProfile) -> list[str]:
    return sorted({gpu.model for gpu in profile.gpus if gpu.model is not None})


def _in_utc(value: Any) -> Any:
    if isinstance(value, datetime):
        try:
            return value.astimezone(UTC)
        except OverflowError:  # in the first or last hours of all years, somewhere on Earth
            return None
    return value


def _as_text(cell: Cell) -> Cell:
    if isinstance(cell, str):
        return neutral(cell)
    return cell.isoformat() if isinstance(cell, datetime) else cell
