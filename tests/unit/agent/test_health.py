"""What is wrong with a GPU, and what only looks so."""

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest

from cepheid.agent.health import LOST_SECONDS, health_of, silent
from cepheid.annotations.facts import HealthFacts
from cepheid.sources.reading import GpuReading, Xid
from tests.unit.agent.readings import NOW, TIMES, gauge, gpu, node, pod


def slowed(bits: int, since_slots: int) -> GpuReading:
    """With these bits set in its last samples."""
    one = gpu()
    values = np.where(np.arange(TIMES.size) >= TIMES.size - since_slots, float(bits), 1.0)
    return replace(one, signals={**one.signals, "clock_event_bits": gauge(values)})


def test_a_healthy_gpu_has_nothing_to_say() -> None:
    one = gpu()
    assert health_of(one, node((one,))) is None
    assert not silent(node((one,)))


def test_one_that_falls_silent_while_others_speak_is_lost() -> None:
    lost, other = gpu(1, times=TIMES[:-8]), gpu(0)
    reading = node((other, lost))
    since = datetime.fromtimestamp(int(TIMES[-9]), UTC)
    assert health_of(lost, reading) == HealthFacts(lost=True, since=since)
    assert not silent(reading)


def test_where_all_fall_silent_the_exporter_is_away_and_none_is_lost() -> None:
    gpus = (gpu(0, times=TIMES[:-8]), gpu(1, times=TIMES[:-8]))
    reading = node(gpus, (pod(),))
    assert NOW - gpus[0].newest_seconds > LOST_SECONDS
    assert silent(reading)
    assert [health_of(one, reading) for one in gpus] == [None, None]


def test_a_node_without_gpus_misses_none() -> None:
    assert not silent(node((), (pod(),)))


@pytest.mark.parametrize(
    ("bits", "cause"), [(0x20, "thermal"), (0x40, "thermal"), (0x48, "thermal"), (0x80, "power")]
)
def test_a_gpu_that_is_slowed_down_says_why_and_since_when(bits: int, cause: str) -> None:
    one = slowed(bits, since_slots=30)
    since = datetime.fromtimestamp(int(TIMES[-30]), UTC)
    assert health_of(one, node((one,))) == HealthFacts(throttled=cause, since=since)


@pytest.mark.parametrize("bits", [0x1, 0x2, 0x4, 0x10, 0x100])
def test_an_idle_clock_or_the_usual_cap_of_power_is_no_fault(bits: int) -> None:
    one = slowed(bits, since_slots=30)
    assert health_of(one, node((one,))) is None


def test_a_moment_of_heat_is_no_news() -> None:
    one = slowed(0x20, since_slots=2)
    assert health_of(one, node((one,))) is None


def test_an_error_of_the_driver_goes_before_heat() -> None:
    one = replace(slowed(0x20, since_slots=30), xid=Xid(48, NOW - 60))
    found = health_of(one, node((one,)))
    assert found is not None
    assert (found.xid, found.throttled) == (48, None)
