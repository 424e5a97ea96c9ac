"""The arithmetic behind the benchmark's tables."""

import math

import numpy as np
import pytest

from tests.bench.families import Sample
from tests.bench.predictors import Prediction, seasonal_naive
from tests.bench.scores import Found, Task, detected, geometric_mean, is_right, task, told


@pytest.mark.parametrize(
    ("period", "truths", "right"),
    [
        (104.9, (100.0,), True),
        (105.1, (100.0,), False),
        (5.9, (5.0,), True),  # one sample
        (6.1, (5.0,), False),
        (336.0, (48.0, 336.0), True),
        (200.0, (100.0,), False),
        (48.0, (), False),
    ],
)
def test_a_period_is_right_within_five_percent_or_a_sample_of_a_true_one(
    period: float, truths: tuple[float, ...], *, right: bool
) -> None:
    assert is_right(period, truths) is right


def test_every_answer_of_a_detector_is_counted_once() -> None:
    cyclic = Sample("a", np.zeros(10), (5.0,))
    noise = Sample("b", np.zeros(10), ())
    answers = iter([5.0, 50.0, None, 7.0, None, None])
    found = detected(lambda _: next(answers), [cyclic, cyclic, cyclic, noise, noise, noise])
    assert found == Found(right=1, wrong=1, missed=1, false_alarms=1, quiet=2)
    assert (found.cyclic, found.not_cyclic) == (3, 3)
    assert found + found == Found(2, 2, 2, 2, 4)


def test_the_end_of_a_series_is_cut_off_to_be_foretold() -> None:
    work = task(Sample("a", np.arange(100.0), (7.0,)))
    assert (len(work.past), len(work.future), work.period) == (88, 12, 7.0)
    assert len(task(Sample("a", np.arange(1000.0), ())).future) == 40
    assert task(Sample("a", np.arange(1000.0), ()), 200).future[-1] == 199.0


def test_seasonal_naive_repeats_the_last_period_and_without_one_the_last_value() -> None:
    past = np.array([1.0, 2, 3, 4, 5, 6])
    assert seasonal_naive(past, 5, 3.0).middle.tolist() == [4, 5, 6, 4, 5]
    assert seasonal_naive(past, 3, None).middle.tolist() == [6, 6, 6]


def test_a_prediction_is_told_by_its_error_over_that_of_naive_and_by_what_its_band_holds() -> None:
    past = np.tile([0.0, 2.0], 50)
    future = np.array([1.0, np.nan, 1.0, 1.0])
    work = Task("a", past, future, None)  # naive says 2: wrong by 1
    half_right = Prediction(np.full(4, 1.5), np.full(4, 0.9), np.array([1.1, 1.1, 0.95, 1.1]))
    answer = told(lambda *_: half_right, work)
    assert answer is not None
    assert answer.ratio == pytest.approx(0.5, rel=1e-2)
    assert answer.covered == pytest.approx(2 / 3)
    assert told(lambda *_: None, work) is None


def test_the_geometric_mean_treats_twice_and_half_alike() -> None:
    assert math.isclose(geometric_mean([0.5, 2.0]), 1.0)
