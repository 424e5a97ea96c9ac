"""Annotations on a real API server, written by somebody who may get and patch, and nothing else."""

import base64
import secrets
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from cepheid.analysis.jobrules import JobKind
from cepheid.annotations.api import ApiServer, connect
from cepheid.annotations.codec import decode_node, encode_node, encode_pod
from cepheid.annotations.facts import (
    CycleFacts,
    ForecastFacts,
    GpuFacts,
    HealthFacts,
    NodeFacts,
    PodFacts,
    PodGpuFacts,
    StaticFacts,
)
from cepheid.annotations.writer import Kind, Standing, Target, Writer
from cepheid.errors import ForbiddenError, GoneError, LoginError, TooLargeError
from tests.cluster.kubectl import Kubectl
from tests.cluster.progress import ClusterError, wait_for
from tests.e2e.workloads import pod, pod_spec

FOREIGN = {"example.com/note": "keep me", "ai.centaurus.io/of-somebody-else": "1"}
BLOB_BYTES = 200 * 1024
GPU = GpuFacts(
    100,
    mem_used_gb=12_345.6,
    mem_free_gb=12_345.6,
    pods=10_000,
    cyclic_pattern=False,
    max_mem_util_percent=100,
    max_gpu_util_percent=100,
    job_type=JobKind.INTERACTIVE,
    cycle=CycleFacts(42.12, 0.93, "power", confirmed=True),
    forecast=ForecastFacts(86_400, 100, 100, 12_345.6, 999.9),
    health=HealthFacts(
        lost=True, xid=79, throttled="thermal", since=datetime(2026, 3, 1, tzinfo=UTC)
    ),
)
NODE_FACTS = NodeFacts(
    static=StaticFacts(8, "NVIDIA A100-SXM4-80GB with a name that is rather long, as some are", 80),
    gpus=(GPU, GpuFacts(11, 7, mem_used_gb=4.5)),
    cpu_forecast=ForecastFacts(600, 31, 60, mape_percent=12.5),
    mem_forecast=ForecastFacts(600, mem_peak_gb=412.3),
    free_gpu_score=46,
    valid_until=datetime(2026, 3, 1, 10, 20, tzinfo=UTC),
)
POD_TEXT = encode_pod(PodFacts(cpu_util_percent=38, cpu_mem_mb=6200, job_type=JobKind.TRAINING))


def kubeconfig(kubectl: Kubectl, folder: Path, token: str) -> Path:
    """As a user of that token, on the cluster of a kubeconfig that exists."""
    existing = yaml.safe_load(kubectl.kubeconfig.read_text())
    (context,) = (c for c in existing["contexts"] if c["name"] == existing["current-context"])
    context["context"]["user"] = "agent"
    existing["users"] = [{"name": "agent", "user": {"token": token}}]
    path = folder / "kubeconfig"
    path.write_text(yaml.safe_dump(existing))
    return path


def rights(namespace: str) -> list[dict[str, Any]]:
    """What an agent has, and no more."""
    group = "rbac.authorization.k8s.io"
    name = f"annotations-{namespace}"
    rules = [{"apiGroups": [""], "resources": ["nodes", "pods"], "verbs": ["get", "patch"]}]
    subject = {"kind": "ServiceAccount", "name": "agent", "namespace": namespace}
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "agent"}},
        {
            "apiVersion": f"{group}/v1",
            "kind": "ClusterRole",
            "metadata": {"name": name},
            "rules": rules,
        },
        {
            "apiVersion": f"{group}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": name},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": name},
            "subjects": [subject],
        },
    ]


@pytest.fixture
def writer(namespace: Kubectl, tmp_path: Path) -> Iterator[Writer]:
    manifests = rights(namespace.namespace or "")
    namespace.apply(*manifests)
    try:
        token = namespace("create", "token", "agent").strip()
        path = kubeconfig(namespace, tmp_path, token)
        with ApiServer(lambda: connect(str(path))) as server:
            yield Writer(server)
    finally:
        for manifest in manifests[1:]:
            namespace("delete", manifest["kind"], manifest["metadata"]["name"], "--wait=false")


@pytest.fixture
def node(kubectl: Kubectl, writer: Writer) -> Iterator[Standing]:
    """One without a machine, with a note of somebody else: no agent writes to it."""
    name = f"annotated-{secrets.token_hex(3)}"
    nobody = {"key": "cepheid.test/nobody", "effect": "NoExecute"}
    kubectl.apply(
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": name,
                "annotations": dict(FOREIGN),
                "labels": {"cepheid.test/of": "somebody-else"},
            },
            "spec": {"taints": [nobody]},
        }
    )
    try:
        # A controller notes this on every new node; from then on nobody writes to it.
        ttl = "node.alpha.kubernetes.io/ttl"
        wait_for("a quiet node", lambda: ttl in annotations(kubectl, "node", name))
        yield writer.read(Kind.NODE, name)
    finally:
        kubectl("delete", "node", name, "--wait=false")


def waiting_pod(namespace: Kubectl, name: str, annotations: dict[str, str] | None = None) -> None:
    """One that no node will take: nobody else writes to it."""
    manifest = pod(name, pod_spec([], gpus=0, selector={"cepheid.test/nowhere": "yes"}))
    manifest["metadata"]["annotations"] = annotations or {}
    namespace.apply(manifest)


def annotations(kubectl: Kubectl, kind: str, name: str) -> dict[str, str]:
    found: dict[str, str] = kubectl.get(kind, name)["metadata"].get("annotations", {})
    return found


def owned_fields(kubectl: Kubectl, kind: str, name: str) -> Any:
    managed = kubectl.get(kind, name, "--show-managed-fields")["metadata"]["managedFields"]
    return [entry["fieldsV1"] for entry in managed if entry["manager"] == "cepheid-agent"]


def _without_taints(node: Any) -> Any:
    return {key: value for key, value in node["spec"].items() if key != "taints"}


def test_a_node_gets_our_keys_and_keeps_everything_else(
    kubectl: Kubectl, writer: Writer, node: Standing
) -> None:
    name = node.target.name
    before = kubectl.get("node", name)
    text = encode_node(NODE_FACTS)
    standing = writer.apply(node.target, text, node)
    after = kubectl.get("node", name)
    assert standing.annotations == text
    assert standing.foreign_bytes == node.foreign_bytes
    assert after["metadata"]["annotations"] == {**before["metadata"]["annotations"], **text}
    assert after["metadata"]["labels"] == before["metadata"]["labels"]
    # Meanwhile a controller may find out that no kubelet reports: taints are its own affair.
    assert _without_taints(after) == _without_taints(before)
    keys: dict[str, Any] = {f"f:{key}": {} for key in text}
    assert owned_fields(kubectl, "node", name) == [{"f:metadata": {"f:annotations": keys}}]
    assert decode_node(after["metadata"]["annotations"]).ignored == (
        "ai.centaurus.io/of-somebody-else",
    )


def test_describe_shows_every_value_whole_on_its_line(
    kubectl: Kubectl, writer: Writer, node: Standing
) -> None:
    text = encode_node(NODE_FACTS)
    assert max(len(key) + len(value) + 2 for key, value in text.items()) == 140
    writer.apply(node.target, text)
    described = kubectl("describe", "node", node.target.name).splitlines()
    shown = {line.removeprefix("Annotations:").strip() for line in described}
    assert {f"{key}: {value}" for key, value in text.items()} <= shown


def test_after_a_restart_the_keys_of_a_gpu_that_is_gone_are_removed_and_nothing_else(
    kubectl: Kubectl, writer: Writer, node: Standing
) -> None:
    name = node.target.name
    before = annotations(kubectl, "node", name)
    writer.apply(node.target, encode_node(NodeFacts(gpus=(GPU, GpuFacts(11, pods=1)))))
    # All that a new process knows is the node's name.
    found = writer.read(Kind.NODE, name)
    assert found.annotations == encode_node(NodeFacts(gpus=(GPU, GpuFacts(11, pods=1))))
    left = encode_node(NodeFacts(gpus=(GPU,)))
    assert writer.apply(found.target, left).annotations == left
    assert annotations(kubectl, "node", name) == {**before, **left}
    writer.remove_all(found.target)
    assert annotations(kubectl, "node", name) == before
    assert owned_fields(kubectl, "node", name) == []


def test_our_key_that_somebody_changed_is_ours_again(namespace: Kubectl, writer: Writer) -> None:
    waiting_pod(namespace, "it")
    target = writer.read(Kind.POD, "it", namespace.namespace).target
    writer.apply(target, POD_TEXT)
    namespace("annotate", "pod", "it", "--overwrite", "ai.centaurus.io/cpu_util={'hostile'}")
    assert (
        "ai.centaurus.io/cpu_util"
        not in writer.read(Kind.POD, "it", namespace.namespace).annotations
    )
    assert writer.apply(target, POD_TEXT).annotations == POD_TEXT


def test_a_pod_with_the_longest_name_on_a_node_with_the_longest_name(
    namespace: Kubectl, writer: Writer
) -> None:
    name = "p" * 253
    waiting_pod(namespace, name, dict(FOREIGN))
    gpu = PodGpuFacts(999, 999, 88, 62_668, shared=True)
    text = encode_pod(PodFacts(node="n" * 253, gpus=(gpu,), job_type=JobKind.TRAINING))
    assert len(text) == 3
    writer.apply(writer.read(Kind.POD, name, namespace.namespace).target, text)
    assert annotations(namespace, "pod", name) == {**FOREIGN, **text}


def test_200_kib_of_foreign_annotations_stay_and_ours_come_beside_them(
    namespace: Kubectl, writer: Writer
) -> None:
    foreign = {"example.com/blob": "x" * BLOB_BYTES}
    waiting_pod(namespace, "large", foreign)
    standing = writer.read(Kind.POD, "large", namespace.namespace)
    assert standing.foreign_bytes == BLOB_BYTES + len("example.com/blob")
    assert writer.apply(standing.target, POD_TEXT, standing).annotations == POD_TEXT
    assert annotations(namespace, "pod", "large") == {**foreign, **POD_TEXT}


def test_where_there_is_no_room_nothing_is_written(namespace: Kubectl, writer: Writer) -> None:
    foreign = {"example.com/blob": "x" * (262_144 - 20)}
    waiting_pod(namespace, "full", foreign)
    standing = writer.read(Kind.POD, "full", namespace.namespace)
    with pytest.raises(TooLargeError, match="would take"):
        writer.apply(standing.target, POD_TEXT, standing)
    with pytest.raises(TooLargeError, match="422"):  # the API server's own word
        writer.apply(standing.target, POD_TEXT)
    assert annotations(namespace, "pod", "full") == foreign


def may_do_everything(kubectl: Kubectl) -> ApiServer:
    return ApiServer(lambda: connect(str(kubectl.kubeconfig)))


def test_a_deleted_pod_does_not_come_back(namespace: Kubectl, writer: Writer) -> None:
    waiting_pod(namespace, "it")
    target = writer.read(Kind.POD, "it", namespace.namespace).target
    namespace("delete", "pod", "it")
    with may_do_everything(namespace) as server:
        for each in (writer, Writer(server)):  # also where `create` is allowed
            with pytest.raises(GoneError):
                each.apply(target, POD_TEXT)
            with pytest.raises(GoneError):
                each.read(Kind.POD, "it", namespace.namespace)
    with pytest.raises(ClusterError, match="NotFound"):
        namespace.get("pod", "it")


def test_a_pod_does_not_get_the_figures_of_its_predecessor(
    namespace: Kubectl, writer: Writer
) -> None:
    waiting_pod(namespace, "it")
    target = writer.read(Kind.POD, "it", namespace.namespace).target
    namespace("delete", "pod", "it")
    waiting_pod(namespace, "it")
    with pytest.raises(GoneError, match="made again"):
        writer.apply(target, POD_TEXT)
    assert annotations(namespace, "pod", "it") == {}


def test_without_the_right_or_the_token_it_says_so_and_a_new_token_is_taken(
    namespace: Kubectl, writer: Writer, tmp_path: Path
) -> None:
    waiting_pod(namespace, "it")
    target: Target = writer.read(Kind.POD, "it", namespace.namespace).target
    nobody = base64.b64encode(b"nobody").decode()
    with ApiServer(lambda: connect(str(kubeconfig(namespace, tmp_path, nobody)))) as server:
        with pytest.raises(LoginError):
            Writer(server).apply(target, POD_TEXT)
        nobody = namespace("create", "token", "default").strip()
        with pytest.raises(ForbiddenError):
            Writer(server).apply(target, POD_TEXT)
        nobody = namespace("create", "token", "agent").strip()
        server.close()
        assert Writer(server).apply(target, POD_TEXT).annotations == POD_TEXT
