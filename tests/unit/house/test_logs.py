"""What the agent says of itself."""

import json
import logging
from collections.abc import Iterator

import pytest

from cepheid.logs import Troubles, set_up


@pytest.fixture(autouse=True)
def _root_logger_as_it_was() -> Iterator[None]:
    root = logging.getLogger()
    level, handlers = root.level, root.handlers[:]
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def test_json_lines_carry_level_message_and_fields(capsys: pytest.CaptureFixture[str]) -> None:
    set_up("json", "info")
    logging.getLogger("cepheid").info("read %d", 3, extra={"series": 5})
    logging.getLogger("cepheid").debug("not this")
    (line,) = capsys.readouterr().err.splitlines()
    said = json.loads(line)
    assert said.pop("time").endswith("Z")
    assert said == {"level": "info", "message": "read 3", "series": 5}


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_a_hostile_value_cannot_make_up_a_line(
    log_format: str, capsys: pytest.CaptureFixture[str]
) -> None:
    set_up(log_format, "info")
    logging.getLogger("cepheid").warning("pod %s", "x\n2026-01-01 info all is well\x1b[31m")
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "\x1b" not in said


def test_trouble_is_said_once_and_its_end_once(caplog: pytest.LogCaptureFixture) -> None:
    troubles = Troubles(logging.getLogger("cepheid.test"))
    with caplog.at_level(logging.INFO):
        troubles.over("reading")
        for _ in range(3):
            troubles.happened("reading", ValueError("503"))
        assert len(troubles) == 1
        troubles.over("reading")
        troubles.over("reading")
        troubles.happened("reading", ValueError("404"))
    assert [record.getMessage() for record in caplog.records] == [
        "reading: 503",
        "reading: over, after 3 times",
        "reading: 404",
    ]
