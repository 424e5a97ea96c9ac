"""The simulation of schedulers: its jobs, its physics, that nothing is lost, what is printed."""

import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from tests import REPOSITORY
from tests.bench.scheduler import figures, physics
from tests.bench.scheduler.cluster import Cluster, OversubscribedError
from tests.bench.scheduler.families import FAMILIES, Family
from tests.bench.scheduler.jobs import Workload, draw
from tests.bench.scheduler.models import A100, T4, V100
from tests.bench.scheduler.nodes import T4S, V100S, V100S_SHARED
from tests.bench.scheduler.policies import (
    Default,
    Ours,
    Packing,
    Policy,
    balanced,
    least_allocated,
    most_allocated,
)
from tests.bench.scheduler.programs import Job, Program
from tests.bench.scheduler.scores import Score, scored
from tests.bench.scheduler.sight import LATE_SECONDS, Sight
from tests.bench.scheduler.simulation import Played, play

BY_NAME = {family.name: family for family in FAMILIES}
SOME = ("A100, V100, T4", "much memory", "overload", "shared GPUs")
POLICIES = ("default", "bin packing", "ours")


def policy(name: str, family: Family, seed: int) -> Policy:
    if name == "ours":
        return Ours(seed, Sight(family.machines, seed))
    return Default(seed) if name == "default" else Packing(seed)


@cache
def jobs_of(family: str, seed: int = 7) -> tuple[Job, ...]:
    workload = replace(BY_NAME[family].workload, count=90)
    return tuple(draw(workload, BY_NAME[family].machines, seed))


@cache
def played(family: str, name: str, seed: int = 7) -> Played:
    one = BY_NAME[family]
    return play(one.machines, jobs_of(family, seed), policy(name, one, seed), seed)


def program(**given: object) -> Program:
    base = Program(
        number=0,
        speeds={V100: 1.0, T4: 0.4, A100: 2.0},
        feed=4.0,
        draws=np.ones(physics.INSTANTS, np.bool_),
        pulses=False,
        demand=0.05,
        occupancy=1.0,
        gpus=1,
        gpu_gb=8.0,
        cpus=4,
        memory_gb=16,
        seconds=600.0,
        told=False,
        grabs=False,
    )
    return replace(base, **given)  # type: ignore[arg-type]


def job(number: int = 0, submitted: float = 0.0, **given: object) -> Job:
    one = program(number=number, **given)
    return Job(number, submitted, one, "v1", 600.0, one.gpu_gb)


# What is drawn


def test_jobs_are_the_same_in_every_run_and_others_with_another_seed() -> None:
    def lengths(seed: int) -> list[float]:
        some = draw(Workload(count=50), BY_NAME["A100, V100, T4"].machines, seed)
        return [one.work for one in some]

    assert lengths(3) == lengths(3)
    assert lengths(3) != lengths(4)


def test_jobs_are_the_same_in_every_process() -> None:
    ask = (
        "from tests.bench.scheduler.scores import scored\n"
        "from tests.bench.scheduler.families import FAMILIES\n"
        "print(scored(FAMILIES[0], 3, 30))"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", ask],
            cwd=REPOSITORY,
            env={**os.environ, "PYTHONHASHSEED": hashing},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hashing in ("1", "2")
    }
    assert len(said) == 1


def test_what_is_drawn_has_the_published_shape() -> None:
    machines = BY_NAME["A100, V100, T4"].machines
    some = [one for seed in range(8) for one in draw(Workload(count=600), machines, seed)]
    seconds = np.array([one.work / physics.alone(one.program, V100) for one in some])
    assert 15 < np.median(seconds) / 60 < 35
    assert 50 < seconds.mean() / 60 < 130
    counts = Counter(one.program.gpus for one in some)
    assert 0.6 < counts[1] / len(some) < 0.8
    assert 0.4 < np.mean([physics.busy_alone(one.program, V100) for one in some]) < 0.6


def test_as_many_jobs_come_again_as_asked_for() -> None:
    machines = BY_NAME["A100, V100, T4"].machines
    runs = Counter(one.program.number for one in draw(Workload(count=800), machines, 1))
    assert 0.55 < sum(count for count in runs.values() if count >= 5) / 800 < 0.75
    alone = draw(Workload(count=200, recurring=0.0), machines, 1)
    assert len({one.program.number for one in alone}) == 200


@pytest.mark.parametrize("family", FAMILIES, ids=lambda one: one.name)
def test_every_job_fits_an_empty_node_of_its_cluster(family: Family) -> None:
    cluster = Cluster(family.machines)
    for one in jobs_of(family.name):
        large = np.array([machine.gpu_gb >= one.gpu_gb for machine in family.machines])
        assert len(cluster.fitting(one, large))


# Physics


def test_jobs_that_wait_for_input_slow_each_other_down_and_others_do_not() -> None:
    waits = program(feed=0.5, demand=0.7)
    alone = physics.alone(waits, V100)
    together = physics.rates(V100, [waits, waits], [(0,), (1,)])
    assert together == pytest.approx(alone / 1.4, rel=0.03)
    computes = program()
    beside = physics.rates(V100, [computes, waits], [(0,), (1,)])
    assert beside[0] == pytest.approx(physics.alone(computes, V100), rel=0.01)


def test_pulses_leave_each_other_room() -> None:
    first = np.arange(physics.INSTANTS) % 2 == 0
    one, other = (program(feed=0.5, demand=0.7, draws=on, pulses=True) for on in (first, ~first))
    apart = physics.rates(V100, [one, other], [(0,), (1,)])
    assert apart == pytest.approx(physics.alone(one, V100))


def test_a_faster_gpu_does_not_help_a_job_that_cannot_be_fed() -> None:
    waits = program(feed=0.3)
    assert physics.alone(waits, A100) < 1.02 * physics.alone(waits, V100)
    assert physics.alone(program(), A100) > 1.8 * physics.alone(program(), V100)


def test_who_shares_a_gpu_keeps_as_much_as_gavel_measured() -> None:
    busy, lazy = program(), program(occupancy=0.15)
    kept = physics.rates(V100, [busy, busy], [(0,), (0,)])[0]
    assert kept == pytest.approx(0.6, abs=0.02)
    assert physics.rates(V100, [busy, lazy], [(0,), (0,)])[0] == pytest.approx(0.94, abs=0.02)
    assert physics.rates(V100, [busy, busy], [(0,), (1,)])[0] == pytest.approx(1.0, abs=0.02)


# Nothing is lost


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("family", SOME)
def test_every_job_ends_once_and_its_work_is_done(family: str, name: str) -> None:
    found = played(family, name)
    assert [one.job.number for one in found.jobs] == [one.number for one in jobs_of(family)]
    whole = [stay for stay in found.stays if not stay.killed]
    assert len(whole) == len(found.jobs)
    for stay in whole:
        assert stay.done == pytest.approx(stay.job.work, rel=1e-6)
    for one in found.jobs:
        assert one.ended - one.job.submitted >= one.queued >= 0


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("family", SOME)
def test_nothing_is_handed_out_twice(family: str, name: str) -> None:
    for node, machine in enumerate(BY_NAME[family].machines):
        stays = [stay for stay in played(family, name).stays if stay.node == node]
        for instant in [stay.began for stay in stays]:
            here = [one for one in stays if one.began <= instant < one.ended]
            gpus = Counter(gpu for one in here for gpu in one.gpus)
            assert max(gpus.values(), default=0) <= machine.shares
            assert sum(one.job.program.cpus for one in here) <= machine.cpus
            assert sum(one.job.program.memory_gb for one in here) <= machine.memory_gb


def test_a_cluster_refuses_what_it_does_not_have() -> None:
    cluster = Cluster((T4S,))
    for number in range(4):
        cluster.place(job(number), 0, 0, 0.0)
    with pytest.raises(OversubscribedError):
        cluster.place(job(4), 0, 0, 0.0)


@pytest.mark.parametrize("name", POLICIES)
def test_the_same_seed_gives_the_same_end(name: str) -> None:
    family = BY_NAME["A100, V100, T4"]
    again = play(family.machines, jobs_of(family.name), policy(name, family, 7), 7)
    first = played(family.name, name)
    assert [one.ended for one in again.jobs] == [one.ended for one in first.jobs]


def test_who_needs_more_memory_than_there_is_is_killed_and_submitted_again() -> None:
    large = job(gpu_gb=17.0)
    found = play((V100S, T4S, replace(V100S, gpu_type=A100)), [large], Default(1), 1)
    assert found.jobs[0].kills <= 2
    for stay in found.stays:
        assert stay.killed == (stay.node != 2)
    assert found.stays[-1].node == 2


def test_killed_is_only_who_needs_more_than_there_is() -> None:
    for name in POLICIES:
        for stay in played("much memory", name).stays:
            room = BY_NAME["much memory"].machines[stay.node].gpu_gb
            assert stay.killed == (stay.job.gpu_gb > room)


def test_a_job_that_fits_nowhere_lets_others_pass() -> None:
    whole, small = job(0, 0.0, gpus=4), job(1, 1.0, gpus=4)
    passing = job(2, 2.0, gpus=1)
    found = play((T4S, V100S), [whole, small, passing], Packing(1), 1)
    assert [one.queued for one in found.jobs] == [0, 0, 0]
    found = play((T4S,), [job(0, 0.0, gpus=3), small, passing], Default(1), 1)
    assert found.jobs[2].queued == 0
    assert found.jobs[1].queued > 0


# Policies


def test_scores_are_those_of_kube_scheduler() -> None:
    """By hand, as noderesources/{least,most}_allocated.go and balanced_allocation.go have them."""
    cluster = Cluster((T4S, V100S))  # 48 CPUs, 192 GB, 4 GPUs; 64, 488, 8
    one, both = job(cpus=12, memory_gb=96), np.array([0, 1])
    assert least_allocated(cluster, one, both).tolist() == [(75 + 50) // 2, (81 + 80) // 2]
    assert balanced(cluster, one, both).tolist() == [87, 99]
    assert most_allocated(cluster, one, both).tolist() == [
        (25 + 50 + 3 * 25) // 5,
        (18 + 19 + 3 * 12) // 5,
    ]


def test_the_default_scheduler_spreads_and_bin_packing_packs() -> None:
    cluster = Cluster((V100S, V100S))
    cluster.place(job(0), 0, 1, 0.0)
    both = np.array([0, 1])
    assert Default(1).choose(cluster, job(1), both, 0.0) == 0
    assert Packing(1).choose(cluster, job(1), both, 0.0) == 1


def test_ours_learns_on_which_type_a_job_is_fast() -> None:
    machines = (T4S, replace(V100S, gpu_type=A100))
    sight = Sight(machines, 1)
    cluster = Cluster(machines)
    ours = Ours(1, sight)
    for node, took in enumerate((200.0, 1000.0)):  # against what the data sheets say
        stay = cluster.place(job(0), 0, node, 0.0)
        stay.held, stay.computed, stay.rate = 100.0, 95.0, 1.0
        sight.changed(cluster, node, 0.0)
        cluster.leave(stay)
        stay.ended = took
        sight.ended(stay)
        sight.changed(cluster, node, took)
    assert ours.choose(cluster, job(0), np.array([0, 1]), 2000.0) == 0


def test_weight_0_is_the_default_scheduler() -> None:
    family = BY_NAME["one type"]
    ours = Ours(7, Sight(family.machines, 7), weight=0)
    found = play(family.machines, jobs_of("one type"), ours, 7)
    plain = played("one type", "default")
    assert [one.ended for one in found.jobs] == [one.ended for one in plain.jobs]


# What is seen


def test_annotations_are_late_and_pods_are_not() -> None:
    machines = (V100S_SHARED,)
    sight, cluster = Sight(machines, 1), Cluster(machines)
    sight.look(cluster, 1000.0)
    cluster.place(job(0), 0, 0, 1000.0)
    sight.changed(cluster, 0, 1000.0)
    nodes, gpus = sight.look(cluster, 1000.0).take(sight.names)
    assert nodes["held"][0] == 1
    assert gpus["empty"].sum() == 8
    _, gpus = sight.look(cluster, 1000.0 + LATE_SECONDS).take(sight.names)
    assert gpus["empty"][0].sum() == 7
    assert gpus["peak_gb"][0, 0] == pytest.approx(8.0, rel=0.3)


def test_of_a_first_run_nothing_is_known() -> None:
    needs = Sight((T4S, V100S), 1).needs(job(0))
    assert needs.runs == 0
    assert needs.memory_gb is None


# What is printed


def test_ratios_are_those_of_the_same_seed() -> None:
    def one(policy: str, seed: int, seconds: float) -> Score:
        return Score(
            family="f",
            policy=policy,
            seed=seed,
            jobs=1,
            mean_seconds=seconds,
            p95_seconds=seconds,
            queued_seconds=0.0,
            queued_p95_seconds=0.0,
            idle_gpu_hours=0.0,
            lost_gpu_hours=0.0,
            kills=0,
        )

    scores = [
        one("default", 1, 100),
        one("ours", 1, 50),
        one("bin packing", 1, 100),
        one("default", 2, 10),
        one("ours", 2, 8),
        one("bin packing", 2, 11),
    ]
    assert figures.mean_ratios(scores, "f", "ours") == [0.5, 0.8]
    assert "0.63 [0.50, 0.80]" in figures.overview(scores, ["f"])
    assert "| worst family: f | <= 1.02 | 0.632 |" in figures.against_targets(scores, ["f"])


def test_a_score_counts_what_was_lost_and_what_idled() -> None:
    for one in scored(BY_NAME["much memory"], 7, 60):
        assert one.jobs == 60
        assert one.idle_gpu_hours > 0
        assert (one.lost_gpu_hours > 0) == (one.kills > 0)
        assert one.p95_seconds > one.mean_seconds > one.queued_seconds


def test_the_command_prints_a_table_of_every_family_asked_for() -> None:
    command = [sys.executable, "-m", "tests.bench.scheduler", "--quick", "--family=one type"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    assert "| one type | no |" in done.stdout
    assert done.stdout.count("### ") == 2
    assert "bin packing" in done.stdout
