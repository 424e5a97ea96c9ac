"""Different is what earlier runs do not make likely; without them a plain rule holds."""

from random import Random
from typing import Any

import pytest
from hypothesis import given
from msgspec.structs import replace

from cepheid.jobprofile import HeldBackBy, JobProfile, MemoryLeak, Outcome, Reason
from cepheid.reports.comparison import Comparison, Verdict, compare
from tests.unit.history.strategies import PROFILES
from tests.unit.reports.runs import GIB, process


def verdict(found: Comparison, figure: str) -> Verdict | None:
    return next((row.verdict for row in found.rows if row.figure == figure), None)


def runs(spread: float, count: int = 12, seed: int = 1) -> list[JobProfile]:
    chance = Random(seed)  # noqa: S311
    return [
        process(number + 5, seconds=700 * (1 + chance.gauss(0, spread))) for number in range(count)
    ]


def test_the_same_run_twice_is_the_same() -> None:
    found = compare(process(1), process(0))
    assert not found.has(Verdict.WORSE, Verdict.BETTER, Verdict.DIFFERENT)
    assert "nothing differs more than is usual" in found.headline


def test_the_same_difference_counts_where_runs_are_regular_and_not_where_they_vary() -> None:
    one, two = process(1, seconds=700.0), process(0, seconds=840.0)
    regular, erratic = runs(0.01), runs(0.15)
    assert verdict(compare(one, two, regular, regular), "duration") is Verdict.WORSE
    assert verdict(compare(one, two, erratic, erratic), "duration") is Verdict.SAME
    assert verdict(compare(two, one, regular, regular), "duration") is Verdict.BETTER


@pytest.mark.parametrize("count", [3, 5, 10, 30])
def test_runs_that_vary_by_chance_are_hardly_ever_called_different(count: int) -> None:
    chance = Random(count)  # noqa: S311
    wrong = 0
    for trial in range(400):
        earlier = runs(0.05, count, seed=1000 * count + trial)
        one, two = (process(n, seconds=700 * (1 + chance.gauss(0, 0.05))) for n in (1, 0))
        found = compare(one, two, earlier, earlier)
        wrong += verdict(found, "duration") is not Verdict.SAME
    assert wrong / 400 <= 0.03


def test_without_earlier_runs_a_tenth_counts_and_a_trifle_does_not() -> None:
    assert verdict(compare(process(1), process(0, seconds=780.0)), "duration") is Verdict.SAME
    found = compare(process(1), process(0, seconds=850.0))
    assert verdict(found, "duration") is Verdict.WORSE
    assert "duration (+18 %)" in found.headline
    short = compare(process(1, seconds=1.0), process(0, seconds=1.5))
    assert verdict(short, "duration") is Verdict.SAME


@pytest.mark.parametrize(
    ("others", "figure"),
    [
        ({"leak": MemoryLeak(bytes_per_second=1e6, confidence=0.9)}, "memory leak"),
        ({"held_back_by": HeldBackBy(kind="input", share_percent=40.0)}, "held back"),
        ({"restarts": 3}, "restarts"),
    ],
)
def test_what_is_new_in_the_second_run_is_worse(others: dict[str, Any], figure: str) -> None:
    assert verdict(compare(process(1), process(0, **others)), figure) is Verdict.WORSE


def test_peak_memory_of_a_process_is_compared() -> None:
    seen = process().process
    assert seen is not None
    more = process(process=replace(seen, peak_memory_bytes=9 * GIB))
    assert verdict(compare(process(1), more), "memory") is Verdict.WORSE


def test_to_fail_early_is_no_way_to_be_fast() -> None:
    failed = process(0, seconds=60.0, outcome=Outcome.FAILED, reason=Reason.EXIT_CODE)
    found = compare(process(1), failed)
    assert verdict(found, "status") is Verdict.WORSE
    assert verdict(found, "duration") is Verdict.DIFFERENT
    assert not found.has(Verdict.BETTER)
    assert verdict(compare(failed, process(0)), "status") is Verdict.BETTER


def test_another_command_or_gpu_is_different_and_neither_worse_nor_better() -> None:
    seen = process().process
    assert seen is not None
    other = process(process=replace(seen, command="python train.py --fast"), gpus=(), gpu_count=0)
    found = compare(process(1), other)
    assert verdict(found, "command") is verdict(found, "GPUs") is Verdict.DIFFERENT
    assert "like" in found.headline


def test_a_figure_of_one_run_alone_is_no_data() -> None:
    assert verdict(compare(process(1), process(usage=None)), "CPU, cores") is Verdict.NO_DATA


def test_the_two_themselves_and_failures_are_no_measure_of_what_is_usual() -> None:
    one, two = process(1, seconds=700.0), process(0, seconds=840.0)
    crowd = [one, two, process(8), process(7, seconds=5.0, outcome=Outcome.FAILED)]
    (row,) = [row for row in compare(one, two, crowd, crowd).rows if row.figure == "duration"]
    assert row.why == "10 % counts"


@given(PROFILES, PROFILES)
def test_any_two_can_be_compared(one: JobProfile, two: JobProfile) -> None:
    assert compare(one, two, [two, one], [one]).headline
