"""When something is looked at again: not before anything newer could be written of it."""

from collections.abc import Hashable, Iterable


class Pace:
    def __init__(self) -> None:
        self._next: dict[Hashable, tuple[object, float]] = {}

    def changed(self, key: Hashable, state: object) -> bool:
        """True for what is new, or whose `state` is another one now."""
        known = self._next.get(key)
        return known is None or known[0] != state

    def due(self, key: Hashable, state: object, steady_seconds: float) -> bool:
        """Also where its time has come."""
        return self.changed(key, state) or steady_seconds >= self._next[key][1]

    def wait(self, key: Hashable, state: object, until_seconds: float) -> None:
        """It was looked at; as long as its `state` stays, that is enough until then."""
        self._next[key] = (state, until_seconds)

    def keep_only(self, keys: Iterable[Hashable]) -> None:
        there = set(keys)
        self._next = {key: known for key, known in self._next.items() if key in there}
