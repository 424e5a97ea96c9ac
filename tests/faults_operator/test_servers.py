"""The API server away, its watch streams dead; the definition missing or older."""

from collections.abc import Callable

import pytest
import yaml

from cepheid_operator.acting import OLDER
from tests.cluster.progress import wait_for
from tests.cluster.rendered import definition
from tests.faults_operator.conftest import Start
from tests.faults_operator.submitted import Submitted, used
from tests.stage.api_server import NAMESPACE, Twin
from tests.stage.operator import Operator
from tests.stage.ours import is_wait
from tests.stage.proxy import Proxy
from tests.stage.surroundings import Stage

Make = Callable[..., Submitted]
NAME = "jobprofiles.ai.centaurus.io"
TRIES = 3
LEASE = "looking after the Lease"
EVENTS = 'cepheid_operator_events_total{kind="Job"}'
"""That watches told of."""


def test_an_api_server_that_was_restarted_in_time_changes_nothing(
    start: Start, stage: Stage, job: Make
) -> None:
    """One that is ready takes its place: how long a start takes is the machine's affair."""
    with Twin(stage.api) as twin, Proxy(stage.api.port) as proxy:
        operator = start("a", url=f"https://127.0.0.1:{proxy.port}", relist_seconds=3600)
        wait_for("an operator that acts", lambda: operator.acts)
        train, other = job("one"), job("two")
        train.add_pod("one-0", usage=used(40, 900))
        wait_for("annotations", train.annotations)
        for _ in range(TRIES):
            pid = operator.pid
            if _outlives_a_restart(operator, stage, proxy, twin.port):
                break
            proxy.refuse()
            proxy.lead_to(stage.api.port)
            operator.start()
            wait_for("an operator that acts", lambda: operator.acts)
        else:
            pytest.fail(f"the Lease was lost, {TRIES} times: a renewal takes 4 s of its 10")
        train.succeed()
        other.succeed()
        for one in (train, other):
            one.finished()
        assert operator.pid == pid


def _outlives_a_restart(operator: Operator, stage: Stage, proxy: Proxy, twin_port: int) -> bool:
    """From when its renewal fails until it succeeds, if that is before the Lease is lost."""
    then = _renewed(stage)
    wait_for("a renewal", lambda: _renewed(stage) != then, every_seconds=0.1)  # all 10 s are left
    known = len(operator.logs())

    def says(words: str) -> bool:
        messages = [str(entry["message"]) for entry in operator.logs()[known:]]
        return not operator.running or any(one.startswith(f"{LEASE}: {words}") for one in messages)

    stage.api.kill()
    proxy.refuse()
    try:
        wait_for("the trouble", lambda: says(""), every_seconds=0.1)
        proxy.lead_to(twin_port)
        wait_for("the end of it", lambda: says("over"), every_seconds=0.1)
        return operator.running
    finally:
        stage.api.start()


def _renewed(stage: Stage) -> str | None:
    spec: dict[str, str] = stage.api.admin.within(NAMESPACE).get("lease", "cepheid-operator")[
        "spec"
    ]
    return spec.get("renewTime")


def test_one_that_is_away_for_long_is_waited_for_and_what_ended_is_found(
    start: Start, stage: Stage, job: Make
) -> None:
    first, second = start("a"), start("b")
    wait_for("one who acts", lambda: first.acts or second.acts)
    train = job()
    train.add_pod("train-0", usage=used(40, 900))
    wait_for("annotations", train.annotations)
    stage.api.kill()
    # Whoever acted could not renew the Lease, and is gone; the other one waits.
    wait_for("the end of one", lambda: not first.running or not second.running)
    gone, waits = (first, second) if second.running else (second, first)
    assert waits.get("/healthz")[0] == 200
    wait_for("not ready", lambda: waits.get("/readyz")[0] == 503)
    stage.api.start()
    train.succeed()
    train.finished()
    assert waits.acts
    assert not gone.running


def test_streams_that_died_without_a_word_are_noticed(
    stage: Stage, start: Start, job: Make
) -> None:
    with Proxy(stage.api.port) as proxy:
        operator = start("a", url=f"https://127.0.0.1:{proxy.port}", relist_seconds=3600)
        wait_for("an operator that acts", lambda: operator.acts)
        marker = job("before")
        marker.succeed()
        marker.finished()
        proxy.silence()
        train = job("after")
        train.succeed()
        train.finished(timeout_seconds=300)
        assert operator.running


def test_what_a_watch_missed_is_found_by_the_next_list(
    stage: Stage, start: Start, job: Make
) -> None:
    with Proxy(stage.api.port) as proxy:
        operator = start("a", url=f"https://127.0.0.1:{proxy.port}", relist_seconds=8)
        wait_for("an operator that acts", lambda: operator.acts)
        marker = job("before")
        marker.succeed()
        marker.finished()
        for number in range(TRIES):
            proxy.silence()
            told = operator.metrics()[EVENTS]
            train = job(f"after-{number}")
            train.succeed()
            train.finished(timeout_seconds=180)
            if operator.metrics()[EVENTS] == told:
                return  # no watch told of it
        pytest.fail(f"dead streams were noticed before anything was listed, {TRIES} times")


@pytest.fixture
def defined(stage: Stage) -> Callable[[], None]:
    """Puts the definition back as it should be."""

    def put() -> None:
        stage.api.admin(
            "apply", "--server-side", "--force-conflicts", "-f", "-", stdin=definition()
        )
        wait_for("the definition", lambda: stage.api.admin("get", "jobprofiles", "-A") is not None)

    return put


def test_without_its_definition_profiles_wait_and_are_written_when_it_is_there(
    operator: Operator, stage: Stage, job: Make, defined: Callable[[], None]
) -> None:
    marker = job("before")
    marker.succeed()
    marker.finished()
    stage.api.admin("delete", "crd", NAME)
    try:
        train = job("after")
        train.add_pod("after-0", usage=used(40, 900))
        train.succeed()
        wait_for("the trouble", lambda: _has_no_definition(operator))
        wait_for("annotations all the same", train.annotations)
    finally:
        defined()
    train.finished()
    (trouble,) = (entry for entry in operator.troubles() if not is_wait(entry))
    assert "the cluster has no JobProfiles; hint: kubectl apply" in trouble["message"]
    wait_for("the end of the trouble", lambda: operator.over(trouble))


def _has_no_definition(operator: Operator) -> bool:
    return any("has no JobProfiles" in entry["message"] for entry in operator.troubles())


def test_it_begins_without_a_definition_and_goes_on_when_there_is_one(
    stage: Stage, start: Start, job: Make, defined: Callable[[], None]
) -> None:
    stage.api.admin("delete", "crd", NAME)
    try:
        operator = start("a")
        train = job()
        train.add_pod("train-0", usage=used(40, 900))
        train.succeed()
        wait_for("the trouble", lambda: _has_no_definition(operator))
        wait_for("annotations all the same", train.annotations)
    finally:
        defined()
    train.finished()


def test_with_an_older_definition_what_it_knows_is_kept(
    operator: Operator, stage: Stage, job: Make, defined: Callable[[], None]
) -> None:
    older = yaml.safe_load(definition())
    (version,) = older["spec"]["versions"]
    del version["schema"]["openAPIV3Schema"]["properties"]["summary"]
    version["additionalPrinterColumns"] = []
    stage.api.admin("replace", "-f", "-", stdin=yaml.safe_dump(older))
    try:
        explained = "`summary` to be gone"
        wait_for(explained, lambda: "summary" not in stage.api.admin("explain", "jobprofile"))
        train = job()
        train.succeed()
        profile = train.finished()
    finally:
        defined()
    assert profile["outcome"] == "success"
    assert "summary" not in profile
    said = [entry["message"] for entry in operator.troubles() if not is_wait(entry)]
    assert said == [OLDER]
