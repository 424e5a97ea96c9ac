"""Two of them; killed, frozen, cut off: never two who act, and soon one again."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tests.cluster.progress import wait_for
from tests.faults_operator.conftest import Start
from tests.faults_operator.submitted import Submitted, used
from tests.stage.operator import Operator
from tests.stage.ours import is_wait
from tests.stage.processes import StageError
from tests.stage.proxy import Proxy
from tests.stage.surroundings import Stage

Make = Callable[..., Submitted]


@contextmanager
def never_two(*operators: Operator) -> Iterator[None]:
    """As often as they can be asked."""
    done = threading.Event()
    seen: list[list[int]] = []

    def ask() -> None:
        while not done.wait(0.1):
            acting = [one for one in operators if _acts(one)]
            # One answers after the other: the first may have stopped before the second began. Only
            # if it says so again it acted while the second did, since it never acts again so soon.
            if len(acting) > 1 and _acts(acting[0]):
                seen.append([one.port for one in acting])

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        yield
    finally:
        done.set()
        asking.join()
    assert seen == []


def _acts(operator: Operator) -> bool:
    try:
        return operator.acts
    except StageError:
        return False


def acting(*operators: Operator) -> Operator:
    """The first that acts."""
    return wait_for(
        "one who acts",
        lambda: next((one for one in operators if _acts(one)), None),
        every_seconds=0.2,
    )


def test_of_two_one_acts_and_the_other_is_ready_and_takes_over_at_once_when_told(
    start: Start, job: Make
) -> None:
    first = start("a")
    assert acting(first) is first
    second = start("b")
    with never_two(first, second):
        wait_for("both ready", lambda: second.get("/readyz")[0] == 200)
        train = job("one")
        train.succeed()
        train.finished()
        assert first.stop() == 0
        assert acting(second) is second
        other = job("two")
        other.succeed()
        other.finished()
    first.untroubled()
    second.untroubled()
    assert first.logs()[-1]["message"] == "stopped"


def test_after_a_kill_the_other_takes_over_and_finds_what_ended_meanwhile(
    start: Start, job: Make
) -> None:
    first = start("a")
    acting(first)
    second = start("b")
    jobs = [job(f"job-{number}") for number in range(4)]
    for one in jobs:
        one.add_pod(f"{one.name}-0", usage=used(40, 900))
    wait_for("annotations", lambda: all(one.annotations() for one in jobs))
    with never_two(first, second):
        first.kill()
        jobs[1].delete()
        # On a slow machine it is old enough for a live profile, or the other was there in time.
        nobody_knew = not second.acts and not jobs[1].profiles()
        jobs[0].succeed()
        jobs[2].add_pod("job-2-1", usage=used(70, 100))
        acting(second)
        jobs[2].succeed()
    assert jobs[0].finished()["outcome"] == "success"
    assert jobs[2].finished()["workerCount"] == 2
    if nobody_knew:
        assert jobs[1].profiles() == []
    else:
        assert jobs[1].finished()["reason"] == "Deleted"
    assert jobs[3].profile() is None
    second.untroubled()


def test_killed_again_and_again_every_job_has_one_profile(start: Start, job: Make) -> None:
    jobs = [job(f"job-{number}") for number in range(12)]
    for one in jobs:
        one.add_pod(f"{one.name}-0", usage=used(40, 900))
    operators = [start("a"), start("b")]
    for number, one in enumerate(jobs):
        one.succeed()
        if number % 4 == 3:
            now = acting(*operators)
            time.sleep(0.7 * number)  # somewhere in its work
            now.kill()
            now.start()
    for one in jobs:
        profile = one.finished()
        assert profile["outcome"] == "success"
        assert profile["workers"][0]["memoryBytes"] == 900 * 2**20


def test_one_that_was_frozen_writes_nothing_and_ends_when_it_wakes(start: Start, job: Make) -> None:
    first = start("a")
    acting(first)
    second = start("b")
    train = job()
    train.add_pod("train-0", usage=used(40, 900))
    wait_for("annotations", train.annotations)
    first.freeze()
    assert acting(second) is second
    train.succeed()
    train.finished()
    asked = first.log.stat().st_size
    first.thaw()
    wait_for("the end of the first", lambda: not first.running)
    said = [entry["message"] for entry in first.troubles() if not is_wait(entry)]
    assert said
    assert all(words.startswith("the Lease is not ours any more") for words in said)
    assert first.log.stat().st_size > asked
    assert train.profile() is not None
    assert second.acts


def test_one_that_is_cut_off_stops_before_the_other_begins(
    stage: Stage, start: Start, job: Make
) -> None:
    with Proxy(stage.api.port) as proxy:
        first = start("a", url=f"https://127.0.0.1:{proxy.port}")
        acting(first)
        second = start("b")
        with never_two(first, second):
            proxy.cut()
            train = job()
            train.succeed()
            assert acting(second) is second
        wait_for("the end of the first", lambda: not first.running)
        train.finished()
    said = [entry["message"] for entry in first.troubles()]
    assert any(words.startswith("the Lease is not ours any more") for words in said)
    second.untroubled()
