"""Max-min fairness, against slower ways to the same."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.reports.contention.overlap import Contention, free, merged, within
from cepheid.reports.contention.shares import BLOCK, Spans, beyond_share, level, most_held

SECOND = 1_000_000
Row = tuple[int, int, int, int]


def poured(demands: list[int], capacity: int) -> list[Fraction]:
    """Out evenly, again and again, over those who want more."""
    shares = [Fraction(0)] * len(demands)
    left = Fraction(capacity)
    while left > 0:
        thirsty = [at for at, share in enumerate(shares) if share < demands[at]]
        if not thirsty:
            break
        even = left / len(thirsty)
        for at in thirsty:
            given_now = min(even, demands[at] - shares[at])
            shares[at] += given_now
            left -= given_now
    return shares


@pytest.mark.parametrize(
    ("demands", "capacity", "shares"),
    [
        ([6, 2, 4], 8, [3, 2, 3]),
        ([6, 2, 4, 1], 8, [2.5, 2, 2.5, 1]),
        ([8, 1], 8, [7, 1]),
        ([8, 8], 8, [4, 4]),
        ([3, 3], 8, [3, 3]),
        ([0, 9], 8, [0, 8]),
        ([5], 4, [4]),
    ],
)
def test_shares_are_those_calculated_by_hand(
    demands: list[int], capacity: int, shares: list[float]
) -> None:
    up_to = level(np.array([demands]), np.array([capacity]))
    assert np.minimum(demands, up_to[0]).tolist() == pytest.approx(shares)


@given(st.lists(st.integers(0, 50), min_size=1, max_size=8), st.integers(1, 60))
def test_the_level_is_that_of_pouring(demands: list[int], capacity: int) -> None:
    up_to = level(np.array([demands]), np.array([capacity]))[0]
    shares = np.minimum(demands, up_to)
    assert shares.tolist() == pytest.approx([float(one) for one in poured(demands, capacity)])
    assert shares.sum() == pytest.approx(min(capacity, sum(demands)))


SPANS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 20), st.integers(1, 20), st.integers(1, 6)).map(
        lambda row: (row[0], row[1] * SECOND, (row[1] + row[2]) * SECOND, row[3])
    ),
    max_size=8,
)


def by_the_second(
    held: list[Row], wanted: list[Row], capacity: int | None, *, is_whole: bool
) -> dict[int, tuple[float, float]]:
    """Seconds and excess of each, every second on its own."""
    found: dict[int, tuple[float, float]] = {}
    for second in range(41):
        has = _each(held, second)
        wants = _each(wanted, second)
        if not any(wants):
            continue
        there = max(capacity or 0, sum(has))
        demands = [min(one + more, there) for one, more in zip(has, wants, strict=True)]
        for owner, share in enumerate(poured(demands, there)):
            fair = -(-share // 1) if is_whole else share
            limit = fair if is_whole else share * Fraction(11, 10)
            if has[owner] > limit:
                seconds, excess = found.get(owner, (0.0, 0.0))
                found[owner] = (seconds + 1, excess + float(has[owner] - fair))
    return found


def _each(rows: list[Row], second: int) -> list[int]:
    totals = [0] * 4
    for owner, begin, end, amount in rows:
        if begin <= second * SECOND < end:
            totals[owner] += amount
    return totals


@given(SPANS, SPANS, st.none() | st.integers(0, 20), st.booleans())
def test_the_sweep_counts_what_every_second_alone_does(
    held: list[Row], wanted: list[Row], capacity: int | None, is_whole: bool
) -> None:
    found = beyond_share(Spans.of(held), Spans.of(wanted), capacity, is_whole=is_whole)
    truth = by_the_second(held, wanted, capacity, is_whole=is_whole) if held else {}
    assert {one.owner: one.seconds for one in found} == {
        owner: seconds for owner, (seconds, _) in truth.items()
    }
    assert all(one.excess == pytest.approx(truth[one.owner][1]) for one in found)


@given(SPANS, SPANS, st.none() | st.integers(0, 20))
def test_whoever_is_beyond_keeps_another_from_a_fair_share(
    held: list[Row], wanted: list[Row], capacity: int | None
) -> None:
    for one in beyond_share(Spans.of(held), Spans.of(wanted), capacity, is_whole=True):
        for begin, end in one.times_us.tolist():
            assert any(row[0] != one.owner and row[1] < end and row[2] > begin for row in wanted)


def test_time_beyond_one_block_is_counted_once() -> None:
    held = [(0, 0, 3 * BLOCK * SECOND, 8)]
    wanted = [(1, at * SECOND, (at + 1) * SECOND, 2) for at in range(3 * BLOCK)]
    (found,) = beyond_share(Spans.of(held), Spans.of(wanted), 8, is_whole=True)
    assert (found.owner, found.seconds, found.excess) == (0, 3 * BLOCK, 2.0 * 3 * BLOCK)
    assert (found.held, found.share) == (8.0, 6.0)
    assert found.times_us.tolist() == [[0, 3 * BLOCK * SECOND]]


def test_absurd_amounts_do_not_overflow() -> None:
    held = [(owner, 0, SECOND, 2**36) for owner in range(2000)]
    wanted = [(owner, 0, SECOND, 2**36) for owner in range(2000, 4000)]
    found = beyond_share(Spans.of(held), Spans.of(wanted), None, is_whole=False)
    assert len(found) == 2000
    assert found[0].share == pytest.approx(2**35)


def test_while_others_waited_is_not_while_one_waits_oneself() -> None:
    rows = [(0, 0, 10 * SECOND, 1), (1, 5 * SECOND, 8 * SECOND, 1), (2, 7 * SECOND, 9 * SECOND, 1)]
    contention = Contention(Spans.of(rows), np.array([10, 11, 12]))
    whole = [(0, 20 * SECOND)]
    assert contention.seconds(0, whole).tolist() == [4.0]
    assert contention.seconds(1, whole).tolist() == [10.0]
    assert contention.seconds(
        9, [(6 * SECOND, 7 * SECOND), (9 * SECOND, 30 * SECOND)]
    ).tolist() == [
        1.0,
        1.0,
    ]
    users = {10: "a", 11: "b", 12: "b"}
    named = [users.get(run, "") for run in range(13)]
    assert contention.waiters(9, [(6 * SECOND, 7 * SECOND)], named) == (2, 2)
    assert contention.waiters(0, whole, named) == (2, 1)
    assert contention.waiters(9, [(9 * SECOND, 10 * SECOND)], named) == (1, 1)
    nobody = Contention(Spans.of([]), np.array([]))
    assert nobody.seconds(0, [(0, SECOND)]).tolist() == [0.0]


def test_what_is_free_is_what_nobody_holds() -> None:
    held = Spans.of([(0, 2, 5, 4), (1, 4, 9, 4)])
    assert free(held, 8, 1, (0, 10)) == [(0, 4), (5, 10)]
    assert free(held, 8, 4, (0, 10)) == [(0, 4), (5, 10)]
    assert free(held, 8, 5, (0, 10)) == [(0, 2), (9, 10)]
    assert free(held, 8, 9, (0, 10)) == []
    assert free(Spans.of([]), 3, 3, (0, 10)) == [(0, 10)]


def test_what_of_a_span_lies_in_stretches() -> None:
    stretches = [(0, 4), (5, 10), (20, 30)]
    assert [*within((2, 25), stretches)] == [(2, 4), (5, 10), (20, 25)]
    assert [*within((4, 5), stretches)] == []
    assert [*within((10, 20), stretches)] == []


@pytest.mark.parametrize(("overlap", "most"), [(1, 8), (59, 8), (61, 16)])
def test_jobs_that_overlap_for_a_moment_do_not_make_a_pool_larger(overlap: int, most: int) -> None:
    rows = [(0, 0, (1000 + overlap) * SECOND, 8), (1, 1000 * SECOND, 2000 * SECOND, 8)]
    assert most_held(Spans.of(rows)) == most
    assert most_held(Spans.of([(0, 0, SECOND, 3)])) == 3
    assert most_held(Spans.of([])) == 0


def test_stretches_that_touch_are_one() -> None:
    assert merged([(5, 9), (0, 3), (3, 4), (6, 7)]) == [(0, 4), (5, 9)]
