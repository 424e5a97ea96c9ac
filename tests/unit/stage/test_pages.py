"""The pages: what the agent reads is on them, with the labels that it looks at."""

from collections.abc import Iterator

import pytest
from prometheus_client.parser import text_string_to_metric_families

from cepheid.sources import catalog
from cepheid.sources.catalog import Source
from tests.stage import cadvisor, dcgm
from tests.stage.levels import Square
from tests.stage.world import Pod, World
from tests.unit.prometheus.test_manifest import JOBS

NOW = 1_760_000_000.0
ENERGY = "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION_total"  # so the parser calls every counter
Series = dict[str, list[tuple[dict[str, str], float]]]


@pytest.fixture
def world() -> World:
    """One node with a GPU that is used, one that is not, and two pods."""
    made = World(up_since=NOW - 1000)
    node = made.add_node("gpu-a", gpus=2)
    node.pods = [Pod("team", "train", cpu_limit_cores=4.0), Pod("team", "young", since=NOW - 10)]
    node.gpus[0].holders = [node.pods[0].owner]
    node.gpus[0].busy.become(Square(period_seconds=20), at=0)
    node.pods[0].cores.become(2.0, at=NOW - 100)
    return made


def parsed(text: str) -> Series:
    found: Series = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found.setdefault(sample.name, []).append((sample.labels, sample.value))
    return found


def gpu(series: Series, metric: str, index: int) -> float:
    (value,) = (value for labels, value in series[metric] if labels["gpu"] == str(index))
    return value


def of_pod(series: Series, metric: str, pod: str) -> Iterator[float]:
    return (
        value
        for labels, value in series[metric]
        if labels["pod"] == pod and labels["container"] == "main"
    )


def test_the_kubelet_offers_all_that_the_product_keeps(world: World) -> None:
    (keep,) = JOBS["cadvisor"]["metric_relabel_configs"]
    offered = set(parsed(cadvisor.page(world, world.nodes[0], NOW)))
    assert offered == set(keep["regex"].split("|"))
    assert offered >= {metric.name for metric in catalog.of(Source.CADVISOR)}


def test_counters_of_a_pod_are_integrals_since_it_began(world: World) -> None:
    series = parsed(cadvisor.page(world, world.nodes[0], NOW))
    cpu = "container_cpu_usage_seconds_total"
    assert list(of_pod(series, cpu, "train")) == [pytest.approx(900 * 0.1 + 100 * 2.0)]
    assert list(of_pod(series, cpu, "young")) == [pytest.approx(10 * 0.1)]
    assert list(of_pod(series, "container_cpu_cfs_periods_total", "train")) == [10_000]
    (whole,) = (value for labels, value in series[cpu] if labels["id"] == "/")
    assert whole == pytest.approx(290 + 1 + 1000 * 0.5)


def test_a_pod_is_not_there_before_it_began(world: World) -> None:
    assert "young" not in cadvisor.page(world, world.nodes[0], NOW - 11)


def test_figures_of_a_pod_have_the_time_at_which_they_were_taken(world: World) -> None:
    world.pods_every_seconds = 15
    first, again = (cadvisor.page(world, world.nodes[0], NOW + shift) for shift in (0.0, 0.001))
    of_train = [[line for line in page.splitlines() if "train" in line] for page in (first, again)]
    assert of_train[0] == of_train[1]
    (taken,) = {int(line.rpartition(" ")[2]) for line in of_train[0]}
    assert NOW - 15 < taken / 1000 <= NOW


def test_energy_is_the_integral_of_power_and_utilisation_looks_back_a_second(world: World) -> None:
    pages = [parsed(dcgm.page(world, world.nodes[0], NOW + shift)) for shift in (0, 5, 20)]
    energy = [gpu(page, ENERGY, 0) for page in pages]
    power = [gpu(page, "DCGM_FI_DEV_POWER_USAGE", 0) for page in pages]
    # Between 55 W idle and 400 W, busy for 5 of the first 5 seconds and for 10 of all 20.
    assert energy[1] - energy[0] == pytest.approx(5000 * power[1], abs=2)
    assert energy[2] - energy[0] == pytest.approx(10_000 * (power[1] + 55), abs=2)
    assert [gpu(page, "DCGM_FI_DEV_GPU_UTIL", 0) for page in pages] == [0, 100, 0]
    idle = [gpu(page, ENERGY, 1) for page in pages]
    assert idle[2] - idle[0] == pytest.approx(20_000 * 55)


def test_only_a_gpu_that_is_held_names_a_pod(world: World) -> None:
    page = parsed(dcgm.page(world, world.nodes[0], NOW))
    labels = [labels for labels, _ in page["DCGM_FI_DEV_FB_USED"]]
    assert [(one["Hostname"], one.get("pod")) for one in labels] == [
        ("gpu-a", "train"),
        ("gpu-a", None),
    ]
