"""Rows for people fit their screen; rows for programs are whole; neither does harm."""

import csv
import io
import json
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from cepheid.cli.formats import Column, Output, in_json, in_yaml, show, table
from cepheid.reports.plain import width
from tests.unit.history.strategies import ATTACKS


@dataclass(frozen=True)
class Thing:
    name: str
    words: str | None = None
    amount: float | None = None
    when: datetime | None = None


COLUMNS: list[Column[Thing]] = [
    Column("NAME", lambda row: row.name, matters=9, least=8, middle=True),
    Column("AMOUNT", lambda row: "" if row.amount is None else f"{row.amount:g}", right=True),
    Column("WORDS", lambda row: row.words or "", matters=7, least=10),
    Column("LEAST", lambda row: (row.words or "")[:3], matters=1),
]
THINGS = st.builds(
    Thing,
    name=st.text() | st.sampled_from(ATTACKS),
    words=st.none() | st.text(),
    amount=st.none() | st.floats(0, 1e6),
)


@given(st.lists(THINGS, min_size=1, max_size=5), st.integers(40, 200))
def test_no_line_of_a_table_is_wider_than_the_screen(rows: list[Thing], most: int) -> None:
    lines = table(rows, COLUMNS, most)
    assert len(lines) == 1 + len(rows)
    assert all(line.isprintable() and width(line) <= most for line in lines)


def test_what_nobody_has_is_no_column_and_what_matters_least_goes_first() -> None:
    rows = [Thing("a" * 20, "much to say about it, and more"), Thing("b")]
    assert table([Thing("a"), Thing("b")], COLUMNS, 80) == ["NAME", "a", "b"]
    wide, narrow = table(rows, COLUMNS, 80)[0], table(rows, COLUMNS, 24)[0]
    assert wide.split() == ["NAME", "WORDS", "LEAST"]
    assert narrow.split() == ["NAME", "WORDS"]


def test_what_is_missing_in_a_row_is_a_dash_and_figures_stand_to_the_right() -> None:
    lines = table([Thing("a", "x", 10.0), Thing("b", "y")], COLUMNS[:3], 80)
    assert lines == ["NAME  AMOUNT  WORDS", "a         10  x", "b          -  y"]


@given(st.lists(THINGS, max_size=4))
def test_json_and_yaml_are_exact_and_harmless(rows: list[Thing]) -> None:
    records = [{"name": row.name, "words": row.words, "amount": row.amount} for row in rows]
    for text, read in ((in_json(records), json.loads), (in_yaml(records), yaml.safe_load)):
        assert read(text) == records
        assert all(line.isprintable() for line in text.split("\n"))


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_sheet_computes_nothing(attack: str, capsys: pytest.CaptureFixture[str]) -> None:
    show([Thing(attack)], Thing, COLUMNS, Output.CSV)
    (_, cells) = csv.reader(io.StringIO(capsys.readouterr().out))
    assert not cells[0].startswith(("=", "+", "-", "@", "\t", "\r", "\n"))
    assert cells[0].isprintable()


def test_times_are_written_as_programs_read_them(capsys: pytest.CaptureFixture[str]) -> None:
    thing = Thing("a", when=datetime(2026, 3, 1, tzinfo=UTC))
    for output in (Output.JSON, Output.CSV, Output.YAML):
        show([thing], Thing, COLUMNS, output)
        assert "2026-03-01T00:00:00+00:00" in capsys.readouterr().out


def test_without_rows_programs_still_get_their_form(capsys: pytest.CaptureFixture[str]) -> None:
    empty: list[Thing] = []
    said = []
    for output in Output:
        show(empty, Thing, COLUMNS, output)
        said.append(capsys.readouterr().out)
    assert said == ["", "[]\n", "name,words,amount,when\n", "[]\n"]
