"""What the benchmark of the operator fills a cluster with, counts and prints."""

import json
import subprocess
import sys
from collections import Counter

import pytest
import yaml

from cepheid.annotations.codec import decode_pod
from cepheid.jobs.kinds import kind_of
from tests import REPOSITORY
from tests.bench.operator import figures
from tests.bench.operator.audit import count
from tests.bench.operator.jobs import END_EVERY, END_NODES, NODES, WORKERS, Document, jobs
from tests.bench.operator.measure import Ends, Measured, Seen, Start, Steady
from tests.stage.kwok import stages
from tests.stage.processes import Usage

MIB = 2**20


def test_a_fifth_of_the_jobs_ends_of_both_kinds_and_in_all_namespaces() -> None:
    made = jobs()
    ending = [job for job in made if job.ends]
    assert len(ending) == len(made) // END_EVERY == 200
    assert {job.kind for job in ending} == {"Job", "MPIJob"}
    assert {job.namespace for job in ending} == {job.namespace for job in made}
    assert all(kind_of(job.document()) is not None for job in made)


def test_each_pod_has_a_gpu_of_its_own_and_no_node_too_many_pods() -> None:
    workers = [worker for job in jobs() for worker in job.workers()]
    assert len({(worker.path, worker.name) for worker in workers}) == len(workers) == 5000
    assert len({(worker.node, worker.gpu) for worker in workers}) == len(workers)
    assert set(Counter(worker.node for worker in workers).values()) == {5000 // NODES}
    assert all((worker.node < END_NODES) == worker.job.ends for worker in workers)


def test_agents_say_the_same_in_every_run_and_something_else_each_time() -> None:
    worker = next(jobs(25)[7].workers())
    first, again, second = (worker.annotations(turn) for turn in (0, 0, 1))
    assert first == again != second
    facts = decode_pod(first).facts
    assert facts.gpus[0].index == worker.gpu
    assert facts.cycle is not None


def test_kwok_never_ends_a_pod_by_itself() -> None:
    made = {stage["metadata"]["name"]: stage for stage in yaml.safe_load_all(stages())}
    assert "pod-ready" in made
    templates = "".join(stage["spec"]["next"].get("statusTemplate", "") for stage in made.values())
    assert "Running" in templates
    assert "Succeeded" not in templates


def test_a_request_is_counted_once_its_line_is_whole() -> None:
    lines = [
        json.dumps({"verb": "patch", "objectRef": {"resource": "jobs"}}) + "\n",
        json.dumps({"verb": "get"}) + "\n",
        '{"verb": "pat',
    ]
    assert count(lines) == {("patch", "jobs"): 1, ("get", "-"): 1}


def test_of_a_profile_the_first_time_counts_at_which_it_said_so() -> None:
    seen = Seen()
    running: Document = {"outcome": "running"}
    over: Document = {"outcome": "success"}
    for now, said in enumerate([running, over, over | {"samples": 9}] * 2):
        seen.take({"job": {"uid": "a"}, **said}, now)
    assert (seen.uids, seen.told, seen.complete) == ({"a"}, {"a": 1}, {"a": 2})


@pytest.mark.parametrize(
    ("of_all", "expected"), [(0.5, 10.0), (0.95, None), (1.0, None), (0.05, 1.0)]
)
def test_of_those_that_never_came_none_is_left_out(of_all: float, expected: float | None) -> None:
    came = [float(number) for number in range(18, 0, -1)]
    assert figures.share(came, of_all, count=20) == expected


def measured() -> Measured:
    usages = [
        Usage(rss_bytes=200 * MIB, peak_rss_bytes=250 * MIB, cpu_seconds=spent, threads=9)
        for spent in (10.0, 11.0, 15.0, 16.0)
    ]
    steady = Steady(
        30.0,
        usages,
        84,
        Counter({"Pod": 90}),
        Counter({("Job", "annotations"): 30}),
        Counter({("patch", "jobs"): 30}),
    )
    ends = Ends(4, 2.0, 0.5, [1.0, 2.0, 3.0, 29.5], [30.0, 31.0, 32.0], 2.5, usages[-1])
    return Measured(1000, 1000 * WORKERS, 7000, Start(60.0, usages[0]), steady, ends, [])


def test_targets_stand_beside_what_was_reached() -> None:
    text = figures.against_targets(measured())
    for row in (
        "| running pods | 5,000 | 5,000 |",
        "| steady RSS | < 300 MiB | 200 MiB |",
        "| peak RSS since it was started | < 300 MiB | 250 MiB |",
        "| CPU of one core, steady | < 10 % | 20.0 % |",
        "| a job's end to its profile, 4 at once: all | <= 30 s | 29.5 s |",
        "| the same: half | - | 2.0 s |",
        "| the same: all | - | not seen |",
    ):
        assert row in text


def test_rates_and_the_busiest_time_are_told_of_the_steady_state() -> None:
    made = measured()
    text = figures.of_steady(made)
    assert "| events: Pod | 90, 3.00 a second |" in text
    assert "| requests: patch jobs | 30, 1.00 a second |" in text
    assert made.steady.busiest_cpu_seconds(1) == 4.0
    assert "| CPU of one core in the busiest minute | 20.0 % |" in text
    assert "| CPU until all had them | 2.5 s |" in figures.of_ends(made.ends)


def test_too_few_jobs_are_an_error_with_a_hint() -> None:
    command = [sys.executable, "-m", "tests.bench.operator", "--jobs=3"]
    run = subprocess.run(command, capture_output=True, text=True, cwd=REPOSITORY, check=False)
    assert run.returncode == 2
    assert "hint:" in run.stderr
    assert not run.stdout
