"""What was done to jobs is written down once, and found again; on both databases alike."""

from dataclasses import replace
from datetime import timedelta

import pytest

from cepheid.history import History
from cepheid.history.acts import Act
from cepheid.history.rows import searchable
from tests.unit.history.strategies import ATTACKS, BEGIN, profile

SUSPENDED = Act(
    at=BEGIN,
    what="IdleSuspended",
    namespace="research",
    kind="MPIJob",
    name="bert",
    uid="u-1",
    words="8 GPUs not used since 11:02: suspended",
    occasion="11:02",
)


def later(hours: int, **more: str) -> Act:
    return replace(SUSPENDED, at=BEGIN + timedelta(hours=hours), **more)


def test_the_same_is_kept_once(history: History) -> None:
    history.note(SUSPENDED)
    history.note(later(1))
    assert history.acts() == [SUSPENDED]


def test_what_differs_is_kept_and_the_newest_comes_first(history: History) -> None:
    acts = [
        SUSPENDED,
        later(1, what="IdleResumed"),
        later(2, occasion="12:30"),
        later(3, uid="u-2", namespace="batch"),
    ]
    for act in acts:
        history.note(act)
    assert history.acts() == acts[::-1]
    assert history.acts(limit=2) == [acts[3], acts[2]]
    assert history.acts(uid="u-1") == acts[2::-1]
    assert history.acts(namespace="batch") == [acts[3]]
    assert history.acts(since=BEGIN + timedelta(hours=2)) == [acts[3], acts[2]]


@pytest.mark.parametrize("text", ATTACKS)
def test_a_text_is_a_text_whatever_it_says(history: History, text: str) -> None:
    history.note(replace(SUSPENDED, name=text, words=text, occasion=text))
    history.note(SUSPENDED)
    held = searchable(text)
    assert replace(SUSPENDED, name=held, words=held, occasion=held) in history.acts()
    assert len(history.acts()) == 2


def test_what_is_old_goes_with_the_jobs_of_its_time(history: History) -> None:
    history.keep([profile(0)])
    for act in (SUSPENDED, later(48, occasion="later")):
        history.note(act)
    limit = BEGIN + timedelta(hours=24)
    history.prune(ended_before=limit, dry_run=True)
    assert len(history.acts()) == 2
    history.prune(ended_before=limit)
    assert [act.occasion for act in history.acts()] == ["later"]
    history.prune(most_each_namespace=0)
    assert len(history.acts()) == 1
