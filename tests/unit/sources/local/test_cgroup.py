import math
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cepheid.sources.local.cgroup import GroupUsage, groups_of, limits_of
from cepheid.sources.local.facts import Limits
from cepheid.sources.local.files import Roots

from .programs import program
from .recorded import link, roots, write

FIRST = {"proc/self/ns/cgroup": "cgroup:[4026531835]"}
OWN = {"proc/self/ns/cgroup": "cgroup:[4026532500]"}
UNLIMITED = 9223372036854771712
V2 = "35 24 0:30 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate"
ID = "3f4a" * 16


def a_version_2_machine(folder: Path, path: str) -> None:
    """A desktop of today: one tree of groups."""
    write(folder, {"proc/7/cgroup": f"0::{path}", "proc/self/mountinfo": V2})
    link(folder, FIRST)


def a_version_1_container(folder: Path) -> None:
    """Docker on an older machine: only its own part is mounted."""
    mounts = [
        f"40 39 0:31 /docker/{ID} /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct",
        f"41 39 0:32 /docker/{ID} /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory",
        f"42 39 0:33 /docker/{ID} /sys/fs/cgroup/unified ro - cgroup2 cgroup rw",
    ]
    groups = [f"4:memory:/docker/{ID}", f"3:cpu,cpuacct:/docker/{ID}", f"0::/docker/{ID}"]
    write(
        folder,
        {
            "proc/7/cgroup": "\n".join(groups),
            "proc/self/mountinfo": "\n".join(mounts),
            "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": 150000,
            "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": 100000,
            "sys/fs/cgroup/cpu,cpuacct/cpu.stat": "nr_periods 10\nnr_throttled 4\nthrottled_time 9",
            "sys/fs/cgroup/cpu,cpuacct/cpuacct.usage": 2_500_000_000,
            "sys/fs/cgroup/memory/memory.limit_in_bytes": 2**30,
            "sys/fs/cgroup/memory/memory.usage_in_bytes": 500,
            "sys/fs/cgroup/memory/memory.max_usage_in_bytes": 900,
            "sys/fs/cgroup/memory/memory.stat": "inactive_file 1\ntotal_inactive_file 200",
        },
    )
    link(folder, FIRST)


def test_version_2_counts_cpu_memory_and_throttling(tmp_path: Path) -> None:
    a_version_2_machine(tmp_path, "/user.slice/run.scope")
    write(
        tmp_path / "sys/fs/cgroup/user.slice/run.scope",
        {
            "cpu.stat": "usage_usec 1500000\nuser_usec 1\nnr_periods 8\nnr_throttled 2",
            "memory.current": 1000,
            "memory.peak": 3000,
            "memory.stat": "anon 5\ninactive_file 400",
        },
    )
    usage = GroupUsage(groups_of(7, roots(tmp_path)))
    assert dict(zip(usage.columns, usage.read(), strict=True)) == {
        "cgroup_cpu_seconds": 1.5,
        "cgroup_memory_bytes": 1000,
        "cgroup_inactive_file_bytes": 400,
        "cgroup_memory_peak_bytes": 3000,
        "cgroup_periods": 8,
        "cgroup_throttled_periods": 2,
    }


def test_version_1_counts_the_same(tmp_path: Path) -> None:
    a_version_1_container(tmp_path)
    usage = GroupUsage(groups_of(7, roots(tmp_path)))
    assert dict(zip(usage.columns, usage.read(), strict=True)) == {
        "cgroup_cpu_seconds": 2.5,
        "cgroup_memory_bytes": 500,
        "cgroup_inactive_file_bytes": 200,
        "cgroup_memory_peak_bytes": 900,
        "cgroup_periods": 10,
        "cgroup_throttled_periods": 4,
    }


def test_version_1_has_limits_and_a_container(tmp_path: Path) -> None:
    a_version_1_container(tmp_path)
    groups = groups_of(7, roots(tmp_path))
    assert limits_of(groups) == Limits(cpu_cores=1.5, memory_bytes=2.0**30)
    assert str(groups.container) == f"docker {ID[:12]}"


def test_no_limit_is_none_however_a_version_says_it(tmp_path: Path) -> None:
    a_version_1_container(tmp_path)
    write(
        tmp_path / "sys/fs/cgroup",
        {"cpu,cpuacct/cpu.cfs_quota_us": -1, "memory/memory.limit_in_bytes": UNLIMITED},
    )
    assert limits_of(groups_of(7, roots(tmp_path))) == Limits()
    a_version_2_machine(tmp_path, "/a")
    write(tmp_path / "sys/fs/cgroup/a", {"cpu.max": "max 100000", "memory.max": "max"})
    assert limits_of(groups_of(7, roots(tmp_path))) == Limits()


def test_a_limit_of_a_group_above_counts_too(tmp_path: Path) -> None:
    a_version_2_machine(tmp_path, "/a/b/c")
    write(
        tmp_path / "sys/fs/cgroup",
        {
            "a/cpu.max": "50000 100000",
            "a/memory.max": 4096,
            "a/b/c/cpu.max": "200000 100000",
            "a/b/c/memory.max": "max",
        },
    )
    assert limits_of(groups_of(7, roots(tmp_path))) == Limits(cpu_cores=0.5, memory_bytes=4096)


def test_the_top_of_the_machine_is_no_group_of_the_command(tmp_path: Path) -> None:
    a_version_1_container(tmp_path)
    write(
        tmp_path,
        {
            "proc/7/cgroup": "4:memory:/\n3:cpu,cpuacct:/",
            "proc/self/mountinfo": (
                "40 39 0:31 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
                "41 39 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory"
            ),
        },
    )
    assert GroupUsage(groups_of(7, roots(tmp_path))).columns == ()


def test_the_top_of_a_containers_own_namespace_is_its_group(tmp_path: Path) -> None:
    a_version_2_machine(tmp_path, "/")
    link(tmp_path, OWN)
    write(tmp_path / "sys/fs/cgroup", {"cpu.stat": "usage_usec 5000000", "memory.current": 9})
    usage = GroupUsage(groups_of(7, roots(tmp_path)))
    assert usage.columns == ("cgroup_cpu_seconds", "cgroup_memory_bytes")
    assert list(usage.read()) == [5.0, 9]


def test_a_group_outside_of_what_is_mounted_falls_back_to_the_top(tmp_path: Path) -> None:
    a_version_2_machine(tmp_path, "/../../elsewhere")
    link(tmp_path, OWN)
    write(tmp_path / "sys/fs/cgroup", {"memory.current": 9})
    assert GroupUsage(groups_of(7, roots(tmp_path))).read() == [9]


def test_a_process_that_is_gone_is_in_the_group_that_we_are_in(tmp_path: Path) -> None:
    a_version_2_machine(tmp_path, "/a")
    write(tmp_path, {"proc/self/cgroup": "0::/b", "sys/fs/cgroup/b/memory.current": 77})
    assert GroupUsage(groups_of(99, roots(tmp_path))).read() == [77]


def test_a_group_that_was_removed_leaves_gaps(tmp_path: Path) -> None:
    a_version_2_machine(tmp_path, "/a")
    write(tmp_path / "sys/fs/cgroup/a", {"memory.current": 1000})
    usage = GroupUsage(groups_of(7, roots(tmp_path)))
    (tmp_path / "sys/fs/cgroup/a/memory.current").unlink()
    assert all(math.isnan(value) for value in usage.read())


def test_broken_files_are_gaps_and_not_zeros(tmp_path: Path) -> None:
    a_version_2_machine(tmp_path, "/a")
    write(
        tmp_path / "sys/fs/cgroup/a",
        {"cpu.stat": "usage_usec\nnr_periods many", "memory.current": "", "cpu.max": "1 0"},
    )
    groups = groups_of(7, roots(tmp_path))
    assert GroupUsage(groups).columns == ()
    assert limits_of(groups) == Limits()


def test_this_machine_can_be_read() -> None:
    groups = groups_of(None, Roots())
    usage = GroupUsage(groups)
    assert len(usage.read()) == len(usage.columns)


def test_a_real_group_of_version_1_is_read_with_its_limits() -> None:
    code = "say('ready'); wait(); block = b'x' * 2**23; burn(0.1); say('burned'); wait()"
    with real_groups() as folders, program(code) as command:
        command.heard()
        (folders["memory"] / "memory.limit_in_bytes").write_text(str(256 * 2**20))
        # So little that whoever computes has it used up at once, on the busiest machine too.
        (folders["cpu"] / "cpu.cfs_period_us").write_text("10000")
        (folders["cpu"] / "cpu.cfs_quota_us").write_text("1000")
        for folder in folders.values():
            (folder / "cgroup.procs").write_text(str(command.pid))
        groups = groups_of(command.pid, Roots())
        assert limits_of(groups) == Limits(cpu_cores=0.1, memory_bytes=256.0 * 2**20)
        usage = GroupUsage(groups)
        before = dict(zip(usage.columns, usage.read(), strict=True))
        command.go_on()
        command.heard()
        after = dict(zip(usage.columns, usage.read(), strict=True))
        assert after["cgroup_cpu_seconds"] - before["cgroup_cpu_seconds"] >= 0.1
        assert after["cgroup_throttled_periods"] > before["cgroup_throttled_periods"]
        assert after["cgroup_periods"] >= after["cgroup_throttled_periods"]
        assert after["cgroup_memory_peak_bytes"] >= after["cgroup_memory_bytes"] >= 2**23


@contextmanager
def real_groups() -> Iterator[dict[str, Path]]:
    made: dict[str, Path] = {}
    try:
        for controller in ("cpu", "cpuacct", "memory"):
            folder = Path(f"/sys/fs/cgroup/{controller}/cepheid-test-{os.getpid()}")
            try:
                folder.mkdir(exist_ok=True)
            except OSError:
                pytest.skip("this machine has no control groups of version 1 that are ours to make")
            made[controller] = folder
        yield made
    finally:
        for folder in made.values():
            # Whoever was in it has been killed; the kernel may need a moment to see it.
            while (folder / "cgroup.procs").read_text():
                time.sleep(0.01)
            folder.rmdir()


def test_a_machine_without_control_groups_says_so(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        groups_of(None, roots(tmp_path))
