"""kwok: nodes that are ready and beat, and pods on them that run until somebody ends them.

Without its stage `pod-complete`, which ends the pod of a Job as soon as it runs.
"""

import http.client
from collections.abc import Sequence
from pathlib import Path

from tests.cluster.binaries import binaries
from tests.stage.processes import Daemon, free_port

OF_NODES = (
    "node/fast/node-initialize.yaml",
    "node/heartbeat-with-lease/node-heartbeat-with-lease.yaml",
)
STAGES = (*OF_NODES, "pod/fast/pod-ready.yaml", "pod/fast/pod-delete.yaml")
LEASE_SECONDS = 40
"""As a kubelet's, which renews it four times as often."""


class Kwok(Daemon):
    """For nodes that are annotated `kwok.x-k8s.io/node: fake`; or otherwise, if there are two."""

    def __init__(
        self,
        folder: Path,
        kubeconfig: Path,
        stages: Sequence[str] = STAGES,
        lease_seconds: int = LEASE_SECONDS,
        annotated: str = "fake",
    ) -> None:
        self.port = free_port()
        self._played = stages
        self._stages = folder / "kwok-stages.yaml"
        super().__init__(
            [
                binaries() / "bin/kwok",
                f"--kubeconfig={kubeconfig}",
                f"--config={self._stages}",
                f"--server-address=127.0.0.1:{self.port}",
                "--manage-all-nodes=false",
                f"--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node={annotated}",
                f"--node-lease-duration-seconds={lease_seconds}",
            ],
            folder / "kwok.log",
            self._is_ready,
        )

    def start(self) -> None:
        self._stages.parent.mkdir(parents=True, exist_ok=True)
        self._stages.write_text(stages(self._played))
        super().start()

    def _is_ready(self) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            connection.request("GET", "/healthz")
            return connection.getresponse().status == http.HTTPStatus.OK
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()


def stages(names: Sequence[str] = STAGES) -> str:
    folder = binaries() / "share/kwok"
    return "---\n".join((folder / name).read_text() for name in names)
