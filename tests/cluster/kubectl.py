"""kubectl, as a user types it, against one kubeconfig."""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.cluster.progress import run

Manifest = Mapping[str, Any]
OWN_LIMIT = re.compile(r"^--timeout=(\d+)s$")
SLOWER_SECONDS = 60
"""On a busy machine kubectl itself starts and ends slowly."""


@dataclass(frozen=True)
class Kubectl:
    program: Path
    kubeconfig: Path
    namespace: str | None = None  # of the kubeconfig, or of each manifest

    def __call__(
        self, *arguments: str | Path, stdin: str | None = None, timeout_seconds: float = 180
    ) -> str:
        """Runs kubectl and returns its stdout; raises with what it said on stderr.

        Where it is given a `--timeout` of its own, that comes first: it says what it waited for.
        """
        own = [float(seconds) for word in arguments for seconds in OWN_LIMIT.findall(str(word))]
        limit = max(timeout_seconds, max(own, default=0) + SLOWER_SECONDS)
        within = [] if self.namespace is None else [f"--namespace={self.namespace}"]
        return run(
            [self.program, *within, *arguments],
            shown=" ".join(["kubectl", *within, *map(str, arguments)]),
            env={**os.environ, "KUBECONFIG": str(self.kubeconfig)},
            stdin=stdin,
            timeout_seconds=limit,
        )

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
