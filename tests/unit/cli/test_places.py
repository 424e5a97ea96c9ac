"""Where jobs are read from, and which one is meant."""

from pathlib import Path

import pytest

from cepheid.cli.places import chosen_place, is_plugin, job_of
from cepheid.errors import NoSuchJobError, UsageError
from cepheid.history import History
from tests.unit.reports.runs import pod_job, process


def test_without_a_word_it_is_this_machines_own_history(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CEPHEID_HISTORY", "/somewhere/history.db")
    assert chosen_place().path_or_url == "/somewhere/history.db"
    monkeypatch.delenv("CEPHEID_HISTORY")
    monkeypatch.setenv("XDG_DATA_HOME", "/data")
    assert chosen_place().path_or_url == "/data/cepheid/history.db"


def test_a_context_or_namespace_is_a_clusters_and_of_a_history_a_filter() -> None:
    assert chosen_place(context="prod").is_cluster
    assert chosen_place(namespace="team").is_cluster
    assert chosen_place(all_namespaces=True).is_cluster
    of_history = chosen_place(history="postgresql://db/h", namespace="team")
    assert (of_history.is_cluster, of_history.namespace) == (False, "team")
    assert not chosen_place(local=True, namespace="laptop").is_cluster


def test_kubectls_plugin_reads_the_cluster() -> None:
    assert is_plugin("/usr/local/bin/kubectl-cepheid")
    assert not is_plugin("/usr/local/bin/cepheid")


@pytest.mark.parametrize(
    "given",
    [
        {"history": "a.db", "local": True},
        {"history": "a.db", "context": "prod"},
        {"local": True, "context": "prod"},
        {"namespace": "a", "all_namespaces": True},
    ],
)
def test_two_places_at_once_are_refused(given: dict[str, object]) -> None:
    with pytest.raises(UsageError) as problem:
        chosen_place(**given)  # type: ignore[arg-type]
    assert problem.value.hint


def test_a_password_is_in_nothing_that_is_said() -> None:
    place = chosen_place(history="postgresql://ann:S3CRET@db/history")
    assert "S3CRET" not in str(place)


@pytest.fixture
def history(tmp_path: Path) -> History:
    made = History.open(tmp_path / "history.db")
    made.keep(
        [
            process(0, uid="aa11" + "0" * 28),
            process(1, uid="aa22" + "0" * 28),
            process(2, uid="bb33" + "0" * 28, name="etl.sh"),
            pod_job(),
            process(9, uid="cc44" + "0" * 28, name="aa1"),
        ]
    )
    return made


@pytest.mark.parametrize(
    ("wanted", "uid"),
    [
        (None, "aa11"),
        ("train.py", "aa11"),  # its latest run
        ("aa22", "aa22"),
        ("bb", "bb33"),
        ("aa22" + "0" * 28, "aa22"),
        ("bert-nightly", "3f2b"),  # a series
        ("aa1", "cc44"),  # a name counts before the beginning of a uid
    ],
)
def test_a_job_is_found_by_uid_name_or_series(
    history: History, wanted: str | None, uid: str
) -> None:
    assert job_of(history, wanted).job.uid.startswith(uid)


def test_a_name_that_is_nearly_right_is_suggested(history: History) -> None:
    with pytest.raises(NoSuchJobError) as problem:
        job_of(history, "trian.py")
    assert problem.value.hint == "is it train.py?"


def test_what_is_not_there_or_not_clear_is_said(history: History, tmp_path: Path) -> None:
    with pytest.raises(NoSuchJobError, match="no job"):
        job_of(history, "zzzz")
    with pytest.raises(NoSuchJobError, match="more than one"):
        job_of(history, "aa")
    with History.open(tmp_path / "empty.db") as empty, pytest.raises(NoSuchJobError) as problem:
        job_of(empty, "anything")
    assert "cepheid run" in (problem.value.hint or "")
