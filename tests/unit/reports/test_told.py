"""What is said of the fleet's hours in a few sentences."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.reports.fleet_use.told import lead, says, table, tiles
from cepheid.reports.fleet_use.usage import UsageReport, UsageRow


def row(group: str = "all", **known: float | None) -> UsageRow:
    names = ("held", "used", "wasted", "unknown", "failed")
    hours = {f"gpu_hours_{name}": known.pop(name, None) for name in names}
    others = {"cpu_hours": None, "energy_kwh": None, "cost": None, "cost_wasted": None}
    return UsageRow(group=group, jobs=3, jobs_without_cost=0, **hours, **{**others, **known})


def report(*rows: UsageRow, total: UsageRow) -> UsageReport:
    return UsageReport(rows, total, 0, 0, ())


@pytest.mark.parametrize(
    ("total", "words"),
    [
        (
            row(held=100.0, used=40.0, wasted=60.0),
            "100 GPU hours were held, and 60 % of what was measured of them was not used.",
        ),
        (
            row(held=100.0, unknown=100.0),
            "100 GPU hours were held; nobody measured how many of them were used.",
        ),
        (row(), "No GPU was held by 3 jobs."),
    ],
)
def test_the_answer_comes_first(total: UsageRow, words: str) -> None:
    assert lead(total) == words


def test_who_left_much_unused_is_named_and_who_left_little_is_not() -> None:
    total = row(held=110.0, used=10.0, wasted=100.0)
    found = list(
        says(
            report(
                row("a", held=95.0, used=5.0, wasted=90.0),
                row("b", held=10.0, used=4.0, wasted=6.0),
                total=total,
            ),
            "users",
        )
    )
    assert found == ["a left 90 GPU hours unused, 95 % of its own and 90 % of all users together."]


def test_of_one_alone_nobody_is_named() -> None:
    one = row("a", held=95.0, used=5.0, wasted=90.0)
    assert list(says(report(one, total=one), "users")) == []


def test_what_is_not_known_has_no_tile_and_an_empty_cell() -> None:
    assert tiles(row(held=5.0), "EUR") == [("jobs", "3"), ("GPU hours held", "5")]
    assert table([row("x", held=5.0)]) == [("x", "3", "5", "", "", "", "", "")]


AMOUNTS = st.none() | st.floats(0, 1e300)


@given(AMOUNTS, AMOUNTS, AMOUNTS, AMOUNTS, AMOUNTS)
def test_any_hours_can_be_said(
    held: float | None,
    used: float | None,
    wasted: float | None,
    unknown: float | None,
    failed: float | None,
) -> None:
    total = row(held=held, used=used, wasted=wasted, unknown=unknown, failed=failed)
    found = [lead(total), *says(report(total, total, total=total), "users")]
    found += [text for pair in tiles(total, "") for text in pair]
    found += [text for line in table([total]) for text in line]
    assert all("nan" not in text and "inf" not in text for text in found)
