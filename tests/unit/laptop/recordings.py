"""Recordings of made-up runs: what a sampler would have written, from arrays."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from cepheid.laptop.recording import Header, Recording, Trailer, Writer, read
from cepheid.model import FloatArray

START = 1_700_000_000.0
GIB = 2.0**30


def header(columns: Mapping[str, object], **more: Any) -> Header:
    given: dict[str, Any] = {
        "uid": "8f3a" + "0" * 28,
        "name": "train.py",
        "command": "python train.py",
        "started_seconds": START,
        "interval_seconds": 0.5,
        "columns": list(columns),
        "facts": {"cores": 8.0, "memory_total_bytes": 16 * GIB, "host": "lap"},
        "host": "lap",
        "user": "ann",
        "directory": "/home/ann",
    }
    return Header(**{**given, **more})


def recording(
    folder: Path,
    times: FloatArray,
    columns: Mapping[str, FloatArray],
    trailer: Trailer | None = None,
    **more: Any,
) -> Recording:
    """By way of a file, as a real one."""
    writer = Writer(folder, header(columns, **more))
    for row, time in enumerate(times):
        writer.append(START + float(time), [float(values[row]) for values in columns.values()])
    if trailer is None:
        trailer = Trailer(ended_seconds=START + float(times[-1]), outcome="success")
    writer.close(trailer)
    writer.release()
    return read(writer.path)


def counted(rates: FloatArray, step: float = 0.5) -> FloatArray:
    """A counter that has grown at these rates, read at the beginning and after each step."""
    return np.concatenate(([0.0], np.cumsum(rates) * step))
