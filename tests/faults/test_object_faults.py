"""An object is gone, another one, too full, or of a long name."""

import json

from tests.cluster.progress import wait_for
from tests.faults.conftest import LONG_NODE, LONG_POD, NODE
from tests.faults.watch import AT_ONCE, LARGE, PATIENCE_SECONDS, SOON, Watched, watched
from tests.simgpu.faults import HEALTHY, GpuFaults
from tests.stage.surroundings import Stage
from tests.stage.world import Node

MOST_BYTES = 262_144  # of all annotations of an object; Kubernetes takes no more
LARGE_BYTES = 200 * 1024
TOO_LARGE = "annotation of the object is too large"


def test_a_pod_that_was_deleted_does_not_come_back(stage: Stage, node: Node) -> None:
    """Its metrics live on for minutes, and are not given to its successor of the same name."""
    with watched(stage, node, stage.agent(node.name, **SOON)) as seen:
        name = seen.web.name
        stage.api.delete_pod(NODE, name)
        seen.before.pop(f"Pod {name}")
        seen.change()
        wait_for("what is new", seen.told_on_node, PATIENCE_SECONDS)
        seen.more_passes()
        seen.kept()
        uid = stage.api.pod(NODE, name, node.name)
        seen.more_passes()
        successor = seen.objects()[f"Pod {name}"]
        assert successor["uid"] == uid
        assert not successor.get("annotations")
        seen.web.uid = uid  # from now on it is the successor that is measured
        seen.tells()
        seen.before[f"Pod {name}"] = successor
        seen.said_nothing()


def test_a_node_that_was_made_again_is_annotated_anew(stage: Stage, node: Node) -> None:
    with watched(stage, node, stage.agent(node.name, **SOON)) as seen:
        stage.api.admin("delete", "node", node.name)
        seen.change()
        seen.more_passes()
        assert node.name not in stage.api.admin("get", "nodes", "--output=name")
        stage.api.node(node.name)
        seen.tells()
        seen.before[f"Node {node.name}"]["uid"] = seen.objects()[f"Node {node.name}"]["uid"]
        annotations = seen.before[f"Node {node.name}"]["annotations"]
        for key in [key for key in annotations if "example.com" in key]:
            del annotations[key]  # those of others are not ours to bring back
        seen.said_nothing()


def test_200_kib_of_others_are_no_obstacle(stage: Stage, node: Node) -> None:
    _fill(stage, "node", node.name, "x" * LARGE_BYTES)
    for pod in node.pods:
        _fill(stage, "pod", pod.name, "x" * LARGE_BYTES)
    with watched(stage, node, stage.agent(node.name, **SOON)) as seen:
        seen.change()
        seen.tells()
        seen.said_nothing()


def test_an_object_without_room_does_not_stop_the_others(stage: Stage, node: Node) -> None:
    with watched(stage, node, stage.agent(node.name, **AT_ONCE)) as seen:
        _fill_up(seen)
        seen.before = seen.objects()
        node.gpus[0].faults = GpuFaults(xid=79)  # a key more on the node, and at once
        seen.says(f"annotating Node {node.name}", TOO_LARGE)
        node.gpus[1].hold(seen.web, busy=0.5, memory_mib=16384)
        wait_for("what is new of a pod", seen.told_on_pod)
        assert seen.gpu(0).health is None
        _fill(stage, "node", node.name, None)
        del seen.before[f"Node {node.name}"]["annotations"][LARGE]
        wait_for("the health of the GPU", lambda: seen.gpu(0).health is not None, PATIENCE_SECONDS)
        node.gpus[0].faults = HEALTHY
        seen.touched.add(1)
        wait_for("no more of it", lambda: seen.gpu(0).health is None, PATIENCE_SECONDS)
        seen.said_once(f"annotating Node {node.name}", TOO_LARGE)


def test_names_of_253_characters_are_names(stage: Stage) -> None:
    long = stage.world.nodes[1]
    with watched(stage, long, stage.agent(LONG_NODE, **SOON)) as seen:
        seen.change()
        seen.tells()
        pod = long.pods[2]
        assert pod.name == LONG_POD
        wait_for("what the pod uses", lambda: seen.pod(pod).cpu_mem_mb is not None)
        seen.said_nothing()


def _fill_up(seen: Watched) -> None:
    """Until there is no room for another key of ours."""
    metadata = seen.objects()[f"Node {seen.node.name}"]
    taken = sum(len(key) + len(text) for key, text in metadata["annotations"].items())
    text = "x" * (MOST_BYTES - taken - len(LARGE) - 30)
    _fill(seen.stage, "node", seen.node.name, text)


def _fill(stage: Stage, kind: str, name: str, text: str | None) -> None:
    """More than fits into an argument."""
    admin = stage.api.admin if kind == "node" else stage.api.admin.within(NODE)
    patch = json.dumps({"metadata": {"annotations": {LARGE: text}}})
    admin("patch", kind, name, "--type=merge", "--patch-file=/dev/stdin", stdin=patch)
