"""What is most worth knowing of a job, in words."""

from datetime import UTC, datetime
from typing import Any

import pytest

from cepheid.jobprofile import (
    Asked,
    HeldBackBy,
    JobIdentity,
    JobProfile,
    MemoryLeak,
    Outcome,
    Reason,
    Spread,
    Usage,
    Worker,
)
from cepheid.jobs.advice import judge

GIB = 2.0**30
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def profile(**changes: Any) -> JobProfile:
    known: dict[str, Any] = {
        "job": JobIdentity(api_version="batch/v1", kind="Job", namespace="n", name="j", uid="u"),
        "series": "j",
        "created": NOON,
        "outcome": Outcome.SUCCESS,
        "duration_seconds": 3600.0,
    }
    return JobProfile(**{**known, **changes})


ASKED = (
    Asked(container="main", requests={"memory": "10Gi"}, limits={"memory": "12Gi", "cpu": "8"}),
    Asked(container="side", requests={"memory": "2Gi"}, limits={"memory": "2Gi", "cpu": "1"}),
)
IDLE = Usage(gpu_util_percent=Spread(max=3.0))


@pytest.mark.parametrize(
    ("known", "verdict", "advice"),
    [
        ({}, None, ()),
        (
            {"outcome": Outcome.FAILED, "reason": Reason.OOM_KILLED, "asked": ASKED[:1]},
            "killed at its memory limit of 12Gi",
            ("raise resources.limits.memory: it was killed at its limit of 12Gi; try 18Gi",),
        ),
        (
            {"outcome": Outcome.TIMEOUT, "reason": Reason.DEADLINE},
            "stopped by its deadline after 1h",
            ("raise activeDeadlineSeconds, or save checkpoints so that the next run goes on",),
        ),
        (
            {"outcome": Outcome.FAILED, "reason": Reason.EXIT_CODE, "exit_code": 3},
            "failed with exit code 3",
            (),
        ),
        (
            {"outcome": Outcome.ERROR, "reason": Reason.PREEMPTED},
            "made way for a job of higher priority",
            ("give it a higher priorityClassName, or save checkpoints",),
        ),
        (
            {"leak": MemoryLeak(bytes_per_second=90 * 2**20 / 60, confidence=0.99)},
            "memory leak 90Mi/m",
            ("its memory grows by 90Mi/m and is never given back: find what it keeps",),
        ),
        (
            {
                "asked": ASKED,
                "workers": (
                    Worker(name="a", memory_bytes=7 * GIB),
                    Worker(name="b", memory_bytes=3 * GIB),
                ),
            },
            "memory asked 1.7x",
            ("ask for 8.0Gi of memory instead of 12Gi: a pod of it used 7.0Gi at most",),
        ),
        ({"asked": ASKED, "workers": (Worker(name="a", memory_bytes=9 * GIB),)}, None, ()),
        (
            {"usage": IDLE, "gpu_count": 2},
            "GPU idle",
            ("its 2 GPUs were never used: do without, or find why",),
        ),
        ({"usage": IDLE}, None, ()),
        ({"usage": IDLE, "gpu_count": 2, "duration_seconds": 20.0}, None, ()),
        (
            {"usage": Usage(gpu_util_percent=Spread(max=20.0)), "gpu_count": 1},
            "GPU used 20 % at most",
            ("its GPU reached 20 % at most: a smaller or shared one will do",),
        ),
        (
            {"asked": ASKED, "workers": (Worker(name="a", cpu_cores=2.0),)},
            "CPU asked 4.5x",
            ("ask for 2.3 cores instead of 9: a pod of it used 2.0 at most",),
        ),
        (
            {"workers": (Worker(name="w-3", straggles="GPU 20% busy, the others' 90%"),)},
            "w-3 lags",
            ("w-3: GPU 20% busy, the others' 90%",),
        ),
        (
            {"held_back_by": HeldBackBy(kind="input", share_percent=41.2, advice="more loaders")},
            "input costs 41 %",
            ("more loaders",),
        ),
        ({"held_back_by": HeldBackBy(kind="input", share_percent=4, advice="none")}, None, ()),
    ],
)
def test_the_foremost_is_the_verdict(
    known: dict[str, Any], verdict: str | None, advice: tuple[str, ...]
) -> None:
    assert judge(profile(**known)) == (verdict, advice)


@pytest.mark.parametrize("reason", list(Reason))
def test_every_reason_has_its_words(reason: Reason) -> None:
    verdict, _ = judge(profile(outcome=Outcome.ERROR, reason=reason))
    assert verdict
    assert verdict == verdict.lower() or reason is Reason.UNKNOWN
    assert len(verdict) <= 60


def test_a_verdict_fits_whatever_a_worker_is_called() -> None:
    verdict, advice = judge(profile(workers=(Worker(name="x" * 250 + "-7", straggles="y" * 300),)))
    assert verdict is not None
    assert verdict.endswith("-7 lags")
    assert len(verdict) <= 60
    assert all(len(words) <= 300 for words in advice)


@pytest.mark.parametrize("outcome", [Outcome.RUNNING, Outcome.FAILED])
def test_who_has_not_gone_through_all_is_not_told_to_ask_for_less(outcome: Outcome) -> None:
    used = (Worker(name="a", memory_bytes=GIB, cpu_cores=0.5),)
    known = {"asked": ASKED, "workers": used, "usage": IDLE, "gpu_count": 1}
    verdict, advice = judge(profile(outcome=outcome, **known))
    # A GPU that is not used for so long is not needed now, whatever comes.
    assert (verdict, len(advice)) == ("GPU idle", 1)


def test_who_leaks_is_not_told_to_ask_for_less() -> None:
    leak = MemoryLeak(bytes_per_second=1e6, confidence=0.99)
    known = {"asked": ASKED, "workers": (Worker(name="a", memory_bytes=GIB),), "leak": leak}
    _, advice = judge(profile(**known))
    assert [words.split()[:3] for words in advice] == [["its", "memory", "grows"]]


def test_a_leak_comes_before_waste_and_after_the_end() -> None:
    known = profile(
        outcome=Outcome.FAILED,
        reason=Reason.OOM_KILLED,
        leak=MemoryLeak(bytes_per_second=1e6, confidence=0.99),
        usage=IDLE,
        gpu_count=1,
    )
    verdict, advice = judge(known)
    assert verdict == "killed at its memory limit"
    assert [words.split()[0] for words in advice] == ["raise", "its", "its"]
