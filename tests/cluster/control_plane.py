"""etcd, kube-apiserver, kube-controller-manager and kube-scheduler on one machine."""

import http.client
import ipaddress
import shutil
import ssl
import time

from tests.cluster.layout import (
    API_PORT,
    API_SERVICE_ADDRESS,
    POD_NETWORK,
    SERVICE_NETWORK,
    Cluster,
)
from tests.cluster.machine import Service
from tests.cluster.pki import Authority, service_account_keys
from tests.cluster.progress import ClusterError

FILES = "/etc/kubernetes"  # of every machine: its certificates, kubeconfigs and configuration
AFTER_API = ("kube-controller-manager", "kube-scheduler")  # their roles exist once it is ready
READY_SECONDS = 180  # several may start on two cores


def prepare(cluster: Cluster, authority: Authority) -> dict[str, Service]:
    """Writes the files of the control plane and returns its daemons."""
    address = cluster.control_plane_address
    local = f"https://127.0.0.1:{API_PORT}"
    loopback = ipaddress.IPv4Address("127.0.0.1")
    server_names = ["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"]
    # An authority of its own: no kubelet's certificate opens the store.
    etcd = Authority(authority.directory / "etcd")
    etcd.issue("etcd", "etcd", addresses=[loopback])
    etcd.issue("apiserver", "kube-apiserver")
    authority.issue(
        "apiserver",
        "kube-apiserver",
        addresses=[loopback, address, API_SERVICE_ADDRESS],
        names=[*server_names, "kubernetes.default.svc.cluster.local"],
    )
    authority.issue("apiserver-kubelet-client", "kube-apiserver-kubelet-client")
    for user in AFTER_API:
        pair = authority.issue(user, f"system:{user}")
        authority.kubeconfig(authority.directory / f"{user}.kubeconfig", local, pair)
    admin = authority.issue("admin", "admin", "system:masters")
    authority.kubeconfig(cluster.kubeconfig, cluster.api_url, admin)
    authority.kubeconfig(authority.directory / "kwok.kubeconfig", local, admin)
    service_account_keys(authority.directory)
    target = cluster.control_plane.directory / "etc/kubernetes"
    shutil.copytree(authority.directory, target, dirs_exist_ok=True)

    services = {
        "etcd": Service(
            [
                "etcd",
                "--data-dir=/var/lib/etcd",
                "--listen-client-urls=https://127.0.0.1:2379",
                "--advertise-client-urls=https://127.0.0.1:2379",
                "--listen-peer-urls=https://127.0.0.1:2380",
                "--initial-advertise-peer-urls=https://127.0.0.1:2380",
                "--initial-cluster=default=https://127.0.0.1:2380",
                f"--cert-file={FILES}/etcd/etcd.crt",
                f"--key-file={FILES}/etcd/etcd.key",
                f"--trusted-ca-file={FILES}/etcd/ca.crt",
                "--client-cert-auth",
                f"--peer-cert-file={FILES}/etcd/etcd.crt",
                f"--peer-key-file={FILES}/etcd/etcd.key",
                f"--peer-trusted-ca-file={FILES}/etcd/ca.crt",
                "--peer-client-cert-auth",
                "--unsafe-no-fsync",  # nothing here outlives the machine's power
            ]
        ),
        "kube-apiserver": Service(
            [
                "kube-apiserver",
                f"--advertise-address={address}",
                f"--secure-port={API_PORT}",
                "--etcd-servers=https://127.0.0.1:2379",
                f"--etcd-cafile={FILES}/etcd/ca.crt",
                f"--etcd-certfile={FILES}/etcd/apiserver.crt",
                f"--etcd-keyfile={FILES}/etcd/apiserver.key",
                f"--client-ca-file={FILES}/ca.crt",
                f"--tls-cert-file={FILES}/apiserver.crt",
                f"--tls-private-key-file={FILES}/apiserver.key",
                f"--kubelet-certificate-authority={FILES}/ca.crt",
                f"--kubelet-client-certificate={FILES}/apiserver-kubelet-client.crt",
                f"--kubelet-client-key={FILES}/apiserver-kubelet-client.key",
                "--kubelet-preferred-address-types=InternalIP",
                "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
                f"--service-account-key-file={FILES}/service-account.pub",
                f"--service-account-signing-key-file={FILES}/service-account.key",
                f"--service-cluster-ip-range={SERVICE_NETWORK}",
                # Webhooks are called at their pods: no kube-proxy turns service addresses here.
                "--enable-aggregator-routing",
                "--authorization-mode=Node,RBAC",
                "--enable-admission-plugins=NodeRestriction,PodSecurity",
                "--allow-privileged=true",  # to Pod Security, not to this flag, is left who may
                "--profiling=false",
            ]
        ),
        "kube-controller-manager": Service(
            [
                "kube-controller-manager",
                f"--kubeconfig={FILES}/kube-controller-manager.kubeconfig",
                f"--authentication-kubeconfig={FILES}/kube-controller-manager.kubeconfig",
                f"--authorization-kubeconfig={FILES}/kube-controller-manager.kubeconfig",
                f"--root-ca-file={FILES}/ca.crt",
                f"--service-account-private-key-file={FILES}/service-account.key",
                "--use-service-account-credentials",
                f"--cluster-cidr={POD_NETWORK}",
                "--leader-elect=false",
            ],
            wait_for_start=True,
        ),
        "kube-scheduler": Service(
            [
                "kube-scheduler",
                f"--kubeconfig={FILES}/kube-scheduler.kubeconfig",
                f"--authentication-kubeconfig={FILES}/kube-scheduler.kubeconfig",
                f"--authorization-kubeconfig={FILES}/kube-scheduler.kubeconfig",
                "--leader-elect=false",
            ],
            wait_for_start=True,
        ),
    }
    if cluster.kwok_nodes:
        services["kwok"] = Service(
            [
                "kwok",
                f"--kubeconfig={FILES}/kwok.kubeconfig",
                f"--config={FILES}/kwok-stages.yaml",
                "--manage-all-nodes=false",
                "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake",
                "--node-lease-duration-seconds=40",
            ],
            wait_for_start=True,
        )
    return services


def wait_until_ready(cluster: Cluster) -> None:
    """Waits for /readyz, as an administrator sees it from the host."""
    context = ssl.create_default_context(cafile=str(cluster.pki / "ca.crt"))
    context.load_cert_chain(cluster.pki / "admin.crt", cluster.pki / "admin.key")
    address = str(cluster.control_plane_address)
    deadline = time.monotonic() + READY_SECONDS
    said = ""
    while time.monotonic() < deadline:
        connection = http.client.HTTPSConnection(address, API_PORT, timeout=5, context=context)
        try:
            connection.request("GET", "/readyz")
            answer = connection.getresponse()
            said = answer.read().decode(errors="replace")
            if answer.status == http.HTTPStatus.OK:
                return
        except OSError as problem:
            said = str(problem)
        finally:
            connection.close()
        time.sleep(0.2)
    raise ClusterError(
        f"kube-apiserver is not ready after {READY_SECONDS} s: {said}",
        hint=f"read {cluster.control_plane.log_directory / 'kube-apiserver.log'}",
    )


def start_controllers(cluster: Cluster) -> None:
    for service in (*AFTER_API, *(["kwok"] if cluster.kwok_nodes else [])):
        cluster.control_plane.start(service)
