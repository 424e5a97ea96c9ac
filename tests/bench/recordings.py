"""Recorded series in a folder outside the repository, described by its labels.csv.

Columns: file, column, dt (seconds between samples), periods_s (true periods, separated by `;`),
kind (pos, neg or unlabelled), truth (where that is known from).
"""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cepheid.errors import CepheidError
from cepheid.model import FloatArray
from tests.bench.families import Sample


@dataclass(frozen=True, slots=True)
class Recording:
    name: str
    kind: str
    series: Sample


def recordings(folder: Path) -> Iterator[Recording]:
    labels = folder / "labels.csv"
    if not labels.exists():
        raise CepheidError(
            f"there is no {labels}",
            hint="--data takes a folder with a labels.csv: file,column,dt,periods_s,kind,truth",
        )
    tables: dict[str, list[dict[str, str]]] = {}
    with labels.open(newline="") as rows:
        for row in csv.DictReader(rows):
            file = row["file"]
            if file not in tables:
                with (folder / file).open(newline="") as table:
                    tables[file] = list(csv.DictReader(table))
            step = float(row["dt"])
            yield Recording(
                f"{file.removesuffix('.csv')}:{row['column']}",
                row["kind"],
                Sample(
                    f"recorded {row['kind']}",
                    _column(tables[file], row["column"]),
                    tuple(float(period) / step for period in row["periods_s"].split(";") if period),
                ),
            )


def _column(table: list[dict[str, str]], name: str) -> FloatArray:
    """Up to its last number: columns of one file may end at different times."""
    values = np.array([float(row[name]) if row[name] else np.nan for row in table])
    return values[: np.flatnonzero(np.isfinite(values))[-1] + 1]


def windows(recording: Recording) -> Iterator[Sample]:
    """Parts of it: what an agent sees, which has not yet watched for weeks."""
    series = recording.series
    n = len(series.values)
    if series.periods:
        lengths = [int(cycles * series.periods[0]) for cycles in (5, 8)]
    else:
        lengths = [256, 512, 1024]
    for length in lengths:
        for start in range(0, n - length + 1, max(1, length // 2)):
            part = series.values[start : start + length]
            if np.isfinite(part).sum() > length / 2:
                yield Sample(f"{series.family}, windows", part, series.periods)
