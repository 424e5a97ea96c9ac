"""Which JobProfiles go, and which would not be worth writing."""

import logging
import socket
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.annotations.api import ApiServer, connect
from cepheid.history import History, TimeSeries
from cepheid.jobprofile import Outcome
from cepheid.logs import Troubles
from cepheid_operator.archive import Archive, Terms, backlog, to_delete
from cepheid_operator.comparing import Comparing
from cepheid_operator.hands import Hands
from cepheid_operator.means import Means
from cepheid_operator.profiles import Entry, Profiles, entry_of
from cepheid_operator.telemetry import Telemetry
from tests.unit.annotations.server import Answer, serving
from tests.unit.annotations.test_api import kubeconfig
from tests.unit.operator.stories import NOON, profile

DAY = timedelta(days=1)


def entry(uid: str, ended: datetime | None, namespace: str = "team") -> Entry:
    outcome = Outcome.RUNNING if ended is None else Outcome.SUCCESS
    made = entry_of(profile(uid=uid, ended=ended, outcome=outcome))
    return replace(made, namespace=namespace)


def names(entries: list[Entry], oldest: datetime, most: int) -> list[str]:
    return [one.job_uid for one in to_delete(entries, oldest, most)]


def test_too_old_and_too_many_go_a_namespace_at_a_time_the_oldest_first() -> None:
    entries = [entry(f"a{day}", NOON - day * DAY) for day in range(5)]
    entries += [entry("b0", NOON - 3 * DAY, "other"), entry("run", None)]
    assert names(entries, NOON - 3.5 * DAY, 100) == ["a4"]
    assert names(entries, NOON - 100 * DAY, 2) == ["a4", "a3", "a2"]
    assert names(entries, NOON - 2.5 * DAY, 2) == ["a4", "a3", "a2", "b0"]


@given(
    st.lists(st.tuples(st.integers(0, 40), st.sampled_from("ab")), max_size=30),
    st.integers(1, 10),
)
def test_what_is_left_is_young_and_few_and_nothing_else_went(
    ages: list[tuple[int, str]], most: int
) -> None:
    entries = [entry(str(n), NOON - age * DAY, space) for n, (age, space) in enumerate(ages)]
    oldest = NOON - 20 * DAY
    gone = set(names(entries, oldest, most))
    for space in "ab":
        left = [e for e in entries if e.namespace == space and e.job_uid not in gone]
        assert len(left) <= most
        assert all(e.ended is not None and e.ended >= oldest for e in left)
        young = [e for e in entries if e.namespace == space and e.ended and e.ended >= oldest]
        assert len(left) == min(most, len(young))


@pytest.fixture
def profiles(tmp_path: Path) -> Iterator[Profiles]:
    with serving(Answer(200, {"kind": "JobProfile", "metadata": {"name": "x"}})) as fake:
        path = kubeconfig(tmp_path, fake.address)
        with ApiServer(lambda: connect(str(path))) as server:
            yield Profiles(lambda: server, lambda: None, lambda: None)


def means() -> Means:
    troubles = Troubles(logging.getLogger("test"))
    return Means(Hands(ApiServer), lambda: None, Telemetry(), troubles, lambda: 0.0, lambda: NOON)


def archive(profiles: Profiles, skew: float | None = 0.0) -> Archive:
    terms = Terms(keep_days=30, keep_count=2)
    return Archive(means(), profiles, terms, lambda: skew, lambda *_: True)


@pytest.mark.parametrize(
    ("hours_ago", "superfluous"), [(0.5, False), (1.5, False), (2.5, True), (24 * 31, True)]
)
def test_what_would_be_deleted_at_once_is_not_worth_writing(
    profiles: Profiles, hours_ago: float, superfluous: bool
) -> None:
    for number, hours in enumerate((1, 2)):
        ended = NOON - timedelta(hours=hours)
        profiles.write(profile(uid=f"u{number}", ended=ended, created=ended, started=ended))
    ended = NOON - timedelta(hours=hours_ago)
    this = profile(uid="this", ended=ended, created=ended, started=ended)
    assert archive(profiles).is_superfluous(this) is superfluous


def test_with_a_clock_that_is_off_nothing_is_old(profiles: Profiles) -> None:
    ancient = profile(ended=NOON - 400 * DAY, created=NOON - 401 * DAY, started=None)
    assert archive(profiles).is_superfluous(ancient)
    assert not archive(profiles, skew=-3600.0).is_superfluous(ancient)
    assert not archive(profiles, skew=None).is_superfluous(ancient)


def test_what_stands_and_says_more_is_not_overwritten(profiles: Profiles) -> None:
    profiles.write(profile(worker_count=3, gpu_count=3, samples=100))

    def would_learn(pods: int = 3, gpu_count: int = 3, **fields: Any) -> bool:
        return profiles.would_learn(profile(gpu_count=gpu_count, **fields), pods=pods)

    assert not would_learn(worker_count=2, samples=100)
    assert not would_learn(worker_count=3)
    assert not would_learn(worker_count=3, outcome=Outcome.RUNNING, ended=None)
    assert not would_learn(worker_count=3, samples=100, pods=0)  # only their names are left
    assert not would_learn(worker_count=3, samples=100, pods=2, gpu_count=2)
    assert would_learn(worker_count=3, samples=90)
    assert would_learn(worker_count=3, samples=90, pods=1)  # the others went while it ran
    assert would_learn(uid="another", pods=0, gpu_count=0)


def test_a_job_that_never_had_a_pod_is_completed_all_the_same(profiles: Profiles) -> None:
    profiles.write(profile(worker_count=0, gpu_count=0))
    assert profiles.would_learn(profile(worker_count=0, gpu_count=0), pods=0)


def test_earlier_runs_are_found_by_name_or_template_the_last_first(profiles: Profiles) -> None:
    for number, series in enumerate(("a", "a", "b")):
        profiles.write(profile(uid=f"u{number}", series=series, ended=NOON + number * DAY))
    profiles.write(profile(uid="run", series="a", outcome=Outcome.RUNNING, ended=None))
    profiles.write(profile(uid="renamed", series="c", template="t", ended=NOON - DAY))
    assert [one.job_uid for one in profiles.of_job("team", "a", None)] == ["u1", "u0"]
    assert [one.job_uid for one in profiles.of_job("team", "a", "t")] == ["u1", "u0", "renamed"]
    assert profiles.of_job("other", "a", "t") == []


def test_the_oldest_is_archived_first_and_what_may_still_be_completed_waits() -> None:
    entries = [entry(f"a{hours}", NOON - timedelta(hours=hours)) for hours in (1, 3, 2)]
    entries += [replace(entry("done", NOON), archived=True), entry("running", None)]
    waits = entry("waits", NOON - timedelta(hours=4))
    found = backlog([*entries, waits], lambda one: one is not waits)
    assert [one.job_uid for one in found] == ["a3", "a2", "a1"]


def test_what_is_old_leaves_the_history_too(profiles: Profiles, tmp_path: Path) -> None:
    url = tmp_path / "url"
    url.write_text(f"{tmp_path / 'history.db'}\n")
    with History.open(tmp_path / "history.db") as history:
        kept = [
            profile(
                uid=f"d{days}", ended=NOON - days * DAY, created=NOON - days * DAY, started=None
            )
            for days in (1, 5, 20)
        ]
        history.keep(kept)
        for one in kept:
            history.keep_series(one.job.uid, [TimeSeries("cpu_cores", [1.0], [2.0])])
        terms = Terms(url_file=str(url), history_days=10, series_days=3)
        this = Archive(means(), profiles, terms, lambda: 0.0, lambda *_: True)
        assert this.step()
        assert [one.job.uid for one in history.find()] == ["d1", "d5"]
        assert [len(history.series(uid)) for uid in ("d1", "d5")] == [1, 0]


def test_a_database_that_swallows_questions_is_not_asked_for_every_job(profiles: Profiles) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with History.open(f"postgresql://u@127.0.0.1:{port}/x?connect_timeout=2") as history:
            comparing = Comparing(means(), profiles, lambda: history)
            for _ in range(3):
                assert comparing.compared(profile()).regression == ()
        silent.setblocking(False)
        with silent.accept()[0], pytest.raises(BlockingIOError):
            silent.accept()
