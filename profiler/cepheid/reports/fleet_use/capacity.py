"""How many GPUs will be held, and when will there be none left?

The hourly series of GPUs held is taken apart by STL into what repeats, every day and where there is
enough history every week, and the rest, which damped exponential smoothing (ETS) goes on with
(Cleveland et al. 1990; Hyndman et al. 2008; both by statsmodels). Whether that is worth anything is
tried on the history itself: from several earlier moments it foretells what came after them. Where
it did no better than "as a week ago", or "as a day ago", that is what is foretold instead.

The band is as wide as those errors were: nine of ten lay within it. How many would have, had each
moment been judged by the errors of the others alone, is said beside it.
"""

import importlib.util
import math
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from itertools import accumulate
from typing import TYPE_CHECKING

from cepheid.errors import CepheidError
from cepheid.jobprofile import JobProfile
from cepheid.reports.fleet_use.apportion import gpus_held
from cepheid.reports.fleet_use.hours import HOUR, HOURS_A_DAY, HOURS_A_WEEK, ran

if TYPE_CHECKING:
    from cepheid.model import FloatArray

LEAST_TRAINING_HOURS = 3 * HOURS_A_DAY
"""Three days show what repeats every day; three weeks what repeats every week."""
WEEKLY_FROM_HOURS = 3 * HOURS_A_WEEK
MOST_HISTORY_HOURS = 8 * HOURS_A_WEEK
"""What is older says little of next week, and each of the fits takes longer."""
LEAST_CUTS, MOST_CUTS = 3, 6
MOST_HORIZON_HOURS = 4 * HOURS_A_WEEK
BAND_SHARE = 0.9
_HALF = 0.5


class Method(StrEnum):
    STL_ETS = "STL + ETS"
    NAIVE = "seasonal naive"


@dataclass(frozen=True, slots=True)
class Held:
    """GPUs held over time, as steps: from each moment on so many, up to the next."""

    times: tuple[float, ...]
    gpus: tuple[float, ...]
    now: float

    @property
    def most(self) -> float | None:
        return max(self.gpus, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastRow:
    """The mean of one hour."""

    hour_begins: datetime
    gpus: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class BackTest:
    """What the forecast was worth, had it been asked for earlier."""

    cuts: int
    hours_each: int
    mean_error_gpus: float
    """Mean absolute error of what is used."""
    mean_error_percent: float | None
    """Of the GPUs held meanwhile; None where there were none."""
    stl_ets_error_gpus: float | None
    """None where it could not be fitted."""
    naive_error_gpus: float
    band_coverage_percent: float
    """Of what came, within a band that had been made without it; 90 were meant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    method: Method
    season_hours: tuple[int, ...]
    history_hours: int
    tested: BackTest
    rows: tuple[ForecastRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunsOut:
    """When all GPUs are held, an hour long."""

    expected: datetime | None
    """The first hour in which as many are foretold; None where none is."""
    possible: datetime | None
    """The first hour whose band reaches there."""


@dataclass(frozen=True, slots=True)
class _Cut:
    truth: "FloatArray"
    naive: "FloatArray"
    fitted: "FloatArray | None"


def held_over_time(profiles: Iterable[JobProfile], now: float) -> Held:
    changes: dict[float, float] = {}
    for profile in profiles:
        run, gpus = ran(profile, now), gpus_held(profile)
        if run is None or not gpus or not run.seconds:
            continue
        changes[run.begin] = changes.get(run.begin, 0.0) + gpus
        changes[run.end] = changes.get(run.end, 0.0) - gpus
    times = sorted(changes)
    return Held(tuple(times), tuple(accumulate(changes[moment] for moment in times)), now)


def hourly(held: Held, since: float = -math.inf) -> tuple[float, "FloatArray"]:
    """When the first whole hour begins, and the mean of each up to now: eight weeks at most."""
    import numpy as np  # noqa: PLC0415 - only who asks for a forecast pays for it

    last = math.floor(held.now / HOUR)
    earliest = max(held.times[0] if held.times else held.now, since)
    first = max(math.ceil(earliest / HOUR), last - MOST_HISTORY_HOURS)
    edges = np.arange(first, last + 1) * HOUR
    if len(edges) < 2:  # noqa: PLR2004 - an hour has two
        return first * HOUR, np.zeros(0)
    times = np.array([*held.times, max(held.now, held.times[-1])])
    # What was held up to each moment is a line from one change to the next.
    area = np.concatenate(([0.0], np.cumsum(np.array(held.gpus) * np.diff(times))))
    return first * HOUR, np.maximum(np.diff(np.interp(edges, times, area)) / HOUR, 0.0)


def needed_hours(horizon_hours: int) -> int:
    """So much history is needed to foretell so far, and to try it three times before."""
    return LEAST_TRAINING_HOURS + horizon_hours + (LEAST_CUTS - 1) * _step(horizon_hours)


def forecast(begin: float, series: "FloatArray", horizon_hours: int) -> Forecast:
    """Of a series that is long enough, whose first hour begins at `begin`."""
    _check_library()
    cuts = [
        _Cut(
            series[cut : cut + horizon_hours],
            _naive(series[:cut], horizon_hours),
            _stl_ets(series[:cut], horizon_hours),
        )
        for cut in _cuts(len(series), horizon_hours)
    ]
    naive_error = _mean_error([one.truth - one.naive for one in cuts])
    fits = [one.truth - one.fitted for one in cuts if one.fitted is not None]
    stl_ets_error = _mean_error(fits) if len(fits) == len(cuts) else None
    ahead = None
    if stl_ets_error is not None and stl_ets_error < naive_error:
        ahead = _stl_ets(series, horizon_hours)
    method = Method.NAIVE if ahead is None else Method.STL_ETS
    errors = [one.truth - one.naive for one in cuts] if ahead is None else fits
    error = naive_error if ahead is None or stl_ets_error is None else stl_ets_error
    level = sum(float(one.truth.mean()) for one in cuts) / len(cuts)
    return Forecast(
        method=method,
        season_hours=_seasons(len(series)) if ahead is not None else (_season(len(series)),),
        history_hours=len(series),
        tested=BackTest(
            cuts=len(cuts),
            hours_each=horizon_hours,
            mean_error_gpus=error,
            mean_error_percent=100 * error / level if level > 0 else None,
            stl_ets_error_gpus=stl_ets_error,
            naive_error_gpus=naive_error,
            band_coverage_percent=100 * _coverage(errors),
        ),
        rows=_rows(
            begin + len(series) * HOUR,
            _naive(series, horizon_hours) if ahead is None else ahead,
            _half_widths(errors),
        ),
    )


def runs_out(rows: Sequence[ForecastRow], capacity: float) -> RunsOut:
    """All but half a GPU: a mean over an hour hardly ever reaches the whole."""
    full = capacity - _HALF
    return RunsOut(
        expected=next((row.hour_begins for row in rows if row.gpus >= full), None),
        possible=next((row.hour_begins for row in rows if row.high >= full), None),
    )


def _step(horizon_hours: int) -> int:
    """From one cut to the next: whole days, so that no hour of the day is always the first."""
    days = max(1, horizon_hours // HOURS_A_DAY // 2)
    return days * HOURS_A_DAY


def _cuts(length: int, horizon_hours: int) -> list[int]:
    """How much of the series each has to learn from: the newest first."""
    step = _step(horizon_hours)
    newest = length - horizon_hours
    cuts = range(newest, LEAST_TRAINING_HOURS - 1, -step)
    return list(cuts[:MOST_CUTS])


def _seasons(length: int) -> tuple[int, ...]:
    if length >= WEEKLY_FROM_HOURS:
        return (HOURS_A_DAY, HOURS_A_WEEK)
    return (HOURS_A_DAY,)


def _season(length: int) -> int:
    """That the naive forecast repeats: one week is enough for it."""
    return HOURS_A_WEEK if length >= HOURS_A_WEEK else HOURS_A_DAY


def _naive(series: "FloatArray", horizon_hours: int) -> "FloatArray":
    import numpy as np  # noqa: PLC0415

    season = _season(len(series))
    return series[len(series) - season + np.arange(horizon_hours) % season]


def _stl_ets(series: "FloatArray", horizon_hours: int) -> "FloatArray | None":
    """None where it cannot be fitted."""
    import numpy as np  # noqa: PLC0415
    from statsmodels.tsa.exponential_smoothing.ets import ETSModel  # noqa: PLC0415
    from statsmodels.tsa.seasonal import MSTL  # noqa: PLC0415

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of fits that did not converge: the back-test judges them
        try:
            parts = MSTL(series, periods=_seasons(len(series))).fit().seasonal
            seasonal = np.asarray(parts).reshape(len(series), -1)
            rest = series - seasonal.sum(axis=1)
            fit = ETSModel(rest, error="add", trend="add", damped_trend=True).fit(disp=False)
            ahead = np.asarray(fit.forecast(horizon_hours))
        except (ValueError, ArithmeticError):
            return None
    for place, season in enumerate(_seasons(len(series))):
        ahead = ahead + seasonal[len(series) - season :, place][np.arange(horizon_hours) % season]
    return np.maximum(ahead, 0.0) if np.isfinite(ahead).all() else None


def _half_widths(errors: "Sequence[FloatArray]") -> "FloatArray":
    """Of the band at each hour ahead: by days, and never narrower than on the day before."""
    import numpy as np  # noqa: PLC0415

    sizes = np.abs(np.array(errors))
    days = [sizes[:, at : at + HOURS_A_DAY] for at in range(0, sizes.shape[1], HOURS_A_DAY)]
    widths = np.maximum.accumulate([np.quantile(day, BAND_SHARE) for day in days])
    return np.repeat(widths, [day.shape[1] for day in days])


def _coverage(errors: "Sequence[FloatArray]") -> float:
    import numpy as np  # noqa: PLC0415

    inside = []
    for place, one in enumerate(errors):
        others = [*errors[:place], *errors[place + 1 :]]
        inside.append(np.mean(np.abs(one) <= _half_widths(others)))
    return float(np.mean(inside))


def _mean_error(errors: "Sequence[FloatArray]") -> float:
    return sum(float(abs(one).mean()) for one in errors) / len(errors) if errors else math.inf


def _rows(begin: float, ahead: "FloatArray", half_widths: "FloatArray") -> tuple[ForecastRow, ...]:
    return tuple(
        ForecastRow(
            hour_begins=datetime.fromtimestamp(begin + place * HOUR, UTC),
            gpus=float(gpus),
            low=max(0.0, float(gpus - half)),
            high=float(gpus + half),
        )
        for place, (gpus, half) in enumerate(zip(ahead, half_widths, strict=True))
    )


def _check_library() -> None:
    if importlib.util.find_spec("statsmodels") is None:
        raise CepheidError(
            "the forecast needs statsmodels, which is not installed",
            hint="pip install 'cepheid[fleet]'",
        )
