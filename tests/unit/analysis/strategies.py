"""Series that nobody should have to expect."""

import math

from hypothesis import strategies as st

ANY_FLOAT = st.floats(allow_nan=True, allow_infinity=True, width=64)
EXTREMES = st.sampled_from(
    [0.0, 1.0, -1.0, 5e-324, 1e-310, 1e-300, 1e300, 1.7e308, -1.7e308, math.nan, math.inf]
)


def repeated(pattern: list[float], times: int, spoilt: list[tuple[int, float]]) -> list[float]:
    values = pattern * times
    for place, value in spoilt:
        values[place % len(values)] = value
    return values


SPOILT_PATTERNS = st.builds(
    repeated,
    st.lists(EXTREMES | st.floats(-10, 10), min_size=1, max_size=12),
    st.integers(1, 20),
    st.lists(st.tuples(st.integers(0, 999), EXTREMES), max_size=4),
)
