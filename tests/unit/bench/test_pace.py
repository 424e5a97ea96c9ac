"""The study of how exactly a pace is known, in small."""

import math

from tests.bench.pace import periods, work


def test_a_row_tells_what_was_wrong_and_what_was_claimed() -> None:
    row = periods(scrapes=7.0, cycles=10.0, jitter=0.02, jobs=12)
    assert (row.jobs, row.seen, row.false) == (12, 12, 0)
    assert 0.1 < row.error_percent < 2
    assert 0.1 < row.claimed_percent < 2
    assert row.held >= 0.75


def test_what_is_never_seen_has_no_error() -> None:
    row = periods(scrapes=2.0, cycles=10.0, jitter=0.02, jobs=4)
    assert row.seen == 0
    assert math.isnan(row.error_percent)


def test_work_is_seen_of_every_job() -> None:
    row = work(scrapes=0.1, samples=24, jitter=0.02, jobs=12)
    assert (row.seen, row.false) == (12, 0)
    assert row.error_percent < 2
