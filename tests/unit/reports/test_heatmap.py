"""The week at a glance, by hand."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.jobprofile import JobProfile
from cepheid.reports.fleet_use.heatmap import HeatCell, heatmap, picture
from cepheid.reports.fleet_use.hours import HOUR, WEEK
from cepheid.reports.fleet_use.usage import Period
from tests.unit.history.strategies import PROFILES
from tests.unit.reports.runs import pod_job
from tests.unit.reports.test_usage import NOW, at, job

MONDAY = at(2026, 2, 2)


def cell(cells: tuple[HeatCell, ...], weekday: str, hour: int) -> HeatCell:
    return next(one for one in cells if (one.weekday, one.hour) == (weekday, hour))


def test_a_cell_is_the_mean_over_the_weeks_that_came_by() -> None:
    # Two GPUs on one of two Mondays from 10:30 to 12:00.
    one = job("2026-02-02T10:30", "2026-02-02T12:00")
    cells = heatmap([one], Period(MONDAY + 2 * WEEK, MONDAY))
    assert len(cells) == 168
    assert cell(cells, "Mon", 10).gpus_held_mean == pytest.approx(0.5)
    assert cell(cells, "Mon", 11).gpus_held_mean == pytest.approx(1.0)
    assert cell(cells, "Mon", 11).gpus_used_mean == pytest.approx(0.25)
    assert cell(cells, "Mon", 12).gpus_held_mean == 0.0
    assert {one.clock_hours for one in cells} == {2.0}


def test_hours_that_have_not_come_by_have_no_figure() -> None:
    one = job("2026-02-02T10:00", None)
    cells = heatmap([one], Period(MONDAY + 12 * HOUR))
    known = {(c.weekday, c.hour) for c in cells if c.gpus_held_mean is not None}
    assert known == {("Mon", 10), ("Mon", 11)}
    assert cell(cells, "Tue", 3).clock_hours == 0.0
    assert all(one.gpus_held_mean is None for one in heatmap([], Period(NOW)))


def test_the_picture_is_readable_without_colour_at_80_and_at_40_columns() -> None:
    one = job("2026-02-02T10:30", "2026-02-02T12:00", gpu_count=8)
    cells = heatmap([one], Period(MONDAY + WEEK, MONDAY))
    title, hours, monday, *others = picture(cells, 80)
    assert title == "GPUs held on average"
    assert hours.split() == [str(hour) for hour in range(24)]
    assert monday.split() == ["Mon", *"0" * 10, "4", "8", *"0" * 12]
    assert [line.split()[0] for line in others] == ["Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
    assert max(map(len, (hours, monday))) <= 80
    narrow = [*picture(cells, 40)]
    assert narrow[2].split() == ["Mon", *"0" * 5, "6", *"0" * 6]
    assert max(map(len, narrow)) <= 40


def test_little_is_not_nothing_and_nothing_is_not_unknown() -> None:
    one = job("2026-02-02T10:00", "2026-02-02T10:06", gpu_count=1)
    lines = [*picture(heatmap([one], Period(MONDAY + 12 * HOUR, MONDAY + 10 * HOUR)), 80)]
    assert lines[2].split() == ["Mon", *"-" * 10, ".", "0", *"-" * 12]


def test_large_fleets_are_shown_in_larger_units() -> None:
    one = job("2026-02-02T10:00", "2026-02-02T11:00", gpu_count=1240)
    title, _, monday, *_ = picture(heatmap([one], Period(MONDAY + 11 * HOUR, MONDAY)), 80)
    assert title == "GPUs held on average, in units of 100"
    assert monday.split()[11] == "12"


@given(
    st.lists(PROFILES | st.builds(pod_job, st.integers(0, 400)), max_size=4), st.integers(40, 200)
)
def test_whatever_a_record_claims_there_is_a_picture(
    profiles: list[JobProfile], columns: int
) -> None:
    cells = heatmap(profiles, Period(NOW))
    assert all(len(line) <= columns for line in picture(cells, columns))
    json.dumps([one.gpus_held_mean for one in cells], allow_nan=False)
