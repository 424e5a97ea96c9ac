"""`cepheid export`: jobs out of a history or a cluster, into a file or a pipe."""

import sys
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from cepheid.cli.filters import Chosen, filters
from cepheid.cli.places import Place, at_a_place, say
from cepheid.cli.progress import progress
from cepheid.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

ENDINGS = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".parquet": "parquet"}


class Format(StrEnum):
    """As cepheid.history.exchange.Form has them, which takes libraries to load."""

    JSON_LINES = "jsonl"
    CSV = "csv"
    PARQUET = "parquet"


@at_a_place
@filters
def export(
    file: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="Where to; stdout without, or with -.")
    ] = None,
    form: Annotated[
        Format | None,
        typer.Option("--format", "-f", help="By the file's ending; without one, jsonl."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
    *,
    chosen: Chosen,
    place: Place,
) -> None:
    """Write jobs as JSON Lines, CSV or Parquet.

    Every field of them, the newest first; `cepheid import` reads all three. Time series stay where
    they are.
    """
    from cepheid.history.exchange import WRITERS, Form

    target = None if file is None or str(file) == "-" else file
    chosen_form = Form(form or form_of(target) or Format.JSON_LINES)
    if target is None and (chosen_form is Form.PARQUET or sys.stdout.isatty()):
        raise UsageError(
            "a terminal is no place for an export"
            if chosen_form is not Form.PARQUET
            else "Parquet is written to a file, not to a pipe",
            hint="name a file, or send it into a pipe; `cepheid jobs` is for looking",
        )
    with place.open() as kept, progress("exporting jobs") as step:
        fitting = (
            one
            for one in step(kept.each(chosen.query(place.namespace)))
            if chosen.fits(one.profile)
        )
        with _opened(target, force=force) as stream:
            written = WRITERS[chosen_form](fitting, stream)
    say(f"{written:,} jobs exported" + ("" if target is None else f" to {target}"))


def form_of(file: Path | None) -> Format | None:
    """None where its ending says nothing."""
    if file is None or file.suffix.lower() not in ENDINGS:
        return None
    return Format(ENDINGS[file.suffix.lower()])


@contextmanager
def _opened(target: Path | None, *, force: bool) -> "Iterator[BinaryIO]":
    """Under its name only when all of it is there."""
    if target is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    beside = target.with_name(f"{target.name}.part")
    try:
        if target.exists() and not force:
            raise UsageError(f"{target} is there already", hint="--force replaces it")
        with beside.open("wb") as stream:
            yield stream
        beside.replace(target)
    except OSError as problem:
        raise UsageError(
            f"{target} cannot be written: {problem.strerror}", hint="name another file"
        ) from problem
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
