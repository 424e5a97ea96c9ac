"""A run against the earlier ones."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from cepheid.jobprofile import (
    JobIdentity,
    JobProfile,
    Outcome,
    Regressed,
    Spread,
    Usage,
)
from cepheid.jobs.compare import compare

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
GIB = 2.0**30


def run(day: int, *, minutes: float = 60, memory: float = 8.0, **changes: Any) -> JobProfile:
    known: dict[str, Any] = {
        "job": JobIdentity(
            api_version="batch/v1", kind="Job", namespace="n", name=f"j-{day}", uid=f"u-{day}"
        ),
        "series": "nightly",
        "created": NOON + timedelta(days=day),
        "ended": NOON + timedelta(days=day, minutes=minutes),
        "outcome": Outcome.SUCCESS,
        "duration_seconds": 60.0 * minutes,
        "usage": Usage(memory_bytes=Spread(max=memory * GIB)),
        "gpu_count": 2,
    }
    return JobProfile(**{**known, **changes})


EARLIER = [run(day, minutes=60 + day % 3) for day in range(6)]


def test_a_run_like_the_others_is_not_worse() -> None:
    assert compare(run(9, minutes=61), EARLIER) == ()


def test_what_is_clearly_worse_is_told_with_its_figures() -> None:
    found = compare(run(9, minutes=122, memory=12.0), EARLIER)
    assert [one.what for one in found] == ["duration", "memory", "gpuHours"]
    assert found[1] == Regressed(
        what="memory", now=12 * GIB, usual=8 * GIB, change_percent=50.0, runs=6
    )
    assert found[0].change_percent == pytest.approx(100, abs=1)
    assert found[2].now == pytest.approx(2 * 122 / 60, abs=0.001)


def test_less_is_not_worse() -> None:
    assert compare(run(9, minutes=20, memory=1.0), EARLIER) == ()


def test_the_fourth_run_is_the_first_that_can_regress() -> None:
    assert compare(run(9, minutes=122), EARLIER[:3]) != ()
    assert compare(run(9, minutes=122), EARLIER[:2]) == ()


@pytest.mark.parametrize(
    "changes",
    [
        {"outcome": Outcome.FAILED},
        {"outcome": Outcome.RUNNING},
        {"series": "another"},
        {"duration_seconds": None, "usage": None, "gpu_count": 0},
        {"created": NOON + timedelta(days=99)},
    ],
)
def test_runs_that_are_not_comparable_do_not_count(changes: dict[str, Any]) -> None:
    others = [msgspec.structs.replace(one, **changes) for one in EARLIER]
    assert compare(run(9, minutes=122, memory=99), others) == ()


def test_a_run_is_not_compared_with_itself_nor_with_another_namespace() -> None:
    worse = run(9, minutes=122)
    assert compare(worse, [*EARLIER[:2], worse]) == ()
    elsewhere = [
        msgspec.structs.replace(one, job=msgspec.structs.replace(one.job, namespace="m"))
        for one in EARLIER
    ]
    assert compare(worse, elsewhere) == ()


def test_runs_of_other_names_and_the_same_template_are_the_same_job() -> None:
    others = [msgspec.structs.replace(one, series="x", template="t") for one in EARLIER]
    assert compare(run(9, minutes=122, template="t"), others)
    assert not compare(run(9, minutes=122), others)
