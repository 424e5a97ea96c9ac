"""Profiles as they can be: every field known or not, texts that attack whoever shows them."""

import string
from datetime import UTC, datetime, timedelta, timezone
from uuid import UUID

from hypothesis import strategies as st

from cepheid.jobprofile import (
    Asked,
    CycleSeen,
    GpuHeld,
    HeldBackBy,
    JobIdentity,
    JobProfile,
    MemoryLeak,
    Outcome,
    Reason,
    Regressed,
    Spread,
    Usage,
    Worker,
)

ATTACKS = (
    "'; DROP TABLE cepheid_jobs; --",
    '" OR 1=1 --',
    "=HYPERLINK(\"http://evil\",\"x\")",
    "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "'=1", "'", "＝1",  # noqa: RUF001
    "a,b\r\nc", "\x1b[2J\x1b]0;owned\x07", "\0", "%s %(x)s :x ? {}", "\\N", "\u2028", "💥" * 20,
)  # fmt: skip
TEXT = st.characters(exclude_categories=["Cs"])
NAMES = st.sampled_from(ATTACKS) | st.text(TEXT, min_size=1, max_size=20)
WORDS = st.sampled_from(ATTACKS) | st.text(TEXT, max_size=40)
AMOUNTS = st.floats(min_value=0, allow_nan=False, allow_infinity=False)
PERCENTS = st.floats(0, 100)
RATIOS = st.floats(0, 1)
COUNTS = st.integers(0, 2**70)
UIDS = st.uuids().map(str)
MOMENTS = st.datetimes(
    datetime(1, 1, 2),  # noqa: DTZ001 - the zone is drawn beside it
    datetime(9999, 12, 30),  # noqa: DTZ001
    timezones=st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes))),
)
QUANTITIES = st.dictionaries(
    st.sampled_from(["cpu", "memory", "nvidia.com/gpu"]),
    st.text(string.digits + "mKGi", min_size=1, max_size=8),
)


def maybe(strategy: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.none() | strategy


def few(strategy: st.SearchStrategy[object]) -> st.SearchStrategy[tuple[object, ...]]:
    return st.lists(strategy, max_size=2).map(tuple)


SPREADS = st.builds(
    Spread, mean=maybe(AMOUNTS), p95=maybe(AMOUNTS), max=maybe(AMOUNTS), min=maybe(AMOUNTS)
)
USAGES = st.builds(
    Usage,
    cpu_cores=maybe(SPREADS),
    memory_bytes=maybe(SPREADS),
    gpu_util_percent=maybe(SPREADS),
    power_watts=maybe(SPREADS),
    energy_joules=maybe(AMOUNTS),
    disk_bytes_per_second=maybe(SPREADS),
)
WORKERS = st.builds(
    Worker,
    name=NAMES,
    node=maybe(NAMES),
    cpu_cores=maybe(AMOUNTS),
    gpu_memory_bytes=maybe(AMOUNTS),
    restarts=maybe(COUNTS),
    straggles=maybe(WORDS),
)
IDENTITIES = st.builds(
    JobIdentity, api_version=NAMES, kind=NAMES, namespace=NAMES, name=NAMES, uid=UIDS
)
PROFILES = st.builds(
    JobProfile,
    job=IDENTITIES,
    series=NAMES,
    template=maybe(NAMES),
    user=maybe(NAMES),
    service_account=maybe(NAMES),
    labels=st.dictionaries(NAMES, WORDS, max_size=3),
    created=MOMENTS,
    started=maybe(MOMENTS),
    ended=maybe(MOMENTS),
    waited_seconds=maybe(AMOUNTS),
    duration_seconds=maybe(AMOUNTS),
    outcome=st.sampled_from(Outcome),
    reason=maybe(st.sampled_from(Reason)),
    message=maybe(WORDS),
    exit_code=maybe(st.integers()),
    restarts=COUNTS,
    nodes=few(NAMES),
    gpus=few(st.builds(GpuHeld, node=NAMES, index=COUNTS, model=maybe(NAMES))),
    gpu_count=COUNTS,
    asked=few(st.builds(Asked, container=NAMES, requests=QUANTITIES, limits=QUANTITIES)),
    samples=maybe(COUNTS),
    interval_seconds=maybe(AMOUNTS),
    usage=maybe(USAGES),
    worker_count=COUNTS,
    workers=few(WORKERS),
    job_type=maybe(NAMES),
    cycle=maybe(st.builds(CycleSeen, period_seconds=AMOUNTS, strength=RATIOS)),
    held_back_by=maybe(st.builds(HeldBackBy, kind=NAMES, share_percent=PERCENTS)),
    leak=maybe(st.builds(MemoryLeak, bytes_per_second=AMOUNTS, confidence=RATIOS)),
    forecast_error_percent=maybe(AMOUNTS),
    regression=few(st.builds(Regressed, what=NAMES, now=AMOUNTS, usual=AMOUNTS, runs=COUNTS)),
    advice=few(WORDS),
    verdict=maybe(WORDS),
)
BEGIN = datetime(2026, 3, 1, tzinfo=UTC)


def several(most: int = 8) -> st.SearchStrategy[list[JobProfile]]:
    """Each of a job of its own."""
    return st.lists(PROFILES, max_size=most, unique_by=lambda profile: profile.job.uid)


def profile(
    number: int = 0,
    *,
    after_seconds: float | None = None,
    outcome: Outcome = Outcome.SUCCESS,
    **others: object,
) -> JobProfile:
    """Of job `number`, which ended so long after BEGIN, or was last looked at then."""
    seconds = float(number) if after_seconds is None else after_seconds
    until = BEGIN + timedelta(seconds=seconds)
    identity = {
        "kind": "Job",
        "namespace": "research",
        "name": f"train-{number}",
        **{key: others.pop(key) for key in ("kind", "namespace", "name", "uid") if key in others},
    }
    fields: dict[str, object] = {
        "series": "train",
        "user": "ann",
        "created": BEGIN - timedelta(hours=1),
        "started": until - timedelta(seconds=60),
        "ended": None if outcome is Outcome.RUNNING else until,
        "duration_seconds": 60.0,
        **others,
    }
    uid = str(identity.pop("uid", UUID(int=number)))
    job = JobIdentity(api_version="batch/v1", uid=uid, **identity)  # type: ignore[arg-type]
    return JobProfile(job=job, outcome=outcome, **fields)  # type: ignore[arg-type]
