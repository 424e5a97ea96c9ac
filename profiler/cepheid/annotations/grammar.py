"""What one figure looks like as JSON: how it is rounded, and what a reader accepts.

A kind writes None for what is not known or cannot be true, and reads by raising ValueError for
whatever it would not have written itself.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeAlias

Scalar: TypeAlias = bool | int | float | str

PERCENT = 100
# A rate that is read at the edge of a scrape lies a little above what there is; far above it is
# no share at all, but DCGM's blank value or the wrong unit.
PERCENT_NOISE = 150
MOST_GB = 99_999
MOST_MB = 999_999_999
MOST_MBPS = 99_999_999
MOST_COUNT = 99_999
MOST_ERROR_PERCENT = 999.9
LEAST_FACTOR, MOST_FACTOR = 0.01, 99_999
LEAST_SECONDS, MOST_SECONDS = 0.001, 366 * 86_400

_TIME = "%Y-%m-%dT%H:%M:%SZ"
_TIME_PATTERN = re.compile(r"[12]\d{3}-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII)
_WORD = re.compile(r"[a-z][a-z0-9_.-]{0,31}", re.ASCII)
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9 ._/()+:-]{0,62}[A-Za-z0-9)+])?", re.ASCII)
# What Kubernetes takes as the value of a label, and as a name that is no longer than one.
_LABEL = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?", re.ASCII)
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9 ._/()+:-]+", re.ASCII)


@dataclass(frozen=True, slots=True)
class Kind:
    write: Callable[[Any], Scalar | None]
    read: Callable[[object], Any]


def _shortest(value: float) -> int | float:
    """80 rather than 80.0."""
    return int(value) if value == int(value) else value


def _number(value: object, least: float, most: float) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("not a number")
    if not least <= value <= most:  # NaN is not
        raise ValueError("outside its range")
    return value


def _integer(value: object, least: int, most: int) -> int:
    found = _number(value, least, most)
    if not isinstance(found, int):
        raise ValueError("not an integer")
    return found


def _rounded(
    digits: Callable[[float], float], least: float, most: float, *, clamps: float | None = None
) -> Kind:
    """Numbers from `least` to `most`; up to `clamps` they are `most`, outside they are unknown."""

    def write(value: Any) -> Scalar | None:
        number = float(value)
        if not math.isfinite(number):
            return None
        number = digits(number)
        if clamps is not None and most < number <= clamps:
            number = most
        return _shortest(number) if least <= number <= most else None

    return Kind(write, lambda value: _number(value, least, most))


def _whole(least: int, most: int, *, clamps: float | None = None) -> Kind:
    rounded = _rounded(round, least, most, clamps=clamps)
    return Kind(rounded.write, lambda value: _integer(value, least, most))


def _matched(pattern: re.Pattern[str], value: object) -> str:
    if not isinstance(value, str) or pattern.fullmatch(value) is None:
        raise ValueError("not of its form")
    return value


def _clean_name(value: Any) -> str | None:
    """The name without what JSON would have to escape, and not longer than a line has room for."""
    cleaned = " ".join(_NOT_IN_A_NAME.sub(" ", str(value)).split())[:64]
    cleaned = cleaned.lstrip(" ._/()+:-").rstrip(" ._/(:-")
    return cleaned or None


def write_time(value: datetime) -> str | None:
    if value.tzinfo is None:
        raise ValueError(f"a time without its zone: {value}")
    try:
        text = value.astimezone(UTC).strftime(_TIME)
    except OverflowError:  # within a day of the calendar's end
        return None
    return text if _TIME_PATTERN.fullmatch(text) else None


def read_time(value: object) -> datetime:
    return datetime.strptime(_matched(_TIME_PATTERN, value), _TIME).replace(tzinfo=UTC)


def _read_flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError("not a boolean")
    return value


def _read_mark(value: object) -> bool:
    if value is not True:
        raise ValueError("only ever true")
    return True


percent = _whole(0, PERCENT, clamps=PERCENT_NOISE)
count = _whole(0, MOST_COUNT)
several = _whole(1, MOST_COUNT)
megabytes = _whole(0, MOST_MB)
gigabytes = _rounded(lambda value: round(value, 1), 0, MOST_GB)
mbps = _rounded(
    lambda value: float(f"{value:.4g}") if value >= LEAST_SECONDS else 0.0, 0, MOST_MBPS
)
seconds = _rounded(lambda value: float(f"{value:.4g}"), LEAST_SECONDS, MOST_SECONDS)
factor = _rounded(lambda value: float(f"{value:.3g}"), LEAST_FACTOR, MOST_FACTOR)
ratio = _rounded(lambda value: round(value, 2), 0, 1)
error_percent = _rounded(lambda value: round(value, 1), 0, MOST_ERROR_PERCENT, clamps=float("inf"))
flag = Kind(bool, _read_flag)
mark = Kind(lambda value: True if value else None, _read_mark)
word = Kind(
    lambda value: str(value) if _WORD.fullmatch(str(value)) else None,
    lambda value: _matched(_WORD, value),
)
# Whoever reads it looks for exactly this: it is whole or not there.
label = Kind(
    lambda value: str(value) if _LABEL.fullmatch(str(value)) else None,
    lambda value: _matched(_LABEL, value),
)
name = Kind(_clean_name, lambda value: _matched(_NAME, value))
time = Kind(write_time, read_time)
