"""Dashboards are made of what our rules record, and Grafana can show them."""

import itertools
import re
from pathlib import Path
from typing import Any

import pytest

from tests.unit.prometheus.dashboards import FILES, board, questions
from tests.unit.prometheus.test_rules import PARSED

RECORDED = {rule["record"] for rule in PARSED if "record" in rule}
SERIES = re.compile(r"\b[a-z_]+:[a-z_0-9]+(?::[a-z_0-9]+)?\b")
WIDTH = 24
every_board = pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)


def test_there_is_one_for_the_fleet_for_a_node_and_for_a_job() -> None:
    assert [file.stem for file in FILES] == ["fleet", "job", "node"]
    assert len({board(file)["uid"] for file in FILES}) == len(FILES)


@every_board
def test_every_question_is_put_to_a_recording_rule(file: Path) -> None:
    for question in questions(file):
        asked = set(SERIES.findall(question.expression))
        assert asked, question
        assert asked <= RECORDED, question


@every_board
def test_every_variable_that_is_used_is_there_and_used(file: Path) -> None:
    made = board(file)
    given = {one["name"] for one in made["templating"]["list"]}
    asked = [question.expression for question in questions(file)]
    asked += [str(one.get("query")) for one in made["templating"]["list"]]
    assert given == {"source"} | {name for text in asked for name in re.findall(r"\$(\w+)", text)}


@every_board
def test_panels_have_a_title_and_a_place_of_their_own(file: Path) -> None:
    panels = board(file)["panels"]
    titles = [panel["title"] for panel in panels]
    assert len(set(titles)) == len({panel["id"] for panel in panels}) == len(panels)
    for panel in panels:
        assert panel["gridPos"]["x"] + panel["gridPos"]["w"] <= WIDTH
    for one, other in itertools.combinations(panels, 2):
        assert not _overlap(one["gridPos"], other["gridPos"]), (one["title"], other["title"])


def _overlap(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return all(
        one[at] < other[at] + other[length] and other[at] < one[at] + one[length]
        for at, length in (("x", "w"), ("y", "h"))
    )
