"""The machine itself: its name, cores and memory, and the CPU time that all of it used."""

import os
import socket
from collections.abc import Sequence
from dataclasses import dataclass, field

from cepheid.errors import SourceError
from cepheid.sources.local import catalog
from cepheid.sources.local.files import Roots, read_bytes

_TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
_IDLE, _IOWAIT = 3, 4
_STEAL = 8
"""In the order of /proc/stat: user nice system idle iowait irq softirq steal guest guest_nice. What
guests use is in user and nice already; what was stolen others used."""


@dataclass(slots=True, eq=False)
class SystemCpu:
    roots: Roots = field(default_factory=Roots)
    columns: tuple[str, ...] = catalog.of("system")

    def read(self) -> Sequence[float]:
        if not os.path.exists(f"{self.roots.proc}/stat"):  # noqa: PTH110
            return (_elsewhere_seconds(),)
        words = read_bytes(f"{self.roots.proc}/stat").split(b"\n", 1)[0].split()
        if not words or words[0] != b"cpu" or len(words) <= _IOWAIT + 1:
            raise SourceError(f"{self.roots.proc}/stat does not begin with the CPUs' times")
        times = [int(word) for word in words[1:_STEAL]]
        return ((sum(times) - times[_IDLE] - times[_IOWAIT]) / _TICKS,)


def host_name() -> str:
    return socket.gethostname() or "localhost"


def core_count() -> float:
    return float(os.cpu_count() or 1)


def allowed_cores() -> float | None:
    """Those that this process may run on, where some are kept from it."""
    if not hasattr(os, "sched_getaffinity"):
        return None
    allowed = float(len(os.sched_getaffinity(0)))
    return allowed if allowed < core_count() else None


def memory_bytes(roots: Roots) -> float | None:
    try:
        for line in read_bytes(f"{roots.proc}/meminfo").splitlines():
            if line.startswith(b"MemTotal:"):
                return float(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        return None


def _elsewhere_seconds() -> float:
    import psutil  # noqa: PLC0415 (where there is no /proc)

    times = psutil.cpu_times()
    return float(sum(times) - times.idle - getattr(times, "iowait", 0.0))
