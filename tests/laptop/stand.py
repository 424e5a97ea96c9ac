"""A laptop of a test's own: its history, its recordings, and the installed command."""

import json
import os
import subprocess
import sys
import sysconfig
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cepheid.history import History
from cepheid.jobprofile import JobProfile

COMMAND = Path(sysconfig.get_path("scripts")) / "cepheid"
WORKLOADS = Path(__file__).parent / "workloads.py"
FIRST = ["nice", "--adjustment=-19"] if os.geteuid() == 0 else []
"""What a workload says is true of it holds where it has a core when it wants one; other tests, and
whole clusters, run beside it."""


@dataclass(frozen=True)
class Laptop:
    folder: Path
    more: dict[str, str] = field(default_factory=dict)

    @property
    def history_path(self) -> Path:
        return self.folder / "data/history.db"

    @property
    def state(self) -> Path:
        return self.folder / "state"

    @property
    def environment(self) -> dict[str, str]:
        ours = {"CEPHEID_HISTORY": str(self.history_path), "CEPHEID_STATE": str(self.state)}
        clean = {name: text for name, text in os.environ.items() if not name.startswith("CEPHEID")}
        return {**clean, **ours, **self.more}

    def popen(self, *arguments: object, **options: Any) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [str(COMMAND), *map(str, arguments)],
            env=self.environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **options,
        )

    def cepheid(self, *arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
        return self._finish([str(COMMAND), *map(str, arguments)], **options)

    def _finish(self, command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            env=self.environment,
            text=True,
            check=False,
            capture_output=True,
            timeout=300,
            **options,
        )

    def run(self, *arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
        return self.cepheid("run", *arguments, **options)

    def workload(self, name: str, *arguments: object, interval: float = 0.1) -> "Truth":
        """Runs one of `workloads`, which says on stdout what is true of it."""
        options = ["--interval", str(interval), "--granularity", "time-series", "--name", name]
        program = [sys.executable, str(WORKLOADS), name, *map(str, arguments)]
        ran = self._finish([*FIRST, str(COMMAND), "run", *options, "--", *program])
        assert ran.returncode == 0, ran.stderr
        return Truth(self.only(), json.loads(ran.stdout.splitlines()[-1]), ran.stderr)

    def history(self) -> History:
        return History.open(self.history_path)

    def profiles(self) -> list[JobProfile]:
        """The newest first."""
        with self.history() as history:
            return history.find()

    def only(self) -> JobProfile:
        (profile,) = self.profiles()
        return profile

    def recordings(self) -> list[Path]:
        return sorted((self.state / "recordings").glob("*"))


@dataclass(frozen=True)
class Truth:
    profile: JobProfile
    told: dict[str, Any]
    talk: str
