"""PostgreSQL away for a while; what is old goes, and never too early."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cepheid.history import History
from cepheid.jobprofile import from_document
from tests.cluster.progress import wait_for
from tests.faults_operator.conftest import Start
from tests.faults_operator.submitted import Submitted, computing, used
from tests.stage.postgres import PASSWORD, Postgres
from tests.stage.surroundings import Stage
from tests.stage.world import GIB

Make = Callable[..., Submitted]
ARCHIVED = "ai.centaurus.io/archived"


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    with Postgres() as made:
        yield made


@pytest.fixture
def url(server: Postgres) -> Iterator[str]:
    server.start()
    with server.database() as made:
        yield made


@pytest.fixture
def url_file(tmp_path: Path, url: str) -> Path:
    """As a Secret is mounted."""
    path = tmp_path / "url"
    path.write_text(f"{url}\n")
    return path


def finished(job: Make, name: str) -> Submitted:
    made = job(name)
    made.add_pod(f"{name}-0", usage=used(40, 900))
    made.succeed()
    made.finished()
    return made


def is_marked(job: Submitted) -> bool:
    profile = job.profile()
    return profile is not None and ARCHIVED in profile["metadata"].get("annotations", {})


def test_what_is_finished_is_archived_and_reads_back_as_it_stands(
    start: Start, job: Make, url: str, url_file: Path
) -> None:
    operator = start("a", history_url_file=url_file)
    one = finished(job, "one")
    wait_for("the mark", lambda: is_marked(one))
    profile = one.profile()
    assert profile is not None
    document = {k: v for k, v in profile.items() if k not in ("apiVersion", "kind", "metadata")}
    with History.open(url) as history:
        assert history.get(one.uid) == from_document(document)
    assert operator.troubles() == []
    assert PASSWORD not in operator.log.read_text()


def test_what_nobody_can_measure_any_more_is_archived_all_the_same(
    start: Start, job: Make, url: str, url_file: Path
) -> None:
    without_history = start("a")
    one = finished(job, "one")
    without_history.kill()
    one.delete()
    start("b", history_url_file=url_file)
    wait_for("the mark", lambda: is_marked(one))
    with History.open(url) as history:
        assert history.get(one.uid).samples is None


def test_time_series_are_kept_where_they_are_asked_for(
    start: Start, stage: Stage, job: Make, url: str, url_file: Path
) -> None:
    wanted = {"history_granularity": "time_series", "history_interval_seconds": 5}
    operator = start("a", history_url_file=url_file, **wanted)
    wait_for("an operator that acts", lambda: operator.acts)
    train = job()
    begun = time.monotonic()
    train.add_pod("train-0", gpus=1, seconds_ago=0)
    with computing(stage, train, "train-0"):
        time.sleep(20)  # what a short job takes
        train.succeed()
        took_seconds = time.monotonic() - begun
        wait_for("the mark", lambda: is_marked(train), timeout_seconds=150)
    with History.open(url) as history:
        kept = {one.metric: one for one in history.series(train.uid) if one.worker == "train-0"}
    memory = kept["memory_working_set_bytes"]
    known = [value for value in memory.values if value is not None]
    assert known == pytest.approx([3 * GIB] * len(known), rel=0.001)
    assert 2 <= len(known) <= took_seconds / 5 + 2  # one every five, and at both ends
    assert operator.troubles() == []


def test_while_the_database_is_away_nothing_is_lost_and_the_order_is_kept(
    start: Start, job: Make, server: Postgres, url: str, url_file: Path
) -> None:
    operator = start("a", history_url_file=url_file, keep_count=1)
    wait_for("an operator that acts", lambda: operator.acts)
    server.stop()
    jobs = [finished(job, f"job-{number}") for number in range(3)]
    wait_for("the trouble", operator.troubles)
    # Not pruned either, though there is room for one: the history does not have them.
    assert all(one.profile() is not None for one in jobs)
    operator.kill()
    operator.start()
    wait_for("the backlog", lambda: operator.metrics()["cepheid_operator_archive_backlog"] > 0)
    server.start()
    with History.open(url) as history:
        wait_for("all of them", lambda: history.count() == 3)
        kept = [profile.job.name for profile in history.find()]
    assert sorted(kept) == ["job-0", "job-1", "job-2"]
    wait_for("no backlog", lambda: operator.metrics()["cepheid_operator_archive_backlog"] == 0)
    # Now that they are kept elsewhere, only the newest stays.
    wait_for("one left", lambda: [one.name for one in jobs if one.profile()] == ["job-2"], 150)


def test_without_a_history_what_is_too_much_goes_by_itself(start: Start, job: Make) -> None:
    operator = start("a", keep_count=2)
    wait_for("an operator that acts", lambda: operator.acts)
    jobs = [finished(job, f"job-{number}") for number in range(4)]
    left = ["job-2", "job-3"]
    wait_for("two left", lambda: [one.name for one in jobs if one.profile()] == left, 150)
    # Those whose profile is gone are not made again from their jobs, which still stand.
    operator.kill()
    operator.start()
    wait_for("an operator that acts", lambda: operator.acts)
    marker = finished(job, "marker")
    assert marker.profile() is not None
    written = 'cepheid_operator_writes_total{kind="JobProfile",what="finished"}'
    # Of the two that are left Prometheus is asked once more: it had nothing to say.
    assert operator.metrics()[written] <= 3
    assert [one.profiles() for one in jobs[:2]] == [[], []]


def test_a_secret_that_is_wrong_is_told_without_what_is_in_it(
    start: Start, job: Make, tmp_path: Path
) -> None:
    path = tmp_path / "url"
    path.write_text("postgresql://ada:its-secret@127.0.0.1:1/nowhere")
    operator = start("a", history_url_file=path)
    one = finished(job, "one")
    wait_for("the trouble", operator.troubles)
    assert not is_marked(one)
    assert "its-secret" not in operator.log.read_text()
    assert operator.get("/healthz")[0] == 200
