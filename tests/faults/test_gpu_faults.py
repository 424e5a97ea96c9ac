"""A GPU or its exporter goes, comes, or is another one."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cepheid.agent.loop import SILENT
from cepheid.annotations.facts import GpuFacts, StaticFacts
from tests.cluster.progress import wait_for
from tests.faults.begun import COMES_AND_GOES, SILENT_VALID_SECONDS, SILENT_WINDOW_SECONDS, Begun
from tests.faults.watch import PATIENCE_SECONDS, SOON, refresh, watched
from tests.simgpu.faults import HEALTHY
from tests.stage.surroundings import Stage
from tests.stage.world import Node, World
from tests.unit.sources.servers import answer


@pytest.fixture
def stage(begun: Begun, tmp_path: Path) -> Stage:
    return replace(begun.stage, folder=tmp_path)


@pytest.fixture
def node(stage: Stage) -> Node:
    (found,) = (node for node in stage.world.nodes if node.name == COMES_AND_GOES)
    refresh(stage, found)
    return found


def test_an_exporter_that_was_restarted_is_no_news(stage: Stage, node: Node) -> None:
    with watched(stage, node, stage.agent(node.name, **SOON)) as seen:
        path = stage.exporters.dcgm_path(node.name)
        stage.exporters.instead[path] = answer(500, b"")
        seen.more_passes(5)
        seen.kept()
        del stage.exporters.instead[path]
        seen.change()
        seen.tells()
        seen.said_nothing()


def test_a_gpu_that_was_added_is_told_of(stage: Stage, node: Node) -> None:
    with watched(stage, node, stage.agent(node.name, **SOON)) as seen:
        then = seen.facts()
        assert then.static is not None
        node.gpus.append(World().add_node(node.name, gpus=3).gpus[2])
        wait_for("the new GPU", lambda: seen.gpu(2).pods == 0, PATIENCE_SECONDS)
        now = seen.facts()
        assert now.static == StaticFacts(3, then.static.model, then.static.mem_gb)
        grown = seen.objects()
        assert seen.before.keys() == grown.keys()
        seen.before = grown
        seen.change()
        seen.tells()
        seen.said_nothing()


def test_a_gpu_that_was_replaced_is_not_lost(begun: Begun) -> None:
    with begun.look("replaced") as seen:
        seen.kept()
        assert (seen.gpu(1).pods, seen.gpu(1).health) == (0, None)
        seen.change()
        seen.tells()
        seen.said_nothing()


def test_a_gpu_that_is_lost_is_told_of_until_it_is_back(begun: Begun) -> None:
    with begun.look("lost") as seen:
        lost = wait_for("the loss", lambda: _lost(seen.gpu(1)), PATIENCE_SECONDS)
        assert lost.health is not None
        assert lost.health.since is not None
        assert lost.health.since < datetime.now(UTC) - timedelta(seconds=60)
        assert (lost.mem_used_gb, lost.job_type, lost.forecast) == (None, None, None)
        seen.kept()
        seen.change()
        seen.node.gpus[1].faults = HEALTHY
        seen.tells()
        assert seen.gpu(1).health is None
        seen.said_once("GPU 1 is lost")


def test_a_silent_exporter_loses_no_gpu_and_renews_nothing(begun: Begun) -> None:
    with begun.look("silent") as seen:
        seen.says(SILENT)
        valid_until = seen.facts().valid_until
        assert valid_until is not None
        due = valid_until - timedelta(seconds=SILENT_VALID_SECONDS / 2 - 5)
        late = seen.stage.add_pod(seen.node, seen.web.namespace, "late")
        wait_for("a pod without a GPU", lambda: seen.pod(late).cpu_mem_mb is not None)
        seen.before[f"Pod {late.name}"] = seen.objects()[f"Pod {late.name}"]
        wait_for("when it would be renewed", lambda: datetime.now(UTC) > due)
        query = f"count_over_time(DCGM_FI_DEV_FB_USED{{node='silent'}}[{SILENT_WINDOW_SECONDS}s])"
        prometheus = begun.stage.prometheus
        wait_for(
            "a window without a GPU",
            lambda: not prometheus.query(query),
            2 * SILENT_WINDOW_SECONDS,
        )
        seen.more_passes()
        seen.kept()
        assert seen.facts().valid_until == valid_until
        exporters = begun.stage.exporters
        del exporters.instead[exporters.dcgm_path(seen.node.name)]
        wait_for("a renewal", lambda: seen.facts().valid_until != valid_until)
        seen.change()
        seen.tells()
        seen.before = seen.objects()  # of a window that begins anew no forecast can be told yet
        seen.said_once(SILENT)


def _lost(gpu: GpuFacts) -> GpuFacts | None:
    return gpu if gpu.health is not None and gpu.health.lost else None
