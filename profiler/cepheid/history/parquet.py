"""The same table as `sheet` has it, in columns with types, for pandas, DuckDB and Spark."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from importlib import import_module
from itertools import islice
from typing import Any, BinaryIO

from cepheid.errors import HistoryRefusedError, ImportBrokenError
from cepheid.history.lines import to_line
from cepheid.history.rows import Kept
from cepheid.history.sheet import COLUMNS, PROFILE, cells

GROUP_JOBS = 1_000
"""A group of rows is what sits in memory, here and with whoever reads it."""
_INT64 = range(-(2**63), 2**63)


def write_parquet(jobs: Iterable[Kept], stream: BinaryIO) -> int:
    arrow, parquet = _arrow("pyarrow"), _arrow("pyarrow.parquet")
    schema = _schema(arrow)
    written = 0
    remaining = iter(jobs)
    with parquet.ParquetWriter(stream, schema, compression="zstd") as writer:
        while group := list(islice(remaining, GROUP_JOBS)):
            rows = [[*map(_fitting, cells(kept.profile)), to_line(kept).decode()] for kept in group]
            columns = [
                arrow.array(column, type=field.type)
                for column, field in zip(zip(*rows, strict=True), schema, strict=True)
            ]
            writer.write_table(arrow.Table.from_arrays(columns, schema=schema))
            written += len(group)
    return written


def read_parquet(stream: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """The column `profile`, with the number of its row."""
    arrow, parquet = _arrow("pyarrow"), _arrow("pyarrow.parquet")
    number = 0
    try:
        with parquet.ParquetFile(stream) as file:
            if PROFILE not in file.schema_arrow.names:
                raise ImportBrokenError(
                    f"the table has no column {PROFILE!r}", hint="import what `export` wrote"
                )
            for batch in file.iter_batches(batch_size=GROUP_JOBS, columns=[PROFILE]):
                for text in batch.column(0).to_pylist():
                    number += 1
                    yield number, str(text).encode()
    except (arrow.ArrowException, OSError) as problem:
        raise ImportBrokenError(
            f"this is no Parquet file: {problem}", hint="import what `export` wrote"
        ) from problem


def _schema(arrow: Any) -> Any:
    types = {
        str: arrow.string(),
        int: arrow.int64(),
        float: arrow.float64(),
        datetime: arrow.timestamp("us", tz="UTC"),
    }
    fields = [(column.name, types[column.type]) for column in COLUMNS]
    return arrow.schema([*fields, (PROFILE, arrow.string())])


def _fitting(cell: Any) -> Any:
    return None if isinstance(cell, int) and cell not in _INT64 else cell


def _arrow(module: str) -> Any:
    """150 MB, and only for this: it comes when it is asked for."""
    try:
        return import_module(module)
    except ModuleNotFoundError as problem:
        raise HistoryRefusedError(
            "pyarrow is not installed, and Parquet is written and read by it",
            hint="pip install 'cepheid[parquet]', or take JSON Lines or CSV",
        ) from problem
