"""Integrals are those of the levels, and the past does not change with the present."""

import numpy as np
import pytest

from tests.stage.levels import Level, Ramp, Square, Steady, Timeline

STEP = 1 / 1024


def switched() -> Timeline:
    line = Timeline(Square(period_seconds=7, duty=0.25, high=0.75, low=0.125))
    line.become(2.0, at=31.5)
    line.become(Ramp(begin=1, end=5, since=50, seconds=10), at=40)
    return line


@pytest.mark.parametrize(
    "level",
    [
        Steady(0.5),
        Square(period_seconds=20),
        Square(period_seconds=3, duty=0.25, high=0.75, low=0.125, phase_seconds=1),
        Ramp(begin=1, end=5, since=30, seconds=20),
        switched(),
    ],
)
@pytest.mark.parametrize(("begin", "end"), [(0.0, 100.0), (12.5, 13.0), (29.0, 71.25)])
def test_an_integral_is_the_sum_of_the_level(level: Level, begin: float, end: float) -> None:
    times = np.arange(begin, end, STEP) + STEP / 2
    summed = sum(level.at(float(when)) for when in times) * STEP
    assert level.integral(begin, end) == pytest.approx(summed, abs=0.01)


def test_what_was_before_a_change_stays() -> None:
    line = switched()
    before = line.integral(0, 30)
    line.become(9.0, at=70)
    assert line.integral(0, 30) == before
    assert line.at(69) == 5
    assert line.at(70) == 9
