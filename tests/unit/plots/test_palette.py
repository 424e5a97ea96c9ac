"""Colours stay apart for every eye, and from what they are drawn on."""

import math
from itertools import combinations

import pytest

from cepheid.jobprofile import Outcome
from cepheid.plots.palette import DARK, LIGHT, LINES, OUTCOMES, css, line

# Machado, Oliveira, Fernandes (2009), severity 1, for linear RGB.
EYES = {
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}
APART = 17.0
"""In CIE Lab; 2.3 is what a trained eye just sees side by side."""


def linear(colour: str) -> list[float]:
    shares = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in shares]


def seen(colour: str, eye: str) -> tuple[float, float, float]:
    """In CIE Lab."""
    plain = linear(colour)
    red, green, blue = (
        min(1.0, max(0.0, sum(part * one for part, one in zip(row, plain, strict=True))))
        for row in EYES[eye]
    )
    x = (0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.9505
    y = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    z = (0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.089
    fx, fy, fz = (one ** (1 / 3) if one > 0.008856 else 7.787 * one + 16 / 116 for one in (x, y, z))
    return 116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)


def contrast(one: str, other: str) -> float:
    """As WCAG has it."""
    low, high = sorted(
        sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear(colour), strict=True))
        for colour in (one, other)
    )
    return (high + 0.05) / (low + 0.05)


SCHEMES = pytest.mark.parametrize("scheme", [LIGHT, DARK], ids=["light", "dark"])


@SCHEMES
@pytest.mark.parametrize("eye", EYES)
def test_lines_can_be_told_apart_by_colour(scheme: dict[str, str], eye: str) -> None:
    colours = [scheme[token.removeprefix("@")] for token in LINES]
    nearest = min(math.dist(seen(a, eye), seen(b, eye)) for a, b in combinations(colours, 2))
    assert nearest >= APART


@SCHEMES
def test_lines_stand_out_from_the_card_and_text_can_be_read(scheme: dict[str, str]) -> None:
    for token in LINES:
        assert contrast(scheme[token.removeprefix("@")], scheme["card"]) >= 3.0, token
    for text in ("ink", "soft"):
        for ground in ("card", "page"):
            assert contrast(scheme[text], scheme[ground]) >= 4.5, (text, ground)


def test_thirty_lines_differ_in_colour_or_dash() -> None:
    assert len({tuple(line(place).items()) for place in range(30)}) == 30


def test_outcomes_differ_without_colour_too() -> None:
    assert set(OUTCOMES) == set(Outcome)
    assert len({symbol for _, symbol, _ in OUTCOMES.values()}) == len(OUTCOMES)
    assert len({pattern for _, _, pattern in OUTCOMES.values()}) == len(OUTCOMES)


def test_both_schemes_name_the_same_colours() -> None:
    assert set(LIGHT) == set(DARK)
    written = css()
    assert all(f"--c-{name}:{value};" in written for name, value in [*LIGHT.items(), *DARK.items()])
