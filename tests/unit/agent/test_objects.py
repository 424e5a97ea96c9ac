"""Whether a refusal is the object's or the server's, and how often it is said."""

import logging
from pathlib import Path

import pytest

from cepheid.agent.objects import AWAY, REACHING, STARTING, Identity, Objects
from cepheid.agent.telemetry import Telemetry
from cepheid.annotations.api import ApiServer, connect
from cepheid.annotations.change import NODE
from cepheid.annotations.writer import Kind
from cepheid.errors import ForbiddenError, UnavailableError
from cepheid.logs import Troubles
from tests.unit.annotations.server import Answer, refusal, serving
from tests.unit.annotations.test_api import NODE as FOUND
from tests.unit.annotations.test_api import kubeconfig

LOG = logging.getLogger("test")
NO_RIGHT = refusal(403, 'nodes "gpu-a" is forbidden: User "agent" cannot get resource "nodes"')


def meet(folder: Path, *answers: Answer) -> list[type[Exception] | None]:
    """What comes of meeting the node, once for each answer."""
    came: list[type[Exception] | None] = []
    with serving(*answers) as fake:
        path = kubeconfig(folder, fake.address)
        with ApiServer(lambda: connect(str(path))) as server:
            objects = Objects(server, Telemetry(30.0), Troubles(LOG))
            for _ in answers:
                try:
                    objects.meet(Identity(Kind.NODE, "gpu-a"), NODE, 0.0)
                    came.append(None)
                except (*AWAY, ForbiddenError) as problem:
                    came.append(type(problem))
    return came


def test_a_server_that_comes_back_and_knows_no_rights_yet_is_one_trouble(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    came = meet(tmp_path, refusal(500), NO_RIGHT, NO_RIGHT, FOUND)
    assert came == [UnavailableError, UnavailableError, UnavailableError, None]
    said = [record.getMessage() for record in caplog.records if record.name == "test"]
    assert said == [
        f"{REACHING}: reading Node gpu-a: 500, no",
        f"{REACHING}: over, after 3 times",
    ]


def test_a_right_that_stays_away_is_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    came = meet(tmp_path, refusal(500), *[NO_RIGHT] * (STARTING + 2))
    assert came == [UnavailableError] * (STARTING + 1) + [ForbiddenError] * 2
    said = [record.getMessage() for record in caplog.records if record.name == "test"]
    assert [words.partition(": ")[0] for words in said] == [
        REACHING,
        REACHING,
        "annotating Node gpu-a",
    ]


def test_a_refusal_out_of_nothing_is_the_objects(tmp_path: Path) -> None:
    assert meet(tmp_path, NO_RIGHT) == [ForbiddenError]
