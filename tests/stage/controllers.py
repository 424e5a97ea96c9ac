"""kube-controller-manager and kube-scheduler, for tests in which jobs really get pods, and nodes.

Only the controllers that somebody here relies on: they share two cores with everything else.
"""

import http.client
import ssl
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from tests.cluster.binaries import binaries
from tests.stage.processes import Daemon, StageError, free_port

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

    def __init__(
        self,
        name: str,
        folder: Path,
        kubeconfig: Path,
        flags: Sequence[str],
        program: Path | None = None,
    ) -> None:
        self.port = free_port()
        super().__init__(
            [
                program or binaries() / "bin" / name,
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
        return self.get("/healthz")[0] == http.HTTPStatus.OK

    def get(self, path: str) -> tuple[int, str]:
        """Status and text; 0 where it does not answer."""
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # it signs its own
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=5, context=context)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        except (OSError, http.client.HTTPException) as problem:
            return 0, str(problem)
        finally:
            connection.close()


class ControllerManager(_Component):
    def __init__(
        self, folder: Path, kubeconfig: Path, controllers: Sequence[str] = CONTROLLERS
    ) -> None:
        flags = [
            f"--controllers={','.join(controllers)}",
            f"--node-monitor-grace-period={LOST_SECONDS}s",
            "--node-monitor-period=2s",
            "--node-eviction-rate=1",
            "--v=2",  # at which it says of a node that it is lost
            "--kube-api-qps=200",
            "--kube-api-burst=400",
        ]
        super().__init__("kube-controller-manager", folder, kubeconfig, flags)


class Scheduler(_Component):
    """`config` is what its KubeSchedulerConfiguration says beyond how to reach the API server;
    `program` is one with more plugins than the stock one."""

    def __init__(
        self,
        folder: Path,
        kubeconfig: Path,
        config: Mapping[str, Any] | None = None,
        program: Path | None = None,
    ) -> None:
        self._file = folder / "kube-scheduler.yaml"
        self._config: dict[str, Any] | None = None
        flags = []
        if config is not None:
            # With a configuration, the flag --kubeconfig counts no more.
            connection = {**config.get("clientConnection", {}), "kubeconfig": str(kubeconfig)}
            kind = {
                "apiVersion": "kubescheduler.config.k8s.io/v1",
                "kind": "KubeSchedulerConfiguration",
            }
            self._config = {**kind, **config, "clientConnection": connection}
            flags = [
                f"--config={self._file}",
                "--authorization-always-allow-paths=/healthz,/metrics",
            ]
        super().__init__("kube-scheduler", folder, kubeconfig, flags, program)

    def start(self) -> None:
        if self._config is not None:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            self._file.write_text(yaml.safe_dump(self._config, sort_keys=False))
        super().start()

    def metrics(self) -> str:
        """With a configuration: without one it shows them to nobody."""
        status, text = self.get("/metrics")
        if status != http.HTTPStatus.OK:
            raise StageError(f"kube-scheduler answered {status} to /metrics: {text}")
        return text
