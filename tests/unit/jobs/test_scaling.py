"""Would twice the GPUs help? Against jobs whose truth is known."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cepheid.jobprofile import (
    Asked,
    CycleSeen,
    GpuHeld,
    HeldBackBy,
    JobIdentity,
    JobProfile,
    Outcome,
    Reason,
    Spread,
    Usage,
)
from cepheid.jobs.rates import rates_of
from cepheid.jobs.scaling import Helps, ScalingVerdict, scaling_verdict
from tests.simgpu.silicon import MODELS, REFERENCE
from tests.simgpu.step_model import BOUNDS, modelled_step
from tests.unit.history.strategies import AMOUNTS, NAMES, PERCENTS, PROFILES, RATIOS

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
STEPS = 50_000


def run(count: int, seconds: float | None, *, day: int = 0, **more: Any) -> JobProfile:
    known: dict[str, Any] = {
        "job": JobIdentity(
            api_version="batch/v1", kind="Job", namespace="n", name="j", uid=f"u-{day}"
        ),
        "series": "j",
        "created": NOON + timedelta(days=day),
        "ended": NOON + timedelta(days=day, hours=1),
        "outcome": Outcome.SUCCESS,
        "duration_seconds": seconds,
        "gpu_count": count,
        "gpus": tuple(GpuHeld(node="a", index=index, model="A100") for index in range(count % 99)),
    }
    return JobProfile(**{**known, **more})


def step(bound: str, gpus: int) -> float:
    return modelled_step(1.0, bound, MODELS[REFERENCE], gpus).total


def history(bound: str, counts: Sequence[int], noise: float, seed: int = 0) -> list[JobProfile]:
    wrong = np.exp(noise * np.random.default_rng(seed).standard_normal(len(counts)))
    return [
        run(gpus, STEPS * step(bound, gpus) * float(factor), day=day)
        for day, (gpus, factor) in enumerate(zip(counts, wrong, strict=True))
    ]


def cycle(seconds: float, *, confirmed: bool = True) -> CycleSeen:
    return CycleSeen(period_seconds=seconds, strength=0.9, confirmed=confirmed)


COUNTS = ((1, 2), (1, 2, 4), (2, 4, 8), (1, 4), (4, 8, 16), (2, 2, 2, 4, 4, 4))


@pytest.mark.parametrize("bound", BOUNDS)
def test_what_is_claimed_is_true_and_the_band_holds_the_truth(bound: str) -> None:
    claims = inside = 0
    for counts in COUNTS:
        for seed in range(5):
            verdict = scaling_verdict(history(bound, counts, 0.04, seed))
            truth = step(bound, counts[-1]) / step(bound, 2 * counts[-1])
            assert verdict.low is not None
            assert verdict.high is not None
            inside += verdict.low <= truth <= verdict.high
            claims += verdict.helps is not Helps.NOT_KNOWN
            if verdict.helps is Helps.YES:
                assert truth > 1.4
            elif verdict.helps is not Helps.NOT_KNOWN:
                assert truth < 1.5
    assert inside >= 0.9 * 5 * len(COUNTS)
    assert claims >= 10


@pytest.mark.parametrize(
    ("bound", "counts", "helps"),
    [
        ("compute", (1, 2, 4), Helps.YES),
        ("memory", (1, 2, 4), Helps.YES),
        ("input", (1, 2, 4), Helps.YES),
        ("communication", (2, 2, 2, 4, 4, 4), Helps.LITTLE),
        ("communication", (4, 8, 16), Helps.NO),
    ],
)
def test_what_runs_show_is_said_with_its_figures(
    bound: str, counts: tuple[int, ...], helps: Helps
) -> None:
    verdict = scaling_verdict(history(bound, counts, 0.01))
    assert verdict.helps is helps
    assert verdict.gpus == counts[-1]
    assert verdict.counts == tuple(sorted(set(counts)))
    assert verdict.speedup is not None
    assert verdict.efficiency == verdict.speedup / 2
    assert f"{2 * counts[-1]} would do {verdict.speedup:.1f} times the work" in verdict.reason
    assert verdict.not_seen == f"{2 * counts[-1]} GPUs were never run"


def test_what_was_run_is_no_guess() -> None:
    runs = history("communication", (2, 4, 8, 4), 0.01)
    verdict = scaling_verdict(runs)
    truth = step("communication", 4) / step("communication", 8)
    assert (verdict.gpus, verdict.not_seen) == (4, None)
    assert verdict.speedup == pytest.approx(truth, rel=0.07)
    wider = scaling_verdict(history("communication", (2, 4), 0.01))
    assert _width(verdict) < 0.7 * _width(wider)


def _width(verdict: ScalingVerdict) -> float:
    assert verdict.low is not None
    assert verdict.high is not None
    return verdict.high - verdict.low


def test_runs_that_differ_among_themselves_count_less() -> None:
    calm, wild = (
        rates_of([run(2, 1000.0), run(2, 1000.0 * by, day=1), run(4, 500.0, day=2)])
        for by in (1.01, 1.5)
    )
    assert calm is not None
    assert wild is not None
    assert calm.error() < 0.1
    assert wild.error() > 0.15


def test_a_confirmed_period_is_read_before_the_duration() -> None:
    tensor = Usage(tensor_percent=Spread(mean=50.0))
    runs = [
        run(1, 1000.0, cycle=cycle(8.0), usage=tensor),
        run(2, 999.0, day=1, cycle=cycle(4.0), usage=tensor),
    ]
    verdict = scaling_verdict(runs)
    assert verdict.helps is Helps.YES
    assert verdict.reason.startswith("an iteration took 8 s on 1, 4 s on 2:")
    unsure = [msgspec.structs.replace(one, cycle=cycle(4.0, confirmed=False)) for one in runs]
    assert "a run took" in scaling_verdict(unsure).reason


@pytest.mark.parametrize("known_by", ["work", "number of iterations"])
def test_a_batch_for_each_gpu_makes_the_period_say_less(known_by: str) -> None:
    """The period stays, and yet twice the GPUs do twice the work."""
    runs = []
    for day, gpus in enumerate((1, 2, 4)):
        tensor = Usage(tensor_percent=Spread(mean=60.0)) if known_by == "work" else None
        seconds = None if known_by == "work" else 3600.0 / gpus
        runs.append(run(gpus, seconds, day=day, cycle=cycle(5.0), usage=tensor))
    verdict = scaling_verdict(runs)
    assert verdict.helps is Helps.YES
    assert verdict.reason.startswith("an iteration, of a batch for each GPU, took 5 s on 1")


def test_without_knowing_what_an_iteration_is_the_period_says_nothing() -> None:
    runs = [
        run(gpus, None, day=day, cycle=cycle(5.0), outcome=Outcome.RUNNING)
        for day, gpus in enumerate((1, 2))
    ]
    verdict = scaling_verdict(runs)
    assert verdict.helps is Helps.NOT_KNOWN
    assert verdict.not_seen == "runs on 1, 2 GPUs cannot be compared: this is what held it back"


@pytest.mark.parametrize(
    "changes",
    [
        {"outcome": Outcome.FAILED, "reason": Reason.OOM_KILLED},
        {"outcome": Outcome.FAILED, "reason": Reason.EXIT_CODE},
        {"outcome": Outcome.RUNNING},
        {"outcome": Outcome.ERROR, "reason": Reason.PREEMPTED},
        {"gpu_count": 0},
        {"gpus": (GpuHeld(node="b", index=0, model="T4"),)},
        {"duration_seconds": 20.0},
    ],
)
def test_runs_that_show_nothing_do_not_count(changes: dict[str, Any]) -> None:
    good = run(2, 1000.0, day=1)
    other = msgspec.structs.replace(run(1, 1900.0), **changes)
    verdict = scaling_verdict([other, good])
    assert verdict.counts == (2,)
    assert verdict.helps is Helps.NOT_KNOWN


def test_without_a_run_nothing_is_known() -> None:
    assert scaling_verdict([]).helps is Helps.NOT_KNOWN
    assert scaling_verdict([run(0, 1000.0)]).reason == "no run of it with GPUs did not fail"


IDLE = Usage(gpu_util_percent=Spread(max=3.0))


@pytest.mark.parametrize(
    ("gpus", "kind", "share", "more", "helps", "high"),
    [
        (2, "gpu", 95.0, {}, Helps.YES, 2.0),
        (2, "gpu", 70.0, {}, Helps.NOT_KNOWN, 2.0),
        (1, "gpu", 95.0, {}, Helps.NOT_KNOWN, 2.0),
        (2, "input", 41.0, {}, Helps.NO, 1.42),
        (2, "cpu", 41.0, {}, Helps.NO, 1.42),
        (2, "cpu-throttled", 41.0, {}, Helps.NO, 1.42),
        (2, "disk", 41.0, {}, Helps.NO, 1.42),
        (4, "network", 40.0, {}, Helps.LITTLE, 1.43),
        (4, "peers", 40.0, {}, Helps.LITTLE, 1.43),
        (4, "network", 90.0, {}, Helps.NO, 1.05),
        (4, "memory", 40.0, {}, Helps.NOT_KNOWN, None),
        (4, "unknown", 40.0, {}, Helps.NOT_KNOWN, None),
        (4, "x" * 253, 40.0, {}, Helps.NOT_KNOWN, None),
        (4, "gpu", 95.0, {"usage": IDLE}, Helps.NO, 1.0),
    ],
)
def test_one_run_says_as_much_as_what_held_it_back(
    gpus: int, kind: str, share: float, more: dict[str, Any], helps: Helps, high: float | None
) -> None:
    held = HeldBackBy(kind=kind, share_percent=share)
    verdict = scaling_verdict([run(gpus, 1000.0, held_back_by=held, **more)])
    assert verdict.helps is helps
    assert verdict.high == (None if high is None else pytest.approx(high, abs=0.01))
    assert verdict.speedup is None
    assert len(verdict.reason) <= 300
    word = "GPU" if gpus == 1 else "GPUs"
    assert verdict.not_seen == f"it was run on {gpus} {word} only: this is what held it back"


@pytest.mark.parametrize("gpus", [1, 2, 4, 8])
@pytest.mark.parametrize("bound", ["compute", "memory", "communication"])
def test_a_claim_from_one_run_is_not_contradicted_by_the_truth(bound: str, gpus: int) -> None:
    """As the bottleneck finder would see the step: the largest part of it."""
    parts = modelled_step(1.0, bound, MODELS[REFERENCE], gpus)
    computes = 100 * (parts.compute + parts.memory) / parts.total
    exchanges = 100 * parts.communication / parts.total
    kind, share = ("gpu", computes) if computes >= 70 else ("network", exchanges)
    held = HeldBackBy(kind=kind, share_percent=share)
    verdict = scaling_verdict([run(gpus, 1000.0, held_back_by=held)])
    truth = step(bound, gpus) / step(bound, 2 * gpus)
    assert verdict.high is not None
    assert truth <= verdict.high
    assert verdict.low is None or truth >= verdict.low
    if verdict.helps is Helps.YES:
        assert truth >= 1.5
    elif verdict.helps is not Helps.NOT_KNOWN:
        assert truth < 1.5


def test_more_gpus_a_worker_are_doubled_where_there_is_one_worker() -> None:
    asked = [(Asked(container="main", limits={"nvidia.com/gpu": str(gpus)}),) for gpus in (2, 4)]
    runs = [run(2, 1000.0, asked=asked[0]), run(4, 520.0, day=1, asked=asked[1])]
    assert scaling_verdict(runs).helps is Helps.YES


HOSTILE = st.builds(
    run,
    st.sampled_from([1, 2, 3, 64, 2**70]),
    st.none() | AMOUNTS,
    day=st.integers(0, 99),
    gpus=st.just(()),
    outcome=st.sampled_from(Outcome),
    cycle=st.none()
    | st.builds(CycleSeen, period_seconds=AMOUNTS, strength=RATIOS, confirmed=st.booleans()),
    usage=st.none() | st.builds(Usage, tensor_percent=st.builds(Spread, mean=AMOUNTS)),
    held_back_by=st.none() | st.builds(HeldBackBy, kind=NAMES, share_percent=PERCENTS),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(HOSTILE | PROFILES, max_size=5))
def test_whatever_stands_in_profiles_there_is_an_answer(runs: list[JobProfile]) -> None:
    verdict = scaling_verdict(runs)
    assert len(verdict.reason) <= 300
    assert verdict.reason.isprintable()
    assert verdict.speedup is None or 0 <= verdict.speedup < float("inf")
