"""Readings of all trials in one unit."""

import math
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.placementtrial import (
    Iteration,
    Measure,
    Optimise,
    Placement,
    Reading,
    Ruler,
    State,
    Throughput,
    Trial,
)
from cepheid_operator.trials.measuring.comparing import compare, iteration_of

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def trial(gpus: int = 1, gpu_type: str = "A100", state: str = "measured", **reading: Any) -> Trial:
    errors = {
        "period_error_percent": 1.0 if "period_seconds" in reading else None,
        "teraflops_error_percent": 1.0 if "teraflops" in reading else None,
        "rate_error_percent": 2.0 if "rate_per_second" in reading else None,
    }
    return Trial(
        job=f"t-{gpus}-{gpu_type}",
        placement=Placement(gpu_type=gpu_type, workers=gpus),
        state=State(state),
        planned_seconds=180.0,
        created=NOON,
        reading=Reading(seconds=150.0, **{**errors, **reading}) if reading else None,
    )


def compared(*trials: Trial, prices: dict[str, float] | None = None, **measure: Any) -> list[Trial]:
    return list(compare(trials, Measure(**measure), Optimise(prices=prices or {})))


def throughputs(*trials: Trial, **measure: Any) -> list[Throughput | None]:
    return [one.throughput for one in compared(*trials, **measure)]


def per_second(*trials: Trial, **measure: Any) -> list[float | None]:
    found = throughputs(*trials, **measure)
    return [None if one is None else round(one.per_second, 9) for one in found]


def test_pulses_of_all_are_iterations_a_second() -> None:
    one, two = throughputs(
        trial(1, period_seconds=8.0, teraflops=100.0), trial(2, period_seconds=5.0, teraflops=160.0)
    )
    assert one == Throughput(per_second=0.125, error_percent=1.0, by=Ruler.PULSE, unit="iterations")
    assert two == Throughput(per_second=0.2, error_percent=1.0, by=Ruler.PULSE, unit="iterations")


def test_without_any_pulse_the_work_is_compared() -> None:
    found = throughputs(trial(1, teraflops=100.0), trial(2, teraflops=160.0), trial(4))
    assert [one and (one.per_second, one.by, one.unit) for one in found] == [
        (100.0, Ruler.WORK, "teraflops"),
        (160.0, Ruler.WORK, "teraflops"),
        None,
    ]


def test_work_becomes_iterations_by_those_that_show_both() -> None:
    slow, fast = throughputs(
        trial(1, period_seconds=10.0, teraflops=100.0), trial(4, teraflops=300.0)
    )
    assert slow is not None
    assert fast is not None
    assert (slow.by, fast.by) == (Ruler.PULSE, Ruler.WORK)
    assert fast.unit == "iterations"
    assert fast.per_second == pytest.approx(0.3)
    assert fast.error_percent == pytest.approx(math.sqrt(3))  # its own, and both of the other


def test_work_on_gpus_of_another_type_is_converted_with_less_trust() -> None:
    _, other = throughputs(
        trial(1, period_seconds=10.0, teraflops=100.0), trial(1, "H100", teraflops=300.0)
    )
    assert other is not None
    assert other.per_second == pytest.approx(0.3)
    assert 15 < other.error_percent < 17
    _, _, own = throughputs(
        trial(1, period_seconds=10.0, teraflops=100.0),
        trial(1, "H100", period_seconds=5.0, teraflops=280.0),
        trial(2, "H100", teraflops=560.0),
    )
    assert own is not None
    assert own.per_second == pytest.approx(0.4)  # as one H100 did, not as the A100
    assert own.error_percent < 3


@pytest.mark.parametrize("wrong", [6.0, 24.0, 36.0])
def test_a_period_that_contradicts_the_work_is_not_believed(wrong: float) -> None:
    found = throughputs(
        trial(1, period_seconds=24.0, teraflops=100.0),
        trial(2, period_seconds=wrong, teraflops=200.0),
        trial(3, period_seconds=8.0, teraflops=300.0),
        trial(4, period_seconds=6.0, teraflops=400.0),
    )
    assert found[1] is not None
    assert found[1].by is Ruler.WORK
    assert found[1].per_second == pytest.approx(1 / 12)
    assert [one and one.by for one in found].count(Ruler.PULSE) == 3


def test_two_pulses_that_contradict_each_other_are_both_left() -> None:
    found = throughputs(
        trial(1, period_seconds=12.0, teraflops=100.0),
        trial(1, "H100", period_seconds=12.0, teraflops=210.0),
    )
    assert [one and (one.by, one.unit) for one in found] == [(Ruler.WORK, "teraflops")] * 2


@pytest.mark.parametrize("types", [("A100", "A100"), ("A100", "H100")])
def test_a_weakly_scaled_job_counts_the_iterations_of_all_gpus(types: tuple[str, str]) -> None:
    trials = [
        trial(1, types[0], period_seconds=10.0, teraflops=100.0),
        trial(4, types[0], period_seconds=11.0, teraflops=400 / 1.1),
        trial(2, types[1], period_seconds=11.0, teraflops=200 / 1.1),
    ]
    found = throughputs(*trials)
    assert [one and one.unit for one in found] == ["iterations of a GPU"] * 3
    assert [one and one.per_second for one in found] == pytest.approx([0.1, 4 / 11, 2 / 11])
    assert iteration_of(trials, Measure()) == (Iteration.PER_GPU, True)


def test_a_strongly_scaled_job_counts_its_own_iterations() -> None:
    trials = [
        trial(1, period_seconds=10.0, teraflops=100.0),
        trial(4, period_seconds=3.0, teraflops=1000 / 3),
    ]
    assert [one and one.unit for one in throughputs(*trials)] == ["iterations"] * 2
    assert iteration_of(trials, Measure()) == (Iteration.WHOLE, True)


def test_with_one_count_an_iteration_is_the_whole_one_and_nobody_said_so() -> None:
    trials = [
        trial(2, period_seconds=10.0, teraflops=100.0),
        trial(2, "H100", period_seconds=4.0, teraflops=250.0),
        trial(1, "T4", period_seconds=40.0, teraflops=20.0),
    ]
    assert iteration_of(trials, Measure()) == (Iteration.WHOLE, False)
    assert per_second(*trials) == [0.1, 0.25, 0.025]


@pytest.mark.parametrize(
    ("iteration", "expected"),
    [(Iteration.WHOLE, [0.1, 0.1]), (Iteration.PER_GPU, [0.1, 0.4])],
)
def test_what_the_user_says_of_iterations_counts(
    iteration: Iteration, expected: list[float]
) -> None:
    trials = (trial(1, period_seconds=10.0), trial(4, period_seconds=10.0))
    assert per_second(*trials, iteration=iteration) == expected
    assert iteration_of(trials, Measure(iteration=iteration)) == (iteration, True)


def test_a_ruler_that_was_asked_for_is_the_only_one() -> None:
    trials = (
        trial(1, period_seconds=10.0, teraflops=100.0),
        trial(2, teraflops=190.0),
        trial(4, period_seconds=3.0),
    )
    assert per_second(*trials, by=Ruler.PULSE) == [0.1, None, round(1 / 3, 9)]
    assert per_second(*trials, by=Ruler.WORK) == [100.0, 190.0, None]


def test_a_rate_of_samples_is_taken_as_it_is() -> None:
    found = throughputs(
        trial(1, rate_per_second=100.0, rate_unit="samples", teraflops=10.0),
        trial(4, rate_per_second=300.0, rate_unit="samples", teraflops=30.0),
        trial(8, rate_per_second=2.0, rate_unit="iterations"),
        by=Ruler.LOG,
    )
    assert [one and (one.per_second, one.unit) for one in found] == [
        (100.0, "samples"),
        (300.0, "samples"),
        None,
    ]


def test_iterations_of_the_log_are_those_of_all_gpus_too() -> None:
    found = per_second(
        trial(1, rate_per_second=2.0, rate_unit="iterations", teraflops=100.0),
        trial(4, rate_per_second=1.8, rate_unit="iterations", teraflops=360.0),
        by=Ruler.LOG,
    )
    assert found == [2.0, 7.2]


def test_pulses_without_work_and_work_without_pulses_cannot_be_compared() -> None:
    found = throughputs(
        trial(1, "T4", period_seconds=9.0),
        trial(2, "T4", period_seconds=5.0),
        trial(1, teraflops=100.0),
    )
    assert [one and one.unit for one in found] == ["iterations", "iterations", None]


def test_a_unit_of_work_has_a_price_and_takes_energy() -> None:
    one, other = compared(
        trial(2, period_seconds=10.0, watts=800.0),
        trial(1, "T4", period_seconds=40.0),
        prices={"A100": 3.6},
    )
    assert one.cost_per_unit == pytest.approx(2 * 3.6 / 3600 * 10)
    assert one.joules_per_unit == pytest.approx(8000.0)
    assert (other.cost_per_unit, other.joules_per_unit) == (None, None)


@pytest.mark.parametrize("state", ["failed", "out-of-memory", "lost", "cut", "unmeasured"])
def test_what_did_not_run_to_its_end_is_not_compared(state: str) -> None:
    found = per_second(
        trial(1, period_seconds=10.0), trial(2, state=state, period_seconds=1.0), trial(3)
    )
    assert found == [0.1, None, None]


FIGURES = st.none() | st.floats(min_value=5e-324, allow_infinity=False)
READINGS = st.builds(
    Reading,
    seconds=st.floats(0, 1e4),
    period_seconds=FIGURES,
    period_error_percent=st.none() | st.floats(0, 1e308),
    teraflops=FIGURES,
    teraflops_error_percent=st.none() | st.floats(0, 1e308),
    rate_per_second=FIGURES,
    rate_error_percent=st.none() | st.floats(0, 1e308),
    rate_unit=st.sampled_from([None, "iterations", "samples"]),
    watts=st.none() | st.floats(0, 1e6),
)
TRIALS = st.lists(
    st.builds(
        lambda gpus, gpu_type, reading: Trial(
            job="t",
            placement=Placement(gpu_type=gpu_type, workers=gpus),
            state=State.MEASURED,
            planned_seconds=1.0,
            created=NOON,
            reading=reading,
        ),
        st.integers(1, 64),
        st.sampled_from(["A100", "T4"]),
        st.none() | READINGS,
    ),
    max_size=8,
)


@given(TRIALS, st.sampled_from(Ruler), st.sampled_from(Iteration))
def test_whatever_stands_in_the_status_is_compared_in_one_unit_or_not_at_all(
    trials: list[Trial], by: Ruler, iteration: Iteration
) -> None:
    measure = Measure(by=by, iteration=iteration)
    found = compare(trials, measure, Optimise(prices={"A100": 2.0}))
    assert [one.placement for one in found] == [one.placement for one in trials]
    known = [one.throughput for one in found if one.throughput is not None]
    assert len({one.unit for one in known}) <= 1
    assert all(0 < one.per_second < math.inf for one in known)
    assert all(0 <= one.error_percent < math.inf for one in known)
    assert compare(found, measure, Optimise(prices={"A100": 2.0})) == found


@given(
    st.lists(st.tuples(st.integers(1, 16), st.floats(0.3, 1.0)), min_size=2, max_size=8),
    st.booleans(),
)
def test_the_truth_is_found_whether_work_is_divided_or_repeated(
    placed: list[tuple[int, float]], is_divided: bool
) -> None:
    """The efficiency of each placement is drawn; its period and its work follow."""
    trials, truth = [], []
    for gpus, efficiency in placed:
        speed = gpus * efficiency
        period = 10 / speed if is_divided else 10 / efficiency
        trials.append(trial(gpus, period_seconds=period, teraflops=100 * speed))
        truth.append(speed)
    if len({gpus for gpus, _ in placed}) > 1:
        found = [one.per_second for one in throughputs(*trials) if one is not None]
        assert [one / found[0] for one in found] == pytest.approx([one / truth[0] for one in truth])
