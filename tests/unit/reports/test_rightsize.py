"""What to ask for next time: enough for every run, with its risk told by the runs themselves."""

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from cepheid.jobprofile import (
    Asked,
    GpuHeld,
    JobProfile,
    MemoryLeak,
    Outcome,
    Reason,
    Spread,
    Usage,
    Worker,
)
from cepheid.reports.sizing.advised import Action, AdviceRow, Advised, Rules
from cepheid.reports.sizing.backtest import Need, broken
from cepheid.reports.sizing.check import check
from cepheid.reports.sizing.evidence import evidence, gathered
from cepheid.reports.sizing.gpus_held import does, gpus_of, slices_of, smaller_types
from cepheid.reports.sizing.pods import cpu_quantity
from cepheid.reports.sizing.rightsize import advise
from cepheid.units import quantity
from tests.unit.history.strategies import PROFILES
from tests.unit.reports.runs import GIB, pod_job, process
from tests.unit.reports.sizes import (
    A100,
    ALIKE,
    THROTTLED,
    batch,
    killed,
    stopped,
    with_launcher,
)

GPU = {**ALIKE, "nvidia.com/gpu": "1"}
TWO = Asked(container="main", limits={**ALIKE, "nvidia.com/gpu": "2"})


def advised(*profiles: JobProfile, **rules: Any) -> Advised:
    """The newest first."""
    (runs,) = gathered(profiles)
    return advise(runs, Rules(**rules))


def asks(*profiles: JobProfile, **rules: Any) -> dict[str, str]:
    return {row.field: row.advised_written for row in advised(*profiles, **rules).rows}


def row(field: str, *profiles: JobProfile, **rules: Any) -> AdviceRow:
    (one,) = [row for row in advised(*profiles, **rules).rows if row.field == field]
    return one


def runs(*gib: float, **others: Any) -> list[JobProfile]:
    return [batch(number, gib=each, **others) for number, each in enumerate(gib)]


def test_memory_is_the_highest_peak_and_the_buffer() -> None:
    """8.0 * 1.15 = 9.2, so 10Gi: each pod of 16Gi frees 6."""
    one = row("limits.memory", *runs(6.0, 8.0, 7.0))
    assert (one.now_written, one.advised_written, one.action) == ("16Gi", "10Gi", Action.LOWER)
    assert (one.runs, one.broken_runs, one.frees) == (3, 0, 6 * GIB)
    assert asks(*runs(6.0, 8.0, 7.0), memory_buffer_percent=50.0)["requests.memory"] == "12Gi"


def test_leave_one_out_tells_which_run_the_others_would_have_broken() -> None:
    """Without the run of 9 GiB the others advise 5 * 1.15 = 5.75, so 6Gi: it would have died."""
    one = row("requests.memory", *runs(4.0, 9.0, 5.0, 4.5))
    assert one.advised_written == "11Gi"
    assert (one.runs, one.broken_runs, one.broken_percent) == (4, 1, 25.0)
    assert advised(*runs(4.0, 9.0, 5.0, 4.5)).broken_runs == 1


def test_a_run_that_several_figures_would_have_broken_is_one() -> None:
    large = batch(3, gib=12.0, cores=3.9, duration_seconds=20_000.0)
    small = [batch(number, gib=1.0, cores=0.4) for number in range(3)]
    found = advised(*small, large)
    assert [one.broken_runs for one in found.rows] == [1, 1, 1, 1, 1]
    assert found.broken_runs == 1


@pytest.mark.parametrize(("gib", "asked"), [(14.0, "16Gi"), (13.5, "16Gi"), (12.0, "14Gi")])
def test_what_differs_by_less_than_a_tenth_stays(gib: float, asked: str) -> None:
    assert asks(*runs(gib, gib, gib))["limits.memory"] == asked


def test_what_check_calls_too_much_is_lowered_by_however_little() -> None:
    """0.87 GiB of 1344Mi: 1.51 times, and 1.25Gi is advised, which is less than a tenth less."""
    texts = {"memory": "1344Mi"}
    made = runs(0.87, 0.87, 0.87, requests=texts, limits=texts)
    assert [str(one.verdict) for one in check(made[0]) if one.is_violation] == ["too much"]
    assert asks(*made)["limits.memory"] == "1.25Gi"


def test_nothing_is_raised_for_the_sake_of_a_round_figure() -> None:
    """1.04 GiB would be written 1.5Gi."""
    little = runs(0.9, 0.9, 0.9, requests={"memory": "1Gi"}, limits={})
    assert asks(*little)["requests.memory"] == "1Gi"


def test_what_is_nearly_full_is_raised() -> None:
    assert row("limits.memory", *runs(15.5, 15.0, 15.0)).action is Action.RAISE
    assert asks(*runs(15.5, 15.0, 15.0))["limits.memory"] == "18Gi"


def test_too_few_runs_make_no_advice() -> None:
    assert advised(*runs(6.0, 7.0)).rows == ()
    assert (advised(*runs(6.0, 7.0)).runs, advised(*runs(6.0, 7.0)).kept_runs) == (2, 2)
    assert advised(*runs(6.0, 7.0), min_runs=2).rows
    short = [batch(number, duration_seconds=59.0) for number in range(4)]
    assert (advised(*short).runs, advised(*short).kept_runs) == (0, 4)


def test_killed_runs_raise() -> None:
    """Killed at 16Gi it gets 24Gi, whatever the others used; what it used of CPU tells nothing."""
    found = advised(killed(0, cores=0.1), *runs(6.0, 6.0, 6.0)[1:], batch(3, gib=6.0))
    memory = next(one for one in found.rows if one.field == "limits.memory")
    assert (memory.advised_written, memory.action, memory.runs) == ("24Gi", Action.RAISE, 4)
    assert memory.why == "killed at its limit in 1 of 4 runs"
    assert memory.broken_runs == 1
    cpu = next(one for one in found.rows if one.field == "limits.cpu")
    assert cpu.runs == 3


def test_killed_runs_alone_never_lower_anything() -> None:
    found = advised(*(killed(number, gib=1.0, cores=0.1) for number in range(4)))
    assert {one.field: one.action for one in found.rows} == {
        "requests.memory": Action.RAISE,
        "limits.memory": Action.RAISE,
    }


def test_a_kill_that_a_larger_limit_cured_is_remembered() -> None:
    """Now it has 64Gi and uses 6: less than 1.5 times the 16Gi that killed it is not advised."""
    large = {"memory": "64Gi"}
    cured = [batch(number, gib=6.0, requests=large, limits=large) for number in range(3)]
    assert asks(*cured, killed(3))["limits.memory"] == "24Gi"
    assert asks(*cured)["limits.memory"] == "7Gi"


def test_of_several_containers_nobody_knows_which_was_killed() -> None:
    sidecar = replace(batch().asked[0], container="sidecar", requests={"memory": "1Gi"}, limits={})
    two = [replace(one, asked=(*one.asked, sidecar)) for one in (killed(0), *runs(6, 6, 6, 6)[1:])]
    memory = row("limits.memory", *two)
    assert (memory.action, memory.container) == (Action.KEEP, "main")
    assert "cannot be told" in (memory.why or "")
    assert row("limits.memory", *two[1:]).advised_written == "7Gi"


def test_what_fifty_containers_used_together_is_not_asked_of_one() -> None:
    """1Gi each, 38 of 50 used: whose they are cannot be told, and all of them have enough."""
    one = batch().asked[0]
    fifty = tuple(
        replace(one, container=f"c{number}", requests={"memory": "1Gi"}, limits={"memory": "1Gi"})
        for number in range(50)
    )
    assert "limits.memory" not in asks(*runs(38.0, 38.0, 38.0, asked=fifty))
    short = asks(*runs(60.0, 60.0, 60.0, asked=fifty))
    assert short["limits.memory"] == "69Gi"  # it was more than they have: one of them needs more


def test_memory_that_leaks_is_not_lowered() -> None:
    leak = MemoryLeak(bytes_per_second=1e6, confidence=0.9)
    assert row("limits.memory", *runs(4.0, 4.0, 4.0, leak=leak)).action is Action.KEEP


def test_a_limit_above_its_request_is_raised_but_not_lowered() -> None:
    apart = {"requests": {"memory": "8Gi"}, "limits": {"memory": "32Gi"}}
    wide = asks(*runs(4.0, 4.0, 4.0, **apart))
    assert (wide["requests.memory"], wide["limits.memory"]) == ("5Gi", "32Gi")
    tight = {"requests": {"memory": "8Gi"}, "limits": {"memory": "9Gi"}}
    found = asks(*runs(8.9, 8.9, 8.9, **tight))
    assert (found["requests.memory"], found["limits.memory"]) == ("11Gi", "11Gi")


def test_cpu_is_what_lasts_rounded_up_to_the_step() -> None:
    """Of 7 cores at most 2.2 lasted: 2.5. A limit alone, or alike, is for the peak."""
    spiky = runs(6.0, 6.0, 6.0, cores=7.0, p95=2.2, requests={"cpu": "8"}, limits={})
    assert asks(*spiky)["requests.cpu"] == "2.5"
    assert asks(*spiky, cpu_step_cores=1.0)["requests.cpu"] == "3"
    assert asks(*spiky, cpu_step_cores=0.1)["requests.cpu"] == "2.2"
    alike = {"requests": {"cpu": "16"}, "limits": {"cpu": "16"}}
    pinned = runs(6.0, 6.0, 6.0, cores=6.2, p95=2.2, **alike)
    assert asks(*pinned)["limits.cpu"] == "7"  # whole cores stay whole


def test_a_limit_is_never_below_its_request() -> None:
    """3.7 of 3.8 cores last: rounded up that is more than the limit."""
    apart = {"requests": {"cpu": "1"}, "limits": {"cpu": "3800m"}}
    found = asks(*runs(6.0, 6.0, 6.0, cores=3.7, p95=3.7, **apart))
    assert (found["requests.cpu"], found["limits.cpu"]) == ("4", "4")


def test_throttled_runs_raise_the_limit() -> None:
    found = [batch(0, cores=4.0, held_back_by=THROTTLED), *runs(12.0, 12.0, 12.0)[1:], batch(3)]
    limit = row("limits.cpu", *found)
    assert (limit.advised_written, limit.action) == ("6", Action.RAISE)
    assert limit.why == "throttled in 1 of 4 runs"
    apart = {"requests": {"cpu": "2"}, "limits": {"cpu": "4"}}
    held = runs(6.0, 6.0, 6.0, cores=4.0, p95=2.0, held_back_by=THROTTLED, **apart)
    assert asks(*held)["limits.cpu"] == "6"
    assert asks(*held)["requests.cpu"] == "2"


def test_where_nothing_was_asked_a_request_is_advised() -> None:
    found = advised(*runs(6.0, 6.0, 6.0, requests={}, limits={}))
    assert [(one.field, one.action, one.frees) for one in found.rows[:2]] == [
        ("requests.memory", Action.ADD, None),
        ("requests.cpu", Action.ADD, None),
    ]


def test_each_role_is_told_by_its_own_pods() -> None:
    found = advised(*(with_launcher(pod_job(number)) for number in range(3)))
    memory = {(one.role, one.container): one for one in found.rows if "memory" in one.field}
    assert memory["Worker", "trainer"].advised_written == "44Gi"
    assert memory["Launcher", "mpirun"].action is Action.KEEP
    assert found.frees("bytes") == 4 * 20 * GIB
    assert found.frees("cores") == 4 * 12


def test_runtime_is_the_longest_and_its_buffer_and_no_part_of_a_patch() -> None:
    """8040 s * 1.2 = 9648 s, to the minute: 9660."""
    one = row("spec.activeDeadlineSeconds", *runs(6.0, 6.0, 6.0))
    assert (one.advised_written, one.action, one.is_patched) == ("9660", Action.CONSIDER, False)


def test_a_deadline_that_stopped_a_run_is_raised() -> None:
    late = stopped(0, duration_seconds=7200.0)
    one = row("spec.activeDeadlineSeconds", late, *runs(6.0, 6.0, 6.0)[1:])
    assert (one.now, one.advised_written, one.is_patched) == (7200.0, "14400", True)
    assert (one.why, one.broken_runs) == ("its deadline stopped 1 of 3 runs", 0)
    cured = row("spec.activeDeadlineSeconds", *runs(6.0, 6.0), stopped(2, duration_seconds=3600.0))
    assert (cured.action, cured.advised_written) == (Action.RAISE, "9660")


def gpu_runs(load: float, gib: float, count: int = 3, **others: Any) -> list[JobProfile]:
    return [batch(n, limits=GPU, gpu=(load, gib), **others) for n in range(count)]


def test_gpus_that_no_run_used_are_left_out() -> None:
    one = row("limits.nvidia.com/gpu", *gpu_runs(3.0, 1.0))
    assert (one.action, one.is_patched, one.broken_runs) == (Action.REMOVE, True, 0)
    assert one.gpu_hours == pytest.approx(8040 / 3600)
    used = [*gpu_runs(3.0, 1.0), batch(3, limits=GPU, gpu=(80.0, 60.0))]
    kept = row("GPUs", *used)
    assert (kept.action, kept.broken_runs, kept.runs) == (Action.KEEP, 1, 4)


def test_workers_whose_gpus_were_never_used_could_be_fewer() -> None:
    workers = tuple(
        Worker(name=f"w-{rank}", gpu_util_percent=0.0 if rank == 3 else 90.0) for rank in range(4)
    )
    one = row("GPUs", *(pod_job(number, workers=workers) for number in range(3)))
    assert (one.now, one.advised, one.action) == (4.0, 3.0, Action.CONSIDER)
    assert not one.is_patched


def test_a_smaller_gpu_and_a_slice_that_have_room() -> None:
    """12 % of an A100-80: 37 of 312 teraflops and 245 of 2039 GB/s; a T4 has 65 and 320."""
    found = asks(*gpu_runs(12.0, 5.0))
    assert (found["GPU type"], found["MIG slice"]) == ("T4", "1g.10gb")
    # 9 GiB and 15 % are 10.35: more than a slice of 10 GB.
    assert asks(*gpu_runs(12.0, 9.0))["MIG slice"] == "1g.20gb"
    # 30 % are 612 GB/s: of an A30's 933, not of an A10's 600.
    assert asks(*gpu_runs(30.0, 5.0))["GPU type"] == "A30"
    assert "GPU type" not in asks(*gpu_runs(90.0, 60.0))
    two = [replace(one, asked=(TWO,)) for one in gpu_runs(12.0, 5.0)]
    assert "MIG slice" not in asks(*two)
    assert asks(*two)["GPU type"] == "T4"


def test_the_size_of_a_gpu_is_back_tested_too() -> None:
    grown = [*gpu_runs(12.0, 5.0), batch(3, limits=GPU, gpu=(12.0, 15.0))]
    one = row("MIG slice", *grown)
    assert (one.advised_written, one.broken_runs, one.runs) == ("1g.20gb", 1, 4)
    assert not one.is_patched


def test_the_tensor_pipe_tells_what_arithmetic_is_needed() -> None:
    seen = gpus_of(batch(limits=GPU, gpu=(30.0, 5.0)))
    assert seen is not None
    assert not does("A10", seen, 15.0)
    assert does("A30", seen, 15.0)
    usage = Usage(
        gpu_util_percent=Spread(max=60.0, p95=60.0), tensor_percent=Spread(max=9.0, p95=5.0)
    )
    tensor = gpus_of(batch(limits=GPU, gpu=(60.0, 5.0), usage=usage))
    assert tensor is not None
    assert tensor.tensor_percent == 5.0
    assert not does("T4", tensor, 15.0)  # of bandwidth nothing is known: 60 % are 1223 GB/s
    assert does("A100 40GB", tensor, 15.0)


def test_types_and_slices_are_listed_from_the_smallest() -> None:
    assert smaller_types(A100)[:2] == ["T4", "L4"]
    assert A100 not in smaller_types(A100)
    assert smaller_types("odd") == slices_of("odd") == slices_of("Tesla T4") == []
    assert slices_of("NVIDIA A100-SXM4-40GB")[0].endswith("MIG 1g.5gb")
    assert slices_of(A100)[0].endswith("MIG 1g.10gb")


def test_a_gpu_of_several_models_or_a_slice_has_no_smaller_one() -> None:
    sliced = (GpuHeld(node="a", index=0, mig=1, model=A100),)
    assert "GPU type" not in asks(*gpu_runs(12.0, 5.0, gpus=sliced))


def test_a_laptops_runs_say_what_to_ask_a_cluster_for() -> None:
    found = advised(*(process(number) for number in range(4)))
    assert {one.field: one.advised_written for one in found.rows} == {
        "requests.memory": "7Gi",
        "requests.cpu": "6",
        "runtime": "900",
    }


@pytest.mark.parametrize(
    ("profile", "is_asked"),
    [
        (batch(), True),
        (batch(outcome=Outcome.FAILED, reason=Reason.EXIT_CODE), False),
        (batch(outcome=Outcome.ERROR, reason=Reason.DELETED), False),
        (batch(outcome=Outcome.RUNNING), False),
        (batch(outcome=Outcome.RUNNING, kind="Deployment"), True),
        (killed(duration_seconds=3.0), True),
        (stopped(), True),
    ],
)
def test_only_runs_that_show_something_are_asked(profile: JobProfile, is_asked: bool) -> None:
    assert (evidence(profile) is not None) == is_asked


def test_jobs_are_told_apart_and_only_their_latest_runs_count() -> None:
    other = [replace(one, series="other") for one in runs(1.0, 1.0)]
    many = [batch(number) for number in range(50)]
    found = gathered([*other, *many])
    assert [(one.newest.series, one.kept, len(one.seen)) for one in found] == [
        ("other", 2, 2),
        ("etl", 50, 30),
    ]
    assert found[1].newest.job.name == "etl-0"


@pytest.mark.parametrize(
    ("cores", "step", "text"),
    [(3.0, 0.5, "3"), (3.01, 0.5, "3.5"), (0.0, 0.5, "0.5"), (0.11, 0.1, "0.2"), (5.0, 2.0, "6")],
)
def test_cores_are_rounded_up_and_never_to_nothing(cores: float, step: float, text: str) -> None:
    assert cpu_quantity(cores, step) == text


@given(st.floats(0, 1e15), st.floats(0.001, 64))
def test_no_cores_are_lost_by_rounding(cores: float, step: float) -> None:
    written = quantity(cpu_quantity(cores, step))
    assert written is not None
    assert written >= cores * (1 - 1e-6) - 0.001


def test_leave_one_out_by_hand() -> None:
    """Advice is the most of the others: only the highest is above it, and of two of them none."""
    assert broken([1, 5, 3], max, lambda most, one: one <= most) == (1,)
    assert broken([5, 5, 3], max, lambda most, one: one <= most) == ()
    assert broken([5], max, lambda most, one: one <= most) is None
    assert Need(5.0, 6.0).is_met(5.0)
    assert not Need(5.0, 6.0, is_open=True).is_met(5.0)


@given(st.lists(st.floats(0.1, 15.0), min_size=3, max_size=12))
def test_the_advice_of_all_runs_is_enough_for_each_of_them(gib: list[float]) -> None:
    one = row("limits.memory", *runs(*gib))
    assert (quantity(one.advised_written) or 0.0) >= max(gib) * GIB
    assert one.broken_runs <= 1  # only the one run that is above all others can be


@given(
    st.lists(st.floats(0.5, 200.0), min_size=3, max_size=6),
    st.floats(0.05, 30.0),
    st.floats(0.1, 1.0),
    st.floats(0.2, 300.0),
)
def test_who_follows_the_advice_passes_the_check(
    gib: list[float], cores: float, lasts: float, gives: float
) -> None:
    """The same run with what was advised, or kept: neither too much nor too little."""
    given = {"memory": f"{gives:.3f}Gi", "cpu": f"{gives:.3f}"}
    made = [
        batch(n, gib=each, cores=cores, p95=lasts * cores, requests=given, limits=given)
        for n, each in enumerate(gib)
    ]
    found = asks(*made)
    texts = {name: found[f"limits.{name}"] for name in ("memory", "cpu")}
    largest = batch(0, gib=max(gib), cores=cores, p95=lasts * cores, requests=texts, limits=texts)
    verdicts = [str(one.verdict) for one in check(largest) if one.is_violation]
    assert verdicts == []


@given(st.lists(PROFILES, min_size=1, max_size=5))
def test_whatever_stands_in_a_history_figures_stay_plain(profiles: list[JobProfile]) -> None:
    one = profiles[0]
    same = [replace(each, job=one.job, series=one.series) for each in profiles]
    for runs_of in gathered(same):
        found = advise(runs_of, Rules(min_runs=2))
        for each in found.rows:
            figures = (each.now, each.advised, each.frees, each.gpu_hours, each.broken_percent)
            assert all(figure is None or math.isfinite(figure) for figure in figures)
            json.dumps(figures, allow_nan=False)


@pytest.mark.parametrize("amount", [0.0, 5e-324, 1e15, 1e300])
@pytest.mark.parametrize("seconds", [0.0, 8040.0, 1e300])
def test_absurd_figures_make_no_absurd_advice(amount: float, seconds: float) -> None:
    many = replace(batch().asked[0], pods=2**70, limits={**GPU, "memory": "999999999Ei"})
    worker = Worker(
        name="w",
        memory_bytes=amount,
        cpu_cores=amount,
        gpu_util_percent=amount,
        gpu_memory_bytes=amount,
    )
    usage = Usage(
        cpu_cores=Spread(max=amount, p95=1e300),
        gpu_util_percent=Spread(max=amount, p95=0.0),
        gpu_memory_bytes=Spread(max=amount),
    )
    made = [
        batch(n, asked=(many,), workers=(worker,), usage=usage, duration_seconds=seconds)
        for n in range(3)
    ]
    found = advised(*made)
    rows = [*found.rows, *check(made[0])]
    assert "inf" not in str(rows)
    assert "nan" not in str(rows)
    assert all(one.advised is None or one.advised < 1e18 for one in found.rows)
