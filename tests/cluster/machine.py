"""A machine made of namespaces, on which daemons run under runit as on any small server."""

import re
import shlex
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.cluster import cgroups
from tests.cluster.progress import ClusterError, run

INIT = Path(__file__).with_name("machine-init")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"  # as in machine-init
NAMESPACES = ("--mount", "--pid", "--net", "--uts", "--ipc")
LAZY = "GOGC=300"
"""To daemons in Go: collect garbage less often. There is more memory here than there are cores."""
BOOT_SECONDS = 60
COMMAND_SECONDS = 120
JOIN_SECONDS = 10  # until a process that just started has joined its cgroup


@dataclass(frozen=True)
class Service:
    """A daemon: its command line, and whether it waits for `start` after the boot."""

    command: Sequence[str]
    wait_for_start: bool = False


@dataclass(frozen=True)
class Machine:
    name: str
    cluster: str
    directory: Path

    @property
    def group(self) -> str:
        return f"{cgroups.group_of(self.cluster)}/{self.name}"

    @property
    def log_directory(self) -> Path:
        return self.directory / "var/log"

    @property
    def pid(self) -> int:
        """The first process of the machine, as the host counts; only ever one of ours."""
        try:
            pid = int((self.directory / "pid").read_text())
        except FileNotFoundError:
            raise ClusterError(
                f"machine {self.name} of cluster {self.cluster} is not running",
                hint=f".venv/bin/python -m tests.cluster up --name {self.cluster}",
            ) from None
        if pid not in cgroups.members(f"{self.group}/daemons"):
            raise ClusterError(
                f"machine {self.name} of cluster {self.cluster} has ended (pid {pid})",
                hint=f".venv/bin/python -m tests.cluster down --name {self.cluster}, then up",
            )
        return pid

    def boot(self, rootfs: Path, binaries: Path, services: Mapping[str, Service]) -> None:
        for path in ("root", "upper", "work", "etc/kubernetes", "etc/service", "var/log"):
            (self.directory / path).mkdir(parents=True, exist_ok=True)
        for name, service in services.items():
            self._define(name, service)
        cgroups.make(f"{self.group}/daemons")
        cgroups.make(f"{self.group}/pods")
        cgroups.count_disk_bytes(self.group, self.directory)
        self._start_init(rootfs, binaries)
        written = self.directory / "pid.new"
        started = time.monotonic()
        while not (written.exists() and written.read_text().endswith("\n")):
            waited = time.monotonic() - started
            alive = waited < JOIN_SECONDS or cgroups.members(f"{self.group}/daemons")
            if not alive or waited > BOOT_SECONDS:
                raise ClusterError(
                    f"machine {self.name} did not boot:\n  {self._boot_log.read_text().strip()}",
                    hint="it needs root, all namespaces (in a container: --privileged) and "
                    "CEPHEID_CLUSTERS on a disk that is no overlayfs itself",
                )
            time.sleep(0.02)
        written.rename(self.directory / "pid")

    @property
    def _boot_log(self) -> Path:
        return self.log_directory / "boot.log"

    def _start_init(self, rootfs: Path, binaries: Path) -> None:
        """Starts the machine's first process as nobody's child: it outlives who called."""
        command: list[str | Path] = ["setsid", "--fork", INIT, self.name]
        command += [rootfs, self.directory, binaries]
        command += cgroups.join_files(f"{self.group}/daemons")
        with self._boot_log.open("w") as log:
            subprocess.run(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, check=True)

    def _define(self, name: str, service: Service) -> None:
        directory = self.directory / "etc/service" / name
        directory.mkdir(parents=True, exist_ok=True)
        script = directory / "run"
        command = shlex.join(service.command)
        script.write_text(f"#!/bin/sh\nexec env {LAZY} {command} >>/var/log/{name}.log 2>&1\n")
        script.chmod(0o755)
        if service.wait_for_start:
            (directory / "down").touch()

    def command(self, argv: Iterable[str | Path]) -> list[str]:
        """The command line by which the host runs `argv` on this machine."""
        own = ["env", "--ignore-environment", f"PATH={PATH}"]
        return ["nsenter", f"--target={self.pid}", *NAMESPACES, "--", *own, *map(str, argv)]

    def run(self, *argv: str | Path) -> str:
        shown = f"{self.name}: {' '.join(map(str, argv))}"
        return run(self.command(argv), shown=shown, timeout_seconds=COMMAND_SECONDS)

    def services(self) -> dict[str, str]:
        """What runit says of each daemon, such as `run, pid 31, 12s`."""
        names = sorted(d.name for d in (self.directory / "etc/service").iterdir())
        said = self.run("sv", "status", *names).splitlines()
        found = [re.match(r"(\w+): (\S+): (?:\((pid \d+)\) )?(\d+s)", line) for line in said]
        return {m[2]: ", ".join(filter(None, (m[1], m[3], m[4]))) for m in found if m}

    def start(self, service: str) -> None:
        self.run("sv", "-w", "20", "start", service)

    def stop(self, service: str) -> None:
        """Stops a daemon, by SIGKILL after 20 s, until `start`."""
        self.run("sv", "-w", "20", "force-stop", service)

    def kill(self, service: str) -> None:
        """Kills a daemon as a crash would; runit starts it again."""
        self.run("sv", "kill", service)
