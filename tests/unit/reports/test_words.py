"""Figures as people say them."""

from datetime import UTC, datetime, timedelta

import pytest

from cepheid.reports import words

GIB = 2.0**30


@pytest.mark.parametrize(
    ("seconds", "said", "short"),
    [
        (0.004, "4 ms", "4ms"),
        (4.2, "4.2 s", "4.2s"),
        (41.84, "41.8 s", "42s"),
        (59.999, "60 s", "1m"),
        (723, "12 min 3 s", "12m3s"),
        (720, "12 min", "12m"),
        (8040, "2 h 14 min", "2h14m"),
        (3 * 86400 + 7200, "3 d 2 h", "3d2h"),
        (None, "no data", ""),
    ],
)
def test_durations_have_their_two_largest_units(
    seconds: float | None, said: str, short: str
) -> None:
    assert (words.lasting(seconds), words.brief(seconds)) == (said, short)


@pytest.mark.parametrize(
    ("used", "most", "said"),
    [
        (37.9 * GIB, 64 * GIB, "37.9 of 64 GiB"),
        (0.11 * GIB, 23.5 * GIB, "113 MiB of 23.5 GiB"),
        (5 * GIB, None, "5 GiB"),
        (None, 5 * GIB, "no data"),
        (6 * GIB, 5 * GIB, "6 GiB"),  # a limit that is exceeded is none
    ],
)
def test_bytes_are_said_of_how_many(used: float | None, most: float | None, said: str) -> None:
    assert words.bytes_of(used, most) == said


def test_energy_and_shares_and_rates() -> None:
    assert words.in_energy(12.3e6) == "3.42 kWh"
    assert words.in_energy(700) == "700 J"
    assert words.in_percent(0.4) == "0.4 %"
    assert words.in_percent(0) == "0 %"
    assert words.in_rate(200e6) == "191 MiB/s"
    assert {words.in_energy(None), words.in_percent(None), words.in_rate(None)} == {"no data"}


@pytest.mark.parametrize(
    ("percent", "said"), [(14.4, "+14 %"), (-3.21, "-3.2 %"), (130, "2.3 times"), (0, "+0.0 %")]
)
def test_a_change_says_its_direction(percent: float, said: str) -> None:
    assert words.change(percent) == said


def test_ages_are_of_one_unit_and_never_negative() -> None:
    now = datetime(2026, 3, 1, tzinfo=UTC)
    ages = [words.age(now - timedelta(seconds=s), now) for s in (-5, 30, 90, 7300, 200_000)]
    assert ages == ["0s", "30s", "1m", "2h", "2d"]
    assert words.age(None, now) == ""


def test_lists_are_cut_with_how_many_are_left() -> None:
    assert words.listed(["a", "b"]) == "a, b"
    assert words.listed(["a", "b", "c", "d", "e"]) == "a, b and 3 more"
    assert words.counted(1, "process", "processes") == "1 process"
    assert words.counted(1234, "job") == "1,234 jobs"
    assert words.sentence("memory leak") == "Memory leak."
