"""Kubernetes quantities, and figures for people."""

import re

_QUANTITY = re.compile(
    r"(\d{1,24}(?:\.\d{0,12})?|\.\d{1,12})([a-zA-Z]{0,2})([eE][+-]?\d{1,2})?", re.ASCII
)
_SCALES = {
    "": 1.0,
    "n": 1e-9,
    "u": 1e-6,
    "m": 1e-3,
    "k": 1e3,
    "M": 1e6,
    "G": 1e9,
    "T": 1e12,
    "P": 1e15,
    "E": 1e18,
    "Ki": 2.0**10,
    "Mi": 2.0**20,
    "Gi": 2.0**30,
    "Ti": 2.0**40,
    "Pi": 2.0**50,
    "Ei": 2.0**60,
}
_BYTES = (("Ti", 2.0**40), ("Gi", 2.0**30), ("Mi", 2.0**20), ("Ki", 2.0**10))
_TIMES = (("d", 86_400), ("h", 3_600), ("m", 60))
_FEW = 10
_LENGTH = re.compile(r"(\d{1,6}(?:\.\d{1,3})?)\s*(s|min|m|h|d|w)", re.ASCII)
_SECONDS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400, "w": 604_800}


def quantity(text: str) -> float | None:
    """`500m`, `16Gi`, `1e3`; None for what is none."""
    found = _QUANTITY.fullmatch(text)
    if found is None:
        return None
    number, unit, exponent = found.groups()
    if unit not in _SCALES or (unit and exponent):
        return None
    return float(number + (exponent or "")) * _SCALES[unit]


def length_seconds(text: str) -> float | None:
    """`90min`, `8h`, `7d`; None for what is none."""
    found = _LENGTH.fullmatch(text.strip())
    return None if found is None else float(found[1]) * _SECONDS[found[2]]


def in_bytes(amount: float) -> str:
    """As a quantity that can be written into a manifest: `6.9Gi`, `512Mi`."""
    for unit, scale in _BYTES:
        if amount >= scale:
            figure = amount / scale
            return f"{figure:.1f}{unit}" if figure < _FEW else f"{figure:.0f}{unit}"
    return f"{amount:.0f}"


def in_time(seconds: float) -> str:
    """`1h 30m`: the two largest units."""
    rest = round(seconds)
    parts = []
    for unit, length in _TIMES:
        if rest >= length:
            parts.append(f"{rest // length}{unit}")
            rest %= length
    if rest or not parts:
        parts.append(f"{rest}s")
    return " ".join(parts[:2])
