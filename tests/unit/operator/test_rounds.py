"""One round: what goes wrong with one job is no other job's affair."""

from datetime import UTC, datetime
from typing import Any

from cepheid.annotations.api import ApiServer
from cepheid.logs import Troubles
from cepheid_operator.cluster import Cluster
from cepheid_operator.discovery import PODS, Served
from cepheid_operator.hands import Hands
from cepheid_operator.means import Means
from cepheid_operator.plan import Paces
from cepheid_operator.profiles import Profiles
from cepheid_operator.rounds import LOG, Rounds
from cepheid_operator.telemetry import Telemetry
from tests.unit.operator.stories import JOBS, raw_job

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
BUGS = "cepheid_operator_errors_total"


def job(name: str) -> dict[str, Any]:
    made = raw_job()
    made["metadata"] |= {"name": name, "uid": f"uid-{name}", "resourceVersion": "1"}
    return made


def no_server() -> Any:
    raise OSError("there is none")


def make(cluster: Cluster, telemetry: Telemetry) -> Rounds:
    """Without anybody to write to; nothing here is measured or has ended."""
    means = Means(
        Hands(lambda: ApiServer(no_server)),
        lambda: None,
        telemetry,
        Troubles(LOG),
        lambda: 1000.0,
        lambda: NOON,
    )
    profiles = Profiles(means.hands.server, lambda: None, lambda: None)
    nobody: Any = None
    return Rounds(means, cluster, profiles, nobody, nobody, Paces(write_seconds=0, live_seconds=1))


def test_a_job_that_cannot_be_understood_leaves_the_others_their_turn(caplog: Any) -> None:
    cluster = Cluster(clock=lambda: 1000.0, wall=lambda: NOON)
    for served in (JOBS, PODS):
        cluster.relisted(served, frozenset(), set())
    for name in ("broken", "sound"):
        cluster.see(Served("batch", "v1", "Job", "jobs"), job(name), False)
    broken, sound = cluster.runs.values()
    broken.document = b"{"
    telemetry = Telemetry()
    rounds = make(cluster, telemetry)
    rounds.one_round()
    rounds.one_round()  # it rests: once is told, not in every round
    assert telemetry.registry.get_sample_value(BUGS, {"kind": "bug"}) == 1
    assert [record.levelname for record in caplog.records].count("ERROR") == 1
    assert "team/broken is left alone" in caplog.text
    plans = {uid: tracked.plan for uid, tracked in rounds._tracked.items()}  # noqa: SLF001
    assert plans["uid-sound"] is not None
    assert plans["uid-sound"].story is not None
    assert sound.job.name == "sound"
