"""The cluster's Prometheus by port-forward: on every cluster, and past every network policy."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from tests.cluster.kubectl import Kubectl
from tests.cluster.progress import wait_for
from tests.e2e.prometheus import Prometheus
from tests.stage.processes import free_port

ANSWER_SECONDS = 120


class Forward:
    """kubectl ends when its connection breaks, or the pod behind it goes: then another is begun."""

    def __init__(self, kubectl: Kubectl, port: int, output: TextIO) -> None:
        self._kubectl, self._port, self._output = kubectl, port, output
        self._process: subprocess.Popen[bytes] | None = None

    def go_on(self) -> None:
        if self._process is None or self._process.poll() is not None:
            ports = f"{self._port}:9090"
            self._process = subprocess.Popen(
                [str(self._kubectl.program), "--namespace=cepheid-monitoring"]
                + ["port-forward", "service/prometheus", ports, "--address=127.0.0.1"],
                env={**os.environ, "KUBECONFIG": str(self._kubectl.kubeconfig)},
                stdout=self._output,
                stderr=self._output,
            )

    def end(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait()


@dataclass(frozen=True)
class Forwarded(Prometheus):
    forward: Forward

    def get(self, path: str) -> tuple[int, str]:
        """What broke on its way is asked again."""

        def ask() -> tuple[int, str]:
            self.forward.go_on()
            return Prometheus.get(self, path)

        return wait_for(f"Prometheus to answer to {path}", ask, ANSWER_SECONDS)


@contextmanager
def forwarded(kubectl: Kubectl, log: Path) -> Iterator[Forwarded]:
    port = free_port()
    # Into a file: it says a line for each connection, and a full pipe would stop it.
    with log.open("w") as output:
        forward = Forward(kubectl, port, output)
        try:
            yield Forwarded(f"127.0.0.1:{port}", forward)
        finally:
            forward.end()
