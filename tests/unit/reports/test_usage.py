"""Hours of the fleet, apportioned by hand."""

import json
import math
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from cepheid.jobprofile import GpuHeld, JobProfile, Outcome, Spread, Usage, Worker
from cepheid.reports.fleet_use.apportion import CLOCK, NO_GPU, SHARING, UNKNOWN, By
from cepheid.reports.fleet_use.hours import (
    HOUR,
    WEEK,
    Offset,
    Ran,
    in_utc,
    ran,
    seconds_of,
    week_seconds,
)
from cepheid.reports.fleet_use.usage import Period, UsageReport, UsageRow, usage, usages
from cepheid.reports.prices import price_list
from tests.unit.history.strategies import PROFILES
from tests.unit.reports.runs import END, pod_job, process

NOW = seconds_of(END)
PRICES = price_list({"A100-80": 3.0, "T4": 0.5, "cpuHour": 0.1, "kWh": 0.2})


def zone(name: str) -> Offset:
    there = ZoneInfo(name)

    def offset(moment: float) -> float:
        ahead = datetime.fromtimestamp(moment, there).utcoffset()
        assert ahead is not None
        return ahead.total_seconds()

    return offset


BERLIN, KOLKATA, UTC_ITSELF = zone("Europe/Berlin"), zone("Asia/Kolkata"), in_utc


def at(*moment: int) -> float:
    return datetime(*moment, tzinfo=UTC).timestamp()  # type: ignore[arg-type, misc]


def job(begin: str, end: str | None, **others: Any) -> JobProfile:
    """Two GPUs, a quarter used, three cores."""
    started = datetime.fromisoformat(begin).replace(tzinfo=UTC)
    ended = None if end is None else datetime.fromisoformat(end).replace(tzinfo=UTC)
    given = {
        "gpus": (GpuHeld(node="a", index=0, model="T4"), GpuHeld(node="a", index=1, model="T4")),
        "gpu_count": 2,
        "usage": Usage(
            gpu_util_percent=Spread(mean=25.0), cpu_cores=Spread(mean=3.0), energy_joules=7.2e6
        ),
        "outcome": Outcome.RUNNING if ended is None else Outcome.SUCCESS,
        "duration_seconds": None if ended is None else (ended - started).total_seconds(),
        "nodes": ("a",),
        "node_count": 1,
        **others,
    }
    return replace(pod_job(), started=started, ended=ended, **given)


def by(found: UsageReport) -> dict[str, UsageRow]:
    return {row.group: row for row in found.rows}


def test_held_used_and_wasted_add_up_and_failed_stand_apart() -> None:
    jobs = [
        job("2026-02-01T10:00", "2026-02-01T14:00"),
        job("2026-02-01T10:00", "2026-02-01T11:00", outcome=Outcome.FAILED),
        job("2026-02-02T10:00", "2026-02-02T12:00", usage=None),
    ]
    (row,) = usage(jobs, By.USER, Period(NOW)).rows
    assert (row.group, row.jobs) == ("lin", 3)
    assert row.gpu_hours_held == pytest.approx(8 + 2 + 4)
    assert row.gpu_hours_used == pytest.approx(2.5)
    assert row.gpu_hours_wasted == pytest.approx(7.5)
    assert row.gpu_hours_unknown == pytest.approx(4)
    assert row.gpu_hours_failed == pytest.approx(2)
    assert row.cpu_hours == pytest.approx(3 * 5)
    assert row.energy_kwh == pytest.approx(4.0)
    assert (row.cost, row.jobs_without_cost) == (None, 0)


def test_what_was_not_measured_is_none() -> None:
    bare = job("2026-02-01T10:00", "2026-02-01T14:00", usage=None, gpus=(), gpu_count=0)
    (row,) = usage([bare], By.NAMESPACE, Period(NOW)).rows
    assert row.gpu_hours_held is row.gpu_hours_used is row.gpu_hours_wasted is None
    assert row.cpu_hours is row.energy_kwh is row.gpu_hours_failed is None
    assert usage([], By.USER, Period(NOW)).total.gpu_hours_held is None


def test_several_at_once_are_what_each_is_alone() -> None:
    jobs = [
        job("2026-02-01T10:45", "2026-02-01T12:15"),
        job("2026-02-01T12:00", "2026-03-02T12:00"),
    ]
    found = usages(iter(jobs), [*By], Period(NOW + WEEK))
    assert found == {by: usage(jobs, by, Period(NOW + WEEK)) for by in By}


def test_hours_of_the_clock_get_the_minutes_that_fell_into_them() -> None:
    found = by(usage([job("2026-02-01T10:45", "2026-02-01T12:15")], By.HOUR, Period(NOW)))
    assert {group: row.gpu_hours_held for group, row in found.items()} == pytest.approx(
        {"10:00": 0.5, "11:00": 2.0, "12:00": 0.5}
    )
    assert found["11:00"].energy_kwh == pytest.approx(2.0 / 1.5)
    assert found["10:00"].cpu_hours == pytest.approx(0.75)


def test_weekdays_come_in_their_order_over_a_month() -> None:
    # From a Sunday noon to the Monday noon 29 days later: four weeks and a day.
    found = usage([job("2026-02-01T12:00", "2026-03-02T12:00")], By.WEEKDAY, Period(NOW + WEEK))
    assert [row.group for row in found.rows] == list(CLOCK[By.WEEKDAY])
    hours = {row.group: row.gpu_hours_held for row in found.rows}
    assert hours == pytest.approx(
        {"Mon": 2 * 108, "Sun": 2 * 108} | dict.fromkeys(("Tue", "Wed", "Thu", "Fri", "Sat"), 192)
    )


def test_local_time_decides_which_hour_it_was() -> None:
    one = job("2026-02-01T23:30", "2026-02-02T00:30")
    assert set(by(usage([one], By.WEEKDAY, Period(NOW)))) == {"Sun", "Mon"}
    assert set(by(usage([one], By.WEEKDAY, Period(NOW), offset=BERLIN))) == {"Mon"}
    there = by(usage([one], By.HOUR, Period(NOW), offset=KOLKATA))
    assert {group: row.gpu_hours_held for group, row in there.items()} == pytest.approx(
        {"05:00": 2.0}
    )


def test_the_hour_that_is_put_forward_is_missing_and_the_one_put_back_is_double() -> None:
    spring = Ran(at(2026, 3, 28, 23), at(2026, 3, 29, 22))  # Sunday on the wall, 23 hours
    autumn = Ran(at(2026, 10, 24, 22), at(2026, 10, 25, 23))  # Sunday on the wall, 25 hours
    sunday = 6 * 24
    short, long = week_seconds(spring, BERLIN), week_seconds(autumn, BERLIN)
    assert {cell - sunday for cell in short} == set(range(24)) - {2}
    assert set(short.values()) == {HOUR}
    assert {cell - sunday: seconds for cell, seconds in long.items()} == {
        hour: 2 * HOUR if hour == 2 else HOUR for hour in range(24)
    }


def test_a_year_of_both_changes_is_apportioned_whole() -> None:
    year = Ran(at(2026, 1, 1), at(2027, 1, 1))
    cells = week_seconds(year, BERLIN)
    assert sum(cells.values()) == pytest.approx(year.seconds)
    by_hour = [sum(s for cell, s in cells.items() if cell % 24 == hour) for hour in range(24)]
    # The year ends in winter time as it began: hour 2 lost one in March and got one in October.
    assert by_hour == pytest.approx([365 * HOUR] * 24)


@given(st.floats(0, 3e8), st.floats(0, 4e7), st.sampled_from([UTC_ITSELF, BERLIN, KOLKATA]))
def test_no_second_is_lost_or_made(begin: float, length: float, offset: Offset) -> None:
    run = Ran(1.4e9 + begin, 1.4e9 + begin + length)
    cells = week_seconds(run, offset)
    assert sum(cells.values()) == pytest.approx(run.seconds, abs=1e-3)
    assert all(0 <= cell < 168 and seconds >= 0 for cell, seconds in cells.items())


@given(st.integers(0, 5_000_000), st.integers(1, 3000), st.sampled_from([BERLIN, KOLKATA]))
def test_it_is_what_counting_minute_by_minute_finds(
    begin: int, minutes: int, offset: Offset
) -> None:
    first = at(2014, 1, 1) + 60.0 * begin
    monday = at(1970, 1, 5)
    counted: dict[int, float] = {}
    for place in range(minutes):
        moment = first + 60 * place
        cell = int((moment + offset(moment) - monday) // HOUR) % 168
        counted[cell] = counted.get(cell, 0.0) + 60
    assert week_seconds(Ran(first, first + 60 * minutes), offset) == counted


def test_a_job_that_runs_counts_up_to_now_and_no_clock_beyond() -> None:
    now = seconds_of(datetime(2026, 2, 1, 12, tzinfo=UTC))
    jobs = [
        job("2026-02-01T10:00", None, duration_seconds=60.0),
        job("2026-02-01T11:00", "2027-01-01T00:00"),
        job("2026-02-01T13:00", "2026-02-01T14:00"),
        job("1970-01-01T00:00", "2026-02-01T11:00"),
    ]
    found = usage(jobs, By.USER, Period(now))
    assert found.total.gpu_hours_held == pytest.approx(2 * 2 + 2 * 1)
    assert (found.total.jobs, found.running, found.not_believed) == (2, 1, 2)
    assert usage(jobs[:1], By.USER, Period(now)).total.cpu_hours == pytest.approx(3 * 2)
    assert ran(jobs[1], now) == Ran(now - HOUR, now)


@pytest.mark.parametrize(
    ("others", "seconds"),
    [
        ({"ended": None, "duration_seconds": 90.0}, 90.0),
        ({"ended": None, "duration_seconds": 1e300}, 0.0),
        ({"ended": None, "duration_seconds": None}, 0.0),
        ({"started": None, "duration_seconds": 90.0}, 90.0),
        ({"started": None, "duration_seconds": None}, None),
        ({"ended": END - timedelta(days=9), "duration_seconds": 90.0}, 90.0),
        ({"outcome": Outcome.RUNNING, "ended": None, "duration_seconds": 5.0}, 720.0),
    ],
)
def test_when_it_ran_is_what_its_record_can_tell(
    others: dict[str, Any], seconds: float | None
) -> None:
    found = ran(process(**others), NOW)
    assert (None if found is None else found.seconds) == seconds


def test_a_job_without_length_keeps_its_energy_in_its_hour() -> None:
    one = job("2026-02-01T10:30", "2026-02-01T10:30")
    found = by(usage([one], By.HOUR, Period(NOW)))
    assert set(found) == {"10:00"}
    assert (found["10:00"].gpu_hours_held, found["10:00"].energy_kwh) == (0.0, 2.0)


def test_since_and_until_cut_jobs_off_there() -> None:
    one = job("2026-02-01T10:00", "2026-02-01T14:00")
    period = Period(NOW, at(2026, 2, 1, 11), at(2026, 2, 1, 12))
    (row,) = usage([one, job("2026-01-01T10:00", "2026-01-01T14:00")], By.USER, period).rows
    assert (row.jobs, row.gpu_hours_held) == (1, 2.0)
    assert row.energy_kwh == pytest.approx(0.5)
    (priced,) = usage([one], By.USER, period, prices=PRICES).rows
    assert priced.cost == pytest.approx(2 * 0.5 + 3 * 0.1 + 0.5 * 0.2)
    assert priced.cost_wasted == pytest.approx(0.75 * 1.4)


def test_models_and_nodes_get_their_own_gpus_and_their_own_prices() -> None:
    held = (
        GpuHeld(node="a", index=0, model="NVIDIA A100-SXM4-80GB"),
        GpuHeld(node="b", index=0, model="T4"),
        GpuHeld(node="b", index=1, model="T4"),
    )
    one = job("2026-02-01T10:00", "2026-02-01T12:00", gpus=held, gpu_count=4, nodes=("a", "b"))
    models = by(usage([one], By.GPU_MODEL, Period(NOW)))
    assert {name: row.gpu_hours_held for name, row in models.items()} == pytest.approx(
        {"NVIDIA A100-SXM4-80GB": 2.0, "T4": 4.0, UNKNOWN: 2.0}
    )
    nodes = by(usage([one], By.NODE, Period(NOW)))
    assert {name: row.gpu_hours_held for name, row in nodes.items()} == pytest.approx(
        {"a": 2.0, "b": 4.0, UNKNOWN: 2.0}
    )
    three = replace(one, gpu_count=3)
    found = usage([three], By.GPU_MODEL, Period(NOW), prices=PRICES)
    other = 6 * 0.1 + 2 * 0.2  # CPU hours, kWh
    assert by(found)["T4"].cost == pytest.approx(2 * 2 * 0.5 + other * 2 / 3)
    assert by(found)["NVIDIA A100-SXM4-80GB"].cost == pytest.approx(2 * 3.0 + other / 3)
    assert found.total.cost == pytest.approx(2 * 2 * 0.5 + 2 * 3.0 + other)
    assert usage([one], By.NODE, Period(NOW), prices=PRICES).total.jobs_without_cost == 1
    unpriced = usage([three], By.NODE, Period(NOW), prices=price_list({"T4": 1}))
    assert unpriced.unpriced == ("NVIDIA A100-SXM4-80GB",)


def test_a_job_without_gpus_is_on_the_nodes_of_its_pods() -> None:
    workers = (
        Worker(name="w0", node="a"),
        Worker(name="w1", node="a"),
        Worker(name="w2", node="b"),
    )
    none: dict[str, Any] = {"gpus": (), "gpu_count": 0}
    one = job("2026-02-01T10:00", "2026-02-01T11:00", workers=workers, worker_count=3, **none)
    assert {
        group: row.cpu_hours for group, row in by(usage([one], By.NODE, Period(NOW))).items()
    } == {
        "a": pytest.approx(2.0),
        "b": pytest.approx(1.0),
    }
    many = replace(one, workers=(), worker_count=0, nodes=("a", "b"), node_count=4)
    shared = by(usage([many], By.NODE, Period(NOW)))
    assert {group: row.cpu_hours for group, row in shared.items()} == pytest.approx(
        {"a": 0.75, "b": 0.75, UNKNOWN: 1.5}
    )
    assert set(by(usage([many], By.GPU_MODEL, Period(NOW)))) == {NO_GPU}


def test_of_gpus_that_nobody_listed_the_only_node_is_known() -> None:
    one = job("2026-02-01T10:00", "2026-02-01T11:00", gpus=())
    assert set(by(usage([one], By.NODE, Period(NOW)))) == {"a"}
    assert set(by(usage([one], By.GPU_MODEL, Period(NOW)))) == {UNKNOWN}


@given(PROFILES, st.sampled_from(By), st.sampled_from([in_utc, BERLIN]))
def test_parts_of_a_job_add_up_to_it(profile: JobProfile, group: By, offset: Offset) -> None:
    run = Ran(NOW - 12_345.0, NOW)
    shares = list(SHARING[group](profile, run, offset))
    assert sum(share.part for share in shares) == pytest.approx(1.0)
    assert len({share.group for share in shares}) == len(shares)


@given(st.lists(PROFILES, max_size=4), st.sampled_from(By))
def test_whatever_a_record_claims_every_figure_is_one(
    profiles: list[JobProfile], group: By
) -> None:
    found = usage(profiles, group, Period(NOW), prices=price_list({"gpuHour": 1, "kWh": 1}))
    for row in (*found.rows, found.total):
        figures = [getattr(row, name) for name in UsageRow.__slots__ if name != "group"]
        assert all(one is None or (math.isfinite(one) and one >= 0) for one in figures)
        json.dumps(figures, allow_nan=False)
    held = [row.gpu_hours_held for row in found.rows if row.gpu_hours_held is not None]
    assert sum(held) == pytest.approx(found.total.gpu_hours_held or 0.0)


def test_absurd_sums_are_no_data_and_no_infinity() -> None:
    loud = Usage(energy_joules=1.7e308, gpu_util_percent=Spread(mean=1e300))
    jobs = [job("2026-02-01T10:00", "2026-02-01T11:00", usage=loud, gpu_count=2**70)] * 3
    (row,) = usage(jobs, By.USER, Period(NOW)).rows
    assert row.energy_kwh is None
    assert row.gpu_hours_used == row.gpu_hours_held == pytest.approx(3e9)
