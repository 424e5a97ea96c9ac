"""Which core a process may use, and before whom.

The target speaks of one core, not of one that others use as well. Where they do, a process can be
given precedence: it still waits for its own threads, and hardly for anybody else's.
"""

import os
from collections.abc import Iterator
from pathlib import Path

CORE = 1
"""Who is measured may use this one alone; of a machine with one core, that."""
FIRST = -20


def pin(pid: int) -> None:
    """All its threads to one core; those that it starts later inherit it."""
    cores = sorted(os.sched_getaffinity(0))
    for thread in _threads(pid):
        os.sched_setaffinity(thread, {cores[min(CORE, len(cores) - 1)]})


def precede(pid: int) -> bool:
    """Before all others; False where we have no right to. It must have a session of its own, whose
    share is what the kernel divides first."""
    session = Path(f"/proc/{pid}/autogroup")
    try:
        for thread in _threads(pid):
            os.setpriority(os.PRIO_PROCESS, thread, FIRST)
        if session.exists():
            session.write_text(str(FIRST))
    except PermissionError:
        return False
    return True


def _threads(pid: int) -> Iterator[int]:
    yield from (int(thread.name) for thread in Path(f"/proc/{pid}/task").iterdir())
