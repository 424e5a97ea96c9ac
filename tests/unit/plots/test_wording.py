"""Texts that anybody may write, in the three places that take them."""

import html
import json
from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.plots.wording import UNSEEN, in_file_name, in_html, in_script, label, plain

TEXTS = st.text() | st.text("<>&$'\"/\\ script!--]]>\u202e\u2028\x00\x1b", max_size=40)


@given(TEXTS)
def test_a_script_element_cannot_be_ended_from_inside(text: str) -> None:
    written = in_script({"name": text, "values": [1.5, None]})
    assert not set("<>&\u2028\u2029") & set(written)
    assert json.loads(written) == {"name": text, "values": [1.5, None]}


def test_what_json_has_no_word_for_is_not_written() -> None:
    with pytest.raises(ValueError, match="JSON"):
        in_script([float("nan")])


@given(TEXTS)
def test_html_shows_the_text_and_nothing_else(text: str) -> None:
    written = in_html(text)
    assert not set("<>\"'") & set(written)
    assert html.unescape(written) == plain(text)


@given(TEXTS)
def test_a_label_has_no_tag_or_formula_that_the_plotting_library_would_read(text: str) -> None:
    written = label(text)
    assert not set("<>$") & set(written)
    assert html.unescape(written) == plain(text, 40)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("train.py", "train.py"),
        ("  two\n words\t", f"two{UNSEEN} words{UNSEEN}"),
        ("exe.\u202egpj", f"exe.{UNSEEN}gpj"),
        ("\x1b[31mred", f"{UNSEEN}[31mred"),
        ("\ud800", UNSEEN),
        ("", UNSEEN),
        ("ناجح 成功", "ناجح 成功"),
    ],
)
def test_what_cannot_be_seen_is_marked_and_the_rest_stays(text: str, shown: str) -> None:
    assert plain(text) == shown


def test_a_long_name_is_cut() -> None:
    assert plain("x" * 50, 10) == "x" * 9 + "…"


@given(TEXTS)
def test_a_file_name_is_one_and_is_seen(text: str) -> None:
    name = in_file_name(text)
    assert PurePosixPath(name).name == name
    assert not name.startswith((".", "-"))
    assert len(name) <= 60
    assert name.isascii()
