"""Which jobs are meant by what was typed."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from cepheid.cli.filters import Chosen, Status, moment
from cepheid.errors import UsageError
from cepheid.jobprofile import Outcome
from tests.unit.reports.runs import process

NOW = datetime(2026, 3, 10, 15, 30, tzinfo=UTC)
NOTHING = dict.fromkeys(("name", "status", "user", "kind", "since", "until"))


def chosen(**given: Any) -> Chosen:
    return Chosen(NOW, {**NOTHING, **given})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("90min", NOW - timedelta(minutes=90)),
        ("12h", NOW - timedelta(hours=12)),
        ("1.5d", NOW - timedelta(hours=36)),
        ("2w", NOW - timedelta(weeks=2)),
        ("today", datetime(2026, 3, 10, tzinfo=UTC)),
        ("yesterday", datetime(2026, 3, 9, tzinfo=UTC)),
        ("2026-03-01", datetime(2026, 3, 1, tzinfo=UTC)),
        ("2026-03-01T10:00+02:00", datetime(2026, 3, 1, 8, tzinfo=UTC)),
    ],
)
def test_moments_are_ages_or_dates(text: str, expected: datetime) -> None:
    assert moment(text, "--since", NOW) == expected


@pytest.mark.parametrize("text", ["", "soon", "7", "-3d", "2026-13-01", "999999w", "7 dd"])
def test_what_is_no_moment_is_refused_with_examples(text: str) -> None:
    with pytest.raises(UsageError, match="--since is") as problem:
        moment(text, "--since", NOW)
    assert "7d" in (problem.value.hint or "")


def test_a_span_that_ends_before_it_begins_is_refused() -> None:
    with pytest.raises(UsageError, match="not before"):
        chosen(since="1h", until="2h")


def test_a_query_has_all_that_was_asked() -> None:
    query = chosen(name="train.py", status=Status.FAILED, user="ann", since="1h").query("laptop")
    assert (query.name, query.outcome, query.user) == ("train.py", Outcome.FAILED, "ann")
    assert (query.namespace, query.since) == ("laptop", NOW - timedelta(hours=1))


def test_a_name_with_a_star_is_a_pattern() -> None:
    like = chosen(name="tr*.py")
    assert like.query().name is None
    assert like.fits(process())
    assert not chosen(name="*.sh").fits(process())
    assert chosen(name="train.py").fits(process(name="other"))  # the query asks for that


def test_statuses_are_those_of_a_profile() -> None:
    assert [one.value for one in Status] == [one.value for one in Outcome]
