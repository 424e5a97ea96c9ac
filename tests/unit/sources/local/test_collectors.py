import json
import math
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cepheid.errors import UsageError
from cepheid.sources.local import catalog
from cepheid.sources.local.collectors import Collectors
from cepheid.sources.local.facts import Limits
from cepheid.sources.local.portable import Psutil
from cepheid.sources.local.processes import Tree
from cepheid.sources.local.procfs import ProcFs

from .programs import program
from .recorded import link, process, roots, write
from .test_network import devices


def a_machine(folder: Path) -> Tree:
    process(folder, 10, ticks=100)
    write(
        folder,
        {
            "proc/stat": "cpu  100 0 0 50 0 0 0 0 0 0",
            "proc/meminfo": "MemTotal: 1000000 kB",
            "proc/self/net/dev": devices(eth0=(5, 5)),
            "proc/10/net/dev": devices(eth0=(5, 5)),
            "proc/10/cgroup": "0::/a",
            "proc/self/mountinfo": "35 24 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw",
            "sys/fs/cgroup/a/memory.current": 700,
            "sys/fs/cgroup/a/memory.max": 2**31,
            "sys/fs/cgroup/a/cpu.max": "25000 100000",
            "sys/class/powercap/intel-rapl:0/name": "package-0",
            "sys/class/powercap/intel-rapl:0/energy_uj": 1,
        },
    )
    link(folder, {"proc/self/ns/net": "net:[1]", "proc/10/ns/net": "net:[1]"})
    return Tree([10], source=ProcFs(f"{folder}/proc", live=False))


def row(collectors: Collectors) -> dict[str, float]:
    return dict(zip(collectors.columns, collectors.read(), strict=True))


def test_every_column_stands_in_the_catalog() -> None:
    collectors = Collectors(Tree([os.getpid()]))
    values = row(collectors)
    assert all(catalog.column_of(name).meaning for name in values)
    assert len(values) == len(collectors.columns)
    collectors.close()


def test_a_real_command_is_measured() -> None:
    with program("burn(0.2); say('burned'); wait()") as command:
        command.heard()
        collectors = Collectors(Tree([command.pid]))
        values = row(collectors)
        assert values["cpu_seconds"] >= 0.2
        assert values["peak_rss_bytes"] >= values["rss_bytes"] > 1e6
        assert 0 < values["uss_bytes"] <= values["rss_bytes"]
        assert values["system_cpu_seconds"] > values["cpu_seconds"]
        assert (values["threads"], values["processes"]) == (1, 1)
        assert collectors.skipped == {}


@pytest.mark.parametrize("name", catalog.COLLECTORS)
def test_each_collector_can_be_switched_off(tmp_path: Path, name: str) -> None:
    collectors = Collectors(a_machine(tmp_path), without=[name], roots=roots(tmp_path))
    assert not set(collectors.columns) & set(catalog.of(name))
    assert collectors.skipped == {}
    others = {catalog.column_of(column).collector for column in collectors.columns}
    assert others == {"process", "uss", "io", "network", "system", "cgroup", "energy"} - {name}
    assert len(collectors.read()) == len(collectors.columns)


def test_without_the_trees_own_figures_others_still_follow_it() -> None:
    with program("say('ready'); wait(); child(); wait()") as command:
        command.heard()
        collectors = Collectors(Tree([command.pid]), without=["process"])
        before = row(collectors)["uss_bytes"]
        assert before > 0
        command.go_on()
        assert command.heard() == "here"
        collectors.read()
        assert len(collectors.tree.pids) == 2


def test_an_unknown_collector_is_refused_with_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="turbo") as caught:
        Collectors(a_machine(tmp_path), without=["turbo"], roots=roots(tmp_path))
    assert "process, uss, io, network, system, cgroup, energy, gpu" in str(caught.value)


def test_one_that_fails_is_named_once_and_left_alone_from_then_on(tmp_path: Path) -> None:
    collectors = Collectors(a_machine(tmp_path), roots=roots(tmp_path))
    assert collectors.skipped == {}
    write(tmp_path, {"proc/stat": "nonsense"})
    values = row(collectors)
    assert math.isnan(values["system_cpu_seconds"])
    assert values["cpu_seconds"] == 1.0
    assert list(collectors.skipped) == ["system"]
    assert "proc/stat" in collectors.skipped["system"]
    write(tmp_path, {"proc/stat": "cpu  100 0 0 50 0 0 0 0 0 0"})
    assert math.isnan(row(collectors)["system_cpu_seconds"])


def test_one_that_cannot_begin_is_named_and_has_no_columns(tmp_path: Path) -> None:
    tree = a_machine(tmp_path)
    write(tmp_path, {"sys/class/powercap/intel-rapl:0/energy_uj": "full"})
    collectors = Collectors(tree, roots=roots(tmp_path))
    assert list(collectors.skipped) == ["energy"]
    assert "machine_energy_joules" not in collectors.columns


def test_a_message_names_the_file_on_one_line(tmp_path: Path) -> None:
    tree = a_machine(tmp_path)
    collectors = Collectors(tree, roots=roots(tmp_path))
    shutil.rmtree(tmp_path / "sys/class/powercap")
    collectors.read()
    assert collectors.skipped == {
        "energy": f"{tmp_path}/sys/class/powercap/intel-rapl:0/energy_uj: no such file or directory"
    }


def test_what_the_machine_is_and_allows_stands_in_the_facts(tmp_path: Path) -> None:
    facts = Collectors(a_machine(tmp_path), roots=roots(tmp_path)).facts
    assert facts.memory_total_bytes == 1000000 * 1024
    # 2 GiB are allowed, and more than there are.
    assert facts.limits == Limits(cpu_cores=0.25, memory_bytes=None)
    assert facts.cores >= 1
    assert facts.host


def test_limits_are_known_also_without_the_control_groups_figures(tmp_path: Path) -> None:
    collectors = Collectors(a_machine(tmp_path), without=["cgroup"], roots=roots(tmp_path))
    assert collectors.facts.limits.cpu_cores == 0.25


def test_on_another_system_psutil_tells_what_it_can(tmp_path: Path) -> None:
    with program("burn(0.1); say('burned'); wait()") as command:
        command.heard()
        tree = Tree([command.pid], source=Psutil())
        collectors = Collectors(tree, roots=roots(tmp_path / "nothing here"))
        values = row(collectors)
        assert collectors.skipped == {}
        assert values["cpu_seconds"] >= 0.1
        assert values["rss_bytes"] > 1e6
        assert values["system_cpu_seconds"] > 0
        assert values["received_bytes"] >= 0
        assert collectors.facts.memory_total_bytes is not None


def test_no_more_open_files_is_a_gap_and_not_the_end() -> None:
    collectors = Collectors(Tree([os.getpid()]), without=["gpu"])
    with no_files_left():
        gap = row(collectors)
    after = row(collectors)
    assert math.isnan(gap["cpu_seconds"])
    assert math.isnan(gap["system_cpu_seconds"])
    assert after["cpu_seconds"] > 0
    assert after["rss_bytes"] > 0
    assert "process" not in collectors.skipped
    assert "system" not in collectors.skipped


@contextmanager
def no_files_left() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(int(name) for name in os.listdir("/proc/self/fd"))  # noqa: PTH208
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(highest + 1, hard), hard))
    taken = []
    try:
        while True:
            taken.append(os.open("/dev/null", os.O_RDONLY))
    except OSError:
        pass
    try:
        yield
    finally:
        for descriptor in taken:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_nothing_stays_open() -> None:
    collectors = Collectors(Tree([os.getpid()]))
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    for _ in range(3):
        collectors.read()
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


def test_only_the_standard_library_is_loaded() -> None:
    code = """
import json, os, sys
before = set(sys.modules)
from cepheid.sources.local.collectors import Collectors
from cepheid.sources.local.processes import Tree
Collectors(Tree([os.getpid()])).read()
names = {name.partition(".")[0] for name in set(sys.modules) - before}
print(json.dumps(sorted(names - set(sys.stdlib_module_names))))
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.PIPE)
    assert json.loads(done.stdout) == ["cepheid"]
