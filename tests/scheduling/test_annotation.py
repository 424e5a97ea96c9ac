"""A plugin that reads one whole number from an annotation: `free-gpu-score` is enough for it."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import yaml

from tests import REPOSITORY
from tests.cluster.binaries import VERSIONS
from tests.scheduling.conftest import Stage
from tests.scheduling.plugin_scheduler import PLUGIN, plugin_scheduler
from tests.scheduling.yard import T4, Yard, described
from tests.stage.controllers import Scheduler

DOCUMENTATION = REPOSITORY / "docs/scheduling-annotation.md"


def configuration() -> dict[str, Any]:
    """As users are told to write it."""
    (shown,) = re.findall(r"```yaml\n(.*?)```", DOCUMENTATION.read_text(), re.DOTALL)
    return dict(yaml.safe_load(shown))


@pytest.fixture(scope="module")
def profile(stage: Stage) -> Iterator[str]:
    """A scheduler beside the other, and what pods name it by."""
    config = configuration()
    (profile,) = config["profiles"]
    kubeconfig = stage.api.admin.kubeconfig
    folder = stage.api.folder / "plugin"
    stage.api.start()
    with Scheduler(folder, kubeconfig, config, plugin_scheduler()):
        yield profile["schedulerName"]


def scored(score: int | None) -> Any:
    return replace(described(T4, 4), free_gpu_score=score)


def test_pods_go_where_more_is_foretold_to_be_free(yard: Yard, profile: str) -> None:
    # By its cores the other one is the emptier: the default scheduler's choice.
    yard.node("free", facts=scored(90), cpu="8")
    yard.node("busy", facts=scored(10), cpu="256")
    assert yard.place(scheduler=profile) == "free"
    yard.annotate("free", scored(5))
    yard.annotate("busy", scored(95))
    assert yard.place(scheduler=profile) == "busy"


def test_a_node_without_a_score_comes_last_and_is_not_left_out(yard: Yard, profile: str) -> None:
    yard.node("told", gpus=1, facts=scored(40), cpu="8")
    yard.node("untold", facts=scored(None), cpu="256")
    assert yard.place(scheduler=profile) == "told"
    assert yard.place(scheduler=profile) == "untold"


def test_the_plugin_is_of_the_same_kubernetes_as_the_cluster() -> None:
    pinned = re.compile(r"k8s\.io/kubernetes (v[\d.]+)")
    ours, theirs = (
        pinned.search((folder / "go.mod").read_text())
        for folder in (PLUGIN, VERSIONS / "kubernetes")
    )
    assert ours is not None
    assert theirs is not None
    assert ours[1] == theirs[1]
