"""kubectl, as a user types it, against one kubeconfig."""

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.cluster.progress import ClusterError

Manifest = Mapping[str, Any]


@dataclass(frozen=True)
class Kubectl:
    program: Path
    kubeconfig: Path
    namespace: str | None = None  # of the kubeconfig, or of each manifest

    def __call__(
        self, *arguments: str | Path, stdin: str | None = None, timeout: float = 180
    ) -> str:
        """Runs kubectl and returns its stdout; raises with what it said on stderr."""
        command = [str(self.program), *map(str, arguments)]
        if self.namespace is not None:
            command.insert(1, f"--namespace={self.namespace}")
        result = subprocess.run(
            command,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=timeout,
            env={**os.environ, "KUBECONFIG": str(self.kubeconfig)},
            check=False,
        )
        if result.returncode:
            raise ClusterError(f"kubectl {' '.join(map(str, arguments))}: {result.stderr.strip()}")
        return result.stdout

    def within(self, namespace: str) -> "Kubectl":
        return Kubectl(self.program, self.kubeconfig, namespace)

    def get(self, *arguments: str) -> Any:
        return json.loads(self("get", *arguments, "--output=json"))

    def items(self, *arguments: str) -> list[Any]:
        found: list[Any] = self.get(*arguments)["items"]
        return found

    def apply(self, *manifests: Manifest) -> None:
        text = yaml.safe_dump_all(manifests, sort_keys=False)
        self("apply", "--server-side", "--filename=-", stdin=text)
