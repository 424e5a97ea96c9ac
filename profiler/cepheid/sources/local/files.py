"""Small files of the kernel, and where they are."""

import os
from dataclasses import dataclass

MOST_BYTES = 1 << 20
_CHUNK = 4096
"""Nearly all are smaller, and to make room for more takes longer than to read."""


@dataclass(frozen=True, slots=True)
class Roots:
    """Where the kernel shows itself; elsewhere in tests."""

    proc: str = "/proc"
    sys: str = "/sys"
    top: str = ""
    """Before any other path: `/.dockerenv`."""

    @property
    def live(self) -> bool:
        """These are the processes of this machine, not files that were recorded."""
        return self.proc == "/proc"


def read_bytes(path: str) -> bytes:
    """OSError where it cannot be read. Cheaper than `open`: this is called a hundred times a
    sample."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        data = more = os.read(descriptor, _CHUNK)
        # However short an answer is, only an empty one is the end: the kernel hands out whole
        # lines, as many as fit.
        while more and len(data) < MOST_BYTES:
            more = os.read(descriptor, _CHUNK)
            data += more
        return data
    finally:
        os.close(descriptor)


def text_of(path: str) -> str | None:
    """Of one short file, stripped; None where it is not there or may not be read."""
    try:
        return read_bytes(path).decode(errors="replace").strip()
    except OSError:
        return None


def number_of(path: str) -> float | None:
    """None also where it holds no number, such as `max`."""
    text = text_of(path)
    try:
        return None if text is None else float(text)
    except ValueError:
        return None


def names_in(folder: str) -> list[str]:
    """Sorted as people count: card2 before card10."""
    try:
        found = os.listdir(folder)  # noqa: PTH208
    except OSError:
        return []
    return sorted(found, key=lambda name: (len(name), name))
