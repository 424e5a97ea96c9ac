"""Start-up, steady state and tail, told from what a load does all the time."""

import numpy as np
import pytest

from cepheid.analysis.phases import PhaseSpan, find_phases
from cepheid.model import FloatArray

NOISE = np.random.default_rng(5)


def load(*parts: tuple[int, float], noise: float = 0.05) -> FloatArray:
    levels = np.concatenate([np.full(count, level) for count, level in parts])
    return np.maximum(0.0, levels + noise * NOISE.standard_normal(levels.size))


def spans(*ends: tuple[str, int]) -> tuple[PhaseSpan, ...]:
    found, begin = [], 0
    for name, end in ends:
        found.append(PhaseSpan(name, begin, end))
        begin = end
    return tuple(found)


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([(20, 0.1), (100, 1.9)], [("start-up", 20), ("steady", 120)]),
        ([(20, 3.0), (100, 1.0)], [("start-up", 20), ("steady", 120)]),
        ([(100, 1.0), (12, 0.0)], [("steady", 100), ("tail", 112)]),
        ([(20, 1.0), (100, 2.0), (10, 0.2)], [("start-up", 20), ("steady", 120), ("tail", 130)]),
        ([(100, 1.0)], [("steady", 100)]),
        ([(100, 1.0), (20, 1.1)], [("steady", 120)]),
        ([(100, 0.0)], [("steady", 100)]),
    ],
)
def test_stretches_of_another_level_are_told_apart(
    parts: list[tuple[int, float]], expected: list[tuple[str, int]]
) -> None:
    noise = 0.0 if parts == [(100, 0.0)] else 0.05
    assert find_phases({"cpu": load(*parts, noise=noise)}) == spans(*expected)


def test_of_a_long_run_the_cut_is_right_to_a_block() -> None:
    start_up, steady = find_phases({"cpu": load((3_000, 1.0), (90_000, 3.0))})
    assert (start_up.name, steady.name) == ("start-up", "steady")
    assert start_up.end == pytest.approx(3_000, abs=93_000 / 240)


def test_the_pauses_of_a_cycle_are_no_phases() -> None:
    cycle = np.tile([1.0] * 8 + [0.0] * 8, 12)
    assert find_phases({"cpu": cycle}) == spans(("steady", 192))
    assert find_phases({"cpu": cycle}, period_samples=16) == spans(("steady", 192))


def test_a_start_up_before_a_cycle_is_found_to_a_half_period() -> None:
    cycle = np.concatenate([np.zeros(40), np.tile([1.0] * 8 + [0.0] * 8, 12)])
    start_up, steady = find_phases({"cpu": cycle}, period_samples=16)
    assert start_up.name == "start-up"
    assert start_up.end == pytest.approx(40, abs=8)
    assert steady.end == cycle.size


def test_noise_has_one_phase_however_loud_it_is() -> None:
    for seed in range(300):
        values = np.random.default_rng(seed).uniform(0.0, 2.0, 150)
        assert [span.name for span in find_phases({"cpu": values})] == ["steady"]


def test_of_several_series_one_is_enough() -> None:
    found = find_phases({"cpu": load((120, 1.0)), "gpu": load((30, 0.0), (90, 80.0))})
    assert found == spans(("start-up", 30), ("steady", 120))


def test_gaps_are_no_phases() -> None:
    values = load((120, 1.0))
    values[:15] = np.nan
    values[60:70] = np.nan
    assert find_phases({"cpu": values}) == spans(("steady", 120))


@pytest.mark.parametrize("values", [np.empty(0), np.ones(5), np.full(100, np.nan)])
def test_too_little_to_tell_is_no_phase_at_all(values: FloatArray) -> None:
    assert find_phases({"cpu": values}) == ()
    assert find_phases({}) == ()
