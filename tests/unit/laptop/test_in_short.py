"""What a terminal is told after a run."""

from datetime import UTC, datetime
from typing import Any

import pytest

from cepheid.jobprofile import (
    CycleSeen,
    GpuHeld,
    JobIdentity,
    JobProfile,
    Outcome,
    ProcessSeen,
    Reason,
    Spread,
    Usage,
)
from cepheid.reports.in_short import amount, duration, in_short

START = datetime(2026, 3, 1, 10, tzinfo=UTC)


def profile(**more: Any) -> JobProfile:
    given: dict[str, Any] = {
        "job": JobIdentity(
            api_version="", kind="Process", namespace="laptop", name="train.py", uid="8f3a" * 8
        ),
        "series": "train.py",
        "created": START,
        "duration_seconds": 723.0,
        "outcome": Outcome.SUCCESS,
        "usage": Usage(cpu_cores=Spread(mean=3.9), gpu_util_percent=Spread(mean=71.2)),
        "gpus": (GpuHeld(node="lap", index=0),),
        "process": ProcessSeen(command="x", cores=8.0, peak_memory_bytes=6.2 * 2**30),
    }
    return JobProfile(**{**given, **more})


def test_a_run_in_three_lines() -> None:
    told = profile(
        cycle=CycleSeen(period_seconds=41.8, strength=0.9, confirmed=True),
        verdict="GPU waits for input 22 % of the time",
        advice=("more loader workers", "and more"),
    )
    assert in_short(told) == [
        (
            "train.py took 12m 3s and used 3.9 of 8 cores, 6.2 GiB at most, GPU 0 at 71 %"
            " (job 8f3a8f3a)"
        ),
        "it repeats every 41.8 s; GPU waits for input 22 % of the time: more loader workers",
        "hint: cepheid job 8f3a8f3a | cepheid plot 8f3a8f3a",
    ]


def test_where_there_is_nothing_to_say_it_is_not_said() -> None:
    assert in_short(profile(usage=None, process=None, gpus=())) == [
        "train.py took 12m 3s (job 8f3a8f3a)",
        "hint: cepheid job 8f3a8f3a | cepheid plot 8f3a8f3a",
    ]


@pytest.mark.parametrize(
    ("ending", "words"),
    [
        ({"outcome": Outcome.FAILED, "exit_code": 3}, "failed with exit code 3 after 12m 3s and"),
        (
            {"outcome": Outcome.TIMEOUT, "reason": Reason.DEADLINE},
            "was stopped by its timeout after 12m 3s and",
        ),
        (
            {"outcome": Outcome.ERROR, "message": "ended by SIGKILL", "exit_code": 137},
            "ended by SIGKILL after 12m 3s and",
        ),
        ({"outcome": Outcome.FAILED, "message": "loss is NaN"}, "failed (loss is NaN) after"),
    ],
)
def test_how_it_ended_comes_first(ending: dict[str, Any], words: str) -> None:
    assert in_short(profile(**ending))[0].startswith(f"train.py {words}")


def test_what_still_runs_and_what_was_not_measured_is_told() -> None:
    process = ProcessSeen(command="x", left_running=2, skipped=("gpu: no driver",))
    told = in_short(profile(process=process))[1]
    assert told == "2 processes of it still run; not measured: gpu: no driver"


def test_several_gpus_are_told_together() -> None:
    gpus = (GpuHeld(node="lap", index=0), GpuHeld(node="lap", index=1))
    assert "2 GPUs at 71 %" in in_short(profile(gpus=gpus))[0]


@pytest.mark.parametrize(
    ("count", "words"),
    [(512.0, "512 B"), (2048.0, "2.0 KiB"), (150 * 2**20, "150 MiB"), (6.2 * 2**30, "6.2 GiB")],
)
def test_amounts_are_for_people(count: float, words: str) -> None:
    assert amount(count) == words


@pytest.mark.parametrize(("seconds", "words"), [(0.04, "0.0s"), (9.4, "9.4s"), (3700.0, "1h 1m")])
def test_durations_too(seconds: float, words: str) -> None:
    assert duration(seconds) == words
