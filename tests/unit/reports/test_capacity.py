"""What is foretold of GPUs, on series whose truth is known."""

import math
import sys
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.errors import CepheidError
from cepheid.jobprofile import JobProfile
from cepheid.model import FloatArray
from cepheid.reports.fleet_use.ahead import Ahead, Capacity, days, lines, outage
from cepheid.reports.fleet_use.capacity import (
    BackTest,
    Forecast,
    ForecastRow,
    Method,
    forecast,
    held_over_time,
    hourly,
    needed_hours,
    runs_out,
)
from cepheid.reports.fleet_use.hours import HOUR
from tests.unit.history.strategies import PROFILES
from tests.unit.reports.test_usage import BERLIN, NOW, at, job

BEGIN = at(2026, 2, 2)
DAYS = 24


def work_days(hours: int, *, noise: float, slope: float = 0.0) -> FloatArray:
    """More by day than by night, and on five days of seven."""
    place = np.arange(hours)
    level = 20 + 6 * np.sin(2 * np.pi * place / 24) + 8 * (place // 24 % 7 < 5) + slope * place
    values: FloatArray = np.maximum(0.0, level + np.random.default_rng(7).normal(0, noise, hours))
    return values


def test_gpus_held_are_counted_at_every_moment_and_averaged_over_hours() -> None:
    now = at(2026, 2, 1, 14) + 600
    jobs = [
        job("2026-02-01T10:00", "2026-02-01T12:30"),
        job("2026-02-01T11:30", None, gpu_count=3),
        job("2026-02-01T12:00", "2026-02-01T12:00"),
    ]
    held = held_over_time(jobs, now)
    assert (held.most, held.gpus[-1]) == (5.0, 0.0)
    begin, series = hourly(held)
    assert begin == at(2026, 2, 1, 10)
    assert series.tolist() == pytest.approx([2.0, 2 + 1.5, 1 + 3, 3.0])
    cut, shorter = hourly(held, since=at(2026, 2, 1, 11) + 1)
    assert cut == at(2026, 2, 1, 12)
    assert shorter.tolist() == pytest.approx([4.0, 3.0])


def test_without_jobs_there_is_no_series_and_no_most() -> None:
    held = held_over_time([], NOW)
    assert held.most is None
    assert not len(hourly(held)[1])


def test_only_the_newest_eight_weeks_are_learnt_from() -> None:
    now = at(2026, 2, 1)
    begin, series = hourly(held_over_time([job("2025-02-01T00:00", None)], now))
    assert (len(series), begin) == (8 * 168, now - 8 * 7 * 86_400)
    assert set(series.tolist()) == {2.0}


def test_what_is_needed_lets_it_be_tried_three_times() -> None:
    # Three days to learn from, seven ahead, and twice three more to begin anew.
    assert needed_hours(7 * DAYS) == (3 + 7 + 2 * 3) * DAYS
    assert needed_hours(1) == 3 * DAYS + 1 + 2 * DAYS
    for horizon in (1, 24, 100, 168, 336):
        found = forecast(0.0, work_days(needed_hours(horizon), noise=1.0), horizon)
        assert found.tested.cuts == 3
        assert len(found.rows) == horizon


def test_a_fleet_that_grows_is_foretold_better_than_as_last_week() -> None:
    hours = 8 * 168 - 79  # no whole weeks, nor whole days
    series = work_days(hours, noise=1.0, slope=0.03)
    truth = work_days(hours + 168, noise=0.0, slope=0.03)[-168:]
    found = forecast(BEGIN, series, 168)
    tested = found.tested
    assert (found.method, found.season_hours) == (Method.STL_ETS, (24, 168))
    assert tested.stl_ets_error_gpus is not None
    assert tested.mean_error_gpus == tested.stl_ets_error_gpus < tested.naive_error_gpus
    ahead = np.array([row.gpus for row in found.rows])
    assert np.abs(ahead - truth).mean() < 3.0
    inside = [row.low <= one <= row.high for row, one in zip(found.rows, truth, strict=True)]
    assert np.mean(inside) > 0.8
    assert 75 <= tested.band_coverage_percent <= 100
    assert found.rows[0].hour_begins == datetime.fromtimestamp(BEGIN, UTC) + timedelta(hours=hours)


def test_where_the_naive_forecast_is_as_good_it_is_used_and_says_so() -> None:
    found = forecast(BEGIN, np.tile(work_days(168, noise=3.0), 6), 48)
    assert found.method is Method.NAIVE
    assert found.tested.mean_error_gpus == found.tested.naive_error_gpus == 0.0
    last = np.tile(work_days(168, noise=3.0), 6)[-168:][:48]
    assert [row.gpus for row in found.rows] == pytest.approx(last.tolist())
    said = " ".join(lines(_ahead(found, 100)))
    assert "seasonal naive" in said
    assert "STL + ETS was no better" in said


def test_errors_are_those_of_a_forecast_that_did_not_know_what_came() -> None:
    """By hand: a day ago, of a series that steps up once between two cuts."""
    series = np.concatenate((np.full(96, 10.0), np.full(24, 16.0)))
    found = forecast(0.0, series, 24)
    # Cuts at 96 (wrong by 6 all day) and 72: nothing changed.
    assert found.tested.cuts == 2
    assert found.tested.naive_error_gpus == pytest.approx(3.0)
    assert found.tested.mean_error_percent == pytest.approx(100 * 3 / 13)
    # Of either cut the other's errors are no measure: the large one lies outside.
    assert found.tested.band_coverage_percent == pytest.approx(50.0)


def test_the_band_never_narrows_and_never_goes_below_none() -> None:
    found = forecast(BEGIN, work_days(30 * DAYS, noise=4.0) / 8, 168)
    widths = [row.high - row.gpus for row in found.rows]
    assert all(later >= earlier - 1e-9 for earlier, later in pairwise(widths))
    assert all(0 <= row.low <= row.gpus <= row.high for row in found.rows)


@pytest.mark.parametrize("level", [0.0, 1.0, 1e9, 1e15])
def test_a_fleet_without_any_change_is_foretold_as_it_is(level: float) -> None:
    found = forecast(0.0, np.full(200, level), 24)
    assert [row.gpus for row in found.rows] == pytest.approx([level] * 24)
    assert (found.tested.mean_error_percent is None) == (level == 0)


def test_gpus_run_out_in_the_first_hour_that_holds_them_all() -> None:
    rows = [_row(hour, gpus=hour, high=2 * hour) for hour in range(24)]
    assert runs_out(rows, 10).expected == rows[10].hour_begins
    assert runs_out(rows, 10).possible == rows[5].hour_begins
    assert runs_out(rows, 30).expected is None
    assert runs_out(rows, 30).possible == rows[15].hour_begins
    assert runs_out(rows, 100).possible is None


@pytest.mark.parametrize(
    ("gpus", "words"),
    [
        (10, "GPUs run out on Mon 2026-02-02 10:00: all 10 GPUs (--gpus) are held, and it may be"),
        (30, "GPUs may run out on Mon 2026-02-02 15:00: the band reaches all 30 GPUs"),
        (100, "GPUs do not run out within 1 d: at most 46 of all 100 GPUs"),
    ],
)
def test_the_first_line_says_when_and_of_how_many(gpus: int, words: str) -> None:
    rows = tuple(_row(hour, gpus=hour, high=2 * hour) for hour in range(24))
    first, worth, band = lines(_ahead(_forecast(rows), gpus))
    assert first.startswith(words)
    assert "Tried 4 times on it, 1 d each, it was wrong by 2 GPUs in the mean, 8 %" in worth
    assert "held 71 % of those that came: it is too narrow" in band


def test_days_are_those_on_the_wall() -> None:
    rows = [_row(hour, gpus=hour, high=2 * hour) for hour in range(24)]
    (monday,) = days(rows)
    assert (monday.day, monday.gpus_mean, monday.peak_at) == ("Mon 2026-02-02", 11.5, "23:00")
    first, second = days(rows, BERLIN)
    assert (first.day, first.peak_at, first.high) == ("Mon 2026-02-02", "23:00", 44.0)
    assert (second.day, second.gpus_mean) == ("Tue 2026-02-03", 23.0)


def test_too_short_a_history_is_said_with_what_it_takes() -> None:
    short = Ahead(forecast=None, capacity=None, history_hours=30, needed_hours=needed_hours(168))
    (line,) = lines(short)
    assert "it takes 16 d of history, and there are 1 d 6 h" in line
    assert outage(short) is None


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "statsmodels", None)
    with pytest.raises(CepheidError, match="statsmodels") as raised:
        forecast(0.0, np.zeros(500), 24)
    assert "cepheid[fleet]" in (raised.value.hint or "")


@given(st.lists(PROFILES, max_size=4))
def test_whatever_a_record_claims_the_series_is_one(profiles: list[JobProfile]) -> None:
    held = held_over_time(profiles, NOW)
    _, series = hourly(held)
    assert len(series) <= 8 * 168
    assert np.isfinite(series).all()
    assert (series >= 0).all()
    assert held.most is None or math.isfinite(held.most)


def _row(hour: int, **figures: Any) -> ForecastRow:
    begins = datetime.fromtimestamp(BEGIN + hour * HOUR, UTC)
    return ForecastRow(hour_begins=begins, low=0.0, **figures)


def _forecast(rows: tuple[ForecastRow, ...]) -> Forecast:
    return Forecast(
        method=Method.STL_ETS,
        season_hours=(24,),
        history_hours=480,
        tested=BackTest(
            cuts=4,
            hours_each=24,
            mean_error_gpus=2.0,
            mean_error_percent=8.0,
            stl_ets_error_gpus=2.0,
            naive_error_gpus=3.0,
            band_coverage_percent=71.0,
        ),
        rows=rows,
    )


def _ahead(found: Forecast, gpus: float) -> Ahead:
    return Ahead(
        forecast=found,
        capacity=Capacity(gpus, "--gpus"),
        history_hours=found.history_hours,
        needed_hours=0,
    )
