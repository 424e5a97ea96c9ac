"""What of a profile is searched, and that what is kept can be read again."""

import math
import zlib
from datetime import timedelta

import pytest
from hypothesis import given

from cepheid.errors import HistoryBrokenError
from cepheid.history.rows import Kept, from_row, to_row, until_us
from cepheid.jobprofile import JobProfile, Outcome, ProfileError, Worker
from tests.unit.history.strategies import BEGIN, PROFILES, profile

SECOND = 1_000_000
BEGIN_US = round(BEGIN.timestamp()) * SECOND


@given(PROFILES)
def test_every_profile_comes_back_as_it_was(kept: JobProfile) -> None:
    row = to_row(kept)
    assert from_row(row["uid"], row["document"], row["workers"]) == Kept(kept)
    assert -(2**63) <= row["until_us"] < 2**63
    assert "\0" not in "".join(text for text in row.values() if isinstance(text, str))


@pytest.mark.parametrize(
    ("kept", "expected_us"),
    [
        (profile(after_seconds=7.25), BEGIN_US + 7_250_000),
        (profile(after_seconds=7, outcome=Outcome.RUNNING), BEGIN_US + 7 * SECOND),
        (profile(ended=None, started=None, duration_seconds=None), BEGIN_US - 3600 * SECOND),
        (profile(ended=BEGIN - timedelta(microseconds=1)), BEGIN_US - 1),
    ],
)
def test_a_record_tells_up_to_the_end_or_the_last_look(kept: JobProfile, expected_us: int) -> None:
    assert until_us(kept) == expected_us


def test_a_duration_that_nobody_believes_still_fits() -> None:
    assert until_us(profile(outcome=Outcome.RUNNING, duration_seconds=1e300)) < 2**63


def test_the_service_account_stands_in_for_a_user_who_is_not_known() -> None:
    assert to_row(profile(user="ann", service_account="research:default"))["who"] == "ann"
    assert to_row(profile(user=None, service_account="research:bot"))["who"] == "research:bot"
    assert to_row(profile(user=None))["who"] is None


@pytest.mark.parametrize(
    "wrong",
    [
        profile(name=""),
        profile(name="x" * 254),
        profile(duration_seconds=-1.0),
        profile(series=7),
        profile(user="\udcff"),
    ],
)
def test_what_could_not_be_read_again_is_not_kept(wrong: JobProfile) -> None:
    with pytest.raises(ProfileError):
        to_row(wrong)


def test_a_figure_that_is_no_number_is_not_known() -> None:
    row = to_row(profile(duration_seconds=math.nan))
    assert from_row(row["uid"], row["document"]).profile.duration_seconds is None


def test_workers_stand_beside_the_record_only_where_it_does_not_have_them_all() -> None:
    few = tuple(Worker(name=f"w-{number}") for number in range(3))
    many = tuple(Worker(name=f"w-{number}", cpu_cores=float(number)) for number in range(20))
    assert to_row(profile(workers=few), few)["workers"] is None
    row = to_row(profile(workers=few), many)
    assert from_row(row["uid"], row["document"], row["workers"]).workers == many


@pytest.mark.parametrize(
    ("document", "workers"),
    [(b"{}", None), (zlib.compress(b"{}"), None), (None, b"not packed")],
)
def test_a_record_that_was_changed_names_its_job(
    document: bytes | None, workers: bytes | None
) -> None:
    row = to_row(profile())
    with pytest.raises(HistoryBrokenError, match=row["uid"]):
        from_row(row["uid"], row["document"] if document is None else document, workers)
