"""What stands at a place of a raw object, if it is what should stand there.

Objects come as the API server sent them, and some of what is in them anybody may write: a field
can be missing, of another type, or a megabyte long. Every function here answers None, or nothing,
for what it would not have expected; none of them raises.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, TypeAlias

Raw: TypeAlias = Mapping[str, Any]
"""A Kubernetes object, or a part of one, as parsed from JSON."""

NAME_CHARACTERS = 253
"""Of the longest name that Kubernetes has."""
WORDS_CHARACTERS = 300
MOST_ITEMS = 10_000
"""Of a list or mapping that is looked at; nothing in Kubernetes has more."""
MOST_COUNT = 2**31 - 1
EARLIEST, LATEST = datetime(2000, 1, 1, tzinfo=UTC), datetime(9000, 1, 1, tzinfo=UTC)

_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")
# Of the API server's own times; MicroTime has a fraction.
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z", re.ASCII)
_SECONDS_END = 19


def part(thing: object, *path: str) -> Raw:
    """The mapping at the path; an empty one where there is none."""
    found = value(thing, *path)
    return found if isinstance(found, Mapping) else {}


def value(thing: object, *path: str) -> object:
    for key in path:
        if not isinstance(thing, Mapping):
            return None
        thing = thing.get(key)
    return thing


def items(thing: object, *path: str) -> Iterator[Raw]:
    """The mappings in the list at the path."""
    found = value(thing, *path)
    if isinstance(found, list | tuple):
        yield from (item for item in found[:MOST_ITEMS] if isinstance(item, Mapping))


def pairs(thing: object, *path: str) -> Iterator[tuple[str, object]]:
    """What the mapping at the path holds under names."""
    for at, (key, found) in enumerate(part(thing, *path).items()):
        if at >= MOST_ITEMS:
            return
        if isinstance(key, str):
            yield key, found


def name(thing: object, *path: str) -> str | None:
    """A text that can be a name: not empty, on one line, not too long."""
    found = value(thing, *path)
    if not isinstance(found, str) or not 0 < len(found) <= NAME_CHARACTERS:
        return None
    return None if _UNPRINTABLE.search(found) else found


def words(thing: object, *path: str) -> str | None:
    """A text for people, on one line and cut."""
    found = value(thing, *path)
    if not isinstance(found, str):
        return None
    return one_line(found)


def one_line(text: str, most: int = WORDS_CHARACTERS) -> str | None:
    cleaned = " ".join(_UNPRINTABLE.sub(" ", text[: 4 * most]).split())
    if len(cleaned) > most:
        cleaned = f"{cleaned[: most - 3].rstrip()}..."
    return cleaned or None


def count(thing: object, *path: str) -> int | None:
    found = value(thing, *path)
    if isinstance(found, bool) or not isinstance(found, int) or not 0 <= found <= MOST_COUNT:
        return None
    return found


def integer(thing: object, *path: str) -> int | None:
    """An exit code: it may be negative, on Windows."""
    found = value(thing, *path)
    if isinstance(found, bool) or not isinstance(found, int) or abs(found) > MOST_COUNT:
        return None
    return found


def is_true(thing: object, *path: str) -> bool:
    return value(thing, *path) is True


def moment(thing: object, *path: str) -> datetime | None:
    """To the second: a MicroTime's fraction is of no use here.

    None also for the years 1 and 1970: so Go and the kubelet write a time that they do not know.
    """
    found = value(thing, *path)
    if not isinstance(found, str) or not _TIME.fullmatch(found):
        return None
    try:
        read = datetime.fromisoformat(found[:_SECONDS_END]).replace(tzinfo=UTC)
    except ValueError:
        return None
    return read if EARLIEST <= read <= LATEST else None


def condition(thing: object, kind: str) -> Raw | None:
    """The condition of that type, if it is true."""
    for found in items(thing, "status", "conditions"):
        if found.get("type") == kind and found.get("status") == "True":
            return found
    return None
