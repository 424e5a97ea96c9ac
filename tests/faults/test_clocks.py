"""The node's clock is a minute off: the agent's, and that by which its kubelet measures."""

from datetime import UTC, datetime

import pytest

from cepheid.annotations.writer import MANAGER
from cepheid.settings import AgentSettings
from tests.faults.begun import SHIFTS_SECONDS, Begun
from tests.faults.watch import Watched

VALID_SECONDS = AgentSettings(node_name="any").valid_seconds
SLACK_SECONDS = 20


@pytest.mark.parametrize("clock", SHIFTS_SECONDS)
def test_a_minute_more_or_less_changes_nothing(begun: Begun, clock: str) -> None:
    with begun.look(clock) as seen:
        seen.tells()
        until = seen.facts().valid_until
        assert until is not None
        # By its own clock: who reads by another one is off by as much, and no more.
        ahead = (until - _written(seen)).total_seconds()
        assert ahead == pytest.approx(VALID_SECONDS + SHIFTS_SECONDS[clock], abs=SLACK_SECONDS)
        seen.said_nothing()


def _written(seen: Watched) -> datetime:
    """When the agent last wrote to the node, by the API server's clock."""
    entries = seen.objects()[f"Node {seen.node.name}"]["managedFields"]
    (time,) = (entry["time"] for entry in entries if entry["manager"] == MANAGER)
    return datetime.strptime(time, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
