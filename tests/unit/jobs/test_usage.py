"""Maxima that never shrink, whatever happens to pods."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from cepheid.analysis.jobrules import JobKind
from cepheid.annotations.facts import CycleFacts, PodFacts, PodGpuFacts
from cepheid.annotations.job_codec import decode_job, encode_job
from cepheid.annotations.job_facts import FIGURES, BestPlacement, Figures, JobFacts, WorkerFacts
from cepheid.jobs.pods import Phase, PodState
from cepheid.jobs.usage import MOST_WORKERS, merge, most_at_once, shown
from tests.unit.jobs.strategies import POD_STATES

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
PODS = st.lists(POD_STATES, max_size=5)


def pod(
    name: str,
    mem_mb: float | None = None,
    *,
    node: str = "gpu-a",
    born: int = 0,
    ended: int | None = None,
    **facts: object,
) -> PodState:
    return PodState(
        uid=f"{name}-{born}",
        name=name,
        namespace="ns",
        created=NOON + timedelta(seconds=born),
        phase=Phase.RUNNING if ended is None else Phase.SUCCEEDED,
        node=node,
        started=NOON + timedelta(seconds=born),
        finished=None if ended is None else NOON + timedelta(seconds=ended),
        facts=PodFacts(cpu_mem_mb=mem_mb, **facts),  # type: ignore[arg-type]
    )


def numbers(figures: Figures | None) -> dict[str, float | None]:
    return {name: getattr(figures, name) for name in FIGURES} if figures else {}


def test_a_figure_that_falls_leaves_its_maximum() -> None:
    facts = merge(JobFacts(), [pod("w-0", 500)])
    facts = merge(facts, [pod("w-0", 300)])
    assert facts.workers["w-0"] == WorkerFacts(cpu_mem_mb=500, node="gpu-a")


def test_a_deleted_worker_stays() -> None:
    facts = merge(JobFacts(), [pod("w-0", 500), pod("w-1", 600)])
    facts = merge(facts, [])
    assert {name: worker.cpu_mem_mb for name, worker in facts.workers.items()} == {
        "w-0": 500,
        "w-1": 600,
    }
    assert facts.usage is not None
    assert (facts.usage.cpu_mem_mb, facts.usage.workers) == (1100, 2)


def test_a_worker_made_again_elsewhere_keeps_its_maximum_and_tells_its_new_node() -> None:
    facts = merge(JobFacts(), [pod("w-0", 500, ended=50)])
    facts = merge(facts, [pod("w-0", 500, ended=50), pod("w-0", 200, node="gpu-b", born=60)])
    assert facts.workers["w-0"] == WorkerFacts(cpu_mem_mb=500, node="gpu-b")
    assert facts.usage is not None
    assert facts.usage.cpu_mem_mb == 500


def test_only_what_is_used_at_the_same_time_adds_up() -> None:
    one_after_the_other = [pod("a", 500, ended=50), pod("b", 400, born=50, ended=90)]
    together = [pod("a", 500, ended=51), pod("b", 400, born=50)]
    assert (merge(JobFacts(), one_after_the_other).usage or Figures()).cpu_mem_mb == 500
    assert (merge(JobFacts(), together).usage or Figures()).cpu_mem_mb == 900


def test_shares_do_not_add_up() -> None:
    pods = [pod("a", cpu_util_percent=80), pod("b", cpu_util_percent=90)]
    assert (merge(JobFacts(), pods).usage or Figures()).cpu_util_percent == 90


def test_gpus_of_a_worker_add_up_and_a_shared_one_stands_once() -> None:
    own = (PodGpuFacts(0, None, 50, 1000), PodGpuFacts(1, None, 70, 2000))
    shared = (PodGpuFacts(2, None, 90, 5000, shared=True),)
    pods = [pod("a", gpus=own), pod("b", gpus=shared), pod("c", gpus=shared)]
    facts = merge(JobFacts(), pods)
    assert facts.workers["a"] == WorkerFacts(gpu_util_percent=70, gpu_mem_mb=3000, node="gpu-a")
    assert facts.workers["b"].shared
    assert facts.usage is not None
    assert facts.usage.gpu_mem_mb == 8000
    assert facts.usage.shared


def test_a_pod_of_which_nothing_is_said_says_nothing_of_its_job() -> None:
    assert merge(JobFacts(), [pod("a")]) == JobFacts()


def test_a_pod_with_the_name_of_a_key_does_not_take_it() -> None:
    facts = merge(JobFacts(job_type=JobKind.TRAINING), [pod("cycle", 5), pod("job-usage", 6)])
    written = encode_job(facts)
    assert decode_job(written).facts.workers == facts.workers
    assert len(facts.workers) == 2
    assert "ai.centaurus.io/cycle" not in written


def test_what_the_workers_do_is_what_the_job_does() -> None:
    strong = CycleFacts(42.0, 0.9, "power", confirmed=True)
    weak = CycleFacts(10.0, 0.95, "gpu_util", confirmed=None)
    pods = [
        pod("a", 1, job_type=JobKind.TRAINING, cycle=weak),
        pod("b", 1, job_type=JobKind.TRAINING, cycle=strong),
        pod("c", 1, job_type=JobKind.UNKNOWN),
        pod("d", 1, job_type=JobKind.IDLE),
    ]
    facts = merge(JobFacts(job_type=JobKind.INFERENCE), pods)
    assert (facts.job_type, facts.cycle) == (JobKind.TRAINING, strong)
    assert merge(facts, []).job_type is JobKind.TRAINING


def test_what_others_found_is_kept() -> None:
    before = JobFacts(advice="ask for less", best_placement=BestPlacement("T4", 2, 1))
    after = merge(before, [pod("a", 1)])
    assert (after.advice, after.best_placement) == (before.advice, before.best_placement)


def test_of_very_many_workers_those_that_stand_out_have_a_key() -> None:
    pods = [pod(f"w-{i}", 1000 + i % 7, gpus=(PodGpuFacts(0, None, 90, 500),)) for i in range(100)]
    pods[41] = pod("w-41", 5000, gpus=(PodGpuFacts(0, None, 20, 500),))
    facts = merge(JobFacts(), pods)
    assert len(facts.workers) == 100
    few = shown(facts)
    assert "w-41" in few.workers
    assert len(few.workers) <= 12
    assert few.usage == facts.usage
    some = JobFacts(workers=dict(list(facts.workers.items())[:MOST_WORKERS]))
    assert shown(some) == some


@given(PODS, PODS)
def test_nothing_shrinks(before: list[PodState], after: list[PodState]) -> None:
    one = merge(JobFacts(), before)
    two = merge(one, after)
    assert one.workers.keys() <= two.workers.keys()
    pairs = [(one.workers[name], two.workers[name]) for name in one.workers]
    for low, high in [*pairs, (one.usage, two.usage)]:
        for name, figure in numbers(low).items():
            found = numbers(high)[name]
            assert figure is None or (found is not None and found >= figure)


@given(PODS)
def test_the_same_twice_is_the_same(pods: list[PodState]) -> None:
    once = merge(JobFacts(), pods)
    assert merge(once, pods) == once
    assert merge(once, []) == once


@given(PODS, PODS, st.randoms())
def test_the_order_does_not_matter(
    some: list[PodState], others: list[PodState], chance: st.DataObject
) -> None:
    there = merge(merge(JobFacts(), some), others)
    back = merge(merge(JobFacts(), others), some)
    assert {name: numbers(worker) for name, worker in there.workers.items()} == {
        name: numbers(worker) for name, worker in back.workers.items()
    }
    assert numbers(there.usage) == numbers(back.usage)
    shuffled = list(some)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    assert merge(JobFacts(), shuffled) == merge(JobFacts(), some)


@given(PODS)
@settings(max_examples=50)
def test_what_was_written_and_read_back_loses_no_maximum(pods: list[PodState]) -> None:
    facts = merge(JobFacts(), pods)
    read = decode_job(encode_job(facts)).facts
    again = merge(read, pods)
    for name, worker in facts.workers.items():
        assert numbers(again.workers[name]) == numbers(worker)


@given(PODS)
def test_at_once_is_between_the_largest_and_all(pods: list[PodState]) -> None:
    unique = [replace(one, uid=f"{i}") for i, one in enumerate(pods)]
    amounts = {one.uid: float(one.gpu_count) for one in unique}
    most = most_at_once(unique, amounts)
    assert max(amounts.values(), default=0.0) <= most <= sum(amounts.values())
