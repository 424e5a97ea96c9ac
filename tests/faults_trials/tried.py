"""What a person does with PlacementTrials, and sees of them."""

import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import yaml
from lightkube.generic_resource import create_namespaced_resource

from cepheid.placementtrial import Placement, State, Trial, TrialStatus, status_from
from cepheid_operator.trials.copying.builders import TRIAL_LABEL
from cepheid_operator.trials.driving import PASS_SECONDS
from tests.cluster.kubectl import Kubectl
from tests.cluster.progress import wait_for
from tests.stage.kwok import Kwok
from tests.stage.surroundings import Stage
from tests.stage.trainers import JOBS, PODS, Fate, Held, Play, Trainers

A100, T4 = "NVIDIA-A100-SXM4-80GB", "Tesla-T4"
MODELS = {A100: "NVIDIA A100-SXM4-80GB", T4: "Tesla T4"}
"""By the label of their nodes, which has no spaces."""
MEMORY_MIB = {A100: "81920", T4: "15360"}
BEATING, DOOMED = "fake", "doomed"
"""Whose kwok a node is."""
GPUS = 4
IMAGE = "registry.example.com/team/train:v1"
TRIALS = create_namespaced_resource(
    "ai.centaurus.io", "v1alpha1", "PlacementTrial", "placementtrials"
)
EVENTS = create_namespaced_resource("events.k8s.io", "v1", "Event", "events")
SOON = {"trialSeconds": 40, "warmupSeconds": 2, "startSeconds": 45, "pendingSeconds": 60}
Document = dict[str, Any]
T = TypeVar("T")


LASTING: Document = {"limits": {"trialSeconds": 900}, "measure": {"by": "pulse"}}
"""For a job without a pulse: it is tried until somebody ends it."""


def periods(placement: Placement) -> float:
    """The truth: two GPUs are faster than one, and A100s than T4s."""
    alone = {A100: 8.0, T4: 9.5}[placement.gpu_type]
    return alone if placement.workers == 1 else alone - 2.0


def plays(**fate: Any) -> Play:
    """As it should be, but for what is said otherwise."""
    return lambda placement, _: Fate(**{"period_seconds": periods(placement)} | fate)


@dataclass
class Team:
    """A namespace, and a node of each type for it alone."""

    stage: Stage
    trainers: Trainers
    name: str
    kwok: Kwok | None = None
    """Its nodes', if it is to be killed."""

    @property
    def admin(self) -> Kubectl:
        return self.stage.api.admin.within(self.name)

    @property
    def nodes(self) -> dict[str, str]:
        return {kind: f"{self.name}-{kind.lower()}" for kind in MODELS}

    def play(self, play: Play) -> None:
        self.trainers.plays[self.name] = play

    def job(self, name: str = "train", **pod: Any) -> Document:
        """Suspended, of one worker with one GPU, and it may have more."""
        limits = {"nvidia.com/gpu": "1"}
        container = {"name": "main", "image": IMAGE, "resources": {"limits": limits}}
        spec = {"restartPolicy": "Never", "nodeSelector": {"team": self.name}}
        return {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": name, "namespace": self.name},
            "spec": {
                "suspend": True,
                "completionMode": "Indexed",
                "completions": 1,
                "parallelism": 1,
                "template": {"spec": spec | {"containers": [container]} | pod},
            },
        }

    def block(self, gpus: int, node: str) -> str:
        """Somebody else's pod, on that node."""
        limits = {"nvidia.com/gpu": str(gpus)}
        container = {"name": "main", "image": IMAGE, "resources": {"limits": limits}}
        spec = {"containers": [container], "nodeName": node}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "other"}, "spec": spec}
        self.admin.apply(pod)
        return "other"

    def quota(self, **hard: str) -> None:
        """Returns when it is in force."""
        named = {key.replace("_", "."): value for key, value in hard.items()}
        named = {{"gpus": "requests.nvidia.com/gpu"}.get(k, k): v for k, v in named.items()}
        metadata = {"name": "quota", "namespace": self.name}
        quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata}
        self.admin.apply(quota | {"spec": {"hard": named}})
        counted = "--output=jsonpath={.status.used}"
        wait_for("the quota", lambda: self.admin("get", "resourcequota", "quota", counted))

    def submit(self, name: str = "train", **pod: Any) -> None:
        self.admin.apply(self.job(name, **pod))

    def tries(self, name: str = "where", job: Document | None = None, **spec: Any) -> "Tried":
        named = {"apiVersion": "batch/v1", "kind": "Job", "name": "train"}
        axes = {"gpuTypes": [A100, T4], "workers": [1, 2]}
        made = {"job": job or named, "tryOn": axes, **spec}
        made["limits"] = SOON | spec.get("limits", {})
        made["measure"] = {"iteration": "whole"} | spec.get("measure", {})
        self.admin.apply(
            {
                "apiVersion": "ai.centaurus.io/v1alpha1",
                "kind": "PlacementTrial",
                "metadata": {"name": name, "namespace": self.name},
                "spec": made,
            }
        )
        return Tried(self, name)

    def lose_nodes(self) -> None:
        assert self.kwok is not None
        self.trainers.lost |= set(self.nodes.values())
        self.kwok.kill()

    def return_nodes(self) -> None:
        assert self.kwok is not None
        self.trainers.lost -= set(self.nodes.values())
        self.kwok.start()

    def held(self) -> list[Held]:
        """By every pod that ever was."""
        return list(self.trainers.held.get(self.name, {}).values())

    def held_gpu_seconds(self) -> float:
        return sum(one.gpu_seconds() for one in self.held())


@dataclass
class Tried:
    """One PlacementTrial."""

    team: Team
    name: str
    meanwhile: Future[None] | None = None
    """What somebody does to it, from the beginning on."""

    def document(self) -> Document:
        found: Document = self.team.trainers.look(
            lambda client: client.get(TRIALS, self.name, namespace=self.team.name)
        )
        return found

    def status(self) -> TrialStatus:
        return status_from(self.document().get("status"))

    def until(
        self, what: str, is_so: Callable[[TrialStatus], object], seconds: float = 150
    ) -> TrialStatus:
        def look() -> TrialStatus | None:
            status = self.status()
            return status if is_so(status) else None

        try:
            return wait_for(f"{self.team.name}/{self.name}: {what}", look, seconds, 0.5)
        except Exception as problem:
            problem.add_note(str(self.document().get("status")))
            raise

    def becomes(self, states: list[State]) -> TrialStatus:
        """Of its first trials."""

        def so(status: TrialStatus) -> bool:
            return [trial.state for trial in status.trials][: len(states)] == states

        return self.until(" ".join(states), so)

    def over(self, seconds: float = 400) -> TrialStatus:
        return self.until("over", lambda status: status.phase and status.phase.is_over, seconds)

    def settled(self) -> TrialStatus:
        """What its trials have cost is known, and does not change any more."""
        return self.until("settled", lambda s: not any(t.reserved_gpu_seconds for t in s.trials))

    def runs(self) -> TrialStatus:
        """A trial of it does."""
        return self.until("running", lambda status: any(_runs(one) for one in status.trials))

    def patch(self, **spec: Any) -> None:
        text = yaml.safe_dump({"spec": spec})
        self.team.admin("patch", "placementtrial", self.name, "--type=merge", f"--patch={text}")

    def delete(self) -> None:
        self.team.admin("delete", "placementtrial", self.name, "--wait=false")

    def left(self) -> list[str]:
        """Of the trials, in the namespace."""
        return [
            f"{one['metadata']['name']}"
            for kind in (JOBS, PODS)
            for one in self._list(kind)
            if one["metadata"].get("labels", {}).get(TRIAL_LABEL) == self.name
        ]

    def all_gone(self, seconds: float = 120) -> None:
        wait_for("all of the trials to be gone", lambda: not self.left(), seconds)

    def wait_passes(self) -> None:
        """Of who drives the trials: a few."""
        time.sleep(3 * PASS_SECONDS)

    def events(self) -> list[tuple[str, str]]:
        """Reason and words, in the order in which they were told."""
        found = [one for one in self._list(EVENTS) if one["regarding"]["name"] == self.name]
        found.sort(key=lambda one: int(one["metadata"]["resourceVersion"]))
        return [(one["reason"], one["note"]) for one in found]

    def told(self, reason: str) -> list[tuple[str, str]]:
        """All events, as soon as this is among them: it is told after the status says it."""

        def look() -> list[tuple[str, str]] | None:
            events = self.events()
            return events if reason in [told for told, _ in events] else None

        return wait_for(f"{self.team.name}/{self.name}: told of {reason}", look)

    def annotation(self, job: str = "train") -> str | None:
        kept = self.team.stage.api.annotations("job", job, self.team.name)
        return kept.get("ai.centaurus.io/best-placement")

    def marked(self, job: str = "train") -> Document:
        """As its annotation says, once it says that it is of this one: last of all."""

        def look() -> Document | None:
            found: Document = json.loads(self.annotation(job) or "{}")
            return found if found.get("trial") == self.name else None

        return wait_for(f"{self.team.name}/{self.name}: the job's annotation", look)

    def _list(self, kind: Any) -> list[Document]:
        return self.team.trainers.look(
            lambda client: [*client.list(kind, namespace=self.team.name)]
        )


def while_others_are_looked_at(do: Callable[[], None]) -> Future[None]:
    """What takes long and minds nobody."""
    return ThreadPoolExecutor(1).submit(do)


def _runs(trial: Trial) -> bool:
    return trial.state is State.RUNNING


def nodes(team: Team, beats: str) -> Iterator[Document]:
    capacity = {"cpu": "32", "memory": "256Gi", "pods": "110", "nvidia.com/gpu": str(GPUS)}
    for kind, name in team.nodes.items():
        yield {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": name,
                "annotations": {"kwok.x-k8s.io/node": beats},
                "labels": {
                    "kubernetes.io/hostname": name,
                    "team": team.name,
                    "nvidia.com/gpu.product": kind,
                    "nvidia.com/gpu.memory": MEMORY_MIB[kind],
                },
            },
            "status": {"capacity": capacity, "allocatable": capacity},
        }


def begins(scene: Callable[[Team], Tried], **team: Any) -> Callable[[T], T]:
    """Before the first test, with everybody else's: `team` are its labels, or who keeps its nodes.

    The test gets what the scene made as `tried`.
    """
    scene.team = team  # type: ignore[attr-defined]

    def noted(test: T) -> T:
        test.begins = scene  # type: ignore[attr-defined]
        return test

    return noted
