"""Whether the operator is well, and what it counts."""

from prometheus_client.exposition import generate_latest

from cepheid_operator.discovery import PODS
from cepheid_operator.telemetry import PATIENCE_SECONDS, STALE_SECONDS, Telemetry
from tests.unit.operator.stories import make_cluster, raw_pod


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_it_is_ready_while_it_sees_the_lease() -> None:
    clock = Clock()
    telemetry = Telemetry(clock)
    ready = [telemetry.ready]
    telemetry.lease_seen()
    ready.append(telemetry.ready)
    clock.now += STALE_SECONDS
    ready.append(telemetry.ready)
    assert ready == [False, True, False]


def test_it_is_healthy_while_every_thread_goes_on() -> None:
    clock = Clock()
    telemetry = Telemetry(clock)
    telemetry.alive("rounds")
    clock.now += PATIENCE_SECONDS - 1
    telemetry.alive("lease")
    healthy = [telemetry.healthy]
    clock.now += 1
    healthy.append(telemetry.healthy)
    telemetry.alive("rounds")
    healthy.append(telemetry.healthy)
    assert healthy == [True, False, True]


def test_what_is_left_alone_is_counted_when_somebody_asks() -> None:
    cluster = make_cluster()
    pod = raw_pod()
    pod["metadata"]["ownerReferences"][0] |= {"apiVersion": "apps/v1", "kind": "ReplicaSet"}
    cluster.see(PODS, pod, False)
    telemetry = Telemetry()
    telemetry.watch(cluster, lambda: ["Done", "Running", "Done"])
    text = generate_latest(telemetry.registry).decode()
    assert 'cepheid_operator_left_alone{kind="ReplicaSet.apps",why="service"} 1.0' in text
    assert "cepheid_operator_objects 1.0" in text
    assert 'cepheid_operator_placement_trials{phase="Done"} 2.0' in text
