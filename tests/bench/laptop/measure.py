"""One workload under each tool: what it costs while it watches, and what it says afterwards."""

import json
import os
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cepheid.history import History
from cepheid.jobprofile import to_json
from tests.bench.history.jobs import profiles
from tests.bench.laptop.tools import SCRIPTS, Said, Tool, present
from tests.laptop.stand import WORKLOADS

PROCESSES = 20
SETTLE_SECONDS = 4.0
TICKS = os.sysconf("SC_CLK_TCK")
Talk = Callable[[str], None]


@dataclass(frozen=True)
class Cost:
    core_percent: float
    peak_bytes: float


@dataclass(frozen=True)
class Accuracy:
    workload: str
    truth: Said
    said: dict[str, Said]


@dataclass(frozen=True)
class Sizes:
    summary_bytes: int
    series_bytes_a_sample: float
    metrics: int
    """In a sample."""


@dataclass
class Measured:
    costs: dict[str, Cost] = field(default_factory=dict)
    accuracy: list[Accuracy] = field(default_factory=list)
    sizes: Sizes | None = None
    jobs: int = 0
    list_cpu_seconds: float = 0.0
    help_cpu_seconds: float = 0.0


def measure(seconds: float, jobs: int, talk: Talk) -> Measured:
    found = Measured(jobs=jobs)
    for tool in present():
        talk(f"{tool.name} beside {PROCESSES} processes for {seconds:.0f} s")
        found.costs[tool.name] = cost(tool, seconds)
    for workload, arguments in (
        ("cpu", ["5"]),
        ("memory", ["150"]),
        ("short_children", ["2000"]),
        ("children", ["6", "0.7"]),
    ):
        talk(f"{workload} under each of them")
        found.accuracy.append(accuracy(workload, arguments))
    talk("bytes on the disk")
    found.sizes = sizes()
    talk(f"{jobs:,} jobs, listed")
    found.list_cpu_seconds, found.help_cpu_seconds = starts(jobs)
    return found


_TREE = """
import subprocess, sys, time
seconds = sys.argv[1]
program = "import sys, time; time.sleep(float(sys.argv[1]))"
count = int(sys.argv[2]) - 1
others = [subprocess.Popen([sys.executable, "-c", program, seconds]) for _ in range(count)]
time.sleep(float(seconds))
for other in others:
    other.wait()
"""


def cost(tool: Tool, seconds: float) -> Cost:
    """Of the tool's own process, between its start-up and its end."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "tree.py").write_text(_TREE)
        whole = seconds + 2 * SETTLE_SECONDS
        command = [sys.executable, str(folder / "tree.py"), str(whole), str(PROCESSES)]
        with subprocess.Popen(
            tool.command(folder, command),
            env=tool.environment(folder),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as running:
            time.sleep(SETTLE_SECONDS)
            before, begin = _cpu_seconds(running.pid), time.monotonic()
            time.sleep(seconds)
            used, past = _cpu_seconds(running.pid) - before, time.monotonic() - begin
            peak = _peak_bytes(running.pid)
            running.wait()
    return Cost(100 * used / past, peak)


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def _peak_bytes(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text().splitlines()
    (line,) = (line for line in status if line.startswith("VmHWM"))
    return 1024.0 * int(line.split()[1])


def accuracy(workload: str, arguments: Sequence[str]) -> Accuracy:
    said, truths = {}, []
    for tool in present():
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            answer = folder / "truth"
            inner = [sys.executable, str(WORKLOADS), workload, *arguments, "--answer", str(answer)]
            subprocess.run(
                tool.command(folder, inner),
                env=tool.environment(folder),
                check=True,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            told = json.loads(answer.read_text())
            truths.append(told)
            figures = tool.read(folder)
            # Each run has a truth of its own: what is compared is the ratio to it.
            said[tool.name] = Said(
                _ratio(figures.cpu_seconds, told["cpu_seconds"]),
                _ratio(figures.peak_bytes, told["peak_memory_bytes"]),
            )
    first = truths[0]
    return Accuracy(workload, Said(first["cpu_seconds"], first["peak_memory_bytes"]), said)


def _ratio(said: float | None, true: float) -> float | None:
    return None if said is None else said / true


def sizes() -> Sizes:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tool = present()[0]
        command = [sys.executable, str(WORKLOADS), "cycle", "1", "30"]
        arguments = tool.command(folder, command)
        arguments[2:2] = ["--granularity", "time-series"]
        subprocess.run(
            arguments, env=tool.environment(folder), check=True, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        path = folder / "history.db"
        with History.open(path) as history:
            (profile,) = history.find()
            series = history.series(profile.job.uid)
        packed = _series_bytes(path)
        samples = max(len(one.times_seconds) for one in series)
        return Sizes(len(to_json(profile)), packed / samples, len(series))


def _series_bytes(path: Path) -> int:
    with sqlite3.connect(path) as connection:
        return int(
            connection.execute("SELECT sum(length(packed)) FROM cepheid_series").fetchone()[0]
        )


def starts(jobs: int) -> tuple[float, float]:
    """CPU seconds of `cepheid jobs` and of `cepheid --help`, the median of five."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with History.open(folder / "history.db") as history:
            history.keep(profiles(jobs))
        tool = present()[0]
        environment = tool.environment(folder)
        return _start("jobs", environment), _start("--help", environment)


def _start(word: str, environment: Mapping[str, str]) -> float:
    return statistics.median(_child_cpu_seconds(word, environment) for _ in range(5))


def _child_cpu_seconds(word: str, environment: Mapping[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([SCRIPTS / "cepheid", word], env=environment, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
