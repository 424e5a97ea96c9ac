"""What the operator asked of the API server, by the API server's own record of it."""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import yaml

from tests.stage.api_server import NAMESPACE, OPERATOR_ACCOUNT

USER = f"system:serviceaccount:{NAMESPACE}:{OPERATOR_ACCOUNT}"
POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived", "ResponseStarted"],
    "rules": [{"level": "Metadata", "users": [USER]}, {"level": "None"}],
}
Asked = tuple[str, str]
"""Verb and resource."""


@dataclass(frozen=True)
class Audit:
    folder: Path

    @property
    def log(self) -> Path:
        return self.folder / "audit.log"

    def flags(self) -> list[str]:
        """Of kube-apiserver."""
        self.folder.mkdir(parents=True, exist_ok=True)
        policy = self.folder / "audit-policy.yaml"
        policy.write_text(yaml.safe_dump(POLICY))
        return [f"--audit-policy-file={policy}", f"--audit-log-path={self.log}"]

    def counted(self) -> Counter[Asked]:
        """All requests so far; a watch counts when it has ended."""
        with self.log.open() as lines:
            return count(lines)


def count(lines: Iterable[str]) -> Counter[Asked]:
    """One JSON document a line; one that is not whole yet is counted the next time."""
    found: Counter[Asked] = Counter()
    for line in lines:
        if line.endswith("\n"):
            event = json.loads(line)
            found[event["verb"], event.get("objectRef", {}).get("resource", "-")] += 1
    return found
