"""kubelet, containerd and kube-proxy on a node, at the paths where every node has them."""

import json
import shutil
from pathlib import Path

import yaml

from tests.cluster.control_plane import FILES
from tests.cluster.layout import DNS_SERVICE_ADDRESS, POD_NETWORK, Cluster, Node
from tests.cluster.machine import Service
from tests.cluster.pki import Authority

PAUSE_IMAGE = "localhost/cepheid/pause:dev"

CONTAINERD = f"""\
version = 2
oom_score = 0  # a lower one needs CAP_SYS_RESOURCE, which small machines withhold
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{PAUSE_IMAGE}"
  restrict_oom_score_adj = true
  disable_apparmor = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "/etc/cni/net.d"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false
"""


def prepare(cluster: Cluster, node: Node, authority: Authority) -> dict[str, Service]:
    """Writes the files of a node and returns its daemons."""
    machine, address = cluster.machine(node.name), cluster.node_address(node)
    files = machine.directory / "etc/kubernetes"
    files.mkdir(parents=True, exist_ok=True)

    kubelet = authority.issue(f"kubelet-{node.name}", f"system:node:{node.name}", "system:nodes")
    authority.kubeconfig(files / "kubelet.kubeconfig", cluster.api_url, kubelet)
    proxy = authority.issue(f"kube-proxy-{node.name}", "system:kube-proxy")
    authority.kubeconfig(files / "kube-proxy.kubeconfig", cluster.api_url, proxy)
    serving = authority.issue(
        f"kubelet-serving-{node.name}",
        f"system:node:{node.name}",
        addresses=[address],
        names=[node.name],
    )
    shutil.copy(authority.certificate, files / "ca.crt")
    shutil.copy(serving.certificate, files / "kubelet.crt")
    shutil.copy2(serving.key, files / "kubelet.key")
    (files / "kubelet.yaml").write_text(yaml.safe_dump(_kubelet_configuration(machine.group)))

    layer = machine.directory / "upper"
    _write(layer / "etc/containerd/config.toml", CONTAINERD)
    _write(layer / "etc/cni/net.d/10-bridge.conflist", json.dumps(_pod_network(node), indent=2))
    _write(layer / "etc/hosts", f"127.0.0.1 localhost\n{address} {node.name}\n")
    # Pods with dnsPolicy Default, CoreDNS among them, inherit this: there is no way out.
    _write(layer / "etc/resolv.conf", "# no name server beyond the cluster's own\n")
    # "The hardware".
    _write(layer / "var/lib/simgpu/inventory.json", json.dumps(node.hardware))

    return {
        "containerd": Service(["containerd"]),
        "kubelet": Service(
            [
                "kubelet",
                f"--config={FILES}/kubelet.yaml",
                f"--kubeconfig={FILES}/kubelet.kubeconfig",
                f"--hostname-override={node.name}",
                f"--node-ip={address}",
                "--node-labels=" + ",".join(f"{k}={v}" for k, v in node.labels.items()),
            ],
            wait_for_start=True,  # until the API server is there
        ),
        "kube-proxy": Service(
            [
                "kube-proxy",
                f"--kubeconfig={FILES}/kube-proxy.kubeconfig",
                f"--hostname-override={node.name}",
                f"--cluster-cidr={POD_NETWORK}",
                "--proxy-mode=iptables",
                # The tables of connections are the host kernel's: they stay as they are.
                "--conntrack-max-per-core=0",
                "--conntrack-tcp-timeout-established=0",
                "--conntrack-tcp-timeout-close-wait=0",
                "--nodeport-addresses=primary",
            ],
            wait_for_start=True,
        ),
    }


def _kubelet_configuration(group: str) -> dict[str, object]:
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": f"{FILES}/ca.crt"},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": f"{FILES}/kubelet.crt",
        "tlsPrivateKeyFile": f"{FILES}/kubelet.key",
        "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
        "clusterDNS": [str(DNS_SERVICE_ADDRESS)],
        "clusterDomain": "cluster.local",
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{group}/pods",
        "failSwapOn": False,
        # What a machine without CAP_SYS_RESOURCE allows.
        "oomScoreAdj": 0,
        "maxOpenFiles": 20000,
        # The disk and the memory are shared with everything else on the machine: evict only
        # when they really end, and never delete an image, which could not be pulled again.
        "evictionHard": {
            "memory.available": "100Mi",
            "nodefs.available": "1%",
            "nodefs.inodesFree": "1%",
            "imagefs.available": "1%",
        },
        "imageGCHighThresholdPercent": 100,
        "imageGCLowThresholdPercent": 99,
    }


def _pod_network(node: Node) -> dict[str, object]:
    subnet = str(node.pod_network)
    return {
        "cniVersion": "0.4.0",
        "name": "pods",
        "plugins": [
            {
                "type": "bridge",
                "bridge": "pods",
                "isGateway": True,
                "ipMasq": False,  # every machine has a route to every pod
                "hairpinMode": True,
                "ipam": {
                    "type": "host-local",
                    "ranges": [[{"subnet": subnet}]],
                    "routes": [{"dst": "0.0.0.0/0"}],
                    "dataDir": "/run/cni",
                },
            },
            {"type": "portmap", "capabilities": {"portMappings": True}},
        ],
    }


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def join(cluster: Cluster) -> None:
    for node in cluster.nodes:
        for service in ("kubelet", "kube-proxy"):
            cluster.machine(node.name).start(service)
