"""What held a run back, in terms of what who typed its command can change.

What the shared analysis finds is said in the words of a command. It looks for work at the limit of
the whole machine; a program of one thread never gets there, and one that waits for its disks has
no GPU to show it: these two are told here.
"""

import numpy as np

from cepheid.analysis.findings import AT_LIMIT, FEWEST_SAMPLES, WORTHWHILE
from cepheid.analysis.pauses import BUSY_DISK, ONE_CORE
from cepheid.analysis.signals import known
from cepheid.jobprofile import HeldBackBy
from cepheid.laptop.gridding import Gridded

MOSTLY = 0.5
"""Of the time: what holds a run back does so for at least half of it."""
WAITING_CORES = 0.7
"""Who computes more than that does not wait for disks."""

_WORDS = {
    "cpu": "all cores are busy: a machine with more of them would help, or less to compute",
    "cpu-throttled": "its CPU limit stops it: raise that of the container (docker run --cpus),"
    " or start fewer threads (OMP_NUM_THREADS)",
    "memory": "memory is nearly full: hold less at a time (smaller batches, fewer workers)",
    "input": "the GPU waits for its input: more loader workers (DataLoader num_workers=4 or more)",
}


def held_back(found: HeldBackBy | None, series: Gridded, cores: float) -> HeldBackBy | None:
    """`found` is what the shared analysis says."""
    if found is not None:
        words = _WORDS.get(found.kind, found.advice)
        return HeldBackBy(kind=found.kind, share_percent=found.share_percent, advice=words)
    if series.gpus:
        return None
    return _disk(series) or _one_core(series, cores)


def _one_core(series: Gridded, cores: float) -> HeldBackBy | None:
    cpu = known(series.signals.get("cpu_cores"))
    if cpu.size < FEWEST_SAMPLES or cores < ONE_CORE[1] / AT_LIMIT:
        return None
    share = float(((cpu >= ONE_CORE[0]) & (cpu <= ONE_CORE[1])).mean())
    if share < MOSTLY:
        return None
    return HeldBackBy(
        kind="cpu",
        share_percent=100 * share,
        advice=f"it computes on one core of {cores:g}: several processes or threads could use more"
        " (multiprocessing, xargs -P, make -j)",
    )


def _disk(series: Gridded) -> HeldBackBy | None:
    cpu = series.signals.get("cpu_cores")
    if cpu is None or known(cpu).size < FEWEST_SAMPLES:
        return None
    for name, advice in (
        ("disk_read_bytes_per_second", "it waits for its disk: read ahead, or fewer, larger files"),
        ("disk_write_bytes_per_second", "it waits for its disk: write less, or in the background"),
    ):
        rate = series.signals.get(name)
        if rate is None:
            continue
        both = np.isfinite(cpu) & np.isfinite(rate)
        waits = (rate[both] >= BUSY_DISK) & (cpu[both] < WAITING_CORES)
        share = float(waits.mean()) if waits.size else 0.0
        if share >= max(MOSTLY, WORTHWHILE):
            return HeldBackBy(kind="disk", share_percent=100 * share, advice=advice)
    return None
