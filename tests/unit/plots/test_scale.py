"""Numbers in the unit in which they read best."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.plots.scale import Quantity, most_of, number


@pytest.mark.parametrize(
    ("quantity", "amount", "shown"),
    [
        (Quantity.CORES, 3.94, "3.94 cores"),
        (Quantity.CORES, 0.031, "0.031 cores"),
        (Quantity.BYTES, 6.2 * 2**30, "6.2 GiB"),
        (Quantity.BYTES, 512.0, "512 B"),
        (Quantity.BYTES, 1023 * 2.0**20, "1,023 MiB"),
        (Quantity.BYTES_A_SECOND, 9e7, "85.8 MiB/s"),
        (Quantity.PERCENT, 71.0, "71 %"),
        (Quantity.WATTS, 1500.0, "1.5 kW"),
        (Quantity.JOULES, 260_280.0, "260 kJ"),
        (Quantity.JOULES, 1.224e7, "3.4 kWh"),
        (Quantity.HOURS, 5400.0, "1.5 h"),
        (Quantity.SECONDS, 723.0, "12m 3s"),
        (Quantity.COUNT, 44.0, "44"),
        (Quantity.BYTES, 0.0, "0 B"),
    ],
)
def test_an_amount_is_shown_with_its_unit(quantity: Quantity, amount: float, shown: str) -> None:
    assert quantity(amount) == shown


@pytest.mark.parametrize(
    ("seconds", "unit"), [(0.0, "s"), (179.0, "s"), (180.0, "min"), (10_800.0, "h"), (3e5, "d")]
)
def test_an_axis_of_time_has_at_least_three_of_its_unit(seconds: float, unit: str) -> None:
    assert Quantity.SECONDS.scale(seconds).unit == unit


@given(st.none() | st.floats())
def test_a_number_on_a_page_is_one_that_json_knows(figure: float | None) -> None:
    shown = number(figure)
    assert shown is None or math.isfinite(shown)
    if shown is not None and figure is not None:
        assert shown == pytest.approx(figure, rel=1e-4)


def test_the_largest_is_of_what_is_known() -> None:
    assert most_of([None, 3.0, math.nan, math.inf]) == 3.0
    assert most_of([None]) == 0.0
