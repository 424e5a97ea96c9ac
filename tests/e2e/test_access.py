"""Who may do what: the rules that Cepheid has to live with are in force."""

import http.client
import ssl
import subprocess
import sys

import pytest

from tests.cluster.kubectl import Kubectl
from tests.cluster.layout import Cluster
from tests.cluster.machine import Machine
from tests.cluster.progress import ClusterError
from tests.e2e.workloads import pod, pod_spec

KUBELET_PORT = 10250

HANDSHAKE = """
import socket, ssl, sys
context = ssl.create_default_context()
context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
with socket.create_connection(("127.0.0.1", int(sys.argv[1])), 10) as connection:
    tls = context.wrap_socket(connection)
    tls.sendall(b"GET /version HTTP/1.0\\r\\n\\r\\n")
    print(tls.recv(12).decode())
"""


def test_pod_security_refuses_a_privileged_pod_in_a_restricted_namespace(
    namespace: Kubectl,
) -> None:
    spec = pod_spec([], gpus=0)
    spec["containers"][0]["securityContext"] = {"privileged": True}
    with pytest.raises(ClusterError, match='violates PodSecurity "restricted:latest"'):
        namespace.apply(pod("escape", spec))


def cadvisor_status(cluster: Cluster, token: str | None) -> int:
    """What a kubelet answers; its certificate must be the cluster's."""
    context = ssl.create_default_context(cafile=str(cluster.pki / "ca.crt"))
    address = str(cluster.node_address(cluster.nodes[0]))
    kubelet = http.client.HTTPSConnection(address, KUBELET_PORT, timeout=30, context=context)
    try:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        kubelet.request("GET", "/metrics/cadvisor", headers=headers)
        return kubelet.getresponse().status
    finally:
        kubelet.close()


@pytest.mark.machine
def test_a_kubelet_answers_only_those_whom_the_api_server_allows(
    cluster: Cluster, kubectl: Kubectl
) -> None:
    nobody = kubectl("create", "token", "default").strip()
    allowed = kubectl.within("cepheid-monitoring")("create", "token", "prometheus").strip()
    assert cadvisor_status(cluster, None) == http.HTTPStatus.UNAUTHORIZED
    assert cadvisor_status(cluster, nobody) == http.HTTPStatus.FORBIDDEN
    assert cadvisor_status(cluster, allowed) == http.HTTPStatus.OK


@pytest.mark.machine
def test_a_kubelet_may_change_its_own_node_and_no_other(cluster: Cluster, kubectl: Kubectl) -> None:
    own, other, *_ = (node.name for node in cluster.nodes)
    credentials = cluster.machine(own).directory / "etc/kubernetes/kubelet.kubeconfig"
    kubelet = Kubectl(kubectl.program, credentials)

    def annotate(name: str) -> None:
        metadata = {"name": name, "annotations": {"cepheid.test/mine": "yes"}}
        kubelet.apply({"apiVersion": "v1", "kind": "Node", "metadata": metadata})

    annotate(own)
    with pytest.raises(ClusterError, match=f'"{own}" is not allowed to modify node "{other}"'):
        annotate(other)


def listening_ports(machine: Machine) -> set[int]:
    lines = machine.run("ss", "--no-header", "--listening", "--tcp", "--numeric").splitlines()
    return {int(line.split()[3].rpartition(":")[2]) for line in lines}


@pytest.mark.machine
def test_every_port_of_the_control_plane_speaks_tls(cluster: Cluster) -> None:
    plane = cluster.control_plane
    answers = {}
    for port in listening_ports(plane):
        ask = ["nsenter", f"--target={plane.pid}", "--net", sys.executable, "-c", HANDSHAKE]
        done = subprocess.run(
            [*ask, str(port)], capture_output=True, text=True, timeout=30, check=False
        )
        answers[port] = done.stdout.strip() or done.stderr.strip().splitlines()[-1]
    http_over_tls = {port for port, said in answers.items() if said.startswith("HTTP/1.")}
    assert http_over_tls == {6443, 10257, 10259}  # API server, controller manager, scheduler
    refused = {port: answers[port] for port in answers.keys() - http_over_tls}
    # etcd ends the handshake: there is no certificate that it would accept.
    assert refused.keys() == {2379, 2380}
    assert all("certificate required" in said for said in refused.values())
