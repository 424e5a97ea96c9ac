"""One PostgreSQL for all tests, a database or a file for each."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cepheid.history import History
from tests.stage.postgres import Postgres


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    with Postgres() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Of a place where nothing is kept yet."""
    if request.param == "sqlite":
        yield str(tmp_path / "new folder/history.db")
        return
    server: Postgres = request.getfixturevalue("postgres")
    server.start()  # a test may have stopped it
    with server.database() as address:
        yield address


@pytest.fixture
def history(url: str) -> Iterator[History]:
    with History.open(url) as opened:
        yield opened
