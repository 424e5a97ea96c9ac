"""Files of a kernel, as they were recorded on machines that we do not have."""

from collections.abc import Mapping
from pathlib import Path

from cepheid.sources.local.files import Roots


def write(folder: Path, files: Mapping[str, str | int | float]) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{content}\n")


def link(folder: Path, links: Mapping[str, str]) -> None:
    for name, target in links.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.symlink_to(target)


def roots(folder: Path) -> Roots:
    return Roots(proc=f"{folder}/proc", sys=f"{folder}/sys", top=str(folder))


def process(  # noqa: PLR0913 (a process has many sides)
    folder: Path,
    pid: int,
    *,
    parent: int = 1,
    start: int = 100,
    name: str = "python",
    state: str = "S",
    flags: int = 0,
    ticks: int = 0,
    reaped_ticks: int = 0,
    threads: int = 1,
    rss_kib: int = 1000,
    peak_kib: int = 1000,
) -> None:
    """/proc/PID/stat and status, as Linux 6 has them."""
    stat = [state, parent, pid, pid, 0, -1, flags, 0, 0, 0, 0, ticks, 0, reaped_ticks, 0, 20, 0]
    stat += [threads, 0, start, 4096 * 1000, rss_kib // 4] + [0] * 30
    write(
        folder,
        {
            f"proc/{pid}/stat": f"{pid} ({name}) {' '.join(map(str, stat))}",
            f"proc/{pid}/status": f"Name:\t{name}\nVmHWM:\t{peak_kib} kB\nVmRSS:\t{rss_kib} kB",
        },
    )


def thread(folder: Path, pid: int, tid: int, *, name: str, ticks: int) -> None:
    """A thread's file is like a process'."""
    process(folder / f"proc/{pid}/thread", tid, name=name, ticks=ticks)
    (folder / f"proc/{pid}/task").mkdir(exist_ok=True)
    (folder / f"proc/{pid}/thread/proc/{tid}").rename(folder / f"proc/{pid}/task/{tid}")
