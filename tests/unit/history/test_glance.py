"""A glance shows what the history itself would."""

from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import update

from cepheid.history import History, Query
from cepheid.history.glance import VERSION, newest
from cepheid.history.migrations import MIGRATIONS
from cepheid.history.schema import version
from cepheid.jobprofile import Outcome
from tests.unit.history.strategies import ATTACKS, BEGIN, profile

QUERIES = st.builds(
    Query,
    user=st.none() | st.sampled_from(["ann", "ben", *ATTACKS]),
    namespace=st.none() | st.sampled_from(["research", "other"]),
    kind=st.none() | st.sampled_from(["Job", "Process"]),
    name=st.none() | st.sampled_from(["train-1", "train-2", *ATTACKS]),
    series=st.none() | st.sampled_from(["train"]),
    outcome=st.none() | st.sampled_from(Outcome),
    since=st.none() | st.integers(0, 40).map(lambda seconds: BEGIN + timedelta(seconds=seconds)),
    until=st.none() | st.integers(0, 40).map(lambda seconds: BEGIN + timedelta(seconds=seconds)),
)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("glance") / "history.db"
    outcomes = list(Outcome)
    jobs = [
        profile(
            number,
            after_seconds=number // 2,  # two at a time
            outcome=outcomes[number % 5],
            user=["ann", "ben", None][number % 3],
        )
        for number in range(30)
    ]
    attacks = [profile(30 + n, name=text, user=text) for n, text in enumerate(ATTACKS)]
    with History.open(path) as history:
        history.keep([*jobs, *attacks])
    return path


@given(QUERIES, st.integers(1, 60))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_is_asked_the_answer_is_that_of_the_history(
    kept: Path, query: Query, limit: int
) -> None:
    with History.open(kept) as history:
        assert newest(kept, query, limit) == history.find(query, limit=limit)


def test_it_knows_the_tables_of_today() -> None:
    assert len(MIGRATIONS) == VERSION


def test_what_is_not_as_expected_is_left_to_the_history(tmp_path: Path) -> None:
    missing, other, newer = (tmp_path / name for name in ("none.db", "text.db", "newer.db"))
    other.write_text("this is no database" * 100)
    with History.open(newer) as history:
        history.keep([profile()])
        with history._database.writing() as connection:  # noqa: SLF001 - as a newer Cepheid would
            connection.execute(update(version).values(version=VERSION + 1))
    assert [newest(path, Query(), 5) for path in (missing, other, newer)] == [None] * 3
    assert not missing.exists()
