"""What the series of a job's workers say."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cepheid.analysis.jobrules import JobKind
from cepheid.errors import CepheidError
from cepheid.jobprofile import Usage
from cepheid.jobs.measure import measure
from cepheid.jobs.series import JobSeries, WorkerSeries, added, averaged
from cepheid.model import FloatArray

STEP = 15.0
SLOTS = 480  # two hours
GIB = 2.0**30


def noise(seed: int, slots: int = SLOTS) -> FloatArray:
    return np.random.default_rng(seed).normal(0.0, 1.0, slots)


def trainer(seed: int = 0, *, memory: float = 8 * GIB, role: str = "Worker") -> WorkerSeries:
    """Ten minutes of computing, then a minute of evaluation, over and over."""
    slot = np.arange(SLOTS)
    busy = np.where(slot % 44 < 40, 0.95, 0.1)
    return WorkerSeries(
        {
            "gpu_util_percent": 100 * busy,
            "engine_active_ratio": busy,
            "tensor_active_ratio": 0.5 * busy,
            "dram_active_ratio": 0.6 * busy,
            "power_watts": 60 + 300 * busy + noise(seed),
            "gpu_memory_used_mib": np.full(SLOTS, 60_000.0),
            "cpu_cores": 2 + 0.01 * noise(seed + 1),
            "memory_working_set_bytes": memory * (1 + 0.001 * noise(seed + 2)),
            "network_receive_bytes_per_second": np.full(SLOTS, 1e6),
            "network_transmit_bytes_per_second": np.full(SLOTS, 2e6),
        },
        role=role,
        power_idle_watts=55,
        power_limit_watts=400,
    )


def job(**workers: WorkerSeries) -> JobSeries:
    return JobSeries(
        STEP, 1_772_360_400.0, {name.replace("_", "-"): w for name, w in workers.items()}
    )


def test_what_is_used_at_the_same_time_is_added_and_shares_are_averaged() -> None:
    found = measure(job(w_0=trainer(0), w_1=trainer(10)))
    assert found is not None
    usage = found.usage
    assert usage.memory_bytes is not None
    assert usage.memory_bytes.mean == pytest.approx(16 * GIB, rel=0.01)
    assert usage.gpu_memory_bytes is not None
    assert usage.gpu_memory_bytes.max == 2 * 60_000 * 2**20
    assert usage.gpu_util_percent is not None
    assert (usage.gpu_util_percent.max, usage.gpu_util_percent.min) == (95.0, 10.0)
    assert usage.tensor_percent is not None
    assert usage.tensor_percent.max == pytest.approx(47.5)
    assert usage.network_bytes_per_second is not None
    assert usage.network_bytes_per_second.mean == 6e6
    assert usage.disk_bytes_per_second is None
    assert usage.power_watts is not None
    assert usage.energy_joules == pytest.approx((usage.power_watts.mean or 0) * SLOTS * STEP)
    assert (found.samples, found.interval_seconds) == (SLOTS, STEP)


def test_a_trainer_is_known_by_its_pulse() -> None:
    found = measure(job(w_0=trainer(0), w_1=trainer(10)))
    assert found is not None
    assert found.job_type is JobKind.TRAINING
    assert found.cycle is not None
    assert found.cycle.period_seconds == pytest.approx(44 * STEP, rel=0.02)
    assert (found.cycle.metric, found.cycle.confirmed) == ("power", True)
    assert found.forecast_error_percent is not None
    assert found.forecast_error_percent < 20


def test_workers_have_their_own_maxima() -> None:
    found = measure(job(w_0=trainer(0), w_1=trainer(10, memory=4 * GIB)))
    assert found is not None
    assert found.workers["w-0"].memory_bytes == pytest.approx(8 * GIB, rel=0.01)
    assert found.workers["w-1"].memory_bytes == pytest.approx(4 * GIB, rel=0.01)
    assert found.workers["w-1"].gpu_util_percent == 95.0
    assert found.workers["w-1"].disk_bytes_per_second is None


def test_a_worker_that_holds_more_than_the_others_of_its_role_lags() -> None:
    workers = {f"w_{i}": trainer(10 * i) for i in range(6)}
    workers["w_3"] = trainer(99, memory=20 * GIB)
    workers["launcher"] = trainer(77, memory=60 * GIB, role="Launcher")
    found = measure(job(**workers))
    assert found is not None
    lags = {name: worker.straggles for name, worker in found.workers.items() if worker.straggles}
    assert lags == {"w-3": "holds 20Gi of memory, the others 8.0Gi"}


def test_a_leak_is_that_of_the_fastest_worker() -> None:
    leaking = trainer(1)
    growth = 90 * 2**20 / 60
    memory = 2 * GIB + growth * STEP * np.arange(SLOTS) + 2**20 * noise(3)
    leaking = WorkerSeries({**leaking.signals, "memory_working_set_bytes": memory})
    found = measure(job(w_0=trainer(0), w_1=leaking))
    assert found is not None
    assert found.leak is not None
    assert found.leak.bytes_per_second == pytest.approx(growth, rel=0.05)
    steady = measure(job(w_0=trainer(0)))
    assert steady is not None
    assert steady.leak is None


def test_a_job_without_a_gpu_has_no_job_type_but_a_limit() -> None:
    values = {"cpu_cores": np.full(SLOTS, 3.98) + 0.001 * noise(1)}
    found = measure(job(w=WorkerSeries(values, cpu_limit_cores=4.0)))
    assert found is not None
    assert found.job_type is None
    assert found.held_back_by is not None
    assert found.held_back_by.kind == "cpu"
    assert found.usage.gpu_util_percent is None
    assert found.usage.energy_joules is None


def test_a_mig_slice_is_as_busy_as_its_engine() -> None:
    found = measure(job(w=WorkerSeries({"engine_active_ratio": np.full(SLOTS, 0.4)})))
    assert found is not None
    assert found.usage.gpu_util_percent is not None
    assert found.usage.gpu_util_percent.max == pytest.approx(40)


def test_nothing_measured_is_nothing_said() -> None:
    nothing = WorkerSeries({"cpu_cores": np.full(SLOTS, np.nan)})
    assert measure(job()) is None
    assert measure(job(w=nothing)) is None
    assert measure(job(w=WorkerSeries({}))) is None


def test_what_cannot_be_is_not_counted() -> None:
    blank = np.full(SLOTS, 9.2e18)
    found = measure(job(w=WorkerSeries({"power_watts": blank, "cpu_cores": np.ones(SLOTS)})))
    assert found is not None
    assert found.usage.power_watts is None
    assert found.usage.energy_joules is None


def test_a_gap_of_one_is_a_gap_of_the_sum_but_its_end_is_not() -> None:
    whole = np.array([1.0, 1.0, 1.0, 1.0, 1.0])
    gap = np.array([np.nan, 2.0, np.nan, 2.0, np.nan])
    total = added([whole, gap])
    assert total is not None
    np.testing.assert_array_equal(total, [1.0, 3.0, np.nan, 3.0, 1.0])
    mean = averaged([whole, gap])
    assert mean is not None
    np.testing.assert_array_equal(mean, [1.0, 1.5, 1.0, 1.5, 1.0])


def test_energy_is_not_guessed_from_half_of_it() -> None:
    watts = np.full(SLOTS, 100.0)
    watts[10:-10] = np.nan
    found = measure(job(w=WorkerSeries({"power_watts": watts})))
    assert found is not None
    assert found.usage.energy_joules is None
    watts[10:400] = 100.0
    found = measure(job(w=WorkerSeries({"power_watts": watts})))
    assert found is not None
    assert found.usage.energy_joules == pytest.approx(100 * SLOTS * STEP)


@pytest.mark.parametrize(
    ("step", "arrays"),
    [
        (0.0, {}),
        (np.nan, {}),
        (15.0, {"a": np.ones(3), "b": np.ones(4)}),
        (1.0, {"a": np.ones((2, 2))}),
    ],
)
def test_series_that_are_not_on_one_grid_are_refused(
    step: float, arrays: dict[str, FloatArray]
) -> None:
    with pytest.raises(CepheidError, match=r"hint"):
        JobSeries(step, 0.0, {"w": WorkerSeries(arrays)})


NAMES = ("cpu_cores", "memory_working_set_bytes", "gpu_util_percent", "power_watts", "unknown")


@given(
    st.lists(
        st.dictionaries(
            st.sampled_from(NAMES),
            st.lists(st.floats(), min_size=40, max_size=40).map(np.array),
        ),
        max_size=3,
    )
)
@settings(max_examples=30, deadline=None)
def test_whatever_stands_in_the_series_is_measured_or_not(
    workers: list[dict[str, FloatArray]],
) -> None:
    series = JobSeries(30.0, 0.0, {f"w-{i}": WorkerSeries(w) for i, w in enumerate(workers)})
    found = measure(series)
    assert found is None or isinstance(found.usage, Usage)
