"""Real surroundings for all tests, and who begins when."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import pytest

from tests.bench.operator.audit import Audit
from tests.cluster.progress import wait_for
from tests.faults_trials.tried import BEATING, DOOMED, GPUS, MODELS, Team, Tried, nodes
from tests.stage.api_server import NAMESPACE
from tests.stage.controllers import ControllerManager, Scheduler
from tests.stage.kwok import OF_NODES, Kwok
from tests.stage.operator import Operator
from tests.stage.surroundings import Stage, surroundings
from tests.stage.trainers import Trainers

TEAMS = 32
"""Prometheus scrapes what is there when it starts."""
LEASE_SECONDS = 20
"""Of the nodes' beats; the doomed ones' are as short as can be."""
LEASE = {
    "apiVersion": "coordination.k8s.io/v1",
    "kind": "Lease",
    "metadata": {"name": "cepheid-operator", "namespace": NAMESPACE},
    "spec": {"holderIdentity": ""},
}
Scene = Callable[[Team], Tried]


@dataclass
class Theatre:
    stage: Stage
    trainers: Trainers
    doomed: Kwok
    """Keeps some nodes alive, until it is killed."""
    audit: Audit
    teams: Iterator[Team]

    def team(self, beats: str = BEATING, labels: dict[str, str] | None = None) -> Team:
        """A new one."""
        team = next(self.teams)
        team.kwok = self.doomed if beats == DOOMED else None
        metadata = {"name": team.name, "labels": labels or {}}
        space = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
        self.stage.api.admin.apply(space, *nodes(team, beats))
        return team

    def writes(self, tried: Tried) -> list[str]:
        """Of its status: the moments, by the API server's own record."""
        lines = self.audit.log.read_text().splitlines(keepends=True)
        events = [json.loads(line) for line in lines if line.endswith("\n")]  # the rest comes yet
        wanted = ("placementtrials", tried.team.name, tried.name, "status")
        keys = ("resource", "namespace", "name", "subresource")
        return [
            event["requestReceivedTimestamp"]
            for event in events
            if event["verb"] == "patch"
            and tuple(event["objectRef"].get(key) for key in keys) == wanted
        ]

    def operator(self, name: str) -> Operator:
        kubeconfig = self.stage.api.operator_kubeconfig(f"operator-{name}")
        return Operator(self.stage.folder, name, self.stage.prometheus.url, kubeconfig)


@pytest.fixture(scope="package")
def theatre(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Theatre]:
    folder = tmp_path_factory.mktemp("stage")
    audit = Audit(folder / "audit")
    with ExitStack() as stack:
        stage = stack.enter_context(
            surroundings(folder, api_flags=[*audit.flags(), "--allow-privileged"])
        )
        kubeconfig = stage.api.admin.kubeconfig
        stage.api.admin.apply(LEASE)
        stack.enter_context(ControllerManager(folder, kubeconfig))
        stack.enter_context(Scheduler(folder, kubeconfig))
        stack.enter_context(Kwok(folder, kubeconfig, OF_NODES, LEASE_SECONDS))
        doomed = Kwok(folder / "doomed", kubeconfig, OF_NODES, LEASE_SECONDS // 3, DOOMED)
        stack.enter_context(doomed)
        trainers = stack.enter_context(Trainers(stage.world, kubeconfig))
        teams = [Team(stage, trainers, f"team-{number}") for number in range(1, TEAMS + 1)]
        for team in teams:
            for kind, name in team.nodes.items():
                stage.world.add_node(name, GPUS, MODELS[kind])
        stage.prometheus.start()
        yield Theatre(stage, trainers, doomed, audit, iter(teams))


@pytest.fixture(scope="package")
def operator(theatre: Theatre) -> Iterator[Operator]:
    with theatre.operator("a") as made:
        wait_for("an operator that acts", lambda: made.acts)
        yield made


@pytest.fixture(scope="package")
def begun(
    request: pytest.FixtureRequest, theatre: Theatre, operator: Operator
) -> dict[Scene, Tried]:
    """Those of all tests that will run."""
    assert operator.running
    begun: dict[Scene, Tried] = {}
    for item in request.session.items:
        scene: Any = getattr(getattr(item, "function", None), "begins", None)
        if scene is not None and scene not in begun:
            begun[scene] = scene(theatre.team(**scene.team))
    return begun


@pytest.fixture
def tried(request: pytest.FixtureRequest, begun: dict[Scene, Tried]) -> Tried:
    """What the test's scene began."""
    return begun[request.function.begins]
