"""What the benchmark of the agent computes and prints; what it measures is for people to read."""

import subprocess
import sys
from collections.abc import Callable, Sequence
from itertools import pairwise

import pytest

from cepheid.annotations.change import Cause
from tests import REPOSITORY
from tests.bench.agent import figures
from tests.bench.agent.cluster import NODES, QueryCost, WriteCost
from tests.bench.agent.hour import CycleTold, Hour, Spent
from tests.bench.agent.live import Cost, Delay, Live, Told
from tests.bench.agent.loads import Job, Past, Random, changing, crowd, starts, steady
from tests.stage.processes import Usage
from tests.stage.world import Node, Pod, World

BEGIN = 1_700_000_000.0
Load = Callable[[World, Node, Sequence[Pod]], None]


def test_the_integral_of_a_random_level_is_what_it_was_summed_up() -> None:
    level = Random(1.0, 3.0, 60.0, seed=7, begin=BEGIN)
    for begin, end in ((BEGIN, BEGIN + 600), (BEGIN + 17, BEGIN + 431), (BEGIN - 90, BEGIN + 30)):
        steps = range(int(end - begin))
        summed = sum(level.at(begin + step + 0.5) for step in steps)
        assert level.integral(begin, end) == pytest.approx(summed)
    assert len({level.at(BEGIN + 60 * slot) for slot in range(50)}) == 50
    assert all(1 <= level.at(BEGIN + 60 * slot) <= 3 for slot in range(50))


def test_jobs_of_one_gpu_never_overlap_and_are_the_same_in_every_run() -> None:
    for of, least in ((crowd, 8 * 4), (starts, 5)):
        found = list(of(8, BEGIN, BEGIN + 7200))
        assert found == list(of(8, BEGIN, BEGIN + 7200))
        assert len({job.name for job in found}) == len(found) > least
        for one, two in pairwise(sorted(found, key=lambda job: (job.gpu, job.begin))):
            assert one.begin < one.end
            assert one.gpu != two.gpu or one.end <= two.begin


def test_a_page_of_the_past_names_who_held_the_gpu_then() -> None:
    world = World(up_since=BEGIN - 3600)
    node = world.add_node("gpu-a", gpus=1)
    past = Past(world, node, [Pod("bench", "web")])
    for number in range(2):
        job = Job(f"job-{number}", 0, BEGIN + 600 * number, BEGIN + 600 * number + 300, 60.0)
        past.add(job, Pod("bench", job.name))

    def held(when: float) -> tuple[bool, bool]:
        gpus = past.page(past.dcgm_path("gpu-a"), when) or ""
        pods = past.page(past.cadvisor_path("gpu-a"), when) or ""
        assert 'pod="web"' in pods
        for number in range(2):
            assert (f'pod="job-{number}"' in gpus) == (f'pod="job-{number}"' in pods)
        return 'pod="job-0"' in gpus, 'pod="job-1"' in gpus

    assert [held(BEGIN + after) for after in (-10, 10, 400, 610, 1000)] == [
        (False, False),
        (True, False),
        (False, False),
        (False, True),
        (False, False),
    ]


@pytest.mark.parametrize(("load", "held"), [(steady, 7), (changing, 8)])
def test_a_load_reaches_back_to_when_the_machines_were_started(load: Load, held: int) -> None:
    world = World(up_since=BEGIN)
    node = world.add_node("gpu-a", gpus=8)
    node.pods = [Pod("bench", f"pod-{number}") for number in range(60)]
    load(world, node, node.pods)
    assert sum(bool(gpu.holders) for gpu in node.gpus) == held
    assert sum(gpu.busy.integral(BEGIN, BEGIN + 600) > 0 for gpu in node.gpus) == held - (held < 8)
    assert all(pod.cores.integral(BEGIN, BEGIN + 600) > 0 for pod in node.pods)


def measured() -> tuple[Live, dict[str, Hour]]:
    mib = 2**20
    usage = Usage(60 * mib, 66 * mib, 3.0, 2)
    cost = Cost(8, 60, 556, usage, usage, 10, 0.6, 1.0, 400_000, 1_200_000)
    seen = Live([cost], [Delay(60.0, pod=Told(2, 40.0), cycle=None), Delay(90.0, Told(1, 9.0))])
    times = {("Node", Cause.HEARTBEAT): [0.0, 610.0], ("Node", Cause.MOVE): [90.0, 700.0]}
    hour = Hour(120, {**times, ("Pod", Cause.NEWS): [5.0]}, {"Node": 4.0, "Pod": 1.0})
    hour.spent, hour.queries, hour.wire_bytes = Spent(4.8, 1.2, 12.0), 480, 4_800_000
    hour.prometheus_cpu_seconds = 1.2
    return seen, {"steady": hour, "changing": hour}


def test_cpu_is_a_share_of_the_thirty_seconds_of_a_pass() -> None:
    assert figures.cpu_percent(0.9, 10) == pytest.approx(0.3)


def test_only_a_write_that_may_wait_has_a_distance() -> None:
    _, hours = measured()
    assert hours["steady"].nearest_seconds() == 90.0
    assert Hour().nearest_seconds() is None


def test_targets_stand_beside_what_was_reached() -> None:
    text = figures.against_targets(*measured())
    for row in (
        "| steady RSS, 8 GPUs and 60 pods | <= 64 MiB | 60.0 MiB |",
        "| CPU of one core at a 30 s pass | <= 0.3 % | 0.20 % |",
        "| bytes read of those of the whole window | <= 1/10 | 1/30 |",
        "| writes an hour when nothing changes: node | <= 6 | 4 |",
        "| the same: all its pods | 0 | 1 |",
        "| the same: shortest distance of those that may wait | >= 60 s | 90 s |",
        "| a job's start to its pod's first annotation | <= 2 passes | 2 passes |",
        "| a cycle of 60 s on the node | <= 300 s | not seen |",
    ):
        assert row in text
    assert "| 40 + 10 + 50 = 100 |" in figures.by_scene(measured()[1])


def test_a_job_counts_if_it_could_be_told_in_time_and_the_latest_is_named() -> None:
    job = Job("new-0", 0, BEGIN, BEGIN + 1800, 60.0)
    assert CycleTold(job).target_seconds == 300
    assert CycleTold(job).counts(BEGIN + 301)
    assert not CycleTold(job).counts(BEGIN + 299)
    cycles = [CycleTold(job, 240.0), CycleTold(job, 330.0), CycleTold(job)]
    text = figures.against_targets(None, {"starts": Hour(cycles=cycles)})
    assert "3 jobs | all within 4 periods + 2 passes | 1, 2 at all; the latest +30 s" in text
    assert "| 60 s | 3 | 300 s | 330 s | not seen |" in figures.by_period(cycles)


def test_a_thousand_nodes_are_a_thousand_times_one() -> None:
    _, hours = measured()
    write = WriteCost(10_000, 2_000, 0.010, 0.001, 11_000, 12_000)
    text = figures.scaled(hours, write, [QueryCost(1, 1000, 0.010), QueryCost(11, 11_000, 0.011)])
    assert NODES == 1000
    assert "| 1,000 x (4 + 1) / 3600 = 1.4 | x 10.0 ms = 0.01 |" in text
    assert "33.3 passes a second x 4.0 queries = 133 queries a second" in text
    assert "nodes: 109.9 ms, x 33.3 = 3.66 cores" in text


def test_a_part_that_there_is_not_is_an_error_with_a_hint() -> None:
    command = [sys.executable, "-m", "tests.bench.agent", "--parts=live,nonsense"]
    run = subprocess.run(command, capture_output=True, text=True, cwd=REPOSITORY, check=False)
    assert run.returncode == 2
    assert "nonsense" in run.stderr
    assert "hint:" in run.stderr
    assert not run.stdout
