"""Counters are true integrals, averages are true averages, and the one gauge aliases."""

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.simgpu.activity import IDLE, Activity
from tests.simgpu.device_file import SLOT_BYTES, Client
from tests.unit.simgpu.conftest import Node
from tests.unit.simgpu.test_exposition import families

FULL = Activity(engine=1.0, tensor=1.0, dram=1.0)
ENERGY = "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION"


def value(page: str, name: str) -> float:
    (sample,) = families(page)[name].samples
    return float(sample.value)


def test_energy_of_fast_iterations_is_exact(node: Callable[..., Node]) -> None:
    one = node()
    collector = one.collector()
    client = Client(one.device(), "pod", now=100.0)
    now = 100.0
    for _ in range(1000):  # 20 ms at full power, 30 ms idle, fifty seconds long
        client.announce(FULL, 0, now, now + 0.02)
        now += 0.05
    idle, full = 55.0, 400.0
    expected = 1000 * (idle * now + (full - idle) * 0.02 * 1000)
    assert value(collector.collect(now), ENERGY) == pytest.approx(expected, abs=1)


def test_energy_goes_on_where_it_was_after_the_exporter_restarts(
    node: Callable[..., Node],
) -> None:
    one = node()
    first = one.collector()
    client = Client(one.device(), "pod", now=0.0)
    client.announce(FULL, 0, now=0.0, until=100.0)
    before = value(first.collect(50.0), ENERGY)
    assert value(one.collector().collect(50.0), ENERGY) == before
    assert value(one.collector().collect(51.0), ENERGY) == pytest.approx(before + 400_000, abs=1)


def test_gpu_util_looks_back_a_second_and_prof_over_the_interval(
    node: Callable[..., Node],
) -> None:
    one = node()
    collector = one.collector()
    client = Client(one.device(), "pod", now=0.0)
    collector.glance(0.0)
    collector.collect(0.0)
    client.announce(FULL, 0, now=0.0, until=15.0)  # then idle for the other half of the interval
    collector.glance(29.0)
    page = collector.collect(30.0)
    assert value(page, "DCGM_FI_DEV_GPU_UTIL") == 0
    assert value(page, "DCGM_FI_PROF_GR_ENGINE_ACTIVE") == 0.5
    assert value(page, "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE") == 0.5
    assert value(page, "DCGM_FI_DEV_POWER_USAGE") == 55


def test_a_spinning_rank_is_fully_utilised_and_draws_little(node: Callable[..., Node]) -> None:
    one = node()
    collector = one.collector()
    client = Client(one.device(), "pod", now=0.0)
    client.announce(Activity(engine=1.0), 2000, now=0.0, until=30.0)
    collector.glance(29.0)
    page = collector.collect(30.0)
    assert value(page, "DCGM_FI_DEV_GPU_UTIL") == 100
    assert value(page, "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE") == 0
    assert value(page, "DCGM_FI_DEV_POWER_USAGE") == pytest.approx(55 + 345 * 0.2)


def test_memory_adds_up_to_the_model(node: Callable[..., Node]) -> None:
    one = node()
    collector = one.collector()
    client = Client(one.device(), "pod", now=0.0)
    client.announce(IDLE, 12345, now=0.0, until=1.0)
    page = collector.collect(1.0)
    names = [f"DCGM_FI_DEV_FB_{kind}" for kind in ("USED", "FREE", "RESERVED")]
    assert value(page, names[0]) == 12345
    assert sum(value(page, name) for name in names) == 81920


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)
@given(st.lists(st.binary(min_size=1, max_size=600), min_size=1, max_size=4))
def test_garbage_in_a_device_file_neither_stops_the_page_nor_turns_counters_back(
    node: Callable[..., Node], garbage: list[bytes]
) -> None:
    one = node(count=2)
    one.device(0).unlink(missing_ok=True)
    collector = one.collector()
    client = Client(one.device(0), "pod", now=0.0)
    client.announce(FULL, 100, now=0.0, until=10.0)
    last = _energies(collector.collect(10.0))
    for turn, junk in enumerate(garbage):
        one.device(0).write_bytes(junk.ljust(SLOT_BYTES, b"\xff"))
        now = _energies(collector.collect(11.0 + turn))
        assert all(now[gpu] >= last[gpu] for gpu in ("0", "1"))
        last = now


def _energies(page: str) -> dict[str, float]:
    return {s.labels["gpu"]: s.value for s in families(page)[ENERGY].samples}


def test_a_device_file_that_is_gone_costs_only_that_gpu_its_series(
    node: Callable[..., Node],
) -> None:
    one = node(count=2)
    collector = one.collector()
    one.device(0).unlink()
    collector.glance(9.0)
    assert set(_energies(collector.collect(10.0))) == {"1"}


def test_sharers_together_never_exceed_the_device(node: Callable[..., Node]) -> None:
    one = node(time_slicing=2)
    collector = one.collector()
    for name in ("a", "b"):
        client = Client(one.device(), name, now=0.0)
        client.announce(FULL, 0, now=0.0, until=10.0)
    collector.glance(9.0)
    page = collector.collect(10.0)
    assert value(page, "DCGM_FI_DEV_GPU_UTIL") == 100
    assert value(page, "DCGM_FI_PROF_GR_ENGINE_ACTIVE") == 1.0
    assert value(page, "DCGM_FI_DEV_POWER_USAGE") == 400
