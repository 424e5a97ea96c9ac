"""`pytest --cepheid`: the slowest and the hungriest tests of a run.

Of each test: how long it took with its fixtures, the CPU time of the process and of its children
that it waited for, and by how much the process grew. Read before and after, so that it costs
microseconds a test. `--cepheid-top=N` says how many are shown.
"""

import os
import time
from collections.abc import Generator
from typing import NamedTuple

import pytest

SHOWN = 10
_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
_SLOW_SECONDS = 0.005
_HUNGRY_BYTES = 2**20


class _Reading(NamedTuple):
    seconds: float
    cpu_seconds: float
    memory_bytes: float | None


class Used(NamedTuple):
    test: str
    seconds: float
    cpu_seconds: float
    grown_bytes: float | None


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("cepheid", "what tests use")
    group.addoption(
        "--cepheid", action="store_true", help="Show the slowest and the hungriest tests."
    )
    group.addoption(
        "--cepheid-top",
        type=int,
        default=SHOWN,
        metavar="N",
        help=f"How many of them. [default: {SHOWN}]",
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--cepheid"):
        config.pluginmanager.register(_Watch(config), "cepheid-watch")


class _Watch:
    def __init__(self, config: pytest.Config) -> None:
        self._most = max(1, config.getoption("--cepheid-top"))
        self._used: list[Used] = []
        self._before = _now()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self) -> None:
        self._before = _now()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        if call.when == "teardown":
            # With the report it travels from a worker of pytest-xdist to the one that shows it.
            item.user_properties.append((_PROPERTY, self._since()))
        return (yield)

    def _since(self) -> list[float | None]:
        before, after = self._before, _now()
        grown = None
        if before.memory_bytes is not None and after.memory_bytes is not None:
            grown = after.memory_bytes - before.memory_bytes
        return [after.seconds - before.seconds, after.cpu_seconds - before.cpu_seconds, grown]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "teardown":
            for name, value in report.user_properties:
                if name == _PROPERTY and isinstance(value, list):
                    self._used.append(Used(report.nodeid, *value))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for line in table(self._used, self._most):
            terminalreporter.write_line(line)


_PROPERTY = "cepheid"


def table(used: list[Used], most: int) -> list[str]:
    slow = [one for one in used if one.seconds >= _SLOW_SECONDS]
    slow = sorted(slow, key=lambda one: -one.seconds)[:most]
    hungry = [one for one in used if (one.grown_bytes or 0.0) >= _HUNGRY_BYTES]
    hungry = sorted(hungry, key=lambda one: -(one.grown_bytes or 0.0))[:most]
    lines = []
    if slow:
        lines += ["", f"slowest {len(slow)} of {len(used)} tests", "     took       CPU"]
        lines += [f"{one.seconds:8.2f}s {one.cpu_seconds:8.2f}s  {one.test}" for one in slow]
    if hungry:
        lines += ["", f"hungriest {len(hungry)}: the process grew by"]
        lines += [f"{(one.grown_bytes or 0.0) / 2**20:7.1f} MiB  {one.test}" for one in hungry]
    return lines or ["", "cepheid: no test took long or grew"]


def _now() -> _Reading:
    return _Reading(time.perf_counter(), _cpu_seconds(), _memory_bytes())


def _cpu_seconds() -> float:
    import resource  # noqa: PLC0415 (not on Windows, where every pytest would load this in vain)

    waited = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + waited.ru_utime + waited.ru_stime


def _memory_bytes() -> float | None:
    try:
        with open("/proc/self/statm", "rb") as file:  # noqa: PTH123 # pathlib is slower, twice a test
            return float(int(file.read().split()[1]) * _PAGE)
    except (OSError, IndexError, ValueError):
        return None
