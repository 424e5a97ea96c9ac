"""A process of ours, with what can be seen of it from outside."""

import http.client
import json
import os
import re
import sysconfig
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.cluster.progress import ClusterError, wait_for
from tests.stage.processes import Daemon, StageError, free_port

PROGRAM = Path(sysconfig.get_path("scripts")) / "cepheid"
ANSWER_SECONDS = 30
"""For an answer of a few kB: a machine may be that busy, what hangs hangs for longer."""
INHERITED = ("PATH", "HOME", "LANG", "TMPDIR")
"""Of our own environment: no setting of the developer's gets in."""
OVER = ": over, after "
OVER_SECONDS = 120
"""It asks Prometheus again after 30 s, which may then take its 10 s again."""
TOO_SLOW = re.compile(
    r"no answer in time|within [\d.]+ s\b|timed out|did not complete within|deadline exceeded"
)
"""What is said of a server, or by one, that a busy machine did not let answer in time."""

Entry = dict[str, Any]


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

    def logs(self) -> list[Entry]:
        """Its lines. One that is no JSON, as of a traceback, counts as an error."""
        return [_entry(line) for line in self.log.read_text(errors="replace").splitlines()]

    def troubles(self, but: Sequence[Entry] = ()) -> list[Entry]:
        """But for those that a busy machine alone brings about, once they are over."""
        entries = [entry for entry in self.logs() if entry not in but]
        return [entry for entry in without_waits(entries) if is_trouble(entry)]

    def untroubled(self, but: Sequence[Entry] = ()) -> None:
        """There are none, but these. A server that is slow just now is waited for."""

        def waits() -> list[Entry]:
            return [entry for entry in self.troubles(but) if is_wait(entry)]

        if self.running:
            with suppress(ClusterError):
                wait_for("the end of a wait", lambda: not waits(), OVER_SECONDS)
        left = [] if self.running else waits()  # what has ended cannot say that it is over
        found = [entry for entry in self.troubles(but) if entry not in left]
        assert not found, found

    def over(self, trouble: Entry) -> Entry | None:
        """The line that says that this is over, if it is."""
        entries = self.logs()
        return over_of(trouble, entries[entries.index(trouble) :])


def is_trouble(entry: Entry) -> bool:
    return entry["level"] not in ("debug", "info")


def over_of(trouble: Entry, later: Sequence[Entry]) -> Entry | None:
    """It begins as the trouble did."""
    said = str(trouble["message"])
    for one in later:
        what, over, _ = str(one["message"]).partition(OVER)
        if over and (said == what or said.startswith(f"{what}: ")):
            return one
    return None


def without_waits(entries: Sequence[Entry]) -> list[Entry]:
    """Without that a server did not answer in time, and without that this is over."""
    left = list(entries)
    for entry in filter(is_wait, entries):
        over = over_of(entry, left[_place(entry, left) :])
        if over is not None:
            del left[_place(over, left)], left[_place(entry, left)]
    return left


def _place(entry: Entry, entries: Sequence[Entry]) -> int:
    """Of itself: two lines may be alike."""
    return next(at for at, one in enumerate(entries) if one is entry)


def is_wait(entry: Entry) -> bool:
    """A server did not answer in time: that alone says nothing of the process."""
    return is_trouble(entry) and TOO_SLOW.search(str(entry["message"])) is not None


def _entry(line: str) -> Entry:
    try:
        found = json.loads(line)
    except ValueError:
        found = None
    return found if isinstance(found, dict) else {"level": "error", "message": line}
