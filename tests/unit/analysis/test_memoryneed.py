"""A placement that cannot hold the job is not tried, and one that perhaps can is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.analysis.memoryneed import MemoryNeed

GIB = 1024.0
T4, A10, A100 = 15 * GIB, 22 * GIB, 80 * GIB


def can(need: MemoryNeed, gpus: int, mib: float | None) -> bool:
    return bool(need.can_hold([gpus], [mib])[0])


@pytest.mark.parametrize(
    ("need", "gpus", "mib", "answer"),
    [
        (MemoryNeed(), 1, T4, True),
        (MemoryNeed(held=((1, 40 * GIB),)), 1, T4, False),
        (MemoryNeed(held=((1, 40 * GIB),)), 1, A100, True),
        (MemoryNeed(held=((1, 40 * GIB),)), 8, T4, True),
        (MemoryNeed(held=((4, 40 * GIB),)), 2, A10, False),
        (MemoryNeed(held=((1, 40 * GIB), (4, 40 * GIB))), 16, T4, False),
        (MemoryNeed(held=((1, 40 * GIB), (4, 10 * GIB))), 4, T4, True),
        (MemoryNeed(held=((1, 40 * GIB), (4, 10 * GIB))), 2, T4, False),
        (MemoryNeed(burst=((4, T4),)), 4, T4, False),
        (MemoryNeed(burst=((4, T4),)), 1, T4, False),
        (MemoryNeed(burst=((4, T4),)), 8, T4, True),
        (MemoryNeed(burst=((4, T4),)), 4, A10, True),
        (MemoryNeed(held=((1, 40 * GIB), (8, 39 * GIB)), burst=((4, T4),)), 16, A10, False),
        (MemoryNeed(burst=((4, T4),)), 1, None, True),
    ],
)
def test_what_was_seen_rules_out(
    need: MemoryNeed, gpus: int, mib: float | None, answer: bool
) -> None:
    assert can(need, gpus, mib) is answer


def test_what_was_seen_is_possible_in_most_draws() -> None:
    need = MemoryNeed(held=((2, 10 * GIB),))
    holds = need.draw_holds([2, 2, 1, 1], [T4, 8 * GIB, 9 * GIB, None], 500).mean(axis=0)
    assert list(holds) == pytest.approx([1, 0, 0, 1], abs=0.01)


SIGHTS = st.tuples(st.integers(1, 512), st.floats(1, 1e7))


@given(
    st.lists(SIGHTS, max_size=3),
    st.lists(SIGHTS, max_size=3),
    st.integers(1, 256),
    st.floats(100, 1e6),
)
def test_more_gpus_and_more_memory_never_hold_less(
    held: list[tuple[int, float]], burst: list[tuple[int, float]], gpus: int, mib: float
) -> None:
    need = MemoryNeed(tuple(held), tuple(burst))
    if can(need, gpus, mib):
        assert can(need, 2 * gpus, mib)
        assert can(need, gpus, 2 * mib)
