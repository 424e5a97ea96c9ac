"""What a pod will need, by what its job's earlier runs needed."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.annotations.job_facts import BestPlacement
from cepheid.jobprofile import Asked, CycleSeen, GpuHeld, HeldBackBy, Outcome, Spread, Usage, Worker
from cepheid_operator.extender.needs import (
    MOST_RUNS,
    NEXT_BEST,
    Needs,
    Run,
    alike,
    needs_of,
    peak,
    run_of,
    usual,
)
from tests.unit.operator.extender.world import (
    A10,
    A100,
    INPUT_BOUND,
    NOON,
    NOW,
    PULSE,
    T4,
    record,
)

GIB = 2.0**30


def test_a_run_is_what_a_scheduler_could_act_on() -> None:
    assert run_of(record(template="abc", gpus=2, each="2", memory_gb=80.0)) == Run(
        ended=NOW,
        template="abc",
        gpu_type=A100,
        seconds=3600.0,
        gpus=2,
        memory_gb=40.0,
        busy=0.5,
        draws=0.0,
    )


@pytest.mark.parametrize("more", [{"gpus": 0}, {"usage": None}])
def test_a_run_without_gpus_or_of_which_nothing_was_measured_tells_nothing(more: Any) -> None:
    assert run_of(record(**more)) is None


@pytest.mark.parametrize("outcome", [one for one in Outcome if one is not Outcome.SUCCESS])
def test_how_long_it_takes_is_told_by_runs_that_succeeded_alone(outcome: Outcome) -> None:
    run = run_of(record(outcome=outcome))
    assert run is not None
    assert (run.seconds, run.memory_gb) == (None, 40.0)


def test_a_run_that_is_not_over_is_the_last_one() -> None:
    now, before = run_of(record(ended=None)), run_of(record(ended=NOON))
    assert now is not None
    assert before is not None
    assert alike([before, now], None) == [now, before]


@pytest.mark.parametrize(
    ("busy", "expected"), [(None, None), (0.0, 0.0), (25.0, 0.25), (130.0, 1.0)]
)
def test_busy_is_a_share_of_the_time(busy: float | None, expected: float | None) -> None:
    run = run_of(record(busy=busy))
    assert run is not None
    assert run.busy == expected


def test_busy_is_not_known_where_no_load_was_measured() -> None:
    run = run_of(record(usage=Usage(cpu_cores=Spread(mean=1.0))))
    assert run is not None
    assert run.busy is None


def test_memory_is_that_of_a_gpu_of_the_worker_that_used_the_most() -> None:
    workers = tuple(
        Worker(name=name, gpu_memory_bytes=used)
        for name, used in (("a", 20 * GIB), ("b", 60 * GIB), ("c", None))
    )
    run = run_of(record(gpus=6, each="2", workers=workers))
    assert run is not None
    assert run.memory_gb == 30.0


@pytest.mark.parametrize(
    "asked",
    [
        (),
        tuple(
            Asked(container="main", role=role, limits={"nvidia.com/gpu": count})
            for role, count in (("a", "1"), ("b", "2"))
        ),
    ],
    ids=["not known what each had", "some had more than others"],
)
def test_memory_of_one_gpu_is_not_known_where_workers_differ(asked: tuple[Asked, ...]) -> None:
    run = run_of(record(gpus=3, asked=asked))
    assert run is not None
    assert run.memory_gb is None


def test_memory_is_not_known_where_none_was_measured() -> None:
    run = run_of(record(memory_gb=None))
    assert run is not None
    assert run.memory_gb is None


def test_the_type_is_not_known_of_a_run_on_several() -> None:
    gpus = tuple(GpuHeld(node="n", index=i, model=m) for i, m in enumerate(["Tesla T4", "A10"]))
    run = run_of(msgspec.structs.replace(record(), gpus=gpus))
    assert run is not None
    assert run.gpu_type is None


def back(kind: str) -> HeldBackBy:
    return HeldBackBy(kind=kind, share_percent=60.0)


@pytest.mark.parametrize(
    ("held_back", "cycle", "draws"),
    [
        (None, None, 0.0),
        (None, PULSE, 0.0),
        (back("gpu"), None, 0.0),
        (back("network"), PULSE, 0.0),
        (back("cpu-throttled"), None, 0.0),
        (back("unheard-of"), None, 0.0),
        (INPUT_BOUND, None, 1.0),
        (INPUT_BOUND, PULSE, 0.6),
        (back("cpu"), PULSE, 0.6),
        (back("disk"), PULSE, 0.6),
        (INPUT_BOUND, CycleSeen(period_seconds=60, strength=0.9, confirmed=True), 0.6),
        (INPUT_BOUND, CycleSeen(period_seconds=60, strength=0.9, confirmed=False), 1.0),
    ],
)
def test_who_waits_for_input_draws_on_its_node_of_one_with_a_pulse_only_in_its_pauses(
    held_back: HeldBackBy | None, cycle: CycleSeen | None, draws: float
) -> None:
    run = run_of(record(back=held_back, cycle=cycle))
    assert run is not None
    assert run.draws == draws


def test_runs_of_the_same_template_count_alone_where_there_are_some() -> None:
    same, other = Run(ended=1.0, template="a"), Run(ended=2.0, template="b")
    assert alike([same, other], "a") == [same]
    assert alike([same, other], "c") == [other, same]
    assert alike([same, other], None) == [other, same]
    assert alike([Run(ended=1.0)], None) == [Run(ended=1.0)]
    assert alike([], "a") == []


def test_the_last_few_runs_count() -> None:
    given = [Run(ended=float(at)) for at in range(20)]
    assert [run.ended for run in alike(given, None)] == [19.0 - at for at in range(MOST_RUNS)]


def test_needed_is_the_most_memory_and_the_usual_of_the_rest() -> None:
    given = (
        Run(3.0, memory_gb=10.0, seconds=100.0, busy=0.2, draws=0.0),
        Run(2.0, memory_gb=30.0, seconds=300.0, busy=None, draws=0.5),
        Run(1.0, memory_gb=None, seconds=None, busy=0.6, draws=1.0),
    )
    assert needs_of(2, given, None, ()) == Needs(
        gpus=2, runs=3, memory_gb=30.0, seconds=200.0, draws=0.5, busy=0.4
    )


def test_of_a_job_without_runs_nothing_is_known_and_it_is_taken_for_a_usual_one() -> None:
    types = [A100, T4]
    assert needs_of(4, [], None, types) == Needs(gpus=4, speeds=usual(types))


def test_speed_on_types_that_it_ran_on_is_what_it_was() -> None:
    given = (
        Run(3.0, gpu_type=A100, gpus=1, seconds=100.0),
        Run(2.0, gpu_type=T4, gpus=1, seconds=400.0),
        Run(1.0, gpu_type=T4, gpus=1, seconds=600.0),
    )
    assert needs_of(1, given, None, [A100, T4]).speeds == {A100: 1.0, T4: 0.2}


@pytest.mark.parametrize("busy", [0.0, 0.5, 1.0])
def test_on_another_type_only_the_time_in_which_the_gpus_compute_changes(busy: float) -> None:
    # An A10 has 125 teraflops, a T4 has 65.
    given = [Run(1.0, gpu_type=T4, gpus=1, seconds=100.0, busy=busy)]
    took = 100.0 * (1 - busy + busy * 65 / 125)
    speeds = needs_of(1, given, None, [A10, T4]).speeds
    assert speeds == pytest.approx({A10: 1.0, T4: took / 100.0})


def test_speed_is_not_told_where_nobody_can_tell() -> None:
    known = Run(1.0, gpu_type=T4, gpus=1, seconds=100.0, busy=0.5)
    assert needs_of(1, [known], None, [T4, "Brand-New"]).speeds == {T4: 1.0}
    assert needs_of(1, [replace(known, busy=None)], None, [T4, A10]).speeds == {T4: 1.0}
    types = [T4, A10]
    assert needs_of(1, [replace(known, seconds=None)], None, types).speeds == usual(types)
    assert needs_of(1, [replace(known, gpu_type=None)], None, types).speeds == usual(types)
    unheard = replace(known, gpu_type="Brand-New")
    assert needs_of(1, [unheard], None, types).speeds == usual(types)


def test_an_unheard_of_type_that_it_ran_on_does_not_hide_one_that_is_known() -> None:
    given = (
        Run(2.0, gpu_type="Brand-New", gpus=1, seconds=10.0, busy=0.0),
        Run(1.0, gpu_type=T4, gpus=1, seconds=20.0, busy=0.0),
    )
    assert needs_of(1, given, None, [A10]).speeds == {A10: 1.0}


def test_runs_with_another_number_of_gpus_are_not_compared() -> None:
    given = (
        Run(3.0, gpu_type=A100, gpus=1, seconds=100.0),
        Run(2.0, gpu_type=T4, gpus=1, seconds=200.0),
        Run(1.0, gpu_type=T4, gpus=8, seconds=30.0),
    )
    assert needs_of(1, given, None, [A100, T4]).speeds == {A100: 1.0, T4: 0.5}


def test_what_a_trial_found_to_be_the_best_beats_what_runs_tell() -> None:
    given = (
        Run(2.0, gpu_type=A100, gpus=1, seconds=100.0),
        Run(1.0, gpu_type=A10, gpus=1, seconds=800.0),
    )
    found = needs_of(1, given, BestPlacement(T4, 1, 1), [A100, A10, T4])
    assert found.best_type == T4
    assert found.speeds == {T4: 1.0, A100: NEXT_BEST, A10: 0.125}


def test_what_a_trial_found_counts_without_any_run() -> None:
    found = needs_of(1, [], BestPlacement(T4, 1, 1), [A100, T4])
    assert found.speeds == {T4: 1.0, A100: NEXT_BEST}


def test_a_best_type_that_the_cluster_does_not_have_leaves_what_runs_tell() -> None:
    given = [Run(1.0, gpu_type=A100, gpus=1, seconds=100.0)]
    found = needs_of(1, given, BestPlacement(T4, 1, 1), [A100])
    assert (found.best_type, found.speeds) == (T4, {A100: 1.0})


def test_the_peak_of_a_gpu_without_tensor_pipes_is_what_its_memory_is_worth() -> None:
    assert peak(T4) == 65.0
    assert peak("Tesla-P100-PCIE-16GB") == pytest.approx(125.0 * 732 / 900)
    assert peak("Brand-New") is None


def test_the_newer_is_the_faster_for_a_job_that_never_ran() -> None:
    kinds = ["Tesla-K80", "Tesla-P100-PCIE-16GB", "Tesla-V100-SXM2-16GB", A100]
    speeds = needs_of(1, [], None, kinds).speeds
    assert sorted(speeds, key=speeds.__getitem__) == kinds


RUNS = st.builds(
    Run,
    ended=st.floats(0, 2e9) | st.just(float("inf")),
    template=st.none() | st.sampled_from("ab"),
    gpu_type=st.none() | st.sampled_from([A100, A10, T4, "Brand-New", "Tesla-P100"]),
    seconds=st.none() | st.floats(0, 1e15),
    gpus=st.integers(0, 2**70),
    memory_gb=st.none() | st.floats(0, 1e300),
    busy=st.none() | st.floats(0, 1),
    draws=st.floats(0, 1),
)


@given(st.lists(RUNS, max_size=8), st.sampled_from([None, "a", "b", "c"]), st.booleans())
def test_speeds_are_relative_to_the_fastest_whatever_the_runs_were(
    given_runs: list[Run], template: str | None, tried: bool
) -> None:
    found = alike(given_runs, template)
    assert len(found) <= MOST_RUNS
    best = BestPlacement(A10, 1, 1) if tried else None
    needs = needs_of(1, found, best, [A100, A10, T4, "Brand-New"])
    assert all(0.0 <= speed <= 1.0 for speed in needs.speeds.values())
    assert not needs.speeds or max(needs.speeds.values()) == 1.0
    assert needs.draws is None or 0.0 <= needs.draws <= 1.0


@given(st.lists(RUNS, max_size=6, unique_by=lambda run: run.ended), st.randoms())
def test_in_which_order_runs_come_does_not_matter(given_runs: list[Run], chance: Any) -> None:
    shuffled = list(given_runs)
    chance.shuffle(shuffled)
    assert alike(shuffled, "a") == alike(given_runs, "a")


def test_a_later_run_is_one_that_ended_later() -> None:
    first, second = record(ended=NOON), record(ended=NOON + timedelta(hours=1))
    found = alike([run for one in (first, second) if (run := run_of(one))], None)
    assert [run.ended for run in found] == [NOW + 3600, NOW]
