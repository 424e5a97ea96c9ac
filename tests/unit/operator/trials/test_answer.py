"""What is recommended, in which words, and how everything else compares."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cepheid.analysis.scaling import GpuType
from cepheid.placementtrial import (
    MOST_CANDIDATES,
    Arrange,
    Goal,
    Limits,
    Optimise,
    Phase,
    Placement,
    Reading,
    Ruler,
    State,
    Throughput,
    Trial,
    TrialSpec,
    TrialStatus,
    spec_from,
    status_from,
    to_document,
)
from cepheid_operator.trials.answering.answer import with_answer
from cepheid_operator.trials.copying.template import Template, read
from cepheid_operator.trials.decide import tried
from cepheid_operator.trials.searching.search import Candidate, Problem
from tests.simgpu.silicon import MODELS
from tests.simgpu.step_model import modelled_step

A100, T4 = "NVIDIA-A100-SXM4-80GB", "Tesla-T4"
MODEL_OF = {A100: MODELS["NVIDIA A100-SXM4-80GB"], T4: MODELS["Tesla T4"]}
TYPES = tuple(
    GpuType(name, model.memory_mib, model.tensor_tflops, model.dram_gbps, 8)
    for name, model in MODEL_OF.items()
)
PRICES = {A100: 3.2, T4: 0.4}
WATTS = {A100: 350.0, T4: 65.0}
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
STEP_SECONDS = 30.0
"""Of one A100."""


def at(gpu_type: str, workers: int, each: int = 1, arrange: Arrange | None = None) -> Placement:
    return Placement(gpu_type=gpu_type, workers=workers, gpus_per_worker=each, arrange=arrange)


GRID = tuple(at(kind, count) for kind in (A100, T4) for count in (1, 2, 4, 8))


def truth(placement: Placement, bound: str) -> float:
    step = modelled_step(STEP_SECONDS, bound, MODEL_OF[placement.gpu_type], placement.gpus)
    return 1 / step.total


def trial(
    placement: Placement,
    per_second: float | None,
    *,
    error_percent: float = 1.0,
    prices: Mapping[str, float] | None = None,
    unit: str = "iterations",
    **more: Any,
) -> Trial:
    price = (prices or {}).get(placement.gpu_type)
    watts = WATTS[placement.gpu_type] * placement.gpus
    known: dict[str, Any] = {"state": State.FAILED}
    if per_second is not None:
        known = {
            "state": State.MEASURED,
            "reading": Reading(seconds=120.0, period_seconds=1 / per_second, watts=watts),
            "throughput": Throughput(
                per_second=per_second, error_percent=error_percent, by=Ruler.PULSE, unit=unit
            ),
            "cost_per_unit": None if price is None else price * placement.gpus / 3600 / per_second,
            "joules_per_unit": watts / per_second,
        }
    return Trial(
        **{
            "job": f"t-{placement}"[:60],
            "placement": placement,
            "planned_seconds": 180.0,
            "created": NOON,
            "gpu_seconds": 300.0 * placement.gpus,
            **known,
            **more,
        }
    )


def job(workers: int = 1, gpu_type: str | None = None, kind: str = "PyTorchJob") -> Template:
    container = {"name": "pytorch", "image": "x", "resources": {"limits": {"nvidia.com/gpu": 1}}}
    selector = {} if gpu_type is None else {"nodeSelector": {"nvidia.com/gpu.product": gpu_type}}
    pod = {"template": {"spec": {"containers": [container], **selector}}}
    if kind == "Job":
        document = {"apiVersion": "batch/v1", "spec": {"parallelism": workers, **pod}}
    else:
        roles = {"pytorchReplicaSpecs": {"Worker": {"replicas": workers, **pod}}}
        document = {"apiVersion": "kubeflow.org/v1", "spec": roles}
    document |= {"kind": kind, "metadata": {"name": "bert"}}
    return read(document, type_label="nvidia.com/gpu.product")


def spec_of(optimise: Optimise) -> TrialSpec:
    job = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "name": "bert"}
    return msgspec.structs.replace(spec_from({"job": job}), optimise=optimise)


def answered(
    trials: Iterable[Trial],
    optimise: Optimise | None = None,
    *,
    template: Template | None = None,
    grid: tuple[Placement, ...] = GRID,
    phase: Phase = Phase.RUNNING,
) -> TrialStatus:
    optimise = optimise or Optimise()
    trials = tuple(trials)
    status = TrialStatus(
        phase=phase,
        trials=trials,
        candidates=len(grid),
        spent_gpu_seconds=sum(one.gpu_seconds for one in trials),
    )
    problem = Problem(
        candidates=tuple(Candidate(one, optimise.prices.get(one.gpu_type)) for one in grid),
        types=TYPES,
        optimise=optimise,
        limits=Limits(),
        left_gpu_seconds=1000.0,
        overhead_seconds=10.0,
    )
    after = with_answer(spec_of(optimise), status, problem, tried(trials), template)
    assert status_from(to_document(after)) == after  # it is what the definition allows
    return after


def measured(bound: str, *placements: Placement, **more: Any) -> list[Trial]:
    return [trial(one, truth(one, bound), **more) for one in placements]


def best_of(status: TrialStatus) -> Any:
    assert status.best is not None
    assert len(status.best.sentence) <= 300
    return status.best


def test_the_fastest_is_recommended_with_its_figures() -> None:
    trials = measured("compute", at(A100, 1), at(A100, 8), at(T4, 1))
    found = best_of(answered(trials, template=job(gpu_type=A100)))
    assert found.placement == at(A100, 8)
    assert found.gain == pytest.approx(
        truth(at(A100, 8), "compute") / truth(at(T4, 1), "compute"), rel=0.01
    )
    assert found.sentence.startswith("Ask for 8 workers with 1 A100-80 each: 3")
    words = "times the throughput of 1xT4 (834 against 24.3 iterations an hour, +-1 %)."
    assert words in found.sentence
    assert "That is 6.9 times as fast as 1xA100-80, which it has now." in found.sentence


def test_why_not_more_gpus_is_said() -> None:
    trials = measured("communication", at(A100, 1), at(A100, 4), at(A100, 8), at(T4, 1))
    trials[2] = trial(at(A100, 8), 0.98 * truth(at(A100, 4), "communication"))
    found = best_of(answered(trials))
    assert found.placement == at(A100, 4)
    assert "More did not help: 8xA100-80 gave 3" in found.sentence
    assert "On 4xA100-80 about " in found.sentence
    assert " % is communication or waits for what all share." in found.sentence
    untried = best_of(answered(trials[:2] + trials[3:]))
    assert "8xA100-80 was not tried: it might add " in untried.sentence


def test_what_it_has_now_may_be_the_best() -> None:
    trials = measured("compute", at(A100, 1), at(A100, 8))
    found = best_of(answered(trials, template=job(8, A100)))
    assert "That is what the job asks for now." in found.sentence
    assert found.patch is None


def test_of_equals_the_one_with_fewer_gpus_is_taken() -> None:
    rate = truth(at(A100, 2), "compute")
    trials = [
        trial(at(A100, 2), rate, error_percent=2.0),
        trial(at(A100, 8), 1.01 * rate, error_percent=2.0),
        trial(at(A100, 1), rate / 2, error_percent=2.0),
    ]
    assert best_of(answered(trials, grid=GRID[:1])).placement == at(A100, 2)
    apart = [msgspec.structs.replace(one, throughput=_sure(one)) for one in trials]
    apart[1] = trial(at(A100, 8), 1.2 * rate, error_percent=0.5)
    assert best_of(answered(apart, grid=GRID[:1])).placement == at(A100, 8)


def _sure(one: Trial) -> Throughput:
    assert one.throughput is not None
    return msgspec.structs.replace(one.throughput, error_percent=0.5)


def test_two_that_are_the_same_are_not_called_better() -> None:
    rate = truth(at(A100, 1), "input")
    trials = [trial(at(A100, 1), rate), trial(at(A100, 2), 1.002 * rate)]
    found = best_of(answered(trials, grid=(at(A100, 1), at(A100, 2))))
    assert found.placement == at(A100, 1)
    assert "no worse than 2xA100-80 within the error (2 and 2 iterations" in found.sentence


def test_for_cost_the_cheapest_with_what_the_same_work_costs() -> None:
    optimise = Optimise(goal=Goal.COST, prices=PRICES)
    trials = measured("compute", at(A100, 1), at(A100, 8), at(T4, 1), prices=PRICES)
    found = best_of(answered(trials, optimise))
    cheapest = min(trials, key=lambda one: one.cost_per_unit or 0.0)
    assert found.placement == cheapest.placement
    assert "100 iterations cost 1." in found.sentence
    assert "times as much (+-1 %)." in found.sentence
    assert "is the fastest, " in found.sentence


def test_for_energy_the_one_that_takes_least() -> None:
    trials = measured("compute", at(A100, 1), at(A100, 2), at(T4, 1))
    found = best_of(answered(trials, Optimise(goal=Goal.ENERGY)))
    least = min(trials, key=lambda one: one.joules_per_unit or 0.0)
    assert found.placement == least.placement
    assert "an iteration takes " in found.sentence
    assert " kJ, on " in found.sentence
    trials = measured("compute", at(A100, 1), at(T4, 1), unit="iterations of a GPU")
    found = best_of(answered(trials, Optimise(goal=Goal.ENERGY)))
    assert "an iteration of a GPU takes " in found.sentence


def test_per_gpu_the_one_that_wastes_least() -> None:
    trials = measured("communication", at(A100, 1), at(A100, 4), at(T4, 2))
    found = best_of(answered(trials, Optimise(goal=Goal.THROUGHPUT_PER_GPU)))
    assert found.placement == at(A100, 1)
    assert "times the throughput per GPU of 2xT4 (120 against 21.5 " in found.sentence
    each = [one.throughput.per_second / one.placement.gpus for one in trials if one.throughput]
    assert found.gain == pytest.approx(each[0] / each[2], rel=0.01)


def test_a_deadline_that_is_met_is_met_as_cheaply_as_can_be() -> None:
    work = 1000 * truth(at(A100, 4), "compute")
    optimise = Optimise(goal=Goal.DEADLINE, deadline_seconds=1200.0, work=work, prices=PRICES)
    trials = measured("compute", at(A100, 1), at(A100, 4), at(A100, 8), prices=PRICES)
    found = best_of(answered(trials, optimise, grid=(at(A100, 1), at(A100, 4), at(A100, 8))))
    assert found.placement == at(A100, 4)
    assert "done in 16m 40s, within 20m, for 3.6, the cheapest of those in time." in found.sentence
    unpriced = Optimise(goal=Goal.DEADLINE, deadline_seconds=1200.0, work=work)
    found = best_of(
        answered(measured("compute", at(A100, 4), at(A100, 8)), unpriced, grid=GRID[2:4])
    )
    assert found.placement == at(A100, 4)
    assert "with the fewest GPUs of those in time." in found.sentence


def test_a_deadline_that_none_can_meet_is_said_to_be_so() -> None:
    optimise = Optimise(goal=Goal.DEADLINE, deadline_seconds=60.0, work=1e6, prices=PRICES)
    trials = measured("compute", at(A100, 1), at(A100, 8), prices=PRICES)
    found = best_of(answered(trials, optimise))
    assert found.placement == at(A100, 8)
    assert found.sentence.startswith("No placement that was tried is done within 1m. Ask for 8 ")


def test_what_was_not_tried_is_recommended_only_beyond_doubt_and_said_to_be_untried() -> None:
    trials = measured("compute", at(T4, 1), at(T4, 2), at(T4, 4), error_percent=0.5)
    assert best_of(answered(trials)).placement == at(T4, 4)
    found = best_of(answered(trials, phase=Phase.DONE))
    assert found.placement.gpu_type == A100
    assert ". It was not tried: " in found.sentence
    assert "are foreseen" in found.sentence
    near = measured("communication", at(A100, 2), at(A100, 4), error_percent=0.5)
    assert best_of(answered(near, grid=GRID[:3], phase=Phase.DONE)).placement in (
        at(A100, 2),
        at(A100, 4),
    )


def test_one_alone_is_compared_with_nothing() -> None:
    lost = trial(at(T4, 1), None, state=State.OUT_OF_MEMORY)
    waits = trial(at(T4, 2), None, state=State.UNAVAILABLE)
    found = best_of(answered([*measured("compute", at(A100, 1)), lost, waits], grid=GRID[:1]))
    assert found.gain is None
    assert found.sentence.startswith(
        "Ask for 1 worker with 1 A100-80 (2 iterations a minute): nothing else could be measured,"
        " so nothing is known to be worse. 2xT4 did not get its GPUs in time."
        " 1xT4 ran out of memory."
    )


def test_one_alone_that_is_enough_says_why() -> None:
    alone = measured("compute", at(A100, 8))
    found = best_of(answered(alone, grid=(at(A100, 8), at(T4, 1))))
    words = ": no other was tried, since none is likely to be better by 5 %."
    assert words in found.sentence
    doubtful = best_of(answered(measured("compute", at(A100, 1))))
    assert ": no other was tried yet." in doubtful.sentence


def test_without_a_measurement_there_is_no_answer() -> None:
    after = answered([trial(at(A100, 1), None)])
    assert (after.best, after.curve, after.model) == (None, (), None)
    assert after.summary is not None
    assert (after.summary.trials, after.summary.best) == ("1/8", None)


def test_what_cannot_be_compared_by_the_goal_is_not_recommended() -> None:
    trials = measured("compute", at(A100, 1), at(T4, 1), prices={A100: 3.2})
    found = answered(trials, Optimise(goal=Goal.COST, prices={A100: 3.2}))
    assert best_of(found).placement == at(A100, 1)


def test_the_front_is_what_nothing_beats_in_both() -> None:
    trials = [
        trial(at(A100, 1), 1.0, prices=PRICES),
        trial(at(A100, 2), 1.9, prices=PRICES),
        trial(at(T4, 1), 0.9, prices=PRICES),
        trial(at(T4, 8), 0.8, prices=PRICES),
        trial(at(A100, 4), None, state=State.FAILED),
    ]
    optimise = Optimise(prices=PRICES)
    front = [one.best_possible for one in answered(trials, optimise).trials]
    assert front == [True, True, True, False, False]
    rates = (1.0, 1.9, 0.9, 0.8)
    unpriced = [trial(one.placement, rate) for one, rate in zip(trials[:4], rates, strict=True)]
    assert [one.best_possible for one in answered(unpriced).trials] == [True, True, False, False]


def test_the_curve_has_every_placement_in_order_and_marks_what_was_tried() -> None:
    tried_ones = (at(A100, 1), at(A100, 4))
    curve = answered(measured("compute", *tried_ones), grid=GRID[::-1]).curve
    assert [one.placement for one in curve] == list(GRID)
    assert {one.placement for one in curve if one.tried} == set(tried_ones)
    assert all(one.low <= one.per_second <= one.high for one in curve)
    for one in curve:
        if one.tried:
            assert one.per_second == pytest.approx(truth(one.placement, "compute"), rel=0.05)


def test_of_too_many_placements_the_measured_ones_are_kept() -> None:
    grid = tuple(at(A100, count) for count in range(1, MOST_CANDIDATES + 50))
    curve = answered(measured("compute", at(A100, 240), at(A100, 1)), grid=grid).curve
    assert len(curve) == MOST_CANDIDATES
    assert curve[-1].placement == at(A100, 240)


def test_the_columns() -> None:
    trials = measured("compute", at(A100, 1), at(T4, 1))
    trials += [trial(at(A100, 2), None, state=State.LOST, job="a")]
    trials += [trial(at(A100, 2), truth(at(A100, 2), "compute"), attempt=2, job="b")]
    after = answered(trials, grid=GRID)
    assert after.summary is not None
    assert to_document(after.summary) == {
        "trials": "3/8",
        "best": "2xA100-80",
        "gain": "9.7x",
        "spent": "0.50 GPUh",
        "budget": "1 GPUh",
    }


@pytest.mark.parametrize(
    ("placement", "column"),
    [
        (at(A100, 4), "4xA100-80"),
        (at(A100, 4, 2), "4x2xA100-80"),
        (at(T4, 2, 1, Arrange.SPREAD), "2xT4 spread"),
    ],
)
def test_a_placement_in_a_column(placement: Placement, column: str) -> None:
    after = answered([trial(placement, 1.0)], grid=(placement,))
    assert after.summary is not None
    assert after.summary.best == column


def test_the_patch_of_a_job_is_for_its_manifest() -> None:
    trials = measured("compute", at(A100, 1), at(A100, 8))
    found = best_of(answered(trials, template=job(kind="Job"), grid=GRID[:4]))
    assert found.patch is not None
    assert (
        "A Job that began keeps its pods as they are: the patch is for its manifest."
        in found.sentence
    )
    sized = best_of(answered(trials, template=job(gpu_type=A100, kind="Job"), grid=GRID[:4]))
    assert sized.patch == '{"spec":{"parallelism":8}}'
    assert "manifest" not in sized.sentence


def test_work_is_told_in_teraflops_where_nothing_else_is_known() -> None:
    trials = [trial(at(A100, n), 100.0 * n, unit="teraflops") for n in (1, 2)]
    assert "(200 against 100 teraflops, +-1 %)" in best_of(answered(trials)).sentence


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(GRID),
            st.none() | st.floats(1e-6, 1e6),
            st.floats(0, 200),
            st.sampled_from(State),
        ),
        max_size=6,
    ),
    st.sampled_from(Goal),
    st.sampled_from([{}, PRICES, {A100: 1e-9, T4: 1e9}]),
    st.integers(0, 10**6),
    st.sampled_from(Phase),
)
def test_whatever_was_measured_the_answer_can_be_written(
    found: list[Any], goal: Goal, prices: dict[str, float], work: int, phase: Phase
) -> None:
    trials = [
        trial(placement, rate, error_percent=error, prices=prices, job=f"t-{number}")
        if state is State.MEASURED
        else trial(placement, None, state=state, job=f"t-{number}")
        for number, (placement, rate, error, state) in enumerate(found)
    ]
    optimise = Optimise(
        goal=goal, prices=prices, deadline_seconds=600.0, work=float(work) if work else None
    )
    after = answered(trials, optimise, template=job(), phase=phase)
    if after.best is not None:
        best_of(after)
        assert np.isfinite(after.best.confidence_percent or 0.0)
