"""What is a job as one line of JSON?

Its profile, as everywhere; and of a large job all workers, as `allWorkers`, which whoever knows
only profiles passes over.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import BinaryIO, TypeVar

import msgspec
from msgspec import Struct

from cepheid.errors import ImportBrokenError
from cepheid.history.rows import Kept
from cepheid.jobprofile import ProfileError, Worker, from_json, to_json

MOST_BYTES = 16 * 2**20
"""Of a line: 50,000 workers. What is longer is no profile, and is not read into memory."""
Text = TypeVar("Text", str, bytes)


class _Beside(Struct, rename="camel"):
    all_workers: tuple[Worker, ...] = ()


def to_line(kept: Kept) -> bytes:
    """Without the line's end."""
    document = to_json(kept.profile)
    if not kept.workers:
        return document
    workers = msgspec.json.encode({"allWorkers": kept.workers})
    return document[:-1] + b"," + workers[1:]


def from_line(text: bytes | str, number: int) -> Kept:
    try:
        profile = from_json(text)
        beside = msgspec.json.decode(text, type=_Beside)
    except (ProfileError, msgspec.MsgspecError, UnicodeDecodeError) as problem:
        said = problem.message if isinstance(problem, ProfileError) else str(problem)
        raise ImportBrokenError(
            f"line {number} of the import is broken: {said}",
            hint="mend or skip it and import again: what was imported before is not doubled",
        ) from problem
    return Kept(profile, beside.all_workers)


def write_lines(jobs: Iterable[Kept], stream: BinaryIO) -> int:
    written = 0
    for kept in jobs:
        stream.write(to_line(kept) + b"\n")
        written += 1
    return written


def read_lines(stream: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """With their numbers; empty ones are passed over."""
    for number, line in enumerate(limited(stream.readline), start=1):
        if line.strip():
            yield number, line


def limited(read_line: Callable[[int], Text]) -> Iterator[Text]:
    """Lines, up to one that is too long to be one."""
    number = 1
    while line := read_line(MOST_BYTES):
        if len(line) == MOST_BYTES:
            raise ImportBrokenError(
                f"line {number} of the import is longer than {MOST_BYTES // 2**20} MiB",
                hint="is it of the form that was named?",
            )
        yield line
        number += 1
