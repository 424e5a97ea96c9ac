"""Which colours are there, on a light page and on a dark one?

A picture names a colour by a token, `@1` or `@ink`, with a share of opacity where it is seen
through: `@1:0.2`. The page gives it the value for the scheme that its reader has, and a new one
when that changes. The six of the lines follow Okabe and Ito (2008, "Color Universal Design"), moved
until the nearest two are 17 apart in CIE Lab for every kind of colour-blindness as Machado et al.
(2009) simulate it, and 3 to 1 in contrast to the card as WCAG asks. No picture rests on colour
alone: lines have dashes, points have symbols, bars have patterns.
"""

from cepheid.jobprofile import Outcome

LIGHT = {
    "1": "#17508f",
    "2": "#d4500f",
    "3": "#0b9c62",
    "4": "#b974a6",
    "5": "#6b2c1a",
    "6": "#6c7cf0",
    "ink": "#1c2430",
    "soft": "#5a6675",
    "grid": "#e3e7ec",
    "card": "#ffffff",
    "page": "#f4f6f8",
}
DARK = {
    "1": "#4f8fd0",
    "2": "#e0721f",
    "3": "#45dd94",
    "4": "#f7c0de",
    "5": "#f0ea3c",
    "6": "#a274ff",
    "ink": "#e8ecf1",
    "soft": "#9aa6b5",
    "grid": "#313945",
    "card": "#1b1f26",
    "page": "#12151a",
}
LINES = ("@1", "@2", "@3", "@4", "@5", "@6")
DASHES = ("solid", "dash", "dot", "dashdot", "longdash")

OUTCOMES = {
    Outcome.SUCCESS: ("@3", "circle", ""),
    Outcome.FAILED: ("@2", "x", "x"),
    Outcome.TIMEOUT: ("@5", "triangle-up", "/"),
    Outcome.ERROR: ("@4", "diamond", "."),
    Outcome.RUNNING: ("@1", "circle-open", "-"),
}
"""Its colour, the symbol of a point, the pattern of a bar."""


def line(place: int) -> dict[str, str]:
    """Colour and dash of the line at this place: 30 can be told apart."""
    dash = DASHES[place // len(LINES) % len(DASHES)]
    return {"color": LINES[place % len(LINES)], "dash": dash}


def seen_through(token: str, share: float) -> str:
    return f"{token}:{share:g}"


def pattern_of(shape: str) -> dict[str, object]:
    """On top of a bar's colour."""
    return {"shape": shape, "fillmode": "overlay", "fgcolor": "@card", "size": 7, "solidity": 0.3}


def css() -> str:
    """The same as custom properties, which the page's script reads."""
    return (
        f":root{{color-scheme:light dark;{_properties(LIGHT)}}}"
        f"@media (prefers-color-scheme:dark){{:root{{{_properties(DARK)}}}}}"
    )


def _properties(colours: dict[str, str]) -> str:
    return "".join(f"--c-{name}:{value};" for name, value in colours.items())
