"""Places of raw objects, and what may stand there."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given

from cepheid.jobs import fields
from cepheid.jobs.kinds import KINDS, kind_of
from cepheid.units import in_bytes, in_time, quantity
from tests.unit.jobs.samples import NAMES, load
from tests.unit.jobs.strategies import ANYTHING, HOSTILE


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("2026-03-01T10:20:30Z", datetime(2026, 3, 1, 10, 20, 30, tzinfo=UTC)),
        ("2026-03-01T10:20:30.123456Z", datetime(2026, 3, 1, 10, 20, 30, tzinfo=UTC)),
        ("0001-01-01T00:00:00Z", None),
        ("1970-01-01T00:00:00Z", None),
        ("9999-12-31T23:59:59Z", None),
        ("2026-02-30T10:20:30Z", None),
        ("2026-03-01T10:20:30+01:00", None),
        ("2026-03-01", None),
        (1772360430, None),
        (None, None),
    ],
)
def test_a_time_is_one_of_the_api_servers(text: object, read: datetime | None) -> None:
    assert fields.moment({"at": text}, "at") == read


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a\nb\x1b[31mred\x07", "a b [31mred"),
        ("  much   room ", "much room"),
        ("x" * 400, "x" * 297 + "..."),
        ("\x00", None),
        ("", None),
    ],
)
def test_words_stand_on_one_line_and_end(text: str, line: str | None) -> None:
    assert fields.words({"": text}, "") == line


@given(ANYTHING)
def test_nothing_that_may_stand_there_raises(thing: object) -> None:
    for read in (
        *(fields.part, fields.name, fields.words, fields.count, fields.integer),
        *(fields.is_true, fields.moment, fields.value),
    ):
        read({"a": thing}, "a")
        read(thing, "a", "b")
    list(fields.items({"a": thing}, "a"))
    list(fields.pairs({"a": thing}, "a"))


@given(HOSTILE)
def test_hostile_jobs_have_templates_all_the_same(job: dict[str, Any]) -> None:
    for kind in KINDS.values():
        assert all(template.replicas >= 0 for template in kind.templates(job))
        kind.deadline_seconds(job)


@pytest.mark.parametrize(
    ("name", "replicas", "deadline"),
    [
        ("mpijob-v2beta1-succeeded", {"Launcher": 1, "Worker": 2}, None),
        ("mpijob-v2beta1-deadline", {"Worker": 1}, 600),
        ("pytorchjob-succeeded", {"Master": 1, "Worker": 3}, None),
        ("trainjob-complete", {"trainer": 4}, None),
        ("jobset-deadline", {"workers": 4}, 900),
        ("rayjob-succeeded", {"head": 1, "worker": 2}, None),
        ("rayjob-deadline", {}, 120),
        ("volcano-completed", {"master": 1, "worker": 2}, None),
        ("job-deadline", {None: 1}, 60),
        ("pod-succeeded", {None: 1}, None),
    ],
)
def test_where_templates_and_deadlines_stand(
    name: str, replicas: dict[str | None, int], deadline: int | None
) -> None:
    job = load(name).job
    kind = kind_of(job)
    assert kind is not None
    assert {template.role: template.replicas for template in kind.templates(job)} == replicas
    assert all(template.spec.get("containers") for template in kind.templates(job))
    assert kind.deadline_seconds(job) == deadline


@pytest.mark.parametrize("name", NAMES)
def test_a_suspended_job_says_so(name: str) -> None:
    sample = load(name)
    kind = kind_of(sample.job)
    assert kind is not None
    assert kind.is_suspended(sample.job) is sample.expected.get("suspended", False)


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("500m", 0.5),
        ("2", 2.0),
        ("1.5Gi", 1.5 * 2**30),
        ("1e3", 1000.0),
        ("128974848", 128974848.0),
        ("1E", 1e18),
        (".5", 0.5),
        ("-1", None),
        ("1Zi", None),
        ("", None),
        ("Gi", None),
        ("0x10", None),
        ("1e999", None),
    ],
)
def test_quantities_are_those_of_kubernetes(text: str, amount: float | None) -> None:
    assert quantity(text) == amount


@pytest.mark.parametrize(
    ("amount", "text"),
    [(0, "0"), (512 * 2**20, "512Mi"), (6.9 * 2**30, "6.9Gi"), (80 * 2**30, "80Gi")],
)
def test_bytes_are_written_as_a_manifest_takes_them(amount: float, text: str) -> None:
    assert in_bytes(amount) == text
    assert quantity(text) == pytest.approx(amount, rel=0.05)


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0s"), (59.6, "1m"), (5400, "1h 30m"), (93600, "1d 2h")]
)
def test_times_are_written_for_people(seconds: float, text: str) -> None:
    assert in_time(seconds) == text
