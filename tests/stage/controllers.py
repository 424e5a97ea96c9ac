"""kube-controller-manager and kube-scheduler, for tests in which jobs really get pods, and nodes.

Only the controllers that somebody here relies on: they share two cores with everything else.
"""

import http.client
import ssl
from collections.abc import Sequence
from pathlib import Path

from tests.cluster.binaries import binaries
from tests.stage.processes import Daemon, free_port

CONTROLLERS = (
    "job-controller",
    "garbage-collector-controller",
    "namespace-controller",
    "resourcequota-controller",
    "pod-garbage-collector-controller",
    "node-lifecycle-controller",
    "taint-eviction-controller",
)
LOST_SECONDS = 30
"""Without a heartbeat a node counts as lost: sooner than usual, and not as soon as a busy machine
lets some of them come late."""


class _Component(Daemon):
    """As an administrator, and alone."""

    def __init__(self, name: str, folder: Path, kubeconfig: Path, flags: Sequence[str]) -> None:
        self.port = free_port()
        super().__init__(
            [
                binaries() / "bin" / name,
                f"--kubeconfig={kubeconfig}",
                f"--secure-port={self.port}",
                "--bind-address=127.0.0.1",
                "--leader-elect=false",
                "--profiling=false",
                *flags,
            ],
            folder / f"{name}.log",
            self._is_ready,
        )

    def _is_ready(self) -> bool:
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # it signs its own
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=5, context=context)
        try:
            connection.request("GET", "/healthz")
            return connection.getresponse().status == http.HTTPStatus.OK
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()


class ControllerManager(_Component):
    def __init__(self, folder: Path, kubeconfig: Path) -> None:
        flags = [
            f"--controllers={','.join(CONTROLLERS)}",
            f"--node-monitor-grace-period={LOST_SECONDS}s",
            "--node-monitor-period=2s",
            "--node-eviction-rate=1",
            "--v=2",  # at which it says of a node that it is lost
            "--kube-api-qps=200",
            "--kube-api-burst=400",
        ]
        super().__init__("kube-controller-manager", folder, kubeconfig, flags)


class Scheduler(_Component):
    def __init__(self, folder: Path, kubeconfig: Path) -> None:
        super().__init__("kube-scheduler", folder, kubeconfig, [])
