"""Which difference is worth a write, and how many writes hours of load come to."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.analysis.jobrules import JobKind
from cepheid.annotations.change import NODE, POD, Budget, Cause, Policy, changes, decide
from cepheid.annotations.codec import PREFIX, encode_node, encode_pod
from cepheid.annotations.facts import (
    CycleFacts,
    ForecastFacts,
    GpuFacts,
    HealthFacts,
    NodeFacts,
    PodFacts,
    PodGpuFacts,
)

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
VALID = timedelta(seconds=NODE.valid_seconds)
PASS_SECONDS = 30.0
HOUR = 3600.0

GPU = GpuFacts(
    0,
    mem_used_gb=60.0,
    mem_free_gb=20.0,
    pods=1,
    cyclic_pattern=True,
    max_mem_util_percent=60,
    max_gpu_util_percent=90,
    job_type=JobKind.TRAINING,
    cycle=CycleFacts(40.0, 0.8, "power", confirmed=True),
    forecast=ForecastFacts(600, 80, 95, 61.0, 6.0),
)
POD_FACTS = PodFacts(
    node="gpu-a",
    cpu_util_percent=50,
    cpu_mem_mb=4000,
    network_mbps=100.0,
    gpus=(PodGpuFacts(0, util_percent=90, mem_mb=60_000),),
    job_type=JobKind.TRAINING,
)


def node(gpu: GpuFacts | None, until: datetime = NOON) -> dict[str, str]:
    gpus = () if gpu is None else (gpu,)
    return encode_node(NodeFacts(gpus=gpus, free_gpu_score=50, valid_until=until))


STANDING = node(GPU)


@pytest.mark.parametrize(
    "gpu",
    [
        GPU,
        replace(GPU, max_gpu_util_percent=95, max_mem_util_percent=55),
        replace(GPU, mem_used_gb=61.5, mem_free_gb=18.5),  # of 80
        replace(GPU, cycle=CycleFacts(41.0, 0.72, "power", confirmed=True)),
        replace(GPU, forecast=ForecastFacts(600, 84, 91, 62.0, 14.0)),
    ],
)
def test_what_a_reader_would_not_act_on_is_no_change(gpu: GpuFacts) -> None:
    assert changes(STANDING, node(gpu), NODE) == []
    assert changes(STANDING, node(gpu, NOON + timedelta(hours=1)), NODE) == []


def test_a_pod_is_told_of_its_gpu_at_once() -> None:
    before = encode_pod(replace(POD_FACTS, gpus=(), job_type=None))
    soon = Budget.full(POD, 0.0).written(0.0, POD)
    decision = decide(before, encode_pod(POD_FACTS), soon, 5.0, POD)
    assert (decision.write, decision.cause) == (True, Cause.TURN)


def test_what_waits_says_how_long() -> None:
    moved = encode_pod(replace(POD_FACTS, cpu_util_percent=80))
    standing = encode_pod(POD_FACTS)
    once = Budget.full(POD, 0.0).written(0.0, POD)
    assert decide(standing, moved, once, 20.0, POD).wait_seconds == 40
    now, spent = 60.0, once
    while (decision := decide(standing, moved, spent, now, POD)).write:
        spent = spent.written(now, POD)
        now += POD.interval_seconds
    assert decision.cause is Cause.WAITING
    assert decision.wait_seconds > POD.interval_seconds
    assert decide(standing, moved, spent, now + decision.wait_seconds, POD).write


@pytest.mark.parametrize(
    ("gpu", "cause", "why"),
    [
        (replace(GPU, max_gpu_util_percent=96), Cause.MOVE, "max_gpu_util_percent: 90 -> 96"),
        (replace(GPU, mem_free_gb=18.0), Cause.MOVE, "gpu-0.mem_free_gb: 20 -> 18"),
        (replace(GPU, pods=2), Cause.MOVE, "gpu-0.pods: 1 -> 2"),
        (
            replace(GPU, cycle=CycleFacts(42.0, 0.8, "power", confirmed=True)),
            Cause.MOVE,
            "gpu-0.cycle.period_seconds: 40 -> 42",
        ),
        (
            replace(GPU, cycle=CycleFacts(40.0, 0.8, "power", confirmed=False)),
            Cause.MOVE,
            "gpu-0.cycle.confirmed: True -> False",
        ),
        (replace(GPU, cycle=None), Cause.NEWS, "gpu-0.cycle.period_seconds: 40 -> nothing"),
        (replace(GPU, forecast=None), Cause.NEWS, "forecast.horizon_seconds: 600 -> nothing"),
        (replace(GPU, pods=0), Cause.TURN, "gpu-0.taken: True -> False"),
        (replace(GPU, job_type=JobKind.IDLE), Cause.TURN, "gpu-0.job_type: training -> idle"),
        (
            replace(GPU, health=HealthFacts(lost=True)),
            Cause.HEALTH,
            "gpu-0.health.lost: nothing -> True",
        ),
        (None, Cause.HEALTH, "gpu-0: there -> nothing"),
        (replace(GPU, index=1), Cause.HEALTH, "gpu-0: there -> nothing"),
    ],
)
def test_what_a_reader_would_act_on_is_written_and_says_why(
    gpu: GpuFacts | None, cause: Cause, why: str
) -> None:
    decision = decide(STANDING, node(gpu), Budget.full(NODE, 0.0), 0.0, NODE)
    assert decision.write
    assert decision.cause is cause
    assert why in decision.why


@pytest.mark.parametrize(
    ("gpu", "waits"),
    [
        (replace(GPU, max_gpu_util_percent=10), True),
        (replace(GPU, cycle=None), True),
        (replace(GPU, pods=0), False),
        (replace(GPU, job_type=JobKind.IDLE), False),
        (replace(GPU, health=HealthFacts(xid=79)), False),
        (None, False),
    ],
)
def test_only_what_must_be_known_at_once_does_not_wait_for_the_interval(
    gpu: GpuFacts | None, waits: bool
) -> None:
    budget = Budget.full(NODE, 0.0).written(1000.0, NODE)
    assert decide(STANDING, node(gpu), budget, 1059.0, NODE).write is not waits
    assert decide(STANDING, node(gpu), budget, 1060.0, NODE).write


def test_that_there_is_no_cycle_is_no_news_and_that_there_is_one_is() -> None:
    young = node(replace(GPU, cyclic_pattern=None))
    for found, cause in ((False, Cause.MOVE), (True, Cause.NEWS)):
        later = node(replace(GPU, cyclic_pattern=found))
        decision = decide(young, later, Budget.full(NODE, 0.0), 0.0, NODE)
        assert decision.cause is cause


def test_a_drift_in_small_steps_is_seen_in_the_end() -> None:
    drifting = (replace(GPU, max_gpu_util_percent=90 - step) for step in range(10))
    seen = [bool(changes(STANDING, node(gpu), NODE)) for gpu in drifting]
    assert seen == [False] * 6 + [True] * 4


def test_an_object_without_our_keys_gets_them_at_once() -> None:
    budget = Budget.full(POD, 0.0).written(0.0, POD)
    decision = decide({}, encode_pod(POD_FACTS), budget, 1.0, POD)
    assert (decision.write, decision.cause) == (True, Cause.FIRST)
    assert not decide({}, {}, budget, 1.0, POD).write


@pytest.mark.parametrize(
    ("pod", "changed"),
    [
        (POD_FACTS, False),
        (replace(POD_FACTS, cpu_mem_mb=4070, network_mbps=120.0), False),
        (replace(POD_FACTS, cpu_mem_mb=4100), True),
        (replace(POD_FACTS, network_mbps=130.0), True),
        (replace(POD_FACTS, gpus=(PodGpuFacts(0, None, 90, 60_000, shared=True),)), True),
        (replace(POD_FACTS, gpus=()), True),
        (PodFacts(), True),
    ],
)
def test_changes_of_a_pod(pod: PodFacts, changed: bool) -> None:
    assert bool(changes(encode_pod(POD_FACTS), encode_pod(pod), POD)) is changed


def test_keys_that_cannot_be_read_are_taken_away() -> None:
    broken = {**STANDING, f"{PREFIX}of-an-earlier-version": "1"}
    assert decide(broken, STANDING, Budget.full(NODE, 0.0), 0.0, NODE).write


@pytest.mark.parametrize(
    ("later", "due"),
    [
        (timedelta(), False),
        (timedelta(seconds=600), False),
        (timedelta(seconds=601), True),
        (timedelta(days=400), True),
        (timedelta(seconds=-59), False),  # the clock was set back a little
        (timedelta(hours=-1), True),
    ],
)
def test_the_heartbeat_is_renewed_when_half_of_it_has_passed(later: timedelta, due: bool) -> None:
    empty = Budget(0.0, 0.0, 0.0)
    decision = decide(STANDING, node(GPU, NOON + later), empty, 0.0, NODE)
    assert decision.write is due
    assert decision.cause is (Cause.HEARTBEAT if due else Cause.UNCHANGED)
    moved = replace(GPU, max_gpu_util_percent=10)
    assert decide(STANDING, node(moved, NOON + later), empty, 0.0, NODE).write is due


def simulate(
    policy: Policy, wanted: Callable[[float], dict[str, str]], hours: int, seed: int = 1
) -> Iterator[tuple[float, Cause]]:
    """An agent that passes every 30 s, give or take a tenth, and what it writes."""
    random = np.random.default_rng(seed)
    standing: dict[str, str] = {}
    now = 0.0
    budget = Budget.full(policy, now)
    while now < hours * HOUR:
        now += PASS_SECONDS * random.uniform(0.9, 1.1)
        text = wanted(now)
        decision = decide(standing, text, budget, now, policy)
        if decision.write:
            yield now, decision.cause
            standing, budget = text, budget.written(now, policy)


def most_in_any_hour(times: list[float]) -> int:
    return max(sum(start <= time < start + HOUR for time in times) for start in times)


def eight_gpus(load: Callable[[int, float], GpuFacts]) -> Callable[[float], dict[str, str]]:
    def wanted(now: float) -> dict[str, str]:
        gpus = tuple(load(index, now) for index in range(8))
        until = NOON + timedelta(seconds=now) + VALID
        return encode_node(NodeFacts(gpus=gpus, free_gpu_score=30, valid_until=until))

    return wanted


def test_a_node_whose_loads_only_flicker_costs_its_heartbeat() -> None:
    random = np.random.default_rng(2)

    def flicker(index: int, _: float) -> GpuFacts:
        return replace(
            GPU,
            index=index,
            max_gpu_util_percent=90 + random.uniform(-2, 2),
            mem_used_gb=60.0 + random.normal(0, 0.2),
            cycle=CycleFacts(40 * random.uniform(0.99, 1.01), random.uniform(0.8, 0.85), "power"),
            forecast=ForecastFacts(600, 80 + random.uniform(-2, 2), 95, 61.0, 6.0),
        )

    writes = list(simulate(NODE, eight_gpus(flicker), hours=6))
    assert most_in_any_hour([time for time, _ in writes]) <= 6
    assert Counter(cause for _, cause in writes[1:]) == {Cause.HEARTBEAT: len(writes) - 1}
    assert 30 <= len(writes) <= 36


def test_a_pod_whose_load_only_flickers_costs_nothing() -> None:
    random = np.random.default_rng(3)

    def flicker(_: float) -> dict[str, str]:
        return encode_pod(
            replace(
                POD_FACTS,
                cpu_util_percent=50 + random.uniform(-2, 2),
                cpu_mem_mb=4000 + random.uniform(-30, 30),
                network_mbps=100 + random.uniform(-10, 10),
            )
        )

    assert [cause for _, cause in simulate(POD, flicker, hours=6)] == [Cause.FIRST]


def restless(random: np.random.Generator) -> Callable[[int, float], GpuFacts]:
    """Loads that never rest: every figure of every GPU is another one at every pass."""

    def load(index: int, _: float) -> GpuFacts:
        return replace(
            GPU,
            index=index,
            max_gpu_util_percent=random.uniform(0, 100),
            mem_used_gb=random.uniform(0, 80),
            cycle=None if random.random() < 0.5 else CycleFacts(random.uniform(10, 60), 0.5),
        )

    return load


def test_a_node_whose_loads_never_rest_is_written_twenty_times_an_hour_at_most() -> None:
    load = restless(np.random.default_rng(4))
    writes = list(simulate(NODE, eight_gpus(load), hours=6))
    times = [time for time, _ in writes]
    assert 12 <= most_in_any_hour(times) <= 20
    assert min(np.diff(times)) >= 60
    assert max(np.diff(times)) <= 330  # never silent for long


def test_a_node_on_which_everything_flaps_is_written_twenty_times_an_hour_at_most() -> None:
    random = np.random.default_rng(5)
    load = restless(random)

    def flapping(index: int, now: float) -> GpuFacts:
        return replace(
            load(index, now),
            pods=int(random.integers(0, 2)),
            job_type=list(JobKind)[random.integers(0, 6)],
            health=HealthFacts(xid=int(random.integers(1, 90))) if random.random() < 0.5 else None,
        )

    times = [time for time, _ in simulate(NODE, eight_gpus(flapping), hours=6)]
    assert most_in_any_hour(times) <= 20
    assert max(np.diff(times)) <= 330


def test_a_long_rest_saves_up_no_more_than_the_burst() -> None:
    random = np.random.default_rng(7)
    load = restless(random)

    def waking(index: int, now: float) -> GpuFacts:
        return load(index, now) if now > 5 * HOUR else replace(GPU, index=index)

    times = [time for time, _ in simulate(NODE, eight_gpus(waking), hours=6)]
    assert sum(time > 5 * HOUR for time in times) <= 19  # 1 of 6 is kept for a lost GPU


def test_a_lost_gpu_is_known_at_once_on_a_node_whose_loads_never_rest() -> None:
    load = restless(np.random.default_rng(6))

    def losing(index: int, now: float) -> GpuFacts:
        lost = index == 3 and now > 2 * HOUR
        return replace(load(index, now), health=HealthFacts(lost=True) if lost else None)

    times = [t for t, cause in simulate(NODE, eight_gpus(losing), hours=3) if cause is Cause.HEALTH]
    assert len(times) == 1
    assert 0 < times[0] - 2 * HOUR <= PASS_SECONDS * 1.1


@given(
    st.lists(st.tuples(st.floats(0, 900), st.sampled_from(range(5))), max_size=150),
    st.sampled_from([NODE, POD]),
)
def test_no_sequence_of_changes_is_written_more_often_than_the_policy_allows(
    steps: list[tuple[float, int]], policy: Policy
) -> None:
    """A node's heartbeat included; each step is a pause and what then is wanted."""
    variants = (
        GPU,
        replace(GPU, max_gpu_util_percent=0),
        replace(GPU, pods=0),
        replace(GPU, health=HealthFacts(lost=True)),
        None,
    )
    beats = policy is NODE
    policy = replace(NODE, burst=policy.burst, refill_seconds=policy.refill_seconds)
    now, times = 0.0, list[float]()
    standing: dict[str, str] = {}
    budget = Budget.full(policy, now)
    for pause, variant in steps:
        now += pause
        wanted = node(variants[variant], NOON + beats * timedelta(seconds=now) + VALID)
        if decide(standing, wanted, budget, now, policy).write:
            standing, budget = wanted, budget.written(now, policy)
            times.append(now)
    if times:
        assert most_in_any_hour(times) <= policy.burst + HOUR / policy.refill_seconds
