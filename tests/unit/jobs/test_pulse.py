"""How fast a job goes, from series of which the truth is known."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cepheid.jobs.pulse import Pace, pace_of
from cepheid.jobs.series import JobSeries, WorkerSeries
from tests.simgpu.step_model import BOUNDS
from tests.unit.analysis.strategies import SPOILT_PATTERNS
from tests.unit.jobs.pulsing import START, Job
from tests.unit.jobs.trained import SCRAPE_SECONDS, trained


def paced(job: Job, warmup_slots: int = 0) -> Pace:
    series = job.series()
    begin = START + warmup_slots * job.step_seconds
    found = pace_of(series, from_seconds=begin, workers=job.names)
    assert found is not None
    return found


@pytest.mark.parametrize("steps", [4.0, 5.3, 7.0, 12.5, 20.0])
@pytest.mark.parametrize("workers", [1, 4])
def test_the_period_is_that_of_the_iterations(steps: float, workers: int) -> None:
    job = Job(steps, slots=int(12 * steps), workers=workers)
    pace = paced(job)
    assert pace.period_seconds is not None
    assert pace.period_error_ratio is not None
    assert pace.period_seconds == pytest.approx(15 * steps, rel=0.025)
    assert abs(pace.period_seconds / (15 * steps) - 1) < 3 * pace.period_error_ratio
    assert 0.002 < pace.period_error_ratio < 0.02
    assert pace.cycles_seen == pytest.approx(12, rel=0.1)


@pytest.mark.parametrize("cycles", [3.4, 6.0, 15.0])
def test_twice_the_standard_error_holds_in_nine_of_ten_jobs(cycles: float) -> None:
    within, seen = 0, 0
    for seed in range(60):
        steps = 5.5 + 0.1 * (seed % 30)
        job = Job(steps, slots=int(np.ceil(cycles * steps)) + 2, duty=0.3 + 0.01 * seed, seed=seed)
        pace = paced(job)
        if pace.period_seconds is not None and pace.period_error_ratio is not None:
            seen += 1
            off = abs(pace.period_seconds / (15 * steps) - 1)
            within += off < 2 * pace.period_error_ratio
    assert seen >= 40
    assert within >= 0.9 * seen


def test_the_error_shrinks_with_the_cycles_seen() -> None:
    few, many = (paced(Job(6.0, slots=int(6 * cycles), seed=3)) for cycles in (5, 40))
    assert few.period_error_ratio is not None
    assert many.period_error_ratio is not None
    assert many.period_error_ratio < 0.6 * few.period_error_ratio


@pytest.mark.parametrize("steps", [0.05, 0.4, 1.07, 1.2, 1.4, 2.1, 2.9])
@pytest.mark.parametrize("without", [frozenset(), frozenset({"gpu_util_percent"})])
def test_iterations_faster_than_the_scrapes_are_no_slow_period(
    steps: float, without: frozenset[str]
) -> None:
    pace = paced(Job(steps, slots=120, without=without))
    assert pace.period_seconds is None
    assert pace.teraflops == pytest.approx(312 * 0.5 * 0.6, rel=0.05)


@pytest.mark.parametrize("bound", sorted(BOUNDS))
@pytest.mark.parametrize("scrapes", [0.3, 1.07, 1.15, 1.3, 1.45, 2.3, 2.9, 3.3])
def test_no_trainer_has_a_period_that_only_the_scrapes_made(bound: str, scrapes: float) -> None:
    for gpus, slots, seed in itertools.product((1, 8), (22, 60), range(3)):
        series = trained(bound, gpus, scrapes, slots, seed)
        pace = pace_of(series, from_seconds=-SCRAPE_SECONDS, workers=["w-0"])
        assert pace is not None
        assert pace.period_seconds is None


@pytest.mark.parametrize("bound", sorted(BOUNDS))
@pytest.mark.parametrize("gpus", [1, 8])
def test_a_trainer_slow_enough_is_timed_whatever_holds_it_back(bound: str, gpus: int) -> None:
    for scrapes, seed in itertools.product((5.0, 8.3), range(3)):
        series = trained(bound, gpus, scrapes, int(12 * scrapes), seed)
        pace = pace_of(series, from_seconds=-SCRAPE_SECONDS, workers=["w-0"])
        assert pace is not None
        assert pace.period_seconds == pytest.approx(scrapes * SCRAPE_SECONDS, rel=0.025)


def test_half_the_signals_with_another_period_leave_none() -> None:
    series = Job(6.0, slots=120).series()
    worker = series.workers["w-0"]
    twice = Job(12.0, slots=120).series().workers["w-0"].signals
    mixed = {**worker.signals, **{n: twice[n] for n in ("power_watts", "dram_active_ratio")}}
    spoilt = JobSeries(15.0, START, {"w-0": replace(worker, signals=mixed)})
    found = pace_of(spoilt, from_seconds=START, workers=["w-0"])
    assert found is not None
    assert found.period_seconds is None
    most = {**worker.signals, "dram_active_ratio": twice["dram_active_ratio"]}
    agreed = pace_of(
        JobSeries(15.0, START, {"w-0": replace(worker, signals=most)}),
        from_seconds=START,
        workers=["w-0"],
    )
    assert agreed is not None
    assert agreed.period_seconds == pytest.approx(90, rel=0.03)


def test_the_warm_up_does_not_count() -> None:
    job = Job(6.0, slots=120, noise=0.0, jitter=0.0)
    series = job.series()
    for values in series.workers["w-0"].signals.values():
        values[:20] *= 0.1
    found = pace_of(series, from_seconds=START + 20 * 15, workers=["w-0"])
    assert found is not None
    assert found.teraflops == pytest.approx(312 * 0.5 * 0.6, rel=0.01)
    assert found.seconds == 99 * 15  # the slot after the warm-up still reaches into it
    whole = pace_of(series, from_seconds=START, workers=["w-0"])
    assert whole is not None
    assert whole.teraflops is not None
    assert whole.teraflops < 0.95 * 312 * 0.5 * 0.6


def test_work_is_that_of_all_gpus_with_an_error_that_holds() -> None:
    within = 0
    for seed in range(40):
        pace = paced(Job(0.13, slots=24, workers=3, gpus_each=4, seed=seed, jitter=0.1))
        truth = 3 * 4 * 312 * 0.5 * 0.6
        assert pace.teraflops is not None
        assert pace.teraflops == pytest.approx(truth, rel=0.05)
        assert pace.teraflops_error_ratio is not None
        within += abs(pace.teraflops / truth - 1) < 2 * pace.teraflops_error_ratio
    assert within >= 36


@pytest.mark.parametrize(
    ("job", "missing"),
    [
        (Job(6.0, 60, peak_teraflops=None), "teraflops"),
        (Job(6.0, 60, tensor=0.0, noise=0.0), "teraflops"),
        (Job(6.0, 60, without=frozenset({"tensor_active_ratio"})), "teraflops"),
        (Job(6.0, 60, without=frozenset({"power_watts"})), "watts"),
    ],
)
def test_what_cannot_be_told_is_none_and_the_rest_is_there(job: Job, missing: str) -> None:
    pace = paced(job)
    assert getattr(pace, missing) is None
    assert pace.period_seconds == pytest.approx(90, rel=0.05)


def test_a_worker_of_whom_nothing_was_measured_leaves_sums_unknown() -> None:
    job = Job(6.0, 90, workers=2)
    found = pace_of(job.series(), from_seconds=START, workers=["w-0", "w-1", "w-2"])
    assert found is not None
    assert (found.teraflops, found.watts) == (None, None)
    assert found.period_seconds == pytest.approx(90, rel=0.05)
    assert found.gpu_memory_mib == 20_000.0


def test_nothing_measured_is_no_pace() -> None:
    assert pace_of(JobSeries(15.0, START), from_seconds=START, workers=["w-0"]) is None
    empty = JobSeries(15.0, START, {"w-0": WorkerSeries({"power_watts": np.full(9, np.nan)})})
    assert pace_of(empty, from_seconds=START, workers=["w-0"]) is None
    job = Job(6.0, 20)
    assert pace_of(job.series(), from_seconds=START + 1e6, workers=job.names) is None


@settings(max_examples=60)
@given(SPOILT_PATTERNS, SPOILT_PATTERNS, st.floats(-1e6, 1e6), st.floats(0.1, 1e4))
def test_any_series_give_a_pace_or_none(
    one: list[float], other: list[float], begin: float, peak: float
) -> None:
    size = min(len(one), len(other))
    signals = {
        "power_watts": np.array(one[:size]),
        "tensor_active_ratio": np.array(other[:size]),
        "gpu_util_percent": np.array(other[:size]),
    }
    worker = WorkerSeries(signals, tensor_peak_teraflops=peak)
    found = pace_of(JobSeries(1.0, 0.0, {"w": worker}), from_seconds=begin, workers=["w"])
    if found is not None:
        for figure in (found.period_seconds, found.period_error_ratio, found.teraflops):
            assert figure is None or (np.isfinite(figure) and figure > 0)
