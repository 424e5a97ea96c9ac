"""Workloads of known truth: the figures are the kernel's, the verdicts are true, and no honest one
is accused of anything."""

from pathlib import Path

import pytest

from cepheid.jobprofile import Phase
from tests.laptop.stand import Laptop, Truth

MIB = 2**20


def cpu_seconds(truth: Truth) -> float:
    process = truth.profile.process
    assert process is not None
    assert process.cpu_seconds is not None
    return process.cpu_seconds


def peak(truth: Truth) -> float:
    process = truth.profile.process
    assert process is not None
    assert process.peak_memory_bytes is not None
    return process.peak_memory_bytes


def kernels_cpu_seconds(truth: Truth) -> pytest.approx:  # type: ignore[valid-type]
    """Within 1 %; after the program has told us it still has to end, in a few hundredths."""
    return pytest.approx(truth.told["cpu_seconds"], rel=0.01, abs=0.04)


def test_cpu_seconds_are_what_the_kernel_accounted(laptop: Laptop) -> None:
    truth = laptop.workload("cpu", 3)
    assert cpu_seconds(truth) == kernels_cpu_seconds(truth)
    verdict = truth.profile.verdict
    assert verdict is None or verdict.startswith("CPU the limit"), verdict
    assert truth.profile.leak is None
    assert truth.profile.cycle is None


@pytest.mark.parametrize("interval", [0.5, 5.0], ids=["hardly sampled", "not sampled"])
def test_a_peak_between_two_samples_is_not_lost(laptop: Laptop, interval: float) -> None:
    truth = laptop.workload("memory", 150, interval=interval)
    assert peak(truth) == pytest.approx(truth.told["peak_memory_bytes"], rel=0.02)
    assert peak(truth) > 170 * MIB
    usage = truth.profile.usage
    assert usage is not None
    assert usage.memory_bytes is not None
    assert usage.memory_bytes.max == peak(truth)
    assert usage.memory_bytes.mean is not None
    assert usage.memory_bytes.mean < 100 * MIB
    assert truth.profile.verdict is None


def test_children_at_the_same_time_are_added_up(laptop: Laptop) -> None:
    truth = laptop.workload("children", 6, 0.5)
    assert cpu_seconds(truth) == kernels_cpu_seconds(truth)
    process = truth.profile.process
    assert process is not None
    assert process.processes is not None
    assert process.processes.max == 7
    # Six interpreters and their parent, of which one alone takes 8 MiB or more.
    assert peak(truth) > 3 * truth.told["peak_memory_bytes"]
    assert process.left_running == 0


def test_children_that_come_and_go_between_two_samples_are_not_lost(laptop: Laptop) -> None:
    truth = laptop.workload("short_children", 10_000, interval=0.5)
    assert cpu_seconds(truth) == kernels_cpu_seconds(truth)


def test_what_processes_without_a_parent_used_is_not_lost(laptop: Laptop) -> None:
    truth = laptop.workload("orphans", 20, 0.1, interval=0.5)
    # The program itself was told nothing of them: 20 times 0.1 s come on top.
    assert cpu_seconds(truth) == pytest.approx(truth.told["cpu_seconds"] + 2.0, rel=0.03, abs=0.1)


def test_a_leak_is_found_with_its_rate(laptop: Laptop) -> None:
    # Long beside the stalls of a busy machine, after which it catches up at once: that is a jump.
    truth = laptop.workload("leak", 4, 25, interval=0.25)
    leak = truth.profile.leak
    assert leak is not None
    assert leak.bytes_per_second == pytest.approx(4 * MIB, rel=0.1)
    verdict = truth.profile.verdict
    assert verdict is not None
    assert verdict.startswith("memory leak 2")  # 240Mi/m, give or take
    assert verdict.endswith("Mi/m")


@pytest.mark.parametrize("workload", ["plateau", "cache", "idle"])
def test_who_keeps_or_gives_back_memory_does_not_leak(laptop: Laptop, workload: str) -> None:
    truth = laptop.workload(workload)
    assert truth.profile.leak is None
    assert truth.profile.verdict is None
    assert truth.profile.advice == ()


def test_a_cycle_is_found_with_its_period(laptop: Laptop) -> None:
    truth = laptop.workload("cycle", 1, 14)
    cycle = truth.profile.cycle
    assert cycle is not None
    assert cycle.period_seconds == pytest.approx(1.0, rel=0.03)
    assert cycle.confirmed
    assert cycle.metric == "cpu"
    assert "it repeats every 1 s" in truth.talk or "it repeats every 1.0" in truth.talk


def test_bursts_without_a_rhythm_are_no_cycle(laptop: Laptop) -> None:
    truth = laptop.workload("bursts", 12)
    assert truth.profile.cycle is None
    assert truth.profile.leak is None


def test_a_start_up_is_told_from_the_steady_state(laptop: Laptop) -> None:
    truth = laptop.workload("start_up", 3, 7)
    start_up, steady = _phases(truth)[:2]
    assert (start_up.name, steady.name) == ("start-up", "steady")
    assert start_up.seconds == pytest.approx(3, abs=0.5)
    assert steady.seconds == pytest.approx(7, abs=0.8)
    assert start_up.cpu_cores is not None
    assert steady.cpu_cores is not None
    assert steady.cpu_cores > 3 * start_up.cpu_cores


def test_what_is_written_is_counted_and_waiting_for_a_disk_is_told(
    laptop: Laptop, tmp_path: Path
) -> None:
    truth = laptop.workload("disk", tmp_path, 400)
    process = truth.profile.process
    assert process is not None
    assert process.written_bytes is not None
    assert process.written_bytes == pytest.approx(400 * MIB, rel=0.02)
    assert truth.profile.leak is None
    assert truth.profile.verdict is None or "disk" in truth.profile.verdict


def test_time_series_are_kept_where_they_were_asked_for(laptop: Laptop) -> None:
    truth = laptop.workload("cpu", 1)
    with laptop.history() as history:
        series = {one.metric: one for one in history.series(truth.profile.job.uid)}
    assert {"cpu_cores", "memory_working_set_bytes", "threads", "vms_bytes"} <= series.keys()
    cores = series["cpu_cores"]
    used = sum(value for value in cores.values if value is not None) * 0.1
    assert used == pytest.approx(cpu_seconds(truth), rel=0.15)


def _phases(truth: Truth) -> tuple[Phase, ...]:
    process = truth.profile.process
    assert process is not None
    return process.phases
