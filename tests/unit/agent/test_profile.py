"""From a reading to what is said of the node, its GPUs and its pods."""

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest

from cepheid.agent.gpu import GpuView, just_left, view_gpu
from cepheid.agent.gridding import TimeGrid
from cepheid.agent.health import health_of
from cepheid.agent.profile import NodeOutlook, node_facts, pod_facts
from cepheid.analysis.jobrules import JobKind
from cepheid.annotations.facts import GpuFacts, HealthFacts, NodeFacts, StaticFacts
from cepheid.sources.reading import GpuReading, NodeReading, Xid
from tests.unit.agent.readings import NOW, SLOTS, STEP, TIMES, counter, gpu, node, pod

SECONDS = TIMES - TIMES[0]
STEPPING = (SECONDS % 120 < 90).astype(float)
"""Two minutes a step, of which a kernel runs 90 s."""


def views_of(reading: NodeReading) -> tuple[list[GpuView], TimeGrid]:
    grid = TimeGrid.of(reading, SLOTS * STEP)
    assert grid is not None
    pods = {(one.namespace, one.name): one for one in reading.pods}
    looks = [
        view_gpu(one, health_of(one, reading), reading, grid, pods, 600.0) for one in reading.gpus
    ]
    return looks, grid


def facts_of(one: GpuReading, *others: GpuReading) -> GpuFacts:
    views, _ = views_of(node((one, *others), (pod(),)))
    return views[0].facts


def node_facts_of(*gpus: GpuReading) -> NodeFacts:
    reading = node(gpus, (pod(),))
    views, grid = views_of(reading)
    return node_facts(reading, views, NodeOutlook.of(reading, grid, 600.0), NOW + 1200.7)


def test_the_grid_has_the_step_of_the_samples_and_ends_at_the_newest() -> None:
    grid = TimeGrid.of(node((gpu(),)), 3600.0)
    assert grid is not None
    assert grid.step_seconds == STEP
    assert grid.times().size == 240
    assert abs(grid.times()[-1] - NOW) < STEP


def test_an_exporter_that_measures_every_second_scrape_makes_a_grid_of_its_own_step() -> None:
    twice = np.repeat(np.arange(SLOTS // 2), 2)
    slow = gpu()
    slow.signals["power_watts"].parts[0].values[:] = 1e6 + 6e6 * twice
    grid = TimeGrid.of(node((slow,)), 3600.0)
    assert grid is not None
    assert grid.step_seconds == 2 * STEP


def test_a_counter_that_stands_still_does_not_slow_the_grid() -> None:
    """Of a pod that writes nothing to disk; only a GPU's energy never rests."""
    still = pod()
    signals = {"disk_write_bytes_per_second": counter(0.0, 1.0), **still.signals}
    signals["disk_read_bytes_per_second"].parts[0].values[:-3] = 0.0
    grid = TimeGrid.of(node((gpu(),), (replace(still, signals=signals),)), 3600.0)
    assert grid is not None
    assert grid.step_seconds == STEP


def test_pods_that_are_measured_less_evenly_do_not_blur_the_gpus() -> None:
    slow = pod()
    times = NOW - 16.0 * np.arange(199, -1, -1, dtype=np.float64)
    signals = {"cpu_cores": counter(2.0, 1.0, times)}
    grid = TimeGrid.of(node((gpu(),), (replace(slow, signals=signals),)), 3600.0)
    assert grid is not None
    assert grid.step_seconds == STEP
    alone = TimeGrid.of(node((), (replace(slow, signals=signals),)), 3600.0)
    assert alone is not None
    assert alone.step_seconds == 16.0


def test_no_samples_make_no_grid() -> None:
    assert TimeGrid.of(node(), 3600.0) is None


def test_training_shows_its_period_memory_and_what_comes() -> None:
    facts = facts_of(gpu(busy=STEPPING, memory_mib=61.2 * 1024))
    assert facts.cycle is not None
    assert facts.cycle.period_seconds == pytest.approx(120, rel=0.05)
    assert facts.cycle.metric == "power"
    assert facts.cycle.confirmed is True
    assert facts.cyclic_pattern is True
    assert facts.job_type is JobKind.TRAINING
    assert facts.mem_used_gb == pytest.approx(61.2)
    assert facts.mem_free_gb == pytest.approx(18.8)
    assert (facts.max_gpu_util_percent, facts.max_mem_util_percent) == (100, 40)
    assert facts.pods == 1
    assert facts.forecast is not None
    assert facts.forecast.util_mean_percent == pytest.approx(75, abs=5)
    assert facts.forecast.mem_peak_gb == pytest.approx(61.2, rel=0.02)


def test_a_gpu_that_is_held_and_computes_nothing_is_idle_and_none_of_it_is_zeroed_out() -> None:
    facts = facts_of(gpu(busy=0.0))
    assert facts.job_type is JobKind.IDLE
    assert facts.cyclic_pattern is False
    assert facts.cycle is None
    assert facts.mem_used_gb == pytest.approx(30_000 / 1024)


def test_a_gpu_that_nobody_holds_is_empty() -> None:
    facts = facts_of(gpu(memory_mib=4.0, holders=()))
    assert (facts.job_type, facts.pods) == (JobKind.EMPTY, 0)


def test_of_an_empty_gpu_neither_a_cycle_nor_a_future_is_told() -> None:
    facts = facts_of(gpu(memory_mib=4.0, holders=()))
    assert (facts.cyclic_pattern, facts.forecast) == (None, None)
    assert node_facts_of(gpu(memory_mib=4.0, holders=())).free_gpu_score == 100


@pytest.mark.parametrize(
    ("holders", "memory_mib", "since_seconds", "leaving"),
    [
        ((), 30_000.0, NOW - 15, True),
        ((), 30_000.0, NOW - 45, False),  # measured since: somebody outside of Kubernetes has it
        ((), 4.0, NOW - 15, False),
        ((("team", "train"),), 30_000.0, NOW - 15, False),
    ],
)
def test_a_holder_has_just_left_until_the_memory_is_measured_again(
    holders: tuple[tuple[str, str], ...], memory_mib: float, since_seconds: float, leaving: bool
) -> None:
    one = gpu(memory_mib=memory_mib, holders=holders, since_seconds=since_seconds)
    assert just_left(one) is leaving


@pytest.mark.parametrize(
    ("busy", "held_seconds", "settled"),
    [
        (STEPPING, 900.0, True),
        (0.9, 895.0, False),  # its cycle may be a long one
        (0.9, 920.0, True),
        (0.9, 120.0, False),
    ],
)
def test_a_gpu_in_new_hands_is_settled_when_its_cycle_is_seen_or_after_a_while(
    busy: np.ndarray | float, held_seconds: float, settled: bool
) -> None:
    views, _ = views_of(node((gpu(busy=busy, since_seconds=NOW - held_seconds),), (pod(),)))
    assert views[0].settled is settled


def test_a_gpu_that_was_left_is_empty_at_once_and_its_past_is_the_last_holders() -> None:
    left = float(TIMES[-2])
    gone = np.arange(SLOTS) >= SLOTS - 2
    memory = np.where(gone, 4.0, 30_000.0)
    busy = np.where(gone, 0.0, STEPPING)
    busy[-2] = 0.4  # an average over the time before this sample
    facts = facts_of(gpu(busy=busy, memory_mib=memory, holders=(), since_seconds=left))
    assert (facts.job_type, facts.pods) == (JobKind.EMPTY, 0)
    assert facts.cycle is None


def test_what_was_measured_before_the_holder_came_is_not_its() -> None:
    busy = np.where(NOW - TIMES > 600, STEPPING, 0.0)
    facts = facts_of(gpu(busy=busy, since_seconds=NOW - 590))
    assert facts.cycle is None
    assert facts.max_gpu_util_percent == 0


def test_the_first_sample_of_a_holder_is_told_at_once() -> None:
    busy = np.where(NOW - TIMES > STEP / 2, 0.0, 0.5)
    facts = facts_of(gpu(busy=busy, since_seconds=NOW))
    assert facts.mem_used_gb == pytest.approx(30_000 / 1024)
    assert facts.max_gpu_util_percent == 50
    assert facts.job_type is JobKind.UNKNOWN


def test_an_error_of_the_driver_is_said_and_the_rest_too() -> None:
    facts = facts_of(gpu(busy=STEPPING, xid=Xid(79, NOW - 100)))
    assert facts.health == HealthFacts(xid=79, since=datetime.fromtimestamp(NOW - 100, UTC))
    assert facts.job_type is JobKind.TRAINING


def test_of_a_lost_gpu_only_that_is_said() -> None:
    early = TIMES[:-20]
    lost = gpu(1, busy=0.5, times=early)
    views, _ = views_of(node((gpu(0), lost)))
    since = datetime.fromtimestamp(early[-1], UTC)
    assert views[1].facts == GpuFacts(1, health=HealthFacts(lost=True, since=since))
    assert views[0].facts.health is None


def test_the_node_sums_its_gpus_up() -> None:
    facts = node_facts_of(gpu(0, busy=STEPPING), gpu(1, memory_mib=4.0, holders=()))
    assert facts.static == StaticFacts(2, "NVIDIA A100-SXM4-80GB", 80.0)
    assert facts.free_gpu_score == pytest.approx((25 + 100) / 2, abs=5)
    assert facts.cpu_forecast is not None
    assert facts.cpu_forecast.util_mean_percent == pytest.approx(25, abs=1)
    assert facts.mem_forecast is not None
    assert facts.mem_forecast.util_mean_percent == pytest.approx(25, abs=1)
    assert facts.valid_until == datetime.fromtimestamp(NOW + 1200, UTC)


def test_a_lost_gpu_leaves_nothing_free() -> None:
    lost = gpu(1, times=TIMES[:-20], holders=())
    assert node_facts_of(gpu(0, memory_mib=4.0, holders=()), lost).free_gpu_score == 50


def test_a_score_is_not_guessed_where_one_gpu_is_not_known() -> None:
    young = gpu(1, busy=0.5, times=TIMES[-5:])
    assert node_facts_of(gpu(0, memory_mib=4.0, holders=()), young).free_gpu_score is None


def test_mig_slices_are_kept_apart_and_count_as_one_board() -> None:
    facts = node_facts_of(gpu(0, mig_id="3"), gpu(0, mig_id="5"))
    assert [(one.index, one.mig) for one in facts.gpus] == [(0, 3), (0, 5)]
    assert facts.static is not None
    assert facts.static.count == 1


def test_after_a_gap_a_pods_share_stands_until_there_is_a_newer_one() -> None:
    """Others were measured again a little earlier."""
    early = TIMES[:-12]
    before = node((gpu(busy=0.5, times=early), gpu(1, holders=(), times=early)), (pod(),))
    views, grid = views_of(before)
    (own,) = pod_facts(before.pods[0], "gpu-a", views, before, grid, None).gpus
    assert own.util_percent == pytest.approx(50)


def test_of_a_lost_gpu_nothing_is_said_on_its_pod() -> None:
    reading = node((gpu(busy=0.5, times=TIMES[:-20]), gpu(1, holders=())), (pod(),))
    views, grid = views_of(reading)
    (own,) = pod_facts(reading.pods[0], "gpu-a", views, reading, grid, None).gpus
    assert (own.util_percent, own.mem_mb) == (None, None)


def test_a_pod_shows_what_it_uses() -> None:
    reading = node((gpu(busy=STEPPING),), (pod(cores=2.0),))
    views, grid = views_of(reading)
    facts = pod_facts(reading.pods[0], "gpu-a", views, reading, grid, 4.0)
    assert facts.cpu_util_percent == pytest.approx(50)
    assert facts.cpu_mem_mb == pytest.approx(4096)
    assert facts.network_mbps == pytest.approx(10)
    assert facts.disk_io_mbps == pytest.approx(3)
    assert facts.job_type is JobKind.TRAINING
    assert facts.node == "gpu-a"
    (own,) = facts.gpus
    assert own.index == 0
    assert own.mem_mb == pytest.approx(30_000)
    assert own.shared is False


def test_without_a_limit_cpu_is_of_the_whole_node() -> None:
    reading = node((), (pod(cores=8.0),))
    grid = TimeGrid.of(reading, 3600.0)
    assert grid is not None
    facts = pod_facts(reading.pods[0], "gpu-a", [], reading, grid, None)
    assert facts.cpu_util_percent == pytest.approx(25)
    assert facts.gpus == ()
    assert facts.node is None
    assert facts.job_type is None


def test_on_a_shared_gpu_what_cannot_be_attributed_says_so() -> None:
    both = (("team", "train"), ("team", "other"))
    reading = node((gpu(busy=STEPPING, holders=both),), (pod(), pod("other")))
    views, grid = views_of(reading)
    facts = pod_facts(reading.pods[0], "gpu-a", views, reading, grid, None)
    assert facts.gpus[0].shared is True
    assert facts.cycle is not None
    assert facts.cycle.shared is True
    assert views[0].facts.pods == 2
