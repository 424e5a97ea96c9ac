"""What is sampled: every column as one line of a table. Their names stand here and nowhere else.

A counter is cumulative, from an origin of its own: only its growth means something. Columns of a
GPU carry its number: `gpu_util_percent.0`.
"""

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    GAUGE = "gauge"
    COUNTER = "counter"


@dataclass(frozen=True, slots=True)
class Column:
    collector: str
    """Who measures it, and what `--without` calls it."""
    name: str
    unit: str
    kind: Kind
    meaning: str


GAUGE, COUNTER = Kind.GAUGE, Kind.COUNTER

COLUMNS: tuple[Column, ...] = tuple(
    Column(*line)
    for line in (
        ("process", "cpu_seconds", "s", COUNTER,
         "CPU time of the tree, user and system, with its processes that have ended"),
        ("process", "rss_bytes", "B", GAUGE,
         "resident memory, added up: what several share counts for each of them"),
        ("process", "peak_rss_bytes", "B", GAUGE,
         "the most so far, with peaks of single processes between two samples: a lower bound"),
        ("process", "vms_bytes", "B", GAUGE, "address space, added up"),
        ("process", "threads", "1", GAUGE, "threads that live"),
        ("process", "processes", "1", GAUGE, "processes that live; zombies do not"),
        ("uss", "uss_bytes", "B", GAUGE,
         "memory that a process shares with no other, added up; costly, so not in every sample"),
        ("io", "read_bytes", "B", COUNTER, "fetched from disks for the tree, past the page cache"),
        ("io", "written_bytes", "B", COUNTER,
         "sent to disks for the tree, or to be sent: dirtied in the page cache"),
        ("network", "received_bytes", "B", COUNTER,
         "over all interfaces but lo of the container or machine, by all that are in it"),
        ("network", "sent_bytes", "B", COUNTER, "the same, sent"),
        ("system", "system_cpu_seconds", "s", COUNTER,
         "CPU time of the whole machine, all that was neither idle nor waiting for disks"),
        ("cgroup", "cgroup_cpu_seconds", "s", COUNTER,
         "CPU time of the control group: the container, or the session that it was started in"),
        ("cgroup", "cgroup_memory_bytes", "B", GAUGE,
         "memory of the control group, page cache and kernel included"),
        ("cgroup", "cgroup_inactive_file_bytes", "B", GAUGE,
         "of that the page cache that nobody misses: the rest is the working set"),
        ("cgroup", "cgroup_memory_peak_bytes", "B", GAUGE,
         "the most that it ever had, also before the start of the command"),
        ("cgroup", "cgroup_periods", "1", COUNTER, "scheduler periods under a CPU limit"),
        ("cgroup", "cgroup_throttled_periods", "1", COUNTER, "those in which the limit stopped it"),
        ("energy", "machine_energy_joules", "J", COUNTER,
         "energy of the machine's CPUs and their memory (RAPL), whoever used them"),
        ("gpu", "gpu_util_percent", "%", GAUGE,
         "some kernel ran, within a second or less before the reading; Intel: was not asleep"),
        ("gpu", "mem_copy_util_percent", "%", GAUGE,
         "device memory was read or written, within a second or less before the reading"),
        ("gpu", "gpu_memory_used_mib", "MiB", GAUGE, "device memory in use, whoever uses it"),
        ("gpu", "gpu_tree_memory_mib", "MiB", GAUGE, "device memory that the tree holds"),
        ("gpu", "gpu_power_watts", "W", GAUGE, "power, a mean over the driver's last moments"),
        ("gpu", "gpu_energy_joules", "J", COUNTER, "energy since the driver was loaded"),
    )
)  # fmt: skip

COLLECTORS: tuple[str, ...] = tuple(dict.fromkeys(column.collector for column in COLUMNS))
BY_NAME = {column.name: column for column in COLUMNS}


def of(collector: str) -> tuple[str, ...]:
    """The names of its columns, in order."""
    return tuple(column.name for column in COLUMNS if column.collector == collector)


def column_of(name: str) -> Column:
    """The line of a column, also of one GPU's."""
    return BY_NAME[name.partition(".")[0]]
