"""What is used now, from raw samples."""

import numpy as np
import pytest

from cepheid.agent.recent import recent, span_of
from cepheid.sources.catalog import Kind
from cepheid.sources.reading import Part, Signal

TIMES = np.arange(0.0, 301.0, 15.0)


def part(
    values: np.ndarray, kind: Kind, group: str = "a", scale: float = 1.0, end: int = 21
) -> Part:
    return Part(group, kind, scale, TIMES[:end], np.asarray(values, dtype=np.float64)[:end])


def test_a_gauge_is_the_mean_of_its_last_minute() -> None:
    values = np.zeros(21)
    values[-5:] = [1, 2, 3, 4, 5]
    signal = Signal((part(values, Kind.GAUGE, scale=2.0),))
    assert recent(signal, 300.0) == 7.0
    assert recent(signal, 300.0, span_seconds=30.0) == 9.0


@pytest.mark.parametrize(
    ("period", "span"), [(None, 60.0), (20.0, 60.0), (40.0, 80.0), (50.0, 50.0), (300.0, 300.0)]
)
def test_of_a_load_that_repeats_whole_periods_are_taken(period: float | None, span: float) -> None:
    assert span_of(period) == span


def test_a_counter_is_its_growth_per_second() -> None:
    assert recent(Signal((part(30 * TIMES, Kind.COUNTER, scale=0.5),)), 300.0) == 15.0


def test_a_counter_that_began_anew_in_the_last_minute_is_not_known() -> None:
    values = 30 * TIMES
    values[-2:] = [0, 450]
    assert recent(Signal((part(values, Kind.COUNTER),)), 300.0) is None


def test_containers_add_up_and_a_restarted_one_counts_once() -> None:
    steady = part(10 * TIMES, Kind.COUNTER, "main")
    lingering = part(4 * TIMES, Kind.COUNTER, "main")
    sidecar = part(1 * TIMES, Kind.COUNTER, "side")
    assert recent(Signal((steady, lingering, sidecar)), 300.0) == pytest.approx(11.0)


def test_a_container_that_ended_adds_nothing() -> None:
    gone = part(10 * TIMES, Kind.COUNTER, "init", end=10)
    there = part(2 * TIMES, Kind.COUNTER, "main")
    assert recent(Signal((gone, there)), 300.0) == 2.0
    assert recent(Signal((gone,)), 300.0) is None


def test_nothing_measured_is_not_known() -> None:
    assert recent(None, 0.0) is None
    assert recent(Signal((part(np.ones(21), Kind.COUNTER, end=1),)), 0.0) is None
