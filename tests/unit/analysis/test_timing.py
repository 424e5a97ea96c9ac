"""How exactly a period is known: coverage over many jobs is in tests/unit/jobs/test_pulse.py."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cepheid.analysis.timing import time_cycles
from cepheid.model import FloatArray
from tests.unit.analysis.strategies import SPOILT_PATTERNS


def wave(period: float, size: int, *, phase: float = 0.0) -> FloatArray:
    angle = 2 * np.pi * np.arange(size) / period + phase
    values: FloatArray = 5 + np.sin(angle) + 0.4 * np.cos(2 * angle)
    return values


@pytest.mark.parametrize("period", [3.6, 4.0, 5.5, 11.3, 40.0])
@pytest.mark.parametrize("given_share", [0.97, 1.0, 1.02])
def test_a_period_that_is_about_right_is_made_exact(period: float, given_share: float) -> None:
    signals = [wave(period, int(9 * period), phase=phase) for phase in (0.0, 1.0)]
    timing = time_cycles(signals, given_share * period)
    assert timing is not None
    assert timing.period_steps == pytest.approx(period, rel=2e-3)


def test_gaps_and_a_trend_are_no_matter() -> None:
    values = wave(7.3, 90) + 0.02 * np.arange(90)
    values[[3, 20, 21, 22, 50, 77]] = np.nan
    timing = time_cycles([values, np.full(90, np.nan)], 7.2)
    assert timing is not None
    assert timing.period_steps == pytest.approx(7.3, rel=2e-3)


def test_iterations_that_differ_more_make_a_larger_error() -> None:
    errors = []
    for jitter in (0.0, 0.1):
        lengths = np.random.default_rng(1).normal(10, 10 * jitter, 30)
        phase = np.interp(np.arange(15, 215), np.cumsum(lengths), np.arange(30))
        timing = time_cycles([np.sin(2 * np.pi * phase)], 200 / (phase[-1] - phase[0]))
        assert timing is not None
        errors.append(timing.error_steps)
    assert errors[1] > 3 * errors[0]


def test_one_cycle_alone_has_nothing_to_be_compared_with() -> None:
    assert time_cycles([wave(10.0, 14)], 10.0) is None
    assert time_cycles([np.full(30, 1.0)], 10.0) is None
    assert time_cycles([], 10.0) is None


@settings(max_examples=60)
@given(SPOILT_PATTERNS, st.floats(3.5, 50))
def test_whatever_was_measured_gives_finite_figures_or_none(
    values: list[float], period: float
) -> None:
    timing = time_cycles([np.array(values)], period)
    if timing is not None:
        assert np.isfinite(timing).all()
        assert timing.error_steps > 0
