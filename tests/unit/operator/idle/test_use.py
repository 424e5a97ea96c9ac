"""When a job's GPUs were last in use: nothing is taken for granted."""

from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np
import pytest

from cepheid.jobs.pods import Phase, PodState
from cepheid.sources.catalog import Kind, Source
from cepheid.sources.jobs import PodHistory
from cepheid.sources.reading import GpuReading, Part, Signal
from cepheid_operator.idle.use import MOST_GAP_SECONDS, Use, continued, holders, use_of

NOW = 1_772_000_000.0
EVERY = 15.0
NAN = float("nan")


def pod(
    name: str = "train-0",
    gpus: int = 1,
    started: float | None = NOW - 7200,
    phase: Phase = Phase.RUNNING,
) -> PodState:
    at = datetime.fromtimestamp(NOW - 7300, UTC)
    begun = None if started is None else datetime.fromtimestamp(started, UTC)
    return PodState(f"uid-{name}", name, "team", at, phase, "gpu-a", started=begun, gpu_count=gpus)


def gpu(
    loads: Sequence[float],
    *,
    index: int = 0,
    until: float = NOW,
    signal: str = "gpu_util_percent",
    mig_id: str | None = None,
) -> GpuReading:
    """A sample every 15 s, the last one now."""
    times = until - EVERY * np.arange(len(loads), dtype=np.float64)[::-1]
    part = Part("", Kind.GAUGE, 1.0, times, np.asarray(loads, dtype=np.float64))
    return GpuReading(
        source=Source.DCGM,
        index=index,
        uuid=f"GPU-{index}",
        model=None,
        mig_profile=None,
        mig_id=mig_id,
        holdings=(),
        since_seconds=0.0,
        shared=False,
        signals={signal: Signal((part,))},
        memory_total_mib=None,
        xid=None,
        newest_seconds=until,
    )


def history(*gpus: GpuReading, name: str = "train-0") -> PodHistory:
    return PodHistory(name, {}, gpus)


def used(*histories: PodHistory, pods: Sequence[PodState] = (pod(),)) -> Use | None:
    return use_of({one.name: one for one in pods}, histories, NOW)


def test_one_that_does_nothing_is_idle_for_as_long_as_it_is_seen() -> None:
    assert used(history(gpu([0.0] * 100))) == Use(NOW - 99 * EVERY)


def test_it_is_idle_since_the_last_sample_in_use() -> None:
    found = used(history(gpu([90.0] * 40 + [0.0] * 60)))
    assert found == Use(NOW - 99 * EVERY, NOW - 60 * EVERY)
    assert found.idle_seconds == NOW - 60 * EVERY


@pytest.mark.parametrize(("load", "is_use"), [(5.0, False), (5.1, True), (NAN, False)])
def test_what_is_no_more_than_noise_is_no_use(load: float, is_use: bool) -> None:
    found = used(history(gpu([0.0] * 50 + [load] + [0.0] * 49)))
    assert found is not None
    assert (found.used_seconds is not None) is is_use


def test_of_several_the_last_that_was_in_use_counts() -> None:
    early, late = gpu([90.0] + [0.0] * 99), gpu([0.0] * 79 + [50.0] + [0.0] * 20, index=1)
    one = used(history(early, late), pods=[pod(gpus=2)])
    assert one is not None
    assert one.used_seconds == NOW - 20 * EVERY
    two = used(
        history(early),
        history(late, name="train-1"),
        pods=[pod(), pod("train-1")],
    )
    assert two == one


def test_one_that_is_not_seen_is_not_called_idle() -> None:
    assert used() is None
    assert used(history()) is None
    assert used(history(gpu([0.0] * 9)), pods=[pod(gpus=2)]) is None
    assert used(history(gpu([0.0] * 9)), pods=[pod(), pod("train-1")]) is None
    assert used(history(gpu([NAN] * 9))) is None
    assert used(history(gpu([0.0] * 9, signal="power_watts"))) is None
    assert used(pods=[]) is None


def test_one_whose_samples_have_ended_is_not_called_idle() -> None:
    assert used(history(gpu([0.0] * 99, until=NOW - MOST_GAP_SECONDS))) is not None
    assert used(history(gpu([0.0] * 99, until=NOW - MOST_GAP_SECONDS - 1))) is None


def test_before_a_gap_nobody_knows() -> None:
    before = gpu([0.0] * 50, until=NOW - 50 * EVERY - MOST_GAP_SECONDS)
    found = used(history(before), history(gpu([0.0] * 50)))
    assert found == Use(NOW - 49 * EVERY)
    short = gpu([0.0] * 50, until=NOW - 49 * EVERY - MOST_GAP_SECONDS)
    whole = used(history(short), history(gpu([0.0] * 50)))
    assert whole == Use(NOW - 98 * EVERY - MOST_GAP_SECONDS)


def test_what_the_gpu_did_before_it_had_it_does_not_count() -> None:
    started = NOW - 30 * EVERY
    found = used(history(gpu([90.0] * 50 + [0.0] * 50)), pods=[pod(started=started)])
    assert found == Use(started)


def test_a_slice_is_known_by_its_engine_alone() -> None:
    slices = [
        gpu([0.0] * 20, signal="engine_active_ratio", mig_id="1"),
        gpu([0.0] * 10 + [0.06] + [0.0] * 9, signal="engine_active_ratio", mig_id="2"),
    ]
    found = used(history(*slices), pods=[pod(gpus=2)])
    assert found is not None
    assert found.used_seconds == NOW - 9 * EVERY


def test_pieces_of_one_gpu_are_one_gpu() -> None:
    pieces = [history(gpu([0.0] * 20, until=NOW - 20 * EVERY)), history(gpu([0.0] * 20))]
    assert used(*pieces) == Use(NOW - 39 * EVERY)
    assert used(*pieces, pods=[pod(gpus=2)]) is None


def test_from_look_to_look_it_stays_idle() -> None:
    since, known = NOW - 3600, NOW - 60
    assert continued(Use(NOW - 300), since, known) == Use(since)
    assert continued(Use(NOW - 30), since, known) == Use(NOW - 30)  # not seen in between
    assert continued(Use(NOW - 300, NOW - 20), since, known) == Use(NOW - 300, NOW - 20)
    assert continued(Use(NOW - 300), since, None) == Use(NOW - 300)
    assert continued(None, since, known) is None


def test_while_one_of_its_pods_waits_nobody_is_to_blame() -> None:
    first, launcher = pod(), pod("launcher", gpus=0)
    waiting = pod("train-1", started=None, phase=Phase.PENDING)
    ended = pod("train-2", phase=Phase.FAILED)
    assert holders([first, launcher, ended]) == [first]
    assert holders([first, launcher, waiting]) == []
    assert holders([]) == []
