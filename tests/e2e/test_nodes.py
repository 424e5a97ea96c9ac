"""The nodes are real, alike, and have what they were given."""

import json

import pytest

from tests.cluster.kubectl import Kubectl
from tests.cluster.layout import Cluster
from tests.cluster.progress import wait_for
from tests.e2e.workloads import pod, pod_spec

GPU_NODES = "--selector=nvidia.com/gpu.present=true"
PRODUCTS = {"NVIDIA-A100-SXM4-80GB", "Tesla-T4"}
TLS_CLIENT = """
import socket, ssl
name = "kubernetes.default.svc.cluster.local"
context = ssl.create_default_context(cafile="/var/run/secrets/kubernetes.io/serviceaccount/ca.crt")
connection = socket.create_connection((name, 443), timeout=10)
print(context.wrap_socket(connection, server_hostname=name).version())
"""


def test_all_gpu_nodes_are_ready_with_the_same_version(kubectl: Kubectl) -> None:
    nodes = kubectl.items("nodes", GPU_NODES)
    assert {node["metadata"]["labels"]["nvidia.com/gpu.product"] for node in nodes} >= PRODUCTS
    # Not read once: a kubelet may be late for a moment, as beside other clusters that start.
    kubectl("wait", "--for=condition=Ready", "node", GPU_NODES, "--timeout=120s")
    versions = {node["status"]["nodeInfo"]["kubeletVersion"] for node in nodes}
    assert versions == {json.loads(kubectl("get", "--raw=/version"))["gitVersion"]}


def test_each_node_advertises_the_gpus_of_its_labels(kubectl: Kubectl) -> None:
    def differ() -> list[str]:
        nodes = kubectl.items("nodes", GPU_NODES)
        labels = {n["metadata"]["name"]: n["metadata"]["labels"] for n in nodes}
        has = {n["metadata"]["name"]: n["status"]["capacity"].get("nvidia.com/gpu") for n in nodes}
        return [name for name in has if has[name] != labels[name]["nvidia.com/gpu.count"]]

    # A kubelet tells the API server of its plugins every 10 s, not at once.
    wait_for("as many GPUs by capacity as by label", lambda: not differ())


@pytest.mark.parametrize("product", sorted(PRODUCTS))
def test_a_pod_reaches_the_api_server_by_its_service_name(namespace: Kubectl, product: str) -> None:
    """From each node: one of them has the name server on it, the other does not."""
    spec = pod_spec(["-c", TLS_CLIENT], gpus=0, command=["python3"], product=product)
    spec["automountServiceAccountToken"] = True  # for the cluster's CA
    namespace.apply(pod("client", spec))
    namespace("wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/client", "--timeout=150s")
    assert namespace("logs", "client").startswith("TLSv1.")


@pytest.mark.machine
@pytest.mark.parametrize(
    "path",
    [
        "/run/containerd/containerd.sock",
        "/var/lib/kubelet/device-plugins/kubelet.sock",
        "/var/lib/kubelet/pod-resources/kubelet.sock",
    ],
)
def test_a_nodes_sockets_are_at_the_standard_paths(cluster: Cluster, path: str) -> None:
    for node in cluster.nodes:
        cluster.machine(node.name).run("test", "-S", path)


def test_kubectl_exec_runs_in_the_container(namespace: Kubectl) -> None:
    namespace.apply(pod("sleeper", pod_spec(["infinity"], gpus=0, command=["sleep"])))
    namespace("wait", "--for=condition=Ready", "pod/sleeper", "--timeout=150s")
    assert namespace("exec", "sleeper", "--", "id", "-u").strip() == "1000"


def test_files_of_an_image_keep_their_owner(namespace: Kubectl) -> None:
    show = ["-c", "touch /home/user/mine && stat --format=%u /home/user"]
    namespace.apply(pod("owner", pod_spec(show, gpus=0, command=["sh"])))
    namespace("wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/owner", "--timeout=150s")
    assert namespace("logs", "owner").strip() == "1000"
