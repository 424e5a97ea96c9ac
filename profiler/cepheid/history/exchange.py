"""How does a history leave one place and enter another?

    jsonl     a profile a line; the one to keep
    csv       for a spreadsheet
    parquet   for pandas, DuckDB, Spark

All three hold every field, and are written and read in a stream. Time series stay where they are.
"""

from collections.abc import Callable, Iterator
from enum import StrEnum
from itertools import islice
from typing import TYPE_CHECKING, BinaryIO

from cepheid.errors import ImportBrokenError
from cepheid.history.lines import from_line, read_lines, write_lines
from cepheid.history.parquet import read_parquet, write_parquet
from cepheid.history.query import EVERY_JOB, Query
from cepheid.history.rows import Kept
from cepheid.history.sheet import read_csv, write_csv

if TYPE_CHECKING:
    from cepheid.history.store import History

BATCH_JOBS = 500


class Form(StrEnum):
    JSON_LINES = "jsonl"
    CSV = "csv"
    PARQUET = "parquet"


WRITERS = {Form.JSON_LINES: write_lines, Form.CSV: write_csv, Form.PARQUET: write_parquet}
READERS = {Form.JSON_LINES: read_lines, Form.CSV: read_csv, Form.PARQUET: read_parquet}


def export_jobs(history: "History", stream: BinaryIO, form: Form, query: Query = EVERY_JOB) -> int:
    """How many, the newest first."""
    return WRITERS[form](history.each(query), stream)


def import_jobs(
    history: "History",
    stream: BinaryIO,
    form: Form,
    on_broken: Callable[[ImportBrokenError], None] | None = None,
) -> int:
    """How many were read; those that were there already are not doubled, see `History.keep`.

    Without `on_broken` the first broken line ends the import, and what stood before it may have
    been kept. With it, it is told of each of them, and the others are kept.
    """
    read = 0
    remaining = _profiles(stream, form, on_broken)
    while batch := list(islice(remaining, BATCH_JOBS)):
        workers = {kept.profile.job.uid: kept.workers for kept in batch if kept.workers}
        history.keep((kept.profile for kept in batch), workers)
        read += len(batch)
    return read


def _profiles(
    stream: BinaryIO, form: Form, on_broken: Callable[[ImportBrokenError], None] | None
) -> Iterator[Kept]:
    for number, text in READERS[form](stream):
        try:
            yield from_line(text, number)
        except ImportBrokenError as problem:
            if on_broken is None:
                raise
            on_broken(problem)
