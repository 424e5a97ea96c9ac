"""The Grafana dashboards, as far as a test wants to know them."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests import REPOSITORY

FOLDER = REPOSITORY / "prometheus/dashboards"
FILES = sorted(FOLDER.glob("*.json"))


@dataclass(frozen=True)
class Question:
    panel: str
    expression: str


def board(file: Path) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(file.read_text())
    return parsed


def questions(file: Path) -> list[Question]:
    return [
        Question(panel["title"], target["expr"])
        for panel in board(file)["panels"]
        for target in panel["targets"]
    ]
