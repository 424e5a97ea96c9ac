"""A JSON object on one line: written so that it fits, read so that nothing hostile gets through."""

import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Generic, NoReturn, TypeVar

from cepheid.annotations.grammar import Kind, Scalar

LINE_CHARACTERS = 140

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    kind: Kind
    rank: int = 0
    """The highest is left out first where room is short; 0 never: without it nothing is said."""
    attribute: str = ""
    room: int = 0
    """Characters that its value is counted as at least: so that a figure which only ever grows
    does not push another out of the line as it does."""

    @property
    def source(self) -> str:
        return self.attribute or self.name


@dataclass(frozen=True, slots=True)
class Shape(Generic[T]):
    """A JSON object: its fields in the order in which they are written."""

    of: Callable[..., T]
    fields: tuple[Field, ...]
    one_of: frozenset[str] = frozenset()
    """Of these at least one is known, or nothing is said; empty where any will do."""

    def text(self, key: str, facts: object) -> str | None:
        known: dict[str, Scalar] = {}
        for field in self.fields:
            value = getattr(facts, field.source)
            written = None if value is None else field.kind.write(value)
            if written is not None:
                known[field.name] = written
            elif field.rank == 0:
                return None
        return self._fitted(key, known)

    def _fitted(self, key: str, known: dict[str, Scalar]) -> str | None:
        if not self._has_room(key, known):
            known = {
                name: round(value) if isinstance(value, float) and name.endswith("_gb") else value
                for name, value in known.items()
            }
        spare = sorted(
            (field for field in self.fields if field.rank), key=lambda field: -field.rank
        )
        for field in spare:
            if self._has_room(key, known):
                break
            known.pop(field.name, None)
        return compact(known) if self._says(known) and self._has_room(key, known) else None

    def _has_room(self, key: str, known: dict[str, Scalar]) -> bool:
        spare = sum(
            max(0, field.room - len(compact(known[field.name])))
            for field in self.fields
            if field.room and field.name in known
        )
        return fits(key, compact(known) + " " * spare)

    def parse(self, text: str) -> T:
        found = parsed(text)
        if not isinstance(found, dict):
            raise ValueError("not an object")
        by_name = {field.name: field for field in self.fields}
        # A newer Cepheid may say more: what this one does not know, it passes over.
        values = {
            by_name[name].source: by_name[name].kind.read(value)
            for name, value in found.items()
            if name in by_name
        }
        missing = any(field.rank == 0 and field.name not in found for field in self.fields)
        if missing or not self._says(found):
            raise ValueError("says too little")
        return self.of(**values)

    def _says(self, names: Collection[str]) -> bool:
        enough = self.one_of or {field.name for field in self.fields}
        return not enough.isdisjoint(names)


def fits(key: str, text: str) -> bool:
    return len(key) + len(text) + 2 <= LINE_CHARACTERS


def compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def _refuse(text: str) -> NoReturn:
    raise ValueError(f"{text} is no JSON")


def _once(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a field twice")
    return dict(pairs)


_STRICT = json.JSONDecoder(parse_constant=_refuse, object_pairs_hook=_once)


def parsed(text: str) -> object:
    return _STRICT.decode(text)
