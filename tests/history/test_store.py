"""What is kept is found again, once; on both databases alike."""

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from itertools import permutations
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from sqlalchemy import delete, event, text

from cepheid.errors import NoSuchJobError
from cepheid.history import History, Query, TimeSeries
from cepheid.history.rows import pack_workers, to_row
from cepheid.history.schema import jobs
from cepheid.jobprofile import JobProfile, Outcome, ProfileError, Worker
from tests.unit.history.strategies import ATTACKS, BEGIN, profile, several

RUNNING = Outcome.RUNNING


@given(several())
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_profile_is_found_by_whatever_it_is_called(
    history: History, profiles: list[JobProfile]
) -> None:
    with history._database.writing() as connection:  # noqa: SLF001 - a new one takes too long
        connection.execute(delete(jobs))
    history.keep(profiles)
    history.keep(profiles)
    assert history.count() == len(profiles)
    assert {kept.job.uid: kept for kept in history.find()} == {
        kept.job.uid: kept for kept in profiles
    }
    for kept in profiles:
        assert history.get(kept.job.uid) == kept
        for query in (
            Query(name=kept.job.name),
            Query(namespace=kept.job.namespace, kind=kept.job.kind),
            Query(series=kept.series, outcome=kept.outcome),
            Query(user=kept.user or kept.service_account),
        ):
            assert kept in history.find(query)


@pytest.mark.parametrize("text", ATTACKS)
def test_a_name_is_a_name_whatever_it_says(history: History, text: str) -> None:
    attack = profile(1, name=text, namespace=text, user=text, series=text, kind=text, uid=text)
    history.keep([profile(0), attack])
    for query in (Query(name=text), Query(user=text), Query(namespace=text, kind=text)):
        assert history.find(query) == [attack]
    assert history.get(text) == attack
    assert history.count() == 2


def test_the_newest_come_first_page_by_page_and_each_once(history: History) -> None:
    kept = [profile(number, after_seconds=number // 7) for number in range(60)]
    for one in Random(1).sample(kept, len(kept)):  # noqa: S311 - neither place nor time helps
        history.keep([one])
    paged: list[JobProfile] = []
    while page := history.find(limit=7, after=paged[-1] if paged else None):
        paged += page
    assert paged == history.find(limit=60) == list(reversed(sorted_by_end(kept)))


def sorted_by_end(kept: list[JobProfile]) -> list[JobProfile]:
    return sorted(kept, key=lambda one: (one.ended or BEGIN, one.job.uid))


def test_paging_goes_on_where_it_was_though_jobs_come_and_go(history: History) -> None:
    history.keep(profile(number) for number in range(10))
    first = history.find(limit=3)
    history.keep([profile(99)])
    history.prune(most_each_namespace=9)
    assert history.find(limit=3, after=first[-1]) == [profile(6), profile(5), profile(4)]


def test_a_window_of_time_is_half_open(history: History) -> None:
    history.keep(profile(number) for number in range(5))
    since, until = BEGIN + timedelta(seconds=1), BEGIN + timedelta(seconds=3)
    assert history.find(Query(since=since, until=until)) == [profile(2), profile(1)]
    assert history.count(Query(until=until)) == 3


def test_nothing_depends_on_the_order_or_the_moment_of_keeping(history: History) -> None:
    """As when the clock jumps: what ended earlier is older, whenever it was kept."""
    for number in (3, 1, 2):
        history.keep([profile(number)])
    assert history.find() == [profile(3), profile(2), profile(1)]


EARLY = profile(outcome=RUNNING, after_seconds=10)
LATE = profile(outcome=RUNNING, after_seconds=20)
DONE = profile(after_seconds=15)
CORRECTED = profile(after_seconds=15, verdict="it was slow")


@pytest.mark.parametrize("order", list(permutations([EARLY, LATE, DONE])))
@pytest.mark.parametrize("at_once", [True, False])
def test_a_finished_record_stays_in_whatever_order_they_come(
    history: History, order: tuple[JobProfile, ...], at_once: bool
) -> None:
    for batch in [order] if at_once else [[one] for one in order]:
        history.keep(batch)
    assert history.find() == [DONE]


@pytest.mark.parametrize(
    ("first", "second", "stays"),
    [
        (EARLY, LATE, LATE),
        (LATE, EARLY, LATE),
        (DONE, CORRECTED, CORRECTED),
        (profile(after_seconds=16), DONE, profile(after_seconds=16)),
    ],
)
def test_among_equals_the_one_stays_that_knows_more(
    history: History, first: JobProfile, second: JobProfile, stays: JobProfile
) -> None:
    history.keep([first])
    history.keep([second])
    assert history.find() == [stays]
    assert history.find(Query(outcome=stays.outcome)) == [stays]


def test_a_profile_that_is_none_is_refused_with_its_whole_batch(history: History) -> None:
    with pytest.raises(ProfileError):
        history.keep([profile(0), profile(1, name="")])
    assert history.count() == 0


def test_all_workers_of_a_large_job_are_kept(history: History) -> None:
    workers = tuple(Worker(name=f"w-{n}", node="n", cpu_cores=n / 8) for n in range(300))
    large = profile(1, workers=workers[:8], worker_count=300)
    history.keep([large, profile(2, workers=workers[:2])], {large.job.uid: workers})
    assert history.get(large.job.uid) == large
    assert history.workers(large.job.uid) == workers
    assert history.workers(profile(2).job.uid) == workers[:2]
    history.keep([profile(1, workers=workers[:8], worker_count=300, verdict="late")])
    assert history.workers(large.job.uid) == workers


def test_a_job_is_got_by_the_beginning_of_its_uid_if_that_is_its_alone(history: History) -> None:
    one, two, whole = profile(1, uid="abc-1"), profile(2, uid="abd-2"), profile(3, uid="abd")
    history.keep([one, two, whole, profile(4, uid="%"), profile(5, uid="_x")])
    assert history.get("abc") == one
    assert history.get("abd") == whole
    assert history.get("%") == profile(4, uid="%")
    for several_or_none in ("ab", "x", "ABC", "abc-11", ""):
        with pytest.raises(NoSuchJobError) as problem:
            history.get(several_or_none)
        assert problem.value.hint is not None


def test_earlier_runs_are_of_the_same_job_and_succeeded(history: History) -> None:
    now = profile(10, template="t1")
    renamed = profile(6, template="t1", series="other")
    earlier = [profile(3, template="t2"), *(profile(one, template="t1") for one in (2, 1))]
    others = [
        profile(4, template="t1", namespace="other"),
        profile(5, template="t1", kind="MPIJob"),
        profile(7, template="t2", series="other"),
        profile(8, template="t1", outcome=RUNNING),
        profile(9, template="t1", outcome=Outcome.FAILED),
        profile(11, template="t1"),
        now,
    ]
    history.keep([*earlier, renamed, *others])
    assert history.earlier_runs(now) == [renamed, *earlier]
    assert history.earlier_runs(now, limit=2) == [renamed, earlier[0]]
    unknown = profile(10, template=None)
    assert history.earlier_runs(unknown) == earlier


SERIES = [
    TimeSeries("cpu_cores", [0, 15, 30], [1.0, None, 2.5]),
    TimeSeries("cpu_cores", [0, 15], [1.0, 0.5], "w-0"),
    TimeSeries("gpu_util_percent", [0.5, 15.5], [100.0, 0.0]),
]


def test_time_series_are_kept_beside_a_profile_and_added_to(history: History) -> None:
    history.keep([profile(1), profile(2)])
    uid = profile(1).job.uid
    assert history.series(uid) == []
    for _ in range(2):
        history.keep_series(uid, SERIES)
    assert history.series(uid) == SERIES
    history.keep_series(uid, [TimeSeries("cpu_cores", [45, 60], [3.0, 4.0])])
    assert history.series(uid)[0] == TimeSeries(
        "cpu_cores", [0, 15, 30, 45, 60], [1.0, None, 2.5, 3.0, 4.0]
    )
    assert history.series(profile(2).job.uid) == []


def test_time_series_are_thinned_to_an_interval(history: History) -> None:
    history.keep([profile()])
    history.keep_series(profile().job.uid, SERIES[:1], interval_seconds=30)
    assert history.series(profile().job.uid) == [TimeSeries("cpu_cores", [0, 30], [1.0, 2.5])]


def test_time_series_of_a_job_that_is_not_kept_are_refused(history: History) -> None:
    history.keep([profile(1, uid="abc-1")])
    for uid in ("nobody", "abc"):
        with pytest.raises(NoSuchJobError):
            history.keep_series(uid, SERIES)


def before(number: int) -> dict[str, object]:
    return {"ended_before": BEGIN + timedelta(seconds=number)}


@pytest.mark.parametrize(
    ("how", "left"),
    [
        (before(6), [*range(6, 10), 100]),
        ({"most_each_namespace": 2}, [6, 7, 8, 9, 100]),
        ({"most_bytes": 0}, [100]),
        ({"most_bytes": 10**6}, [*range(10), 100]),
        ({}, [*range(10), 100]),
    ],
)
def test_what_is_old_or_too_much_goes(
    history: History, how: dict[str, object], left: list[int]
) -> None:
    """Two namespaces, and one job that runs."""
    kept = [profile(number, namespace=f"ns-{number % 2}") for number in range(10)]
    history.keep([*kept, profile(100, outcome=RUNNING)])
    for one in kept:
        history.keep_series(one.job.uid, SERIES)
    gone = history.prune(**how)  # type: ignore[arg-type]
    assert gone == 11 - len(left)
    assert sorted(int(one.job.name.rpartition("-")[2]) for one in history.find()) == left
    for one in history.find(Query(outcome=Outcome.SUCCESS)):
        assert history.series(one.job.uid) == SERIES


def test_bytes_are_those_of_documents_workers_and_series(history: History) -> None:
    workers = tuple(Worker(name=f"w-{number}") for number in range(50))
    history.keep([profile(1), profile(2)], {profile(2).job.uid: workers})
    size = sum(len(to_row(profile(number))["document"]) for number in (1, 2))
    size += len(pack_workers(workers))
    assert history.prune(most_bytes=size) == 0
    history.keep_series(profile(2).job.uid, SERIES)
    assert history.prune(most_bytes=size) == 1
    assert history.find() == [profile(2)]


def test_time_series_go_by_an_age_of_their_own_and_with_their_job(history: History) -> None:
    history.keep(profile(number) for number in range(3))
    for number in range(3):
        history.keep_series(profile(number).job.uid, SERIES)
    assert history.prune(series_ended_before=BEGIN + timedelta(seconds=1)) == 0
    assert [len(history.series(profile(number).job.uid)) for number in range(3)] == [0, 3, 3]
    history.prune(ended_before=BEGIN + timedelta(seconds=2))
    history.keep([profile(1)])
    assert history.series(profile(1).job.uid) == []


def test_each_sees_one_moment_whoever_writes_meanwhile(history: History) -> None:
    history.keep(profile(number) for number in range(1500))
    walk = history.each()
    first = next(walk)
    history.keep(profile(number) for number in range(2000, 2100))
    history.prune(ended_before=BEGIN + timedelta(seconds=1000))
    assert [first, *walk] == [(profile(number), ()) for number in reversed(range(1500))]


Act = Callable[[History], object]


@pytest.mark.parametrize(
    "act",
    [
        lambda history: history.find(Query(user="ann")),
        lambda history: history.find(Query(user="ann"), after=profile(5000)),
        lambda history: history.find(Query(namespace="research")),
        lambda history: history.find(Query(series="train")),
        lambda history: history.find(Query(name="train-7")),
        lambda history: history.find(),
        lambda history: history.earlier_runs(profile(5000)),
        lambda history: history.get(profile(7).job.uid[:30]),
    ],
)
def test_no_question_reads_the_whole_table(history: History, act: Act) -> None:
    """The plan is what is asserted, not the clock."""
    history.keep(profile(n, user=f"u{n % 9}", name=f"n{n}", series=f"s{n}") for n in range(3000))
    engine = history._database._engine  # noqa: SLF001 - what it asks is seen nowhere else
    asked = []
    event.listen(engine, "before_cursor_execute", lambda *args: asked.append(args[2:4]))
    if engine.dialect.name == "postgresql":
        with engine.begin() as connection:
            connection.execute(text("ANALYZE"))
    with suppress(NoSuchJobError):
        act(history)
    selects = [(sql, values) for sql, values in asked if "FROM cepheid_jobs" in sql]
    assert selects
    explain = "EXPLAIN " if engine.dialect.name == "postgresql" else "EXPLAIN QUERY PLAN "
    for sql, values in selects:
        with engine.connect() as connection:
            plan = str(connection.exec_driver_sql(explain + sql, values).all())
        assert "Seq Scan" not in plan
        assert "SCAN cepheid_jobs'" not in plan
        assert "USE TEMP B-TREE FOR ORDER BY" not in plan
