"""Real surroundings for all tests, in them one node; for each test an agent of its own.

What takes long to show has surroundings of its own, see `begun`.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.faults.begun import Begun, begin, prepare
from tests.faults.watch import PAST_SECONDS, PATIENCE_SECONDS, populate, refresh
from tests.stage.surroundings import Stage, surroundings
from tests.stage.world import Node

NODE = "gpu-node"
LONGEST = 253
LONG_NODE = "long-" + "n" * (LONGEST - 5)
LONG_POD = "long-" + "p" * (LONGEST - 5)
HANGS_SECONDS = 3 * PATIENCE_SECONDS
"""A test waits so long for what stands before, for what is new, and for a fault to be over."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Those that look at what was begun come last, after all others of this folder."""
    here = Path(__file__).parent
    places = [place for place, item in enumerate(items) if here in item.path.parents]
    ours = sorted((items[place] for place in places), key=_looks_at_what_was_begun)
    for place, item in zip(places, ours, strict=True):
        item.add_marker(pytest.mark.timeout(HANGS_SECONDS))
        items[place] = item


def _looks_at_what_was_begun(item: pytest.Item) -> bool:
    return "begun" in getattr(item, "fixturenames", ())


@pytest.fixture(scope="package", autouse=True)
def _begin_first(request: pytest.FixtureRequest) -> None:
    if any(map(_looks_at_what_was_begun, request.session.items)):
        request.getfixturevalue("begun")


@pytest.fixture(scope="package")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Begun]:
    with surroundings(tmp_path_factory.mktemp("begun")) as made:
        prepare(made)
        made.prometheus.backfill(PAST_SECONDS / 2)
        made.prometheus.start()
        found = begin(made)
        yield found
        found.close()


@pytest.fixture(scope="package")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with surroundings(tmp_path_factory.mktemp("stage")) as made:
        populate(made, NODE, others=4)
        long = populate(made, LONG_NODE, namespace="long")
        made.add_pod(long, "long", LONG_POD)
        made.prometheus.backfill(PAST_SECONDS)
        made.prometheus.start()
        yield made


@pytest.fixture
def stage(running: Stage, tmp_path: Path) -> Stage:
    """With a folder of this test's, so that its agent has a log of its own."""
    running.api.start()  # where the test before left it stopped
    running.prometheus.start()
    return replace(running, folder=tmp_path)


@pytest.fixture
def node(stage: Stage) -> Node:
    """As it was in the beginning, whatever the test before made of it."""
    refresh(stage, stage.world.nodes[0])
    return stage.world.nodes[0]
