"""Small files of the kernel, and where they are."""

import os
from dataclasses import dataclass

MOST_BYTES = 1 << 20
_CHUNK = 65_536


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
        data = os.read(descriptor, _CHUNK)
        # Files of /proc may end early, at the end of a page; only an empty read is the end.
        if len(data) < 4096:  # noqa: PLR2004
            return data
        parts = [data]
        size = len(data)
        while size < MOST_BYTES and (more := os.read(descriptor, _CHUNK)):
            parts.append(more)
            size += len(more)
        return b"".join(parts)
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
