"""A schedule that does not drift, whatever a sample takes."""

import threading

import pytest

from cepheid.laptop.sampling import Sampling, after, interval_after


@pytest.mark.parametrize(
    ("due", "now", "following"),
    [(10.0, 10.0, 10.5), (10.0, 10.49, 10.5), (10.0, 10.6, 11.0), (10.0, 13.2, 13.5)],
)
def test_the_next_sample_is_the_next_moment_of_the_schedule(
    due: float, now: float, following: float
) -> None:
    assert after(due, 0.5, now) == following


def test_samples_are_taken_until_it_is_stopped() -> None:
    taken = threading.Semaphore(0)
    sampling = Sampling(taken.release, 0.01)
    sampling.start()
    for _ in range(20):
        assert taken.acquire(timeout=60)
    assert sampling.stop()
    while taken.acquire(blocking=False):
        pass
    assert not taken.acquire(timeout=0.1)


@pytest.mark.parametrize(("hours", "most"), [(1, 0.04), (24, 0.4), (24 * 30, 1.0)])
def test_a_long_run_is_sampled_ever_less_often(hours: int, most: float) -> None:
    """So that its recording stays small: in millions of samples."""
    samples, past = 0, 0.0
    while past < hours * 3600:
        past += interval_after(samples, 0.5)
        samples += 1
    assert samples <= most * 1e6
    assert samples >= 7200  # an hour's


def test_a_sample_that_hangs_holds_nobody_up() -> None:
    hangs = threading.Event()
    inside = threading.Event()

    def take() -> None:
        inside.set()
        hangs.wait(60)

    sampling = Sampling(take, 0.01)
    sampling.start()
    assert inside.wait(60)
    assert not sampling.stop()
    hangs.set()
