"""Would more GPUs help? The curve against jobs whose truth is known, and what is said of it."""

import json
from dataclasses import asdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from cepheid.jobprofile import HeldBackBy, JobProfile, Outcome
from cepheid.jobs.scaling import Helps, scaling_curve
from cepheid.reports.scale import BAR, MEASURED, ScaleRow, bar, scale, top_of
from tests.simgpu.step_model import BOUNDS
from tests.unit.history.strategies import PROFILES
from tests.unit.jobs.test_scaling import history, run, step


@pytest.mark.parametrize("bound", BOUNDS)
def test_the_truth_lies_in_the_band(bound: str) -> None:
    inside = total = 0
    for seed in range(6):
        *earlier, latest = history(bound, (1, 2, 4), 0.03, seed)
        for row in scale(latest, earlier).rows:
            truth = step(bound, 4) / step(bound, row.gpus)
            assert row.low is not None
            assert row.high is not None
            inside += row.low - 1e-9 <= truth <= row.high + 1e-9
            total += 1
    assert inside >= 0.85 * total


def test_the_curve_goes_up_to_twice_the_most_and_has_all_that_was_seen() -> None:
    *earlier, latest = history("compute", (1, 3, 6, 6), 0.01)
    rows = scale(latest, earlier).rows
    assert [(row.gpus, row.runs) for row in rows] == [
        (1, 1),
        (2, 0),
        (3, 1),
        (4, 0),
        (6, 2),
        (8, 0),
    ]
    (now,) = (row for row in rows if row.is_now)
    assert (now.gpus, now.speedup, now.low, now.high) == (6, 1.0, 1.0, 1.0)
    assert now.efficiency_percent == 100.0
    assert now.measured == pytest.approx(1.0, rel=0.03)
    one = rows[0]
    assert one.measured == pytest.approx(step("compute", 6) / step("compute", 1), rel=0.05)
    assert one.efficiency_percent == pytest.approx(600 * (one.speedup or 0.0))
    assert all(row.measured is None for row in rows if not row.runs)


def test_what_was_measured_is_surer_than_what_was_not() -> None:
    *earlier, latest = history("communication", (1, 2, 4, 4), 0.02)
    rows = {row.gpus: row for row in scale(latest, earlier).rows}

    def relative(row: ScaleRow) -> float:
        return ((row.high or 0.0) - (row.low or 0.0)) / (row.speedup or 1.0)

    assert relative(rows[8]) > relative(rows[2])


def test_the_answer_is_said_first_with_what_was_not_seen() -> None:
    *earlier, latest = history("compute", (1, 2, 4), 0.01)
    found = scale(latest, earlier)
    assert found.verdict.helps is Helps.YES
    assert found.headline.startswith("Yes, twice the GPUs would help j. A run took ")
    assert found.not_seen == "it was never run on 8 GPUs: that is foretold"
    *earlier, latest = history("communication", (4, 8, 16), 0.01)
    found = scale(latest, earlier)
    assert found.headline.startswith("No, twice the GPUs would not help j.")
    assert found.not_seen == "it was never run on 1, 2, 32 GPUs: that is foretold"


def test_of_one_number_of_gpus_only_a_bound_is_known() -> None:
    held = HeldBackBy(kind="network", share_percent=60.0)
    found = scale(run(4, 1000.0, held_back_by=held), [])
    assert found.headline.startswith("Hardly: twice the GPUs would help j little.")
    now, twice = found.rows
    assert (now.gpus, now.speedup, now.runs, now.is_now) == (4, 1.0, 1, True)
    assert (twice.gpus, twice.speedup, twice.low, twice.high) == (8, None, None, 2 / 1.6)
    assert found.not_seen == "it was run on 4 GPUs only: this is what held it back"
    assert scaling_curve([run(4, 1000.0), run(4, 900.0, day=1)]) == ()


def test_without_gpus_there_is_nothing_to_show() -> None:
    found = scale(run(0, 1000.0), [])
    assert found.rows == ()
    assert found.headline.startswith("It is not known whether more GPUs would help j.")


def test_a_large_job_ends_at_the_most_that_is_fitted() -> None:
    runs = [run(256, 1000.0), run(512, 600.0, day=1)]
    assert [point.gpus for point in scaling_curve(runs)][-1] == 512


def row_of(**figures: float | None) -> ScaleRow:
    known: dict[str, float | None] = {"speedup": None, "low": None, "high": None, "measured": None}
    return ScaleRow(gpus=1, runs=0, is_now=False, efficiency_percent=None, **{**known, **figures})


@pytest.mark.parametrize(
    ("row", "drawn"),
    [
        (row_of(low=1.0, high=2.0, speedup=1.5), "█" * 6 + "▒" * 6),
        (row_of(low=1.0, high=4.0, speedup=1.5), "█" * 6 + "▒" * 18),
        (row_of(low=1.0, high=2.0, speedup=1.5, measured=1.5), "█" * 6 + "▒▒●▒▒▒"),
        (row_of(low=1.0, high=1.0, speedup=1.0, measured=2.0), "█" * 6 + "     ●"),
        (row_of(high=2.0), "▒" * 12),
        (row_of(), ""),
        (row_of(high=1e300, low=1e299, measured=1e300), "█" * 23 + "●"),
    ],
)
def test_the_bar_is_that_long(row: ScaleRow, drawn: str) -> None:
    assert bar(row, 4.0) == drawn
    assert bar(row, 0.0) == ""


@settings(deadline=None)
@given(st.lists(PROFILES, min_size=1, max_size=5))
def test_whatever_a_history_holds_the_answer_is_finite(runs: list[JobProfile]) -> None:
    alike = [
        replace(one, gpu_count=1 + at, gpus=(), outcome=Outcome.SUCCESS)
        for at, one in enumerate(runs)
    ]
    for given_runs in (runs, alike):
        found = scale(given_runs[0], given_runs[1:])
        json.dumps([asdict(row) for row in found.rows], allow_nan=False)
        top = top_of(found.rows)
        for row in found.rows:
            drawn = bar(row, top)
            assert len(drawn) <= BAR
            assert (MEASURED in drawn) == (row.measured is not None and top > 0)
