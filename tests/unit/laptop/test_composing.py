"""What becomes of a recording: figures, verdicts, and none where there is nothing to tell."""

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from cepheid.jobprofile import JobProfile, Outcome, Reason, from_json, to_json
from cepheid.laptop.composing import compose, judged
from cepheid.laptop.recording import Trailer
from cepheid.model import FloatArray
from tests.unit.laptop.recordings import GIB, START, counted, header, recording

MIB = 2.0**20
STEPS = 240


def times(steps: int = STEPS, step: float = 0.5) -> FloatArray:
    return step * np.arange(steps + 1, dtype=np.float64)


def run(folder: Path, rates: FloatArray, **columns: FloatArray) -> JobProfile:
    count = rates.size + 1
    given = {
        "cpu_seconds": counted(rates),
        "rss_bytes": np.full(count, 500 * MIB),
        "processes": np.ones(count),
        **columns,
    }
    return compose(recording(folder, times(rates.size), given)).profile


def noisy(level: float, seed: int = 1, steps: int = STEPS) -> FloatArray:
    return np.maximum(0.0, level + 0.03 * np.random.default_rng(seed).standard_normal(steps))


def test_a_record_is_small_and_can_be_read_again(tmp_path: Path) -> None:
    profile = run(tmp_path, noisy(4.0), threads=np.full(STEPS + 1, 9.0))
    document = to_json(profile)
    assert 500 < len(document) < 5000
    assert from_json(document) == profile
    assert (profile.job.kind, profile.job.namespace) == ("Process", "laptop")
    assert profile.user == "ann"
    assert profile.duration_seconds == 120.0


def test_the_kernels_own_figures_go_before_the_samples(tmp_path: Path) -> None:
    columns = {"cpu_seconds": counted(noisy(1.0)), "rss_bytes": np.full(STEPS + 1, 100 * MIB)}
    trailer = Trailer(
        ended_seconds=START + 120,
        outcome="success",
        cpu_seconds=130.0,
        peak_memory_bytes=400 * MIB,
    )
    profile = compose(recording(tmp_path, times(), columns, trailer)).profile
    assert profile.process is not None
    assert profile.usage is not None
    assert profile.usage.cpu_cores is not None
    assert profile.usage.memory_bytes is not None
    assert profile.process.cpu_seconds == 130.0
    assert profile.usage.cpu_cores.mean == pytest.approx(130 / 120, abs=0.001)
    assert profile.process.peak_memory_bytes == profile.usage.memory_bytes.max == 400 * MIB
    assert profile.usage.memory_bytes.mean == 100 * MIB


def test_samples_that_come_late_or_never_change_no_mean(tmp_path: Path) -> None:
    rates = np.tile([2.0, 2.0, 0.0, 0.0, 0.0, 0.0], 40)
    counter = counted(rates)
    kept = np.ones(counter.size, dtype=bool)
    kept[5::7] = False
    when = times()[kept] + 0.0
    profile = compose(recording(tmp_path, when, {"cpu_seconds": counter[kept]})).profile
    assert profile.usage is not None
    assert profile.usage.cpu_cores is not None
    assert profile.usage.cpu_cores.mean == pytest.approx(2 / 3, abs=0.001)
    assert profile.cycle is not None
    assert profile.cycle.period_seconds == pytest.approx(3.0, rel=0.02)


def test_while_a_run_was_stopped_there_is_a_gap_and_no_rate(tmp_path: Path) -> None:
    when = np.concatenate([times(60), 100 + times(60)])
    counter = np.concatenate([counted(np.ones(60)), 30 + counted(np.ones(60))])
    composed = compose(recording(tmp_path, when, {"cpu_seconds": counter}))
    (cpu,) = (one for one in composed.series if one.metric == "cpu_cores")
    values = np.array(cpu.values, dtype=float)
    assert np.isnan(values[70:190]).all()
    assert np.nanmax(values) == pytest.approx(1.0, abs=0.01)


def test_one_busy_core_of_many_is_told_with_what_to_do(tmp_path: Path) -> None:
    profile = run(tmp_path, noisy(0.98))
    assert profile.held_back_by is not None
    assert profile.held_back_by.kind == "cpu"
    assert profile.verdict == "CPU the limit 100 % of the time"
    assert "one core of 8" in profile.advice[0]


def test_all_cores_busy_is_told(tmp_path: Path) -> None:
    profile = run(tmp_path, noisy(7.9))
    assert profile.verdict is not None
    assert profile.verdict.startswith("CPU the limit")
    assert "more of them" in profile.advice[0]


def test_a_program_that_writes_and_hardly_computes_waits_for_its_disk(tmp_path: Path) -> None:
    profile = run(tmp_path, noisy(0.1), written_bytes=counted(np.full(STEPS, 150e6)))
    assert profile.verdict == "waits for disks 100 % of the time"
    assert profile.process is not None
    assert profile.process.written_bytes == pytest.approx(120 * 150e6)


def test_a_leak_is_told_with_its_rate(tmp_path: Path) -> None:
    rss = 200 * MIB + 1.5 * MIB * times()
    profile = run(tmp_path, noisy(0.3), rss_bytes=rss)
    assert profile.leak is not None
    assert profile.leak.bytes_per_second == pytest.approx(1.5 * MIB, rel=0.01)
    assert profile.verdict == "memory leak 90Mi/m"


@pytest.mark.parametrize(
    "rss",
    [
        np.full(STEPS + 1, 500 * MIB),
        500 * MIB + 10_000.0 * times(),  # grows by 1 MiB in all
        np.minimum(500 * MIB, 50 * MIB + 10 * MIB * times()),
        300 * MIB + 100 * MIB * (times() % 10) / 10,
    ],
    ids=["flat", "hardly", "up to a level", "cache"],
)
@pytest.mark.parametrize("cpu", [0.0, 0.3, 4.0])
def test_honest_runs_are_accused_of_nothing(tmp_path: Path, rss: FloatArray, cpu: float) -> None:
    profile = run(tmp_path, noisy(cpu), rss_bytes=rss)
    assert (profile.verdict, profile.advice) == (None, ())
    assert (profile.leak, profile.cycle) == (None, None)


def gpu_columns(held: FloatArray, util: FloatArray) -> dict[str, FloatArray]:
    count = STEPS + 1
    return {
        "gpu_util_percent.0": util,
        "gpu_memory_used_mib.0": np.full(count, 3000.0),
        "gpu_tree_memory_mib.0": held,
        "gpu_power_watts.0": np.full(count, 60.0),
        "gpu_energy_joules.0": 1e6 + 250.0 * times(),
    }


FACTS = {
    "cores": 8.0,
    "memory_total_bytes": 16 * GIB,
    "gpus": [
        {
            "index": 0,
            "model": "NVIDIA A100",
            "memory_total_mib": 81920.0,
            "power_limit_watts": 400.0,
        }
    ],
}


def test_a_gpu_that_the_run_held_is_part_of_it(tmp_path: Path) -> None:
    columns = {"cpu_seconds": counted(noisy(1.0))}
    columns |= gpu_columns(np.full(STEPS + 1, 2000.0), np.full(STEPS + 1, 90.0))
    composed = compose(recording(tmp_path, times(), columns, facts=FACTS))
    profile = composed.profile
    assert [(gpu.index, gpu.model) for gpu in profile.gpus] == [(0, "NVIDIA A100")]
    assert profile.gpu_count == 1
    assert profile.usage is not None
    assert profile.usage.gpu_util_percent is not None
    assert profile.usage.gpu_util_percent.mean == 90.0
    # By the energy counter, not by what the driver says of its last moments.
    assert profile.usage.power_watts is not None
    assert profile.usage.power_watts.mean == pytest.approx(250.0)
    assert profile.usage.energy_joules == pytest.approx(250 * 120, rel=0.01)
    workers = {(one.metric, one.worker) for one in composed.series}
    assert {("gpu_util_percent", None), ("gpu_util_percent", "gpu-0")} <= workers


def test_a_gpu_that_others_use_is_none_of_it(tmp_path: Path) -> None:
    columns = {"cpu_seconds": counted(noisy(1.0))}
    columns |= gpu_columns(np.zeros(STEPS + 1), np.full(STEPS + 1, 90.0))
    profile = compose(recording(tmp_path, times(), columns, facts=FACTS)).profile
    assert (profile.gpus, profile.gpu_count) == ((), 0)
    assert profile.usage is not None
    assert profile.usage.gpu_util_percent is None


def test_without_a_trailer_the_recorder_was_lost(tmp_path: Path) -> None:
    whole = recording(tmp_path, times(), {"cpu_seconds": counted(noisy(1.0))})
    cut = type(whole)(whole.header, whole.rows, None)
    profile = compose(cut).profile
    assert (profile.outcome, profile.reason) == (Outcome.ERROR, Reason.LOST)
    assert profile.duration_seconds == 120.0


def test_a_recording_without_a_sample_is_a_record_without_figures(tmp_path: Path) -> None:
    empty = recording(tmp_path, times(), {"cpu_seconds": counted(noisy(1.0))})
    profile = compose(type(empty)(empty.header, b"", None)).profile
    assert profile.usage is None
    assert profile.samples is None


def test_hostile_texts_do_not_make_a_record_that_cannot_be_kept(tmp_path: Path) -> None:
    evil = "\x1b[2J" + "x" * 10_000 + "\n\udcff"
    trailer = Trailer(
        ended_seconds=START - 5,
        outcome="failed",
        reason="Unknown",
        message=evil,
        skipped={"gpu": evil},
        threads={evil: 1.0, "": 2.0},
    )
    made = recording(
        tmp_path, times(2), {"cpu_seconds": np.zeros(3)}, trailer,
        name=evil, command=evil, directory=evil, user=evil, host=evil, tags={evil: evil, "": "x"},
    )  # fmt: skip
    profile = compose(made).profile
    assert from_json(to_json(profile)) == profile
    assert "\x1b" not in to_json(profile).decode()
    assert profile.duration_seconds == 0.0


def test_slower_than_usual_is_told_beside_earlier_runs(tmp_path: Path) -> None:
    profile = run(tmp_path, noisy(0.3))
    earlier = [
        msgspec.structs.replace(
            profile,
            job=msgspec.structs.replace(profile.job, uid=f"{n:032x}"),
            duration_seconds=60.0 + n / 10,
        )
        for n in range(5)
    ]
    slower = judged(profile, earlier)
    assert slower.verdict == "slower than usual: 2.0x"
    assert judged(earlier[0], earlier[1:]).verdict is None


def test_runs_of_the_same_command_in_the_same_folder_have_the_same_template(tmp_path: Path) -> None:
    def template(number: int, **more: Any) -> str | None:
        made = recording(tmp_path / str(number), times(2), {"cpu_seconds": np.zeros(3)}, **more)
        return compose(made).profile.template

    assert template(1) == template(2)
    assert template(1) != template(3, command="python train.py --lr 2")
    assert template(1) != template(4, directory="/elsewhere")
    assert header({}).directory == "/home/ann"
