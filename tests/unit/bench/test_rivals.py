"""What we compare with does what its name says: else the comparison would be worth nothing."""

import numpy as np
import pytest

from tests.bench.detectors import DETECTORS
from tests.bench.predictors import PREDICTORS

SINE = 50 + 10 * np.sin(2 * np.pi * np.arange(480) / 24)


@pytest.mark.parametrize(
    "name", ["cepheid", "statsmodels acf + Bartlett", "periodogram, highest line"]
)
def test_a_detector_finds_a_plain_sine(name: str) -> None:
    assert DETECTORS[name](SINE) == pytest.approx(24, abs=1)


def test_the_recipe_of_gpu_profilers_takes_the_median_distance_of_high_lags() -> None:
    spikes = np.zeros(600)
    spikes[::30] = 1.0
    assert DETECTORS["thresholded acf of GPU profilers"](spikes) == 30
    # Around every top of a sine several neighbouring lags are high: one step apart.
    assert DETECTORS["thresholded acf of GPU profilers"](SINE + np.arange(480) / 100) in (1, None)


@pytest.mark.parametrize("name", DETECTORS)
def test_a_detector_bears_gaps_and_a_constant(name: str) -> None:
    gappy = SINE.copy()
    gappy[100:120] = np.nan
    DETECTORS[name](gappy)
    assert DETECTORS[name](np.full(200, 3.0)) is None


@pytest.mark.parametrize("name", PREDICTORS)
def test_a_predictor_continues_a_plain_sine(name: str) -> None:
    answer = PREDICTORS[name](SINE[:456], 24, 24.0)
    assert answer is not None
    assert np.abs(answer.middle - SINE[456:]).mean() < 1.0
    if answer.lower is not None:
        assert (answer.lower <= answer.middle + 1e-9).all()


@pytest.mark.parametrize("name", PREDICTORS)
def test_a_predictor_without_a_period_holds_the_level(name: str) -> None:
    noise = 50 + np.random.default_rng(0).standard_normal(400)
    answer = PREDICTORS[name](noise, 20, None)
    assert answer is not None
    assert np.abs(answer.middle - 50).max() < 5
