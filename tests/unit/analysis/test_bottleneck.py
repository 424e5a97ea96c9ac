"""What holds each job back, heaviest first, and whether a person could act on what is said."""

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from cepheid.analysis.bottleneck import Bottleneck, Cause, bottlenecks
from cepheid.analysis.jobtype import JobKind, job_type
from cepheid.analysis.signals import Signals
from cepheid.model import FloatArray
from tests.simgpu.activity import Activity
from tests.simgpu.patterns import (
    InferenceOptions,
    Phase,
    TrainingOptions,
    idle,
    inference,
    interactive,
    training,
    waiting,
)
from tests.simgpu.silicon import find_model
from tests.simgpu.step_model import modelled_step, told_step

from .signals import A100, dice, exchanged, measure, with_gaps, without

SAMPLES = 240
TRAINING = JobKind.TRAINING
A10 = find_model("NVIDIA A10")
ARRAYS = tuple(field.name for field in fields(Signals) if "ndarray" in str(field.type))
GPU = ("gpu_util_percent", "engine_active_ratio", "tensor_active_ratio", "dram_active_ratio")


def trained(
    seed: int, step: float = 2.0, duty: float = 0.95, bound: str = "compute", cpu: float = 0.0
) -> Signals:
    """`cpu` is how many cores the input phase takes."""
    options = TrainingOptions(told_step(step, duty, bound), 60000, cpu_share=cpu)
    return measure(training(options, A100, dice(seed)), samples=SAMPLES, seed=seed)


def starved(seed: int, step: float, *, cpu: float = 4.0, limit: float = 4.0) -> Signals:
    """Seven tenths of the step go into the input."""
    return replace(trained(seed, step, 0.3, cpu=cpu), cpu_limit_cores=limit)


def pauses(signals: Signals) -> FloatArray:
    assert signals.engine_active_ratio is not None
    return 1 - signals.engine_active_ratio


def with_rate(signals: Signals, name: str, rate: FloatArray | float) -> Signals:
    changed: dict[str, Any] = {name: np.full(SAMPLES, 1.0) * rate}
    return replace(signals, **changed)


def pod(seed: int, **signals: Any) -> Signals:
    """A job without a GPU."""
    noise = np.random.default_rng(seed).normal(1, 0.01, SAMPLES)
    arrays = {name: value * noise for name, value in signals.items() if name in ARRAYS}
    scalars = {name: value for name, value in signals.items() if name not in ARRAYS}
    return Signals(step_seconds=15.0, **arrays, **scalars)


def communicating(seed: int, gpus: int, model: Any = A100) -> Signals:
    step = modelled_step(20.0, "communication", model, gpus)
    phases = training(TrainingOptions(step, 20000), model, dice(seed))
    return measure(phases, samples=SAMPLES, model=model, seed=seed)


def hollow(seed: int) -> Signals:
    """Tiny kernels one after the other: always busy, never full."""
    phase = Phase(60.0, Activity(engine=0.97, tensor=0.08, dram=0.12), 9000)
    return measure(iter([phase] * 100), samples=SAMPLES, seed=seed)


def served(seed: int) -> Signals:
    phases = inference(InferenceOptions(40000), dice(seed))
    return measure(phases, samples=SAMPLES, seed=seed)


def half_waiting(seed: int) -> Signals:
    """A rank that computes for a minute and waits for a slow peer for another."""
    busy, spin = Activity(1.0, 0.7, 0.45), Activity(1.0, 0.0, 0.02)
    phases = [Phase(60.0, busy, 60000), Phase(60.0, spin, 60000)] * 40
    return measure(iter(phases), samples=SAMPLES, seed=seed)


CASES: dict[str, tuple[Cause | None, JobKind | None, Callable[[int], Signals]]] = {
    "compute bound": (Cause.GPU, TRAINING, trained),
    "memory bound": (Cause.GPU, TRAINING, lambda s: trained(s, bound="memory")),
    "compute bound, CPU at its limit": (
        Cause.GPU,
        TRAINING,
        lambda s: replace(with_rate(trained(s), "cpu_cores", 4.0), cpu_limit_cores=4.0),
    ),
    "tiny kernels": (Cause.GPU, TRAINING, hollow),
    "compute bound on MIG": (
        Cause.GPU,
        TRAINING,
        lambda s: without(trained(s), "gpu_util_percent", "power_watts", "tensor_active_ratio"),
    ),
    "compute bound on AMD": (
        Cause.GPU,
        TRAINING,
        lambda s: without(trained(s), "engine_active_ratio", "tensor_active_ratio"),
    ),
    "starved, steps seen": (Cause.INPUT, TRAINING, lambda s: starved(s, 60.0)),
    "starved, steps seen, kind not known": (Cause.INPUT, None, lambda s: starved(s, 60.0)),
    "starved, fast steps, throttled": (
        Cause.INPUT,
        TRAINING,
        lambda s: with_rate(starved(s, 2.0), "throttled_ratio", 0.5),
    ),
    "starved, loader always at its limit": (
        Cause.INPUT,
        TRAINING,
        lambda s: with_rate(starved(s, 2.0), "cpu_cores", 3.95),
    ),
    "starved by one thread": (Cause.INPUT, TRAINING, lambda s: starved(s, 60.0, cpu=1.0, limit=16)),
    "starved by one thread, fast steps": (
        Cause.INPUT,
        TRAINING,
        lambda s: starved(s, 2.0, cpu=1.0, limit=16),
    ),
    "starved on AMD, throttled": (
        Cause.INPUT,
        TRAINING,
        lambda s: without(
            with_rate(starved(s, 2.0), "throttled_ratio", 0.5),
            "engine_active_ratio",
            "tensor_active_ratio",
        ),
    ),
    "throttled below its mean limit": (
        Cause.CPU_THROTTLED,
        TRAINING,
        lambda s: with_rate(starved(s, 2.0, cpu=2.0, limit=8.0), "throttled_ratio", 0.4),
    ),
    "no GPU, throttled": (
        Cause.CPU_THROTTLED,
        None,
        lambda s: pod(s, cpu_cores=1.9, cpu_limit_cores=2.0, throttled_ratio=0.6),
    ),
    "no GPU, all cores": (Cause.CPU, None, lambda s: pod(s, cpu_cores=7.8, cpu_limit_cores=8.0)),
    "no GPU, half the cores": (None, None, lambda s: pod(s, cpu_cores=4.0, cpu_limit_cores=8.0)),
    "working set at its limit": (
        Cause.MEMORY,
        None,
        lambda s: pod(s, memory_working_set_bytes=15.5e9, memory_limit_bytes=16e9),
    ),
    "working set well below": (
        None,
        None,
        lambda s: pod(s, memory_working_set_bytes=8e9, memory_limit_bytes=16e9),
    ),
    "disk, steps seen": (
        Cause.DISK,
        TRAINING,
        lambda s: with_rate(
            starved(s, 60.0, cpu=0.3), "disk_read_bytes_per_second", 2e8 * pauses(starved(s, 60.0))
        ),
    ),
    "disk at its ceiling, fast steps": (
        Cause.DISK,
        TRAINING,
        lambda s: with_rate(starved(s, 2.0, cpu=0.3), "disk_read_bytes_per_second", 1.2e8),
    ),
    "disk in short pauses": (
        Cause.DISK,
        TRAINING,
        lambda s: with_rate(
            trained(s, 90.0, 0.6), "disk_read_bytes_per_second", 2e8 * pauses(trained(s, 90.0, 0.6))
        ),
    ),
    "disk that is busy whatever the GPU does": (
        Cause.UNKNOWN,
        TRAINING,
        lambda s: with_rate(
            starved(s, 60.0, cpu=0.3),
            "disk_read_bytes_per_second",
            np.random.default_rng(s).uniform(1e8, 3e8, SAMPLES),
        ),
    ),
    "starved or not, nothing proves it": (Cause.UNKNOWN, TRAINING, lambda s: starved(s, 2.0)),
    "checkpoints": (
        Cause.DISK,
        TRAINING,
        lambda s: with_rate(
            starved(s, 60.0, cpu=0.3), "disk_write_bytes_per_second", 9e8 * pauses(starved(s, 60.0))
        ),
    ),
    "data over the network": (
        Cause.NETWORK,
        TRAINING,
        lambda s: with_rate(
            starved(s, 60.0, cpu=0.3),
            "network_receive_bytes_per_second",
            1.2e8 * pauses(starved(s, 60.0)),
        ),
    ),
    "exchange over NVLink": (Cause.NETWORK, TRAINING, lambda s: communicating(s, 8)),
    "exchange over PCIe": (Cause.NETWORK, TRAINING, lambda s: communicating(s, 16, A10)),
    "exchange over the network": (
        Cause.NETWORK,
        TRAINING,
        lambda s: without(exchanged(communicating(s, 8), s), "interconnect_bytes_per_second"),
    ),
    "waits for peers": (Cause.PEERS, TRAINING, lambda s: measure(waiting(60000), seed=s)),
    "waits for peers, no PROF": (
        Cause.PEERS,
        TRAINING,
        lambda s: without(measure(waiting(60000), seed=s), *GPU[1:]),
    ),
    "waits half of the time": (Cause.PEERS, TRAINING, half_waiting),
    "pauses for no known reason": (
        Cause.UNKNOWN,
        TRAINING,
        lambda s: without(starved(s, 60.0, cpu=0.3), "cpu_cores"),
    ),
    "a server between requests": (None, JobKind.INFERENCE, served),
    "a notebook": (
        None,
        JobKind.INTERACTIVE,
        lambda s: measure(interactive(8000, 20.0, dice(s)), seed=s),
    ),
    "a notebook at its CPU limit": (
        None,
        JobKind.INTERACTIVE,
        lambda s: replace(
            with_rate(measure(interactive(8000, 20.0, dice(s)), seed=s), "cpu_cores", 4.0),
            cpu_limit_cores=4.0,
        ),
    ),
    "an idle GPU": (None, JobKind.IDLE, lambda s: measure(idle(8000), seed=s)),
    "an idle GPU, kind not known": (None, None, lambda s: measure(idle(8000), seed=s)),
    "a busy gauge, nothing else": (
        None,
        TRAINING,
        lambda s: without(trained(s, duty=1.0), *GPU[1:], "power_watts"),
    ),
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", CASES)
def test_the_heaviest_cause_is_found(name: str, seed: int) -> None:
    cause, kind, make = CASES[name]
    found = bottlenecks(make(seed), kind)
    assert found is not None
    assert (found[0].kind if found else None) == cause, found


@pytest.mark.parametrize("name", CASES)
def test_every_share_is_a_plain_number(name: str) -> None:
    """numpy's own cannot be written into a profile: the operator would end over such a job."""
    _, kind, make = CASES[name]
    assert {type(one.share) for one in bottlenecks(make(0), kind) or ()} <= {float}


def first(signals: Signals, kind: JobKind | None = TRAINING) -> Bottleneck:
    found = bottlenecks(signals, kind)
    assert found
    return found[0]


def test_the_shares_of_a_starved_job_are_those_of_its_step() -> None:
    found = first(starved(1, 60.0))
    assert found.share == pytest.approx(0.7, abs=0.03)
    assert found.evidence["gpu_idle_ratio"] == pytest.approx(0.7, abs=0.03)
    assert found.evidence["cpu_of_limit_in_pauses"] >= 0.9


def test_advice_to_a_starved_job_names_the_cores_that_would_do() -> None:
    """4 cores for 0.7 of the step are 2.8 on average; beside 0.3 of it they must be 9.3."""
    assert 'resources.limits.cpu: "10"' in first(starved(1, 60.0)).advice


def test_one_thread_is_told_from_a_limit() -> None:
    assert "num_workers" in first(starved(1, 60.0, cpu=1.0, limit=16.0)).advice
    assert "num_workers" not in first(starved(1, 60.0)).advice


def test_throttling_is_named_beside_the_starvation_that_it_causes() -> None:
    found = bottlenecks(with_rate(starved(1, 2.0), "throttled_ratio", 0.5), TRAINING)
    assert found is not None
    assert [one.kind for one in found] == [Cause.INPUT, Cause.CPU_THROTTLED]


def test_half_a_wait_is_half_a_share() -> None:
    assert first(half_waiting(1)).share == pytest.approx(0.5, abs=0.1)


def test_a_gpu_bound_by_its_memory_says_so() -> None:
    assert "memory is the limit" in first(trained(1, bound="memory")).reason
    assert "memory is the limit" not in first(trained(1)).reason


def test_tiny_kernels_are_told_from_a_full_gpu() -> None:
    assert "unused" in first(hollow(1)).reason


def test_what_was_not_measured_does_not_count_as_unused() -> None:
    """Of a MIG instance neither the tensor pipe nor the power may be known."""
    assert "unused" not in first(without(trained(1), "power_watts", "tensor_active_ratio")).reason


def test_memory_beside_another_cause_comes_second() -> None:
    full = replace(
        with_rate(starved(1, 60.0), "memory_working_set_bytes", 15.8e9), memory_limit_bytes=16e9
    )
    found = bottlenecks(full, TRAINING)
    assert found is not None
    assert [one.kind for one in found] == [Cause.INPUT, Cause.MEMORY]


def test_the_verdict_of_the_job_type_fits_in() -> None:
    signals = measure(waiting(60000), cycles=[])
    assert first(signals, job_type(signals).kind).kind is Cause.PEERS


def test_too_little_measured_is_none_and_not_all_is_well() -> None:
    assert bottlenecks(Signals(step_seconds=15.0)) is None
    assert bottlenecks(Signals(step_seconds=15.0, gpu_util_percent=np.full(99, np.nan))) is None
    assert bottlenecks(pod(1, cpu_cores=4.0)) is None  # of how many?
    assert bottlenecks(pod(1, cpu_cores=1.0, cpu_limit_cores=8.0)) == ()


def is_sound(found: tuple[Bottleneck, ...] | None) -> bool:
    shares = [one.share for one in found or ()]
    return shares == sorted(shares, reverse=True) and all(
        0 <= one.share <= 1
        and one.advice
        and "nan" not in one.reason
        and np.isfinite(list(one.evidence.values())).all()
        for one in found or ()
    )


JOBS = {
    name: CASES[name][2](1)
    for name in (
        "compute bound",
        "starved, steps seen",
        "waits for peers",
        "exchange over NVLink",
        "a server between requests",
    )
}
jobs = st.sampled_from(sorted(JOBS))
SCALARS = ("power_limit_watts", "power_idle_watts", "cpu_limit_cores", "memory_limit_bytes")
kinds = st.sampled_from([None, *JobKind])


@given(jobs, st.sets(st.sampled_from([*ARRAYS, *SCALARS])), kinds)
def test_any_signals_may_be_missing(job: str, names: set[str], kind: JobKind | None) -> None:
    assert is_sound(bottlenecks(without(JOBS[job], *names), kind))


@given(jobs, st.integers(0, 999))
def test_lost_samples_change_no_first_cause(job: str, seed: int) -> None:
    whole, holed = bottlenecks(JOBS[job]), bottlenecks(with_gaps(JOBS[job], 0.2, seed))
    assert whole is not None
    assert holed is not None
    assert [one.kind for one in whole[:1]] == [one.kind for one in holed[:1]]


@given(st.data(), st.integers(0, 24), st.sets(st.sampled_from(ARRAYS)), kinds)
def test_whatever_stands_in_the_arrays_there_is_an_answer(
    data: st.DataObject, size: int, names: set[str], kind: JobKind | None
) -> None:
    wild = st.one_of(st.floats(), st.floats(0, 1))
    arrays: dict[str, Any] = {
        name: data.draw(hnp.arrays(np.float64, size, elements=wild)) for name in sorted(names)
    }
    limits: dict[str, Any] = dict.fromkeys(SCALARS, 4.0) | {"power_idle_watts": 1.0}
    assert is_sound(bottlenecks(Signals(step_seconds=15.0, **limits, **arrays), kind))
