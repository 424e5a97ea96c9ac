"""A job type is told when it was found twice in a row.

The first minutes of a job look now like this, now like that, and whoever reads acts on each word.
That a GPU is taken, or empty, is seen at once.
"""

from collections.abc import Hashable, Iterable

from cepheid.analysis.jobrules import JobKind


class Verdicts:
    def __init__(self) -> None:
        self._found: dict[Hashable, JobKind] = {}

    def told(self, key: Hashable, found: JobKind, standing: JobKind | None) -> JobKind:
        """`standing` is what was told last of the same holders; None where nothing was."""
        before = self._found.get(key)
        self._found[key] = found
        if standing is None or JobKind.EMPTY in (found, standing) or found is before:
            return found
        return standing

    def keep_only(self, keys: Iterable[Hashable]) -> None:
        there = set(keys)
        self._found = {key: kind for key, kind in self._found.items() if key in there}
