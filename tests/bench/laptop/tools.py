"""How is each tool told to watch a command, and what did it say of it?"""

import os
import re
import shutil
import sysconfig
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from cepheid.history import History

INTERVAL_SECONDS = 0.5
SCRIPTS = Path(sysconfig.get_path("scripts"))
MIB = 2.0**20


@dataclass(frozen=True)
class Said:
    """None for what it does not tell."""

    cpu_seconds: float | None = None
    peak_bytes: float | None = None


@dataclass(frozen=True)
class Tool:
    name: str
    command: Callable[[Path, Sequence[str]], list[str]]
    """In a folder of its own, around a command."""
    read: Callable[[Path], Said]

    def environment(self, folder: Path) -> Mapping[str, str]:
        ours = {"CEPHEID_HISTORY": folder / "history.db", "CEPHEID_STATE": folder / "state"}
        return {**os.environ, **{name: str(path) for name, path in ours.items()}}


def _cepheid(_folder: Path, command: Sequence[str]) -> list[str]:
    return [str(SCRIPTS / "cepheid"), "run", "--interval", str(INTERVAL_SECONDS), "--", *command]


def _cepheid_said(folder: Path) -> Said:
    with History.open(folder / "history.db") as history:
        (profile,) = history.find()
    process = profile.process
    if process is None:
        return Said()
    return Said(process.cpu_seconds, process.peak_memory_bytes)


def _time(folder: Path, command: Sequence[str]) -> list[str]:
    return ["/usr/bin/time", "-v", "-o", str(folder / "time"), *command]


def _time_said(folder: Path) -> Said:
    text = (folder / "time").read_text()

    def figure(name: str) -> float:
        found = re.search(rf"{re.escape(name)}: ([\d.]+)", text)
        return float(found[1]) if found else float("nan")

    cpu = figure("User time (seconds)") + figure("System time (seconds)")
    return Said(cpu, 1024 * figure("Maximum resident set size (kbytes)"))


def _psrecord(folder: Path, command: Sequence[str]) -> list[str]:
    text = " ".join(command)  # it splits at blanks, whatever they stand in
    return [
        str(SCRIPTS / "psrecord"), text, "--interval", str(INTERVAL_SECONDS), "--include-children",
        "--log", str(folder / "log"),
    ]  # fmt: skip


def _psrecord_said(folder: Path) -> Said:
    rows = [line.split() for line in (folder / "log").read_text().splitlines()[1:]]
    samples = [(float(row[0]), float(row[1]), float(row[2])) for row in rows if len(row) >= 3]
    if not samples:
        return Said()
    cpu = sum(
        percent / 100 * (now - before) for (before, _, _), (now, percent, _) in pairwise(samples)
    )
    return Said(cpu, MIB * max(real for _, _, real in samples))


def _mprof(folder: Path, command: Sequence[str]) -> list[str]:
    return [
        str(SCRIPTS / "mprof"), "run", "--interval", str(INTERVAL_SECONDS), "--include-children",
        "--output", str(folder / "mprof"), *command,
    ]  # fmt: skip


def _mprof_said(folder: Path) -> Said:
    lines = [line.split() for line in (folder / "mprof").read_text().splitlines()]
    samples = [float(line[1]) for line in lines if line and line[0] == "MEM"]
    return Said(None, MIB * max(samples)) if samples else Said()


TOOLS = (
    Tool("cepheid", _cepheid, _cepheid_said),
    Tool("/usr/bin/time -v", _time, _time_said),
    Tool("psrecord", _psrecord, _psrecord_said),
    Tool("memory_profiler", _mprof, _mprof_said),
)


def present() -> list[Tool]:
    """Of the others those that are installed."""
    there = {
        "cepheid": True,
        "/usr/bin/time -v": shutil.which("/usr/bin/time") is not None,
        "psrecord": (SCRIPTS / "psrecord").exists(),
        "memory_profiler": (SCRIPTS / "mprof").exists(),
    }
    return [tool for tool in TOOLS if there[tool.name]]
