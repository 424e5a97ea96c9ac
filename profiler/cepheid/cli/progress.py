"""Long work shows how far it is: on stderr, and only where somebody watches it."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

FIRST_SECONDS = 1.0
"""What is over before that needs no word."""
EACH_SECONDS = 0.2


@contextmanager
def progress(doing: str) -> Iterator[Callable[[Iterable[Any]], Iterator[Any]]]:
    """`step(things)` are the same things, counted as they go by."""
    shown = False

    def step(things: Iterable[Any]) -> Iterator[Any]:
        nonlocal shown
        begun = time.monotonic()
        following = begun + FIRST_SECONDS
        for number, thing in enumerate(things, start=1):
            if watched and time.monotonic() >= following:
                following = time.monotonic() + EACH_SECONDS
                shown = True
                sys.stderr.write(f"\r{doing}: {number:,}")
                sys.stderr.flush()
            yield thing

    watched = sys.stderr.isatty()
    try:
        yield step
    finally:
        if shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
