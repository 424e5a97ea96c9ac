"""Whatever a job is called, a terminal only shows it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.reports.plain import CUT, clipped, padded, plain, width
from tests.unit.history.strategies import ATTACKS


@given(st.text() | st.sampled_from(ATTACKS))
def test_nothing_is_left_that_a_terminal_would_obey(text: str) -> None:
    shown = plain(text)
    assert shown.isprintable()
    assert len(shown) == len(text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("train.py", "train.py"),
        ("größe 日本", "größe 日本"),
        ("\x1b[2Jgone", "�[2Jgone"),
        ("a\u202eyp.x", "a�yp.x"),
        ("two\nlines\tof\r it", "two lines of  it"),
        ("\x9b31m", "�31m"),
    ],
)
def test_what_can_be_seen_stays(text: str, shown: str) -> None:
    assert plain(text) == shown


@given(st.text(), st.integers(1, 40), st.booleans())
def test_a_clipped_text_is_never_wider_than_its_room(text: str, room: int, middle: bool) -> None:
    cut = clipped(plain(text), room, middle=middle)
    assert width(cut) <= room
    assert width(padded(cut, room)) >= width(cut)


def test_a_long_name_keeps_both_ends_where_it_is_asked_to() -> None:
    assert clipped("llm-finetune-0042", 11) == f"llm-finetu{CUT}"
    assert clipped("llm-finetune-0042", 11, middle=True) == f"llm-f{CUT}-0042"


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("日本", 4),
        ("한국어", 6),
        ("e\u0301", 1),
        ("ट्रेन", 3),  # a consonant, a sign that joins, one more, a vowel sign, a consonant
        ("تَدْريب", 5),  # with vowel marks
        ("\N{HEAVY BLACK HEART}\N{VARIATION SELECTOR-16}", 1),
        ("\N{ROCKET}", 2),
        ("1\N{COMBINING ENCLOSING KEYCAP}", 1),
    ],
)
def test_wide_characters_take_two_columns_and_marks_none(text: str, columns: int) -> None:
    assert width(text) == columns
