"""A cluster in which all is well, for all tests: each breaks one thing, and cures it again."""

from collections.abc import Iterator

import pytest

from tests.cli.conftest import cepheid  # noqa: F401  # the fixture
from tests.doctor.patient import Patient, admit
from tests.stage.surroundings import surroundings


@pytest.fixture(scope="package")
def patient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Patient]:
    with surroundings(tmp_path_factory.mktemp("doctor")) as stage:
        yield admit(stage)
