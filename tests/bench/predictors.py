"""Ours, and what a user would pick instead: from a series to what comes, with a 90 % band.

Ours finds the period itself. The others are told the true one: in their favour.
"""

import importlib.util
import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pandas as pd
from statsmodels.tsa.exponential_smoothing.ets import ETSModel
from statsmodels.tsa.holtwinters import ExponentialSmoothing
from statsmodels.tsa.seasonal import STL

from cepheid.analysis.forecast import forecast
from cepheid.model import Cycle, FloatArray
from tests.bench.detectors import bridged


class Prediction(NamedTuple):
    middle: FloatArray
    lower: FloatArray | None
    upper: FloatArray | None


Predictor = Callable[[FloatArray, int, float | None], Prediction | None]


def cepheid(values: FloatArray, horizon: int, _period: float | None) -> Prediction | None:
    answer = forecast(values, 1.0, horizon)
    return None if answer is None else Prediction(answer.mean, answer.lower, answer.upper)


def cepheid_that_knows(values: FloatArray, horizon: int, period: float | None) -> Prediction | None:
    """As in the agent, which has looked for cycles before: for what the forecast alone costs."""
    cycles = [] if period is None else [Cycle(period, 1.0, len(values) / period)]
    answer = forecast(values, 1.0, horizon, cycles=cycles)
    return None if answer is None else Prediction(answer.mean, answer.lower, answer.upper)


def seasonal_naive(values: FloatArray, horizon: int, period: float | None) -> Prediction:
    """The yardstick: as one period ago; without a period as now."""
    series = bridged(values)
    if period is None:
        return Prediction(np.full(horizon, series[-1]), None, None)
    ahead = np.arange(1, horizon + 1)
    back = np.rint(np.ceil(ahead / period) * period).astype(int)
    return Prediction(series[np.maximum(len(series) - 1 + ahead - back, 0)], None, None)


def _whole(period: float | None, length: int) -> int | None:
    whole = None if period is None else round(period)
    return whole if whole is not None and 2 <= whole <= length / 2 - 1 else None


def stl_ets(values: FloatArray, horizon: int, period: float | None) -> Prediction:
    """The last season of STL on top of a damped ETS of the rest; without a period ETS alone."""
    series = bridged(values)
    season = _whole(period, len(series))
    seasonal = np.zeros(1) if season is None else STL(series, period=season).fit().seasonal
    repeated = seasonal[-(season or 1) :][np.arange(horizon) % (season or 1)]
    rest = pd.Series(series - (0 if season is None else seasonal))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of fits that did not converge: they are used all the same
        fit = ETSModel(rest, error="add", trend="add", damped_trend=True).fit(disp=False)
        ahead = fit.get_prediction(len(series), len(series) + horizon - 1)
        frame = ahead.summary_frame(alpha=0.1)
    return Prediction(*(frame[c].to_numpy() + repeated for c in ("mean", "pi_lower", "pi_upper")))


def holt_winters(values: FloatArray, horizon: int, period: float | None) -> Prediction:
    series = bridged(values)
    season = _whole(period, len(series))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = ExponentialSmoothing(
            series,
            trend="add",
            damped_trend=True,
            seasonal=None if season is None else "add",
            seasonal_periods=season,
            initialization_method="heuristic" if season is None else "estimated",
        ).fit()
        middle = np.asarray(fit.forecast(horizon))
    return Prediction(middle, None, None)


def auto_ets(values: FloatArray, horizon: int, period: float | None) -> Prediction:
    from statsforecast.models import AutoETS  # noqa: PLC0415 # not a dependency: heavy, and slow

    series = bridged(values)
    season = _whole(period, len(series)) or 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # Of seasons longer than 24 its ETS knows nothing.
        answer = AutoETS(season_length=season if season <= 24 else 1).forecast(
            series, h=horizon, level=[90]
        )
    return Prediction(answer["mean"], answer["lo-90"], answer["hi-90"])


PREDICTORS: dict[str, Predictor] = {
    "cepheid": cepheid,
    "seasonal naive": seasonal_naive,
    "STL + ETS": stl_ets,
    "Holt-Winters": holt_winters,
}
if importlib.util.find_spec("statsforecast"):
    PREDICTORS["AutoETS (statsforecast)"] = auto_ets
