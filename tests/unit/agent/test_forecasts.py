"""As far ahead as the past allows, and it says how far that is."""

import numpy as np
import pytest

from cepheid.agent.forecasts import of_gpu, of_share
from cepheid.annotations.facts import ForecastFacts

STEP = 15.0
RANDOM = np.random.default_rng(7)


def told(minutes: float) -> ForecastFacts | None:
    """Of a GPU that has been at about 60 % for so long."""
    util = np.full(240, np.nan)
    seen = round(60 * minutes / STEP)
    util[240 - seen :] = 60 + RANDOM.standard_normal(seen)
    memory = np.where(np.isfinite(util), 8192.0, np.nan)
    return of_gpu(util, memory, 81_920.0, (), step_seconds=STEP, horizon_seconds=600.0)


@pytest.mark.parametrize(
    ("minutes", "horizon_seconds"), [(8, 120), (12, 300), (24, 600), (60, 600)]
)
def test_the_horizon_grows_with_what_was_seen(minutes: float, horizon_seconds: float) -> None:
    found = told(minutes)
    assert found is not None
    assert found.horizon_seconds == horizon_seconds
    assert found.util_mean_percent == pytest.approx(60, abs=2)
    assert found.util_p95_percent == pytest.approx(62, abs=2)
    assert found.mem_peak_gb == pytest.approx(8, rel=0.01)


def test_of_a_few_minutes_nothing_is_foretold() -> None:
    assert told(4) is None


def test_of_what_is_not_measured_nothing_is_said() -> None:
    assert of_gpu(None, None, None, (), step_seconds=STEP, horizon_seconds=600.0) is None
    assert of_share(None, 8.0, step_seconds=STEP, horizon_seconds=600.0) is None
    assert of_share(np.ones(240), None, step_seconds=STEP, horizon_seconds=600.0) is None


def test_a_share_is_in_percent_of_the_whole() -> None:
    found = of_share(np.full(240, 2.0), 8.0, step_seconds=STEP, horizon_seconds=600.0)
    assert found is not None
    assert found.util_mean_percent == pytest.approx(25)
    assert found.mem_peak_gb is None
