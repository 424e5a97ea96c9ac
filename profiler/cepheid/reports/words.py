"""How is a figure said to people?

Two or three digits, a unit that keeps it short, and "no data" for what was not measured. Sentences
take `lasting` ("2 h 14 min"), columns take `brief` ("2h14m").
"""

from datetime import datetime

from cepheid.units import in_time

NO_DATA = "no data"
KIB, MIB, GIB, TIB = 2.0**10, 2.0**20, 2.0**30, 2.0**40
_BYTES = ((TIB, "TiB"), (GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB"))
_JOULES = ((3.6e9, "MWh"), (3.6e6, "kWh"), (3.6e3, "Wh"))
_DAY, _HOUR, _MINUTE = 86_400, 3_600, 60
_LITTLE = 0.01
_FEW, _MANY = 10, 100
_TWICE = 100.0
_ABSURD = 1e12
_LONGEST_SECONDS = 1e11
"""Three thousand years: who claims more is not believed, but must not break a table."""


def figure(value: float) -> str:
    """To three digits at most: 0.42, 3.1, 71, 1,204. What is not zero does not become it."""
    if 0 < value < _LITTLE:
        return f"<{_LITTLE:g}"
    if value >= _ABSURD:
        return f"{value:.1e}"
    if value >= _MANY:
        return f"{value:,.0f}"
    if value >= _FEW:
        return f"{value:.1f}".removesuffix(".0")
    return f"{value:.2f}".rstrip("0").rstrip(".")


def in_bytes(amount: float | None) -> str:
    return NO_DATA if amount is None else _with_unit(amount, _BYTES, "B")


def bytes_of(used: float | None, most: float | None) -> str:
    """`37.9 of 64 GiB`: both in the unit of the larger one."""
    if used is None or most is None or not 0 < used <= most:
        return in_bytes(used) if used is not None else NO_DATA
    scale, unit = next((each for each in _BYTES if most >= each[0]), (1.0, "B"))
    if used < scale:  # then the larger unit would hide it
        return f"{in_bytes(used)} of {in_bytes(most)}"
    return f"{figure(used / scale)} of {figure(most / scale)} {unit}"


def in_rate(bytes_per_second: float | None) -> str:
    return NO_DATA if bytes_per_second is None else f"{in_bytes(bytes_per_second)}/s"


def in_energy(joules: float | None) -> str:
    return NO_DATA if joules is None else _with_unit(joules, _JOULES, "J")


def in_percent(percent: float | None) -> str:
    if percent is None:
        return NO_DATA
    return f"{percent:.1f} %" if 0 < percent < 1 else f"{percent:.0f} %"


def in_cores(cores: float | None) -> str:
    return NO_DATA if cores is None else figure(cores)


def cores_said(cores: float) -> str:
    text = figure(cores)
    return f"{text} core" if text == "1" else f"{text} cores"


def lasting(seconds: float | None) -> str:
    """In a sentence: the two largest units."""
    if seconds is None:
        return NO_DATA
    if seconds >= _LONGEST_SECONDS:
        return "3,000 years or more"
    if seconds < 1:
        return f"{1000 * seconds:.0f} ms"
    if seconds < _MINUTE:
        return f"{figure(seconds)} s"
    rest = round(seconds)
    days, rest = divmod(rest, _DAY)
    hours, rest = divmod(rest, _HOUR)
    minutes, rest = divmod(rest, _MINUTE)
    parts = [(days, "d"), (hours, "h"), (minutes, "min"), (rest, "s")]
    while not parts[0][0]:
        parts.pop(0)
    return " ".join(f"{count} {unit}" for count, unit in parts[:2] if count)


def brief(seconds: float | None) -> str:
    """In a column."""
    if seconds is None:
        return ""
    if seconds >= _LONGEST_SECONDS:
        return ">3000y"
    if seconds < 1:
        return f"{1000 * seconds:.0f}ms"
    return f"{seconds:.1f}s" if seconds < _FEW else in_time(seconds).replace(" ", "")


def age(moment: datetime | None, now: datetime) -> str:
    """In a column: the largest unit alone; what is to come, by a clock that is wrong, is now."""
    if moment is None:
        return ""
    seconds = max(0.0, (now - moment).total_seconds())
    for unit, length in (("d", _DAY), ("h", _HOUR), ("m", _MINUTE)):
        if seconds >= length:
            return f"{seconds // length:.0f}{unit}"
    return f"{seconds:.0f}s"


def change(percent: float) -> str:
    """`+14 %`; of what is more than twice as much, `2.3 times`."""
    if percent > _TWICE:
        return f"{1 + percent / 100:.1f} times"
    return f"{percent:+.1f} %" if abs(percent) < _FEW else f"{percent:+.0f} %"


def counted(count: int, one: str, many: str | None = None) -> str:
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def listed(names: list[str], most: int = 3) -> str:
    """`a, b and 4 more`."""
    if len(names) <= most:
        return ", ".join(names)
    return f"{', '.join(names[: most - 1])} and {len(names) - most + 1} more"


def sentence(words: str) -> str:
    """With a capital at its beginning and a stop at its end."""
    text = words.strip()
    return "" if not text else text[0].upper() + text[1:] + ("" if text[-1] in ".!?" else ".")


def _with_unit(amount: float, units: tuple[tuple[float, str], ...], smallest: str) -> str:
    for scale, unit in units:
        if amount >= scale:
            return f"{figure(amount / scale)} {unit}"
    return f"{figure(amount)} {smallest}"
