"""Jobs that are deleted, also while nobody watches."""

from collections.abc import Callable

from tests.cluster.progress import wait_for
from tests.faults_operator.conftest import Start
from tests.faults_operator.submitted import Submitted, used
from tests.stage.operator import Operator

Make = Callable[..., Submitted]
FINISHED = 'cepheid_operator_writes_total{kind="JobProfile",what="finished"}'


def test_a_job_that_is_deleted_with_its_pods_keeps_what_was_annotated_in_time(
    operator: Operator, job: Make
) -> None:
    train = job()
    train.add_pod("train-0", gpus=1, usage=used(40, 900))
    train.add_pod("train-1", node="gpu-b", usage=used(50, 800))
    wait_for("annotations", lambda: len(train.annotations()) > 2)
    train.annotate("train-1", used(90, 1100))
    train.delete()
    profile = train.finished()
    assert (profile["outcome"], profile["reason"]) == ("error", "Deleted")
    memories = {one["name"]: one["memoryBytes"] for one in profile["workers"]}
    assert memories == {"train-0": 900 * 2**20, "train-1": 1100 * 2**20}
    assert sorted(profile["nodes"]) == ["gpu-a", "gpu-b"]
    operator.untroubled()


def test_a_job_made_and_deleted_within_a_second_is_no_trouble(
    operator: Operator, job: Make
) -> None:
    marker = job("marker")
    marker.succeed()
    marker.finished()  # from here on its watches tell
    train = job()
    train.delete()
    profile = train.finished()
    assert (profile["outcome"], profile["reason"]) == ("error", "Deleted")
    operator.untroubled()


def test_a_job_of_the_same_name_has_a_profile_of_its_own(operator: Operator, job: Make) -> None:
    first = job()
    first.succeed()
    first.finished()
    first.delete()
    wait_for("no job", lambda: not first.admin.items("jobs"))
    second = job()
    second.fail()
    assert second.finished()["outcome"] == "failed"
    assert first.profile() is not None
    operator.untroubled()


def test_one_that_vanished_while_nobody_watched_is_not_left_running(
    start: Start, job: Make
) -> None:
    first = start("a")
    wait_for("an operator that acts", lambda: first.acts)
    train = job()
    train.add_pod("train-0", usage=used(40, 900))
    wait_for("a live profile", train.profiles, timeout_seconds=150)
    first.stop()
    train.delete()
    wait_for("no job", lambda: not train.admin.items("jobs"))
    second = start("b")
    profile = train.finished()
    assert (profile["outcome"], profile["reason"]) == ("error", "Deleted")
    assert profile["workers"][0]["memoryBytes"] == 900 * 2**20
    second.untroubled()


def test_after_a_restart_a_profile_is_not_made_worse(start: Start, job: Make) -> None:
    """Its pods are gone by then, and with them what they knew."""
    first = start("a")
    wait_for("an operator that acts", lambda: first.acts)
    train = job()
    train.add_pod("train-0", gpus=1, usage=used(40, 900))
    wait_for("annotations", train.annotations)
    train.succeed()
    before = train.finished()
    first.kill()
    train.api.delete_pod(train.namespace, "train-0")
    second = start("b")
    wait_for("another who acts", lambda: second.acts)
    marker = job("marker")
    marker.succeed()
    marker.finished()
    # The marker's at once, and both again when Prometheus was asked, some time after their end.
    wait_for("the last word", lambda: second.metrics().get(FINISHED, 0) >= 3)
    after = train.profile()
    assert after is not None
    assert {key: after[key] for key in ("nodes", "gpuCount", "workers", "asked")} == {
        key: before[key] for key in ("nodes", "gpuCount", "workers", "asked")
    }
