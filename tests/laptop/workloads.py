"""Programs of known truth. Each says on its last line of stdout what is true of it.

What they do is tied to the clock, not to how fast the machine is: what takes two seconds here takes
two seconds on a busy one. Standard library only, and no `cepheid`: they are what a user runs.
"""

import json
import mmap
import os
import random
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

MIB = 2**20


def compute_until(end: float) -> None:
    while time.monotonic() < end:
        sum(range(500))


def compute_seconds(cpu: float) -> None:
    end = time.process_time() + cpu
    while time.process_time() < end:
        sum(range(500))


def touched(size: int) -> bytearray:
    """Memory that is really there: every page is written."""
    block = bytearray(size)
    for at in range(0, size, mmap.PAGESIZE):
        block[at] = 1
    return block


def cpu(seconds: str = "3") -> None:
    compute_seconds(float(seconds))


def memory(mib: str = "150") -> None:
    """Up to a peak of which most is given back after a twentieth of a second."""
    held = touched(20 * MIB)
    time.sleep(1.5)
    peak = touched(int(mib) * MIB)
    time.sleep(0.05)
    del peak
    time.sleep(1.5)
    del held


def leak(mib_per_second: str = "4", seconds: str = "10") -> None:
    kept = []
    begin = time.monotonic()
    held = 0
    while (past := time.monotonic() - begin) < float(seconds):
        wanted = int(past * float(mib_per_second) * MIB)
        if wanted - held >= mmap.PAGESIZE:
            kept.append(touched(wanted - held))
            held = wanted
        time.sleep(0.02)


def plateau(seconds: str = "9") -> None:
    """Grows for a third of its life, then keeps what it has: no leak."""
    kept = []
    begin = time.monotonic()
    while (past := time.monotonic() - begin) < float(seconds):
        if past < float(seconds) / 3:
            kept.append(touched(MIB))
        time.sleep(0.05)


def cache(seconds: str = "10") -> None:
    """Fills up and empties again, over and over: no leak either."""
    begin = time.monotonic()
    kept: list[bytearray] = []
    while time.monotonic() - begin < float(seconds):
        kept.append(touched(2 * MIB))
        if len(kept) > 16:
            kept.clear()
        time.sleep(0.05)


def disk(folder: str, mib: str = "400") -> None:
    """Past the page cache, so that it really waits."""
    block = mmap.mmap(-1, MIB)
    block.write(os.urandom(MIB))
    path = Path(folder) / "block"
    flags = os.O_WRONLY | os.O_CREAT | getattr(os, "O_DIRECT", 0)
    file = os.open(path, flags, 0o600)
    for number in range(int(mib)):
        os.pwrite(file, block, (number % 64) * MIB)
        time.sleep(0.005)
    os.close(file)
    path.unlink()


def children(count: str = "6", seconds: str = "0.5") -> None:
    program = f"import workloads; workloads.compute_seconds({seconds})"
    here = Path(__file__).parent
    started = [
        subprocess.Popen([sys.executable, "-c", program], cwd=here) for _ in range(int(count))
    ]
    for child in started:
        child.wait()


def short_children(count: str = "2000") -> None:
    for _ in range(int(count)):
        os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0)


def orphans(count: str = "20", seconds: str = "0.1") -> None:
    """Children of children that end before them: their grandchildren belong to nobody."""
    for _ in range(int(count)):
        child = os.fork()
        if child == 0:
            if os.fork() == 0:
                compute_seconds(float(seconds))
            os._exit(0)
        os.waitpid(child, 0)
    time.sleep(float(seconds) * int(count) + 1)


def cycle(period: str = "1", cycles: str = "14", share: str = "0.5") -> None:
    begin = time.monotonic()
    for number in range(int(cycles)):
        compute_until(begin + (number + float(share)) * float(period))
        time.sleep(max(0.0, begin + (number + 1) * float(period) - time.monotonic()))


def bursts(seconds: str = "14") -> None:
    """No rhythm in it at all."""
    chance = random.Random(7)  # noqa: S311 # no secret
    end = time.monotonic() + float(seconds)
    while time.monotonic() < end:
        compute_until(time.monotonic() + chance.uniform(0.05, 0.9))
        time.sleep(chance.uniform(0.05, 0.9))


def start_up(idle: str = "3", busy: str = "7") -> None:
    time.sleep(float(idle))
    compute_until(time.monotonic() + float(busy))


def idle(seconds: str = "4") -> None:
    time.sleep(float(seconds))


def _truth() -> dict[str, float]:
    self, waited = (
        resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return {
        "cpu_seconds": self.ru_utime + self.ru_stime + waited.ru_utime + waited.ru_stime,
        "peak_memory_bytes": _own_peak(),
    }


def _own_peak() -> float:
    """Not getrusage: that remembers the size of the process which started this one."""
    status = Path("/proc/self/status").read_text()
    (line,) = (line for line in status.splitlines() if line.startswith("VmHWM"))
    return 1024.0 * int(line.split()[1])


PROGRAMS: dict[str, Callable[..., None]] = {
    each.__name__: each
    for each in (
        cpu, memory, leak, plateau, cache, disk, children, short_children, orphans, cycle, bursts,
        start_up, idle,
    )
}  # fmt: skip

if __name__ == "__main__":
    given, _, answer = "\n".join(sys.argv[1:]).partition("\n--answer\n")
    name, *arguments = given.split("\n")
    PROGRAMS[name](*arguments)
    truth = json.dumps(_truth())
    if answer:
        Path(answer).write_text(truth)
    else:
        print(truth)
