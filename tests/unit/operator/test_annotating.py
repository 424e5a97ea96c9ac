"""When a job's annotations are worth a patch."""

from dataclasses import replace

import pytest

from cepheid.analysis.jobrules import JobKind
from cepheid.annotations.facts import CycleFacts
from cepheid.annotations.job_facts import JobFacts, JobUsageFacts, WorkerFacts
from cepheid_operator.annotating import is_worth_a_patch

WORKER = WorkerFacts(cpu_util_percent=40, cpu_mem_mb=2000, network_mbps=10.0, node="gpu-a")
STANDING = JobFacts(
    {"w-0": WORKER},
    JobUsageFacts(cpu_mem_mb=2000, workers=1),
    JobKind.TRAINING,
    CycleFacts(42.0, 0.9),
)


def with_worker(**figures: object) -> JobFacts:
    return replace(STANDING, workers={"w-0": replace(WORKER, **figures)})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("wanted", "worth"),
    [
        (STANDING, False),
        (with_worker(cpu_util_percent=45), False),
        (with_worker(cpu_util_percent=46), True),
        (with_worker(cpu_mem_mb=2090), False),
        (with_worker(cpu_mem_mb=2110), True),
        (with_worker(network_mbps=12.0), False),
        (with_worker(network_mbps=13.0), True),
        (with_worker(gpu_mem_mb=5), True),  # it is known now
        (with_worker(node="gpu-b"), True),
        (replace(STANDING, workers={"w-0": WORKER, "w-1": WORKER}), True),
        (replace(STANDING, job_type=JobKind.IDLE), True),
        (replace(STANDING, advice="ask for less"), True),
        (replace(STANDING, cycle=CycleFacts(42.5, 0.8)), False),
        (replace(STANDING, cycle=CycleFacts(50.0, 0.9)), True),
        (replace(STANDING, cycle=None), True),
        (replace(STANDING, usage=None), True),
    ],
)
def test_a_figure_counts_when_it_moved_further_than_a_reader_cares(
    wanted: JobFacts, worth: bool
) -> None:
    assert is_worth_a_patch(STANDING, wanted, over=False) is worth


def test_when_the_job_is_over_the_last_word_counts_to_the_digit() -> None:
    assert is_worth_a_patch(STANDING, with_worker(cpu_mem_mb=2001), over=True)
    assert not is_worth_a_patch(STANDING, STANDING, over=True)
