"""A real API server with its etcd, and nothing that acts on what is in it.

No controller makes tokens or deletes pods, and no kubelet says that one runs: the stage does.
"""

import base64
import http.client
import ipaddress
import ssl
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from cepheid.annotations.codec import name_part
from tests import REPOSITORY
from tests.cluster.binaries import binaries
from tests.cluster.kubectl import Kubectl
from tests.cluster.pki import Authority, Pair, service_account_keys
from tests.cluster.progress import ClusterError, wait_for
from tests.stage.etcd import Etcd
from tests.stage.processes import Daemon, free_port

MANIFEST = REPOSITORY / "manifests/cepheid.yaml"
INSTALLED = (
    "Namespace",
    "CustomResourceDefinition",
    "PriorityClass",
    "ServiceAccount",
    "ClusterRole",
    "ClusterRoleBinding",
    "Role",
    "RoleBinding",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
)
NAMESPACE, ACCOUNT = "cepheid", "cepheid-agent"
OPERATOR_ACCOUNT = "cepheid-operator"
PROBE = "policy-probe"
LOOPBACK = ipaddress.IPv4Address("127.0.0.1")


class ApiServer(Daemon):
    """`start`, `stop`, `kill` and the rest are of kube-apiserver; `etcd` runs on beside it."""

    def __init__(self, folder: Path, flags: Sequence[str] = ()) -> None:
        self.folder = folder
        self.flags = list(flags)
        """More flags of kube-apiserver; those changed count from the next start."""
        self.port = free_port()
        self.url = f"https://127.0.0.1:{self.port}"
        folder.mkdir(parents=True, exist_ok=True)
        self._account_keys = service_account_keys(folder)
        self._rotations = 0
        self.etcd = Etcd(folder)
        self.admin = Kubectl(binaries() / "bin/kubectl", folder / "admin.kubeconfig")
        self._authority, self._serving = self._certify()
        super().__init__([], folder / "kube-apiserver.log", lambda: self.answers_at(self.port))

    def start(self) -> None:
        self.command = self.command_at(self.port)
        try:
            self.etcd.start()
            super().start()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        super().close()
        self.etcd.close()

    def answers_at(self, port: int) -> bool:
        """Whether one that is ready does."""
        context = ssl.create_default_context(cafile=str(self._authority.certificate))
        connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=5, context=context)
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == http.HTTPStatus.OK
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def rotate_certificates(self) -> None:
        """Another authority and certificate: who trusts the old one alone is turned away.

        Tokens stay valid. `agent_kubeconfig` again gives an agent the new authority.
        """
        self._rotations += 1
        self._authority, self._serving = self._certify()
        self.restart()

    def install(self, *more: Path) -> None:
        """The product's namespace, account, rights and policies; returns when they hold. Those of
        further manifests too."""
        for manifest in (MANIFEST, *more):
            things = [thing for thing in _documents(manifest) if thing["kind"] in INSTALLED]
            self.admin.apply(*things)
        self.node(PROBE)
        self.admin.apply(_agent_pod(PROBE, PROBE))
        for policy, thing in (("nodes", f"node/{PROBE}"), ("pods", f"pod/{PROBE}")):
            refused = partial(self._is_refused, thing, policy)
            wait_for(f"the policy cepheid-agent-{policy}", refused, every_seconds=0.1)
        self.delete_pod(NAMESPACE, PROBE)
        self.admin("delete", "node", PROBE)

    def node(self, name: str) -> None:
        self.admin.apply(
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name_part(name)}},
            }
        )

    def pod(self, namespace: str, name: str, node: str, spec: dict[str, Any] | None = None) -> str:
        """Its uid."""
        return self.pods(namespace, [name], node, spec)[name]

    def pods(
        self, namespace: str, names: Iterable[str], node: str, spec: dict[str, Any] | None = None
    ) -> dict[str, str]:
        """Pods that run on a node, as far as the API server is told; their uids by name."""
        wanted = list(names)
        container = {"name": "main", "image": "registry.example.com/team/work:v1.2.3"}
        made = {"containers": [container], **(spec or {}), "nodeName": node}
        running = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
        within = self.admin.within(namespace)
        pods = [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}} for name in wanted]
        within.apply(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}},
            *(pod | {"spec": made} for pod in pods),
        )
        within(
            *("apply", "--server-side", "--subresource=status", "--filename=-"),
            stdin=yaml.safe_dump_all([pod | {"status": running} for pod in pods]),
        )
        return {
            pod["metadata"]["name"]: pod["metadata"]["uid"]
            for pod in within.items("pods")
            if pod["metadata"]["name"] in wanted
        }

    def delete_pod(self, namespace: str, name: str) -> None:
        """At once: there is no kubelet to wait for."""
        self.admin.within(namespace)("delete", "pod", name, "--grace-period=0", "--force")

    def annotations(self, kind: str, name: str, namespace: str | None = None) -> dict[str, str]:
        admin = self.admin if namespace is None else self.admin.within(namespace)
        found: dict[str, str] = admin.get(kind, name)["metadata"].get("annotations", {})
        return found

    def agent_kubeconfig(self, node: str, seconds: int = 3600) -> Path:
        """With a token as a kubelet gives it to the agent's pod on that node: it names the node.

        The same file when called again, with a new token.
        """
        name = name_part(f"{ACCOUNT}-{node}")  # a node's name may be as long as a pod's
        within = self.admin.within(NAMESPACE)
        within.apply(_agent_pod(name, node))
        token = within(
            *("create", "token", ACCOUNT, f"--duration={seconds}s", "--bound-object-kind=Pod"),
            f"--bound-object-name={name}",
            f"--bound-object-uid={within.get('pod', name)['metadata']['uid']}",
        ).strip()
        return self._kubeconfig(name, token)

    def operator_kubeconfig(self, name: str, url: str | None = None) -> Path:
        """With the rights of the product's operator; `url` of what stands before the server."""
        return self.account_kubeconfig(name, OPERATOR_ACCOUNT, url)

    def account_kubeconfig(self, name: str, account: str, url: str | None = None) -> Path:
        """With the rights of one of the product's accounts."""
        token = self.admin.within(NAMESPACE)("create", "token", account).strip()
        return self._kubeconfig(name, token, url)

    def _kubeconfig(self, name: str, token: str, url: str | None = None) -> Path:
        authority = base64.b64encode(self._authority.certificate.read_bytes()).decode()
        cluster = {"server": url or self.url, "certificate-authority-data": authority}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "stage", "cluster": cluster}],
            "users": [{"name": "agent", "user": {"token": token}}],
            "contexts": [{"name": "stage", "context": {"cluster": "stage", "user": "agent"}}],
            "current-context": "stage",
        }
        path = self.folder / f"{name}.kubeconfig"
        fresh = path.with_suffix(".new")
        fresh.touch(mode=0o600)
        fresh.write_text(yaml.safe_dump(config, sort_keys=False))
        return fresh.replace(path)  # an agent that reads it now sees the old or the new

    def _is_refused(self, thing: str, policy: str) -> bool:
        try:
            self.admin.within(NAMESPACE)(
                *("label", thing, "probe=1", "--dry-run=server", "--overwrite"),
                f"--as=system:serviceaccount:{NAMESPACE}:{ACCOUNT}",
            )
        except ClusterError as problem:
            return f"ValidatingAdmissionPolicy 'cepheid-agent-{policy}'" in str(problem)
        return False

    def _certify(self) -> tuple[Authority, Pair]:
        authority = Authority(self.folder / f"pki-{self._rotations}")
        serving = authority.issue("apiserver", "kube-apiserver", addresses=[LOOPBACK])
        admin = authority.issue("admin", "admin", "system:masters")
        authority.kubeconfig(self.admin.kubeconfig, self.url, admin)
        return authority, serving

    def command_at(self, port: int) -> list[str | Path]:
        return [
            binaries() / "bin/kube-apiserver",
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            "--endpoint-reconciler-type=none",
            f"--secure-port={port}",
            f"--etcd-servers={self.etcd.url}",
            f"--client-ca-file={self._authority.certificate}",
            f"--tls-cert-file={self._serving.certificate}",
            f"--tls-private-key-file={self._serving.key}",
            "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
            f"--service-account-key-file={self._account_keys.certificate}",
            f"--service-account-signing-key-file={self._account_keys.key}",
            "--service-cluster-ip-range=10.96.0.0/16",
            "--authorization-mode=Node,RBAC",
            "--enable-admission-plugins=NodeRestriction,PodSecurity",
            # It waits for accounts that only kube-controller-manager makes.
            "--disable-admission-plugins=ServiceAccount",
            "--profiling=false",
            *self.flags,
        ]


class Twin(Daemon):
    """A second one on the same etcd, as a control plane has: only its port is its own."""

    def __init__(self, first: ApiServer) -> None:
        self.port = free_port()
        super().__init__(
            first.command_at(self.port),
            first.folder / "kube-apiserver-twin.log",
            lambda: first.answers_at(self.port),
        )


def _documents(manifest: Path = MANIFEST) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(manifest.read_text()))


def _agent_pod(name: str, node: str) -> dict[str, Any]:
    """The DaemonSet's own pod on a node, but for the scheduler."""
    (daemon_set,) = (thing for thing in _documents() if thing["kind"] == "DaemonSet")
    template = daemon_set["spec"]["template"]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**template["metadata"], "name": name, "namespace": NAMESPACE},
        "spec": {**template["spec"], "nodeName": node},
    }
