"""What was asked for, against what was used: the true verdict, and none on what is honest."""

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from cepheid.jobprofile import (
    Asked,
    JobProfile,
    MemoryLeak,
    Outcome,
    ProcessSeen,
    Reason,
    Spread,
    Usage,
    Worker,
)
from cepheid.reports.sizing.asked import givens, steadiness
from cepheid.reports.sizing.check import check
from cepheid.reports.sizing.gpus_held import capacity_bytes
from cepheid.reports.sizing.verdicts import CheckRow, Verdict
from tests.unit.history.strategies import PROFILES
from tests.unit.reports.runs import GIB, pod_job, process
from tests.unit.reports.sizes import ALIKE, THROTTLED, batch, killed, stopped, with_launcher


def verdicts(profile: JobProfile) -> dict[str, str]:
    return {row.resource: str(row.verdict) for row in check(profile)}


def found(profile: JobProfile) -> list[tuple[str, str]]:
    return [(row.resource, str(row.verdict)) for row in check(profile) if row.is_violation]


def row(profile: JobProfile, resource: str) -> CheckRow:
    (one,) = [row for row in check(profile) if row.resource == resource]
    return one


def test_an_honest_job_gets_no_verdict() -> None:
    assert found(batch()) == []
    assert verdicts(batch()) == {"memory": "fits", "CPU": "fits", "runtime": "no data"}
    assert found(batch(gpu=(91.0, 60.0))) == []


def test_asked_peak_and_difference_stand_beside_each_other() -> None:
    memory = row(pod_job(), "memory")
    assert (memory.asked, memory.peak, memory.unit) == (64 * GIB, 37.9 * GIB, "bytes")
    assert memory.difference_percent == pytest.approx(-40.78, abs=0.01)
    assert (memory.verdict, memory.worker) == (Verdict.TOO_MUCH, "bert-worker-0")
    assert memory.why == "the most of 4 pods"
    assert row(pod_job(), "CPU").difference_percent == pytest.approx(-78.125)


@pytest.mark.parametrize(
    ("gib", "verdict"),
    [(10.6, "too much"), (10.7, "fits"), (15.6, "fits"), (15.7, "too little"), (None, "no data")],
)
def test_memory_with_request_and_limit_alike(gib: float | None, verdict: str) -> None:
    assert verdicts(batch(gib=gib))["memory"] == verdict


@pytest.mark.parametrize(
    ("gib", "request_verdict", "limit_verdict"),
    [
        (5.0, "too much", "fits"),
        (8.1, "fits", "fits"),  # two percent are within what is measured
        (8.2, "too little", "fits"),  # goes first when the node runs out
        (15.8, "too little", "too little"),
    ],
)
def test_memory_with_a_limit_above_its_request(
    gib: float, request_verdict: str, limit_verdict: str
) -> None:
    seen = verdicts(batch(gib=gib, requests={"memory": "8Gi"}, limits={"memory": "16Gi"}))
    assert (seen["memory request"], seen["memory limit"]) == (request_verdict, limit_verdict)


def test_a_limit_alone_is_a_request_too() -> None:
    assert found(batch(gib=2.0, requests={}, limits={"memory": "16Gi"})) == [("memory", "too much")]


def test_little_that_is_wasted_is_not_worth_a_word() -> None:
    assert found(batch(gib=0.1, requests={"memory": "300Mi"}, limits={})) == []
    assert found(batch(cores=0.1, requests={"cpu": "1"}, limits={})) == []


@pytest.mark.parametrize(
    "early",
    [
        {"duration_seconds": 299.0},
        {"outcome": Outcome.RUNNING},
        {"outcome": Outcome.FAILED, "reason": Reason.EXIT_CODE},
    ],
)
def test_that_it_asked_for_too_much_is_not_said_too_early(early: dict[str, Any]) -> None:
    seen = verdicts(batch(gib=2.0, cores=0.5, **early))
    assert (seen["memory"], seen["CPU"]) == ("too early to tell", "too early to tell")
    assert found(batch(gib=2.0, cores=0.5, **early)) == []


def test_a_service_that_runs_shows_what_it_needs() -> None:
    served = batch(gib=2.0, kind="Deployment", api_version="apps/v1", outcome=Outcome.RUNNING)
    assert found(served) == [("memory", "too much")]


def test_memory_that_leaks_is_not_too_much() -> None:
    leak = MemoryLeak(bytes_per_second=1e6, confidence=0.9)
    assert found(batch(gib=2.0, leak=leak)) == []
    assert row(batch(gib=2.0, leak=leak), "memory").why is not None


def test_one_sample_above_the_request_of_cpu_is_no_violation() -> None:
    asks = {"requests": {"cpu": "2"}, "limits": {}}
    assert found(batch(cores=7.0, p95=2.1, **asks)) == []  # type: ignore[arg-type]
    sustained = batch(cores=7.0, p95=2.3, **asks)  # type: ignore[arg-type]
    assert found(sustained) == [("CPU request", "too little")]
    cpu = row(sustained, "CPU request")
    assert cpu.peak == 7.0
    assert cpu.sustained == pytest.approx(2.3)
    assert cpu.difference_percent == pytest.approx(15.0)


def test_one_sample_does_not_hide_cpu_that_nobody_uses() -> None:
    spike = batch(cores=7.0, p95=1.0, requests={"cpu": "8"}, limits={"cpu": "16"})
    assert found(spike) == [("CPU request", "too much")]


def test_a_peak_of_memory_counts_however_short() -> None:
    usage = Usage(memory_bytes=Spread(max=9 * GIB, p95=GIB, mean=GIB))
    short = batch(gib=9.0, usage=usage, requests={"memory": "8Gi"}, limits={})
    assert found(short) == [("memory request", "too little")]


def test_cpu_at_its_limit_fits_unless_it_was_throttled() -> None:
    assert found(batch(cores=4.0, p95=4.0)) == []
    assert found(batch(cores=4.0, p95=4.0, held_back_by=THROTTLED)) == [("CPU", "throttled")]
    apart = batch(cores=4.0, p95=2.0, requests={"cpu": "2"}, held_back_by=THROTTLED)
    assert ("CPU limit", "throttled") in found(apart)


def test_a_killed_one_says_at_which_limit() -> None:
    memory = row(killed(gib=15.2), "memory")
    assert (memory.verdict, memory.asked) == (Verdict.KILLED, 16 * GIB)
    apart = killed(gib=15.2, requests={"memory": "15Gi"}, limits={"memory": "16Gi"})
    assert ("memory limit", "killed at the limit") in found(apart)
    unlimited = killed(gib=15.2, requests={}, limits={})
    assert found(unlimited) == [("memory", "killed at the limit")]
    assert row(unlimited, "memory").asked is None


def test_of_two_roles_the_one_nearest_its_limit_was_killed() -> None:
    both = with_launcher(pod_job(outcome=Outcome.FAILED, reason=Reason.OOM_KILLED))
    tight = replace(both.asked[1], limits={"memory": "1Gi"})
    rows = check(replace(both, asked=(both.asked[0], tight)))
    (hit,) = [one for one in rows if one.verdict is Verdict.KILLED]
    assert (hit.worker, hit.asked) == ("bert-nightly-28-launcher-x2b", GIB)


def test_each_worker_is_held_against_what_its_own_role_was_given() -> None:
    rows = check(with_launcher(pod_job()))
    asked = {one.worker: one.asked for one in rows if one.resource.startswith("memory")}
    assert asked == {"bert-nightly-28-worker-0": 64 * GIB, "bert-nightly-28-launcher-x2b": GIB}


def test_workers_above_their_request_are_named_one_by_one() -> None:
    workers = tuple(
        Worker(name=f"w-{rank}", memory_bytes=gib * GIB)
        for rank, gib in enumerate((60.0, 66.0, 70.0, 10.0))
    )
    asked = replace(pod_job().asked[0], limits={})
    rows = check(pod_job(workers=workers, asked=(asked,)))
    over = [one.worker for one in rows if one.verdict is Verdict.TOO_LITTLE]
    assert over == ["w-2", "w-1"]
    many = [Worker(name=f"w-{rank}", memory_bytes=70 * GIB) for rank in range(1000)]
    assert len([one for one in check(pod_job(asked=(asked,)), many) if one.is_violation]) == 8


def test_containers_of_a_pod_are_added_up() -> None:
    own = batch().asked[0]
    two = batch(gib=20.0, asked=(own, replace(own, container="sidecar")))
    assert row(two, "memory").asked == 32 * GIB
    silent = batch(asked=(own, Asked(container="sidecar")))
    assert verdicts(silent)["memory"] == "nothing asked"
    assert row(silent, "memory").why == "not every container of it does"


def test_a_job_without_requests_is_told_but_not_blamed() -> None:
    nothing = batch(requests={}, limits={})
    assert found(nothing) == []
    assert (row(nothing, "memory").verdict, row(nothing, "CPU").peak) == (Verdict.UNASKED, 3.6)


def gpu_job(load: float, gib: float, **others: Any) -> JobProfile:
    return batch(limits={**ALIKE, "nvidia.com/gpu": "1"}, gpu=(load, gib), **others)


def test_gpus_that_are_held_and_not_used() -> None:
    assert found(gpu_job(4.0, 20.0)) == [("GPU", "not used")]
    assert found(gpu_job(4.0, 20.0, outcome=Outcome.RUNNING)) == [("GPU", "not used")]
    assert found(gpu_job(4.0, 20.0, duration_seconds=200.0)) == []
    assert (row(gpu_job(4.0, 20.0), "GPU").asked, row(gpu_job(4.0, 20.0), "GPU").peak) == (1, 0)


def test_one_sample_of_load_is_no_use_of_a_gpu() -> None:
    usage = Usage(gpu_util_percent=Spread(max=100.0, p95=2.0))
    spike = replace(gpu_job(100.0, 2.0), usage=usage)
    assert found(spike) == [("GPU", "not used")]


@pytest.mark.parametrize(
    ("load", "gib", "expected"),
    [
        (24.0, 19.0, [("GPU load", "too much"), ("GPU memory", "too much")]),
        (24.0, 30.0, []),  # its memory needs the GPU
        (60.0, 2.0, []),  # its load does
    ],
)
def test_a_gpu_is_too_large_where_load_and_memory_are_low(
    load: float, gib: float, expected: list[tuple[str, str]]
) -> None:
    assert found(gpu_job(load, gib)) == expected


def test_of_several_workers_those_are_named_that_did_not_use_theirs() -> None:
    workers = tuple(
        Worker(name=f"w-{rank}", gpu_util_percent=load) for rank, load in enumerate((95.0, 0.0))
    )
    asked = replace(pod_job().asked[0], pods=2)
    rows = [one for one in check(pod_job(workers=workers, asked=(asked,))) if one.resource == "GPU"]
    assert [(one.worker, one.verdict) for one in rows] == [("w-1", Verdict.UNUSED)]


def test_the_memory_of_slices_is_told_by_what_was_asked_for() -> None:
    slices = batch(limits={"nvidia.com/mig-1g.10gb": "2"}, gpu=(50.0, 12.0))
    assert capacity_bytes(slices) == 20 * GIB
    assert capacity_bytes(gpu_job(1.0, 1.0)) == 80 * GIB
    named = replace(gpu_job(1.0, 1.0).gpus[0], model="Tesla T4")
    assert capacity_bytes(gpu_job(1.0, 1.0, gpus=(named,))) == 16 * GIB
    assert capacity_bytes(gpu_job(1.0, 1.0, gpus=(replace(named, model="odd"),))) is None


def test_a_deadline_is_known_where_it_stopped_the_job() -> None:
    assert found(stopped(duration_seconds=600.0)) == [("runtime", "stopped at the deadline")]
    assert row(stopped(duration_seconds=600.0), "runtime").asked == 600.0
    assert row(batch(), "runtime").asked is None


def test_a_laptops_run_can_only_have_too_little() -> None:
    assert verdicts(process()) == {"memory": "fits", "CPU": "fits", "runtime": "no data"}
    own = process().process
    assert isinstance(own, ProcessSeen)
    full = process(process=replace(own, peak_memory_bytes=31.9 * GIB))
    assert found(full) == [("memory", "too little")]
    dead = process(outcome=Outcome.FAILED, reason=Reason.OOM_KILLED, held_back_by=THROTTLED)
    assert found(dead) == [("memory", "killed at the limit"), ("CPU", "throttled")]
    late = process(outcome=Outcome.TIMEOUT, reason=Reason.DEADLINE)
    assert found(late) == [("runtime", "stopped at the deadline")]


def test_without_workers_the_job_that_is_one_pod_tells_for_it() -> None:
    assert row(batch(gib=4.0, workers=()), "memory").verdict is Verdict.TOO_MUCH
    assert verdicts(pod_job(workers=()))["memory"] == "no data"  # of four: which of them?


def test_steadiness_is_what_lasts_of_the_peak() -> None:
    assert steadiness(Spread(max=8.0, p95=2.0)) == 0.25
    assert steadiness(Spread(max=8.0)) == 1.0
    assert steadiness(Spread(max=0.0, p95=0.0)) == 1.0
    assert steadiness(None) == 1.0


def test_a_worker_whose_role_its_name_does_not_tell_is_of_none() -> None:
    both = with_launcher(pod_job())
    for name in ("x", f"{both.job.name}-worker-launcher-0"):
        odd = replace(both, workers=(Worker(name=name, memory_bytes=1.0),))
        assert [one.workers for one in givens(odd)] == [(), ()]


@given(PROFILES, st.booleans())
def test_whatever_stands_in_a_record_something_is_said_in_plain_figures(
    profile: JobProfile, is_deadline: bool
) -> None:
    if is_deadline:
        profile = replace(profile, reason=Reason.DEADLINE)
    for one in check(profile):
        figures = (one.asked, one.peak, one.sustained, one.difference_percent)
        assert all(figure is None or math.isfinite(figure) for figure in figures)
        json.dumps(figures, allow_nan=False)


@given(st.floats(0.01, 1e4), st.floats(1.0, 64.0))
def test_no_more_than_one_verdict_is_given_on_one_resource(gib: float, gives: float) -> None:
    texts = {"memory": f"{gives:.3f}Gi"}
    rows = check(batch(gib=gib, requests=texts, limits=texts))
    assert len([one for one in rows if one.resource.startswith("memory")]) == 1
