"""`cepheid import`: what an export wrote, into a history."""

import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from cepheid.cli.export import Format, form_of
from cepheid.cli.places import Place, at_a_place, say
from cepheid.errors import ImportBrokenError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_SAID = 5
"""Of broken lines; the others are counted."""


@at_a_place
def import_jobs(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="- for stdin.")],
    form: Annotated[
        Format | None,
        typer.Option("--format", "-f", help="By the file's ending; without one, jsonl."),
    ] = None,
    skip_broken: Annotated[
        bool, typer.Option("--skip-broken", help="Go on after a line that is no job.")
    ] = False,
    *,
    place: Place,
) -> None:
    """Read exported jobs into a history. Those that are there already are not doubled."""
    from cepheid.history.exchange import Form
    from cepheid.history.exchange import import_jobs as read

    if place.is_cluster:
        place.history()  # says why not
    broken: list[ImportBrokenError] = []
    total = 0
    with place.history(make=True) as history:
        for file in files:
            chosen = Form(form or form_of(file) or Format.JSON_LINES)
            with _opened(file) as stream:
                total += read(history, stream, chosen, broken.append if skip_broken else None)
    for problem in broken[:MOST_SAID]:
        say(f"skipped: {problem.message}")
    if len(broken) > MOST_SAID:
        say(f"skipped: {len(broken) - MOST_SAID} more lines")
    say(f"{total:,} jobs imported into {place}")
    if broken:
        raise typer.Exit(1)


@contextmanager
def _opened(file: Path) -> "Iterator[BinaryIO]":
    if str(file) == "-":
        yield sys.stdin.buffer
        return
    try:
        stream = file.open("rb")
    except OSError as problem:
        raise UsageError(
            f"{file} cannot be read: {problem.strerror}", hint="name what `cepheid export` wrote"
        ) from problem
    with stream:
        yield stream
