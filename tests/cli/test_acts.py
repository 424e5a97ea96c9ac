"""`cepheid acts`: what was done to jobs, as a user asks for it."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from cepheid.history import History
from cepheid.history.acts import Act
from tests.cli.conftest import Run


def act(hours: int, what: str, name: str = "bert", namespace: str = "research") -> Act:
    """So long before the test, not before the run that it is part of: that may take an hour."""
    return Act(
        at=datetime.now(UTC).replace(microsecond=0) - timedelta(hours=hours),
        what=what,
        namespace=namespace,
        kind="MPIJob",
        name=name,
        uid=f"uid-{name}",
        words="8 GPUs not used since 2026-03-01 11:02:10 UTC, for 1h 30m: suspended",
        occasion=str(hours),
    )


@pytest.fixture
def acts(kept: History) -> list[Act]:
    """The newest first."""
    made = [
        act(1, "IdleResumed"),
        act(2, "IdleSuspended"),
        act(30, "GpusIdle", "\x1b[2Jevil", "batch"),
    ]
    for one in made:
        kept.note(one)
    return made


def test_the_newest_come_first_and_fit_the_screen(full: Run, acts: list[Act]) -> None:
    shown = full("acts")
    lines = shown.stdout.splitlines()
    assert shown.returncode == 0
    assert [line.split()[:1] for line in lines[1:]] == [["1h"], ["2h"], ["1d"]]
    assert "IdleSuspended" in lines[2]
    assert "8 GPUs not used" in lines[2]
    assert max(map(len, lines)) <= 80
    assert "\x1b" not in shown.stdout
    assert len(acts) == 3


def test_programs_get_all_of_it(full: Run, acts: list[Act]) -> None:
    first, second, third = json.loads(full("acts", "-o", "json").stdout)
    assert first["what"] == "IdleResumed"
    assert datetime.fromisoformat(second["at"]) == acts[1].at
    assert second["words"] == acts[1].words
    assert third["namespace"] == "batch"


@pytest.mark.usefixtures("acts")
def test_they_can_be_chosen(full: Run) -> None:
    def names(*options: str) -> list[str]:
        return [one["what"] for one in json.loads(full("acts", "-o", "json", *options).stdout)]

    assert names("--since", "90min") == ["IdleResumed"]
    assert names("--local", "-n", "batch") == ["GpusIdle"]
    assert names("--limit", "2") == ["IdleResumed", "IdleSuspended"]


def test_when_nothing_was_done_it_says_how_that_begins(full: Run) -> None:
    shown = full("acts")
    assert (shown.returncode, shown.stdout) == (0, "")
    assert "idle-policy=dry-run" in shown.stderr


def test_a_cluster_is_no_history(cepheid: Run) -> None:
    shown = cepheid("acts", "--all-namespaces")
    assert shown.returncode == 2
    assert "--history" in shown.stderr
    assert "kubectl get events" in shown.stderr
