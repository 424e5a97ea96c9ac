"""What of a text may reach a terminal, and how many columns does it take there?

Users choose the names of jobs. An escape code in one could clear the screen or forge a line, a mark
that turns the direction of writing could disguise it. What cannot be seen is shown as what it is: a
character that is none.
"""

import unicodedata
from functools import lru_cache

NOT_SHOWN = "\N{REPLACEMENT CHARACTER}"
CUT = "\N{HORIZONTAL ELLIPSIS}"


def plain(text: str) -> str:
    """On one line, and without anything that a terminal would obey."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else _instead(one) for one in text)


def width(text: str) -> int:
    """In columns: wide ones take two, accents none."""
    if text.isascii():
        return len(text)
    return sum(map(_columns, text))


def clipped(text: str, columns: int, *, middle: bool = False) -> str:
    """Its beginning, where it is too wide; or both ends: runs of a job differ in the last."""
    if width(text) <= columns:
        return text
    after = (columns - 1) // 2 if middle else 0
    before = _beginning(text, columns - 1 - after).rstrip()
    return before + CUT + (_beginning(text[::-1], after)[::-1] if after else "")


def _beginning(text: str, columns: int) -> str:
    if text.isascii():
        return text[:columns]
    taken = 0
    for place, one in enumerate(text):
        taken += _columns(one)
        if taken > columns:
            return text[:place]
    return text


def padded(text: str, columns: int, *, right: bool = False) -> str:
    """`right` puts it at the right edge, as figures stand."""
    characters = columns - width(text) + len(text)
    return text.rjust(characters) if right else text.ljust(characters)


def _instead(one: str) -> str:
    # What parts words still does; all else that is not printable is no part of a name.
    return " " if one.isspace() and one not in "\x1c\x1d\x1e\x1f\x85" else NOT_SHOWN


# The same few characters, in thousands of names.
@lru_cache(maxsize=4096)
def _columns(one: str) -> int:
    # By its kind: vowel signs of Hindi, or what makes a heart an emoji, have no combining class.
    if unicodedata.category(one) in {"Mn", "Me"}:
        return 0
    return 2 if unicodedata.east_asian_width(one) in "WF" else 1
