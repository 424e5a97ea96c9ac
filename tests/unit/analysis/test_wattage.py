"""Power of placements that were not tried, by what others drew."""

import numpy as np
import pytest

from cepheid.analysis.scaling import GpuType
from cepheid.analysis.wattage import draw_watts
from cepheid.model import FloatArray
from cepheid.placementtrial import Placement

TYPES = (GpuType("H100", tensor_teraflops=989), GpuType("T4", tensor_teraflops=65))
PLACEMENTS = [Placement(gpu_type=name, workers=n) for name in ("H100", "T4") for n in (1, 2, 8)]


def rates(*per_second: float) -> FloatArray:
    return np.asarray(np.log(np.tile(per_second, (400, 1))))


PERFECT = rates(10, 20, 80, 1, 2, 8)


def test_what_was_measured_is_believed() -> None:
    watts = draw_watts({PLACEMENTS[0]: 650.0}, PLACEMENTS, PERFECT, TYPES)
    assert np.median(watts[:, 0]) == pytest.approx(650, rel=0.02)


def test_more_of_the_same_draw_as_much_each() -> None:
    watts = draw_watts({PLACEMENTS[0]: 650.0}, PLACEMENTS, PERFECT, TYPES)
    assert np.median(watts[:, 2]) == pytest.approx(8 * 650, rel=0.05)
    assert watts[:, 2].std() < watts[:, 5].std() * 8 * 650 / 400


def test_gpus_that_wait_draw_less() -> None:
    slow = rates(10, 20, 30, 1, 2, 8)
    watts = draw_watts({PLACEMENTS[0]: 650.0}, PLACEMENTS, slow, TYPES)
    assert np.median(watts[:, 2]) < 0.75 * 8 * 650


def test_a_smaller_type_is_guessed_to_draw_less() -> None:
    watts = draw_watts({PLACEMENTS[0]: 650.0}, PLACEMENTS, PERFECT, TYPES)
    assert 20 < np.median(watts[:, 3]) < 300


def test_a_type_without_a_data_sheet_and_nothing_measured_have_an_answer() -> None:
    more = [*PLACEMENTS, Placement(gpu_type="unheard")]
    watts = draw_watts({}, more, rates(10, 20, 80, 1, 2, 8, 3), TYPES)
    assert np.isfinite(watts).all()
