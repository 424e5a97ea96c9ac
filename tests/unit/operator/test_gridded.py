"""What Prometheus has of several pods, on one grid."""

import numpy as np
import pytest

from cepheid.jobs.measure import measure
from cepheid.jobs.pods import Container, Phase, PodState
from cepheid.model import FloatArray
from cepheid.sources.catalog import Kind, Source
from cepheid.sources.jobs import PodHistory, Span
from cepheid.sources.reading import GpuReading, Holder, Holding, Part, Signal
from cepheid_operator.gridded import JobGrid
from tests.unit.operator.stories import NOON

START = NOON.timestamp()
SPAN = Span(START, START + 600)
TIMES: FloatArray = START + 15.0 * np.arange(40, dtype=np.float64) + 3


def signal(*values: FloatArray, kind: Kind = Kind.GAUGE, scale: float = 1.0) -> Signal:
    return Signal(tuple(Part(str(n), kind, scale, TIMES, v) for n, v in enumerate(values)))


def constant(value: float) -> FloatArray:
    return np.full(TIMES.size, value)


def gpu(index: int, util: float, used: float, **more: object) -> GpuReading:
    known: dict[str, object] = {
        "source": Source.DCGM,
        "index": index,
        "uuid": f"u-{index}",
        "model": "NVIDIA A100-SXM4-80GB",
        "mig_profile": None,
        "mig_id": None,
        "holdings": (),
        "since_seconds": START,
        "shared": False,
        "signals": {
            "gpu_util_percent": signal(constant(util)),
            "gpu_memory_used_mib": signal(constant(used)),
            "power_watts": signal(300_000.0 * (TIMES - START), kind=Kind.COUNTER, scale=1e-3),
        },
        "memory_total_mib": 81_920.0,
        "xid": None,
        "newest_seconds": float(TIMES[-1]),
        **more,
    }
    return GpuReading(**known)  # type: ignore[arg-type]


def pod(name: str) -> PodState:
    limits = (("cpu", "4"), ("memory", "8Gi"))
    return PodState(
        f"uid-{name}",
        name,
        "team",
        NOON,
        Phase.SUCCEEDED,
        node="gpu-a",
        role="Worker",
        containers=(Container("main", limits=limits),),
    )


def test_shares_of_several_gpus_are_averaged_and_amounts_added_up() -> None:
    grid = JobGrid(SPAN)
    gpus = (gpu(0, 40, 1000), gpu(1, 80, 3000))
    memory = {"memory_working_set_bytes": signal(constant(5e9), constant(1e9))}
    grid.add(PodHistory("w-0", memory, gpus), pod("w-0"))
    series = grid.series()
    assert series is not None
    assert series.step_seconds == 15.0
    worker = series.workers["w-0"]
    assert np.nanmean(worker.signals["gpu_util_percent"]) == 60.0
    assert np.nanmax(worker.signals["gpu_memory_used_mib"]) == 4000.0
    assert np.nanmedian(worker.signals["power_watts"]) == pytest.approx(600.0)
    assert np.nanmax(worker.signals["memory_working_set_bytes"]) == 6e9
    assert (worker.cpu_limit_cores, worker.memory_limit_bytes) == (4.0, 8 * 2**30)
    assert (worker.gpu_memory_total_mib, worker.power_limit_watts) == (163_840.0, 800.0)
    assert (worker.tensor_peak_teraflops, worker.gpu_memory_most_mib) == (624.0, 3000.0)
    assert [(held.node, held.index) for held in grid.gpus] == [("gpu-a", 0), ("gpu-a", 1)]


def test_pods_are_put_on_one_grid_and_measured_together() -> None:
    grid = JobGrid(SPAN)
    for name in ("w-0", "w-1"):
        cpu = {"cpu_cores": signal(2.0 * (TIMES - START), kind=Kind.COUNTER)}
        grid.add(PodHistory(name, cpu, (gpu(0, 50, 1000),)), pod(name))
    series = grid.series()
    assert series is not None
    measured = measure(series)
    assert measured is not None
    assert measured.usage.cpu_cores is not None
    assert measured.usage.cpu_cores.max == pytest.approx(4.0)
    assert measured.usage.energy_joules == pytest.approx(2 * 300 * 585, rel=0.05)


def test_of_a_shared_gpu_the_pods_own_part_counts_where_it_is_told() -> None:
    own = Holding(Holder("team", "w-0", "main"), START, {"gpu_util_percent": signal(constant(10))})
    shared = gpu(0, 90, 1000, shared=True, holdings=(own,))
    grid = JobGrid(SPAN)
    grid.add(PodHistory("w-0", {}, (shared,)), pod("w-0"))
    series = grid.series()
    assert series is not None
    signals = series.workers["w-0"].signals
    assert np.nanmax(signals["gpu_util_percent"]) == 10.0
    assert np.nanmax(signals["gpu_memory_used_mib"]) == 1000.0


@pytest.mark.parametrize(
    ("more", "teraflops"),
    [
        ({}, 312.0),
        ({"model": "NVIDIA Z9000"}, None),
        ({"model": None}, None),
        ({"shared": True}, None),
        ({"mig_profile": "3g.40gb", "mig_id": "2"}, 312 * 3 / 7),
    ],
)
def test_a_peak_is_that_of_the_model_and_of_a_shared_gpu_nobodys(
    more: dict[str, object], teraflops: float | None
) -> None:
    grid = JobGrid(SPAN)
    grid.add(PodHistory("w-0", {}, (gpu(0, 90, 1000, **more),)), pod("w-0"))
    series = grid.series()
    assert series is not None
    assert series.workers["w-0"].tensor_peak_teraflops == teraflops


def test_what_was_not_measured_makes_no_grid() -> None:
    grid = JobGrid(SPAN)
    grid.add(PodHistory("w-0", {}, ()), pod("w-0"))
    assert grid.series() is None
