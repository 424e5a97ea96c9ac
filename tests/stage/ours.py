"""A process of ours, with what can be seen of it from outside."""

import http.client
import json
import os
import sysconfig
from pathlib import Path
from typing import Any

from tests.stage.processes import Daemon, StageError, free_port

PROGRAM = Path(sysconfig.get_path("scripts")) / "cepheid"
ANSWER_SECONDS = 30
"""For an answer of a few kB: a machine may be that busy, what hangs hangs for longer."""
INHERITED = ("PATH", "HOME", "LANG", "TMPDIR")
"""Of our own environment: no setting of the developer's gets in."""


class Ours(Daemon):
    """`cepheid agent` or `cepheid operator`. Ready when it answers, not when it wrote."""

    def __init__(
        self,
        command: str,
        log: Path,
        kubeconfig: Path,
        settings: dict[str, object],
        environment: dict[str, str] | None = None,
    ) -> None:
        self.port = free_port()
        given = {"listen": f"127.0.0.1:{self.port}", "log_format": "json", **settings}
        inherited = {key: os.environ[key] for key in INHERITED if key in os.environ}
        # As in its pod: every setting a variable, and what the image sets.
        variables = {f"CEPHEID_{name.upper()}": str(value) for name, value in given.items()}
        variables |= {"KUBECONFIG": str(kubeconfig), "OPENBLAS_NUM_THREADS": "1"}
        super().__init__(
            [PROGRAM, command],
            log,
            lambda: self.get("/metrics")[0] == http.HTTPStatus.OK,
            {**inherited, **variables, **(environment or {})},
        )

    def get(self, path: str) -> tuple[int, str]:
        """Status and text of /metrics, /healthz or /readyz; 0 where it does not answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=ANSWER_SECONDS)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        except (OSError, http.client.HTTPException) as problem:
            return 0, str(problem)
        finally:
            connection.close()

    def metrics(self) -> dict[str, float]:
        """By series, as it prints them: `cepheid_agent_errors_total{kind="api"}`."""
        status, text = self.get("/metrics")
        if status != http.HTTPStatus.OK:
            raise StageError(f"{self.command[1]} answered {status} to /metrics: {text}")
        lines = [line for line in text.splitlines() if line and not line.startswith("#")]
        pairs = [line.rpartition(" ") for line in lines]
        return {series: float(value) for series, _, value in pairs}

    def logs(self) -> list[dict[str, Any]]:
        """Its lines. One that is no JSON, as of a traceback, counts as an error."""
        return [_entry(line) for line in self.log.read_text(errors="replace").splitlines()]

    def troubles(self) -> list[dict[str, Any]]:
        return [entry for entry in self.logs() if entry["level"] not in ("debug", "info")]


def _entry(line: str) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except ValueError:
        found = None
    return found if isinstance(found, dict) else {"level": "error", "message": line}
